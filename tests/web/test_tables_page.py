"""A table of the file, on the page: choose, see the audit, take it away; bad input is told."""

from __future__ import annotations

import io
import zipfile

import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient

from dalenius.web.server import make_app
from tests.web.test_page import host_of, open_example, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}
FIRMS = b"region,branch,turnover\n" + b"".join(
    b"%s,b%d,%d\n" % (b"NSEW"[i % 4 : i % 4 + 1], i % 7 % 3, 10 + i * i % 97) for i in range(200)
)


@pytest.fixture
def run(tmp_path):
    client = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    client.get("/enter?token=secret")
    answer = client.post("/open", files={"file": ("firms.csv", FIRMS)}, headers=SAME)
    return client, answer.headers["location"]


def test_a_table_from_choice_to_file(run):
    client, place = run
    form = client.get(f"{place}/tables")
    assert form.status_code == 200
    assert "Protect the table" in form.text
    query = "by=region&by=branch&value=turnover&rule=p:10"
    shown = client.get(f"{place}/tables?{query}")
    assert shown.status_code == 200, shown.text
    assert shown.text.index("<h2>Audit</h2>") < shown.text.index("<h2>Table</h2>")
    csv = client.get(f"{place}/table.csv?{query}")
    assert csv.text.startswith("region,branch,value,flag")
    book = client.get(f"{place}/table.xlsx?{query}")
    assert zipfile.is_zipfile(io.BytesIO(book.content))
    assert client.get(f"{place}/table.json?{query}").json()["class"] == "dataset"


def test_bad_choices_are_told_and_names_from_outside_are_ignored(run):
    client, place = run
    assert client.get(f"{place}/table.csv").status_code == 400
    assert client.get(f"{place}/table.docx?by=region").status_code == 400
    wrong = client.get(f"{place}/tables?by=region&rule=p:10")
    assert wrong.status_code == 400
    assert "Not yet" in wrong.text
    odd = client.get(f"{place}/tables?by=<script>&by=nothing")
    assert odd.status_code == 200
    assert "<script>" not in odd.text


@pytest.mark.slow
def test_the_table_page_in_a_browser(tmp_path, browsing):
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        open_example(page, address)
        place = page.url
        page.click("text=Protect a table of this file")
        page.wait_for_selector("#table-form")
        page.goto(f"{place}/tables?by=region&by=education")
        page.wait_for_selector(".dalenius-table")
        faults = seen.faults()
        wide = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.screenshot(path=str(tmp_path / "tables.png"), full_page=True)
    assert seen.noise == []
    assert faults == []
    assert wide


def test_the_firm_can_be_named_though_it_is_an_identifier(tmp_path):
    rows = [f"F{i},{i % 150},{'NS'[i % 2]},{10 + i * i % 97}" for i in range(600)]
    rows += [f"X,1000,N,{900 + i}" for i in range(5)]
    client = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    client.get("/enter?token=secret")
    data = "\n".join(["firm,group_nr,region,turnover", *rows, ""]).encode()
    place = client.post("/open", files={"file": ("firms.csv", data)}, headers=SAME).headers["location"]
    form = client.get(f"{place}/tables").text
    offered = form[form.index('name="contributor"') : form.index('name="rule"')]
    assert [name for name in ("firm", "group_nr", "region", "turnover") if f'value="{name}"' in offered] == [
        "firm",
        "group_nr",
        "region",
    ]
    assert 'name="by" value="firm"' not in form
    shown = client.get(f"{place}/tables?by=region&value=turnover&contributor=firm")
    assert shown.status_code == 200, shown.text
    assert '<option value="firm" selected>' in shown.text


@pytest.mark.slow
def test_every_question_about_a_column_is_in_sight_on_a_narrow_screen(tmp_path, browsing):
    """At 800 pixels the last column, what a column is for, lay outside the window with nothing to say so."""
    with served(tmp_path / "space") as address, browsing(host_of(address), width=800) as seen:
        open_example(seen.page, address)
        seen.page.wait_for_selector("#step-columns table")
        held = seen.page.evaluate(
            "(t => t.scrollWidth - t.clientWidth)(document.querySelector('#step-columns .scroll'))"
        )
    assert held <= 0
