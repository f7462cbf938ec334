"""The set-up page guesses as the schema does: who is protected, who is named, which methods are worth a try."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from dalenius.data import Table
from dalenius.data.files import excel_sheets, read
from dalenius.data.files.excel import write_sheets
from dalenius.data.schema import Schema
from dalenius.release.template import sensible_methods

pytest.importorskip("fastapi", reason="the web extra is not installed")

from starlette.datastructures import FormData
from starlette.testclient import TestClient

from dalenius.web.choices import Choices
from dalenius.web.planning import corrected
from dalenius.web.server import make_app

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}
PERSONAL = {"patient_id": "entity", "name": "identifier", "email": "identifier"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The set-up page of a hospital's file, and the file."""
    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(3)
    rows = 300
    who = np.append(np.arange(rows - 40), rng.integers(0, rows - 40, 40))
    names = [f"{a} {b}" for a in ("Ann", "Bob", "Eva", "Tom") for b in ("Doe", "Poe", "Roe")]
    frame = pl.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in who],
            "name": [names[i % 12] for i in who],
            "email": [f"p{i}@example.org" for i in who],
            "age": rng.integers(18, 95, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ward": rng.choice(["A1", "B2", "C3"], rows),
            "cost": rng.lognormal(8, 1, rows).round(2),
            "height": rng.normal(171, 9, rows).round(1),
            "pulse": rng.normal(70, 9, rows).round(1),
            "weight": rng.normal(75, 14, rows).round(1),
        }
    )
    frame.write_csv(folder / "stays.csv")
    client = TestClient(make_app(folder / "space", "secret", 8123), base_url=BASE)
    client.get("/enter?token=secret")
    page = client.post(
        "/open", files={"file": ("stays.csv", (folder / "stays.csv").read_bytes())}, headers=SAME
    )
    assert page.status_code == 200
    return page, frame


def test_a_sheet_is_chosen_and_the_others_are_told(tmp_path):
    book = tmp_path / "book.xlsx"
    notes, people = {"note": ["x", "y"]}, {"age": [31, 45, 52], "sex": ["f", "m", "f"]}
    write_sheets({"notes": Table.from_frame(notes), "people": Table.from_frame(people)}, book)
    client = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE)
    client.get("/enter?token=secret")

    def opened(sheet: str, name: str = "book.xlsx", sent: bytes | None = None):
        sent = book.read_bytes() if sent is None else sent
        return client.post("/open", files={"file": (name, sent)}, data={"sheet": sheet}, headers=SAME)

    first = opened("")
    assert "3 records" not in first.text
    assert "sheet &#39;notes&#39; read; there is also &#39;people&#39;" in first.text
    second = opened("people")
    assert "3 records, 2 columns" in second.text
    (kept,) = (tmp_path / "space").glob(f"runs/{second.url.path.rpartition('/')[2]}/data.xlsx")
    assert excel_sheets(kept) == ["people"]
    assert "people" in opened("nowhere").text
    assert opened("nowhere").status_code == 400
    assert "only a workbook has sheets" in opened("people", "a.csv", b"a,b\n1,2\n").text


def form(text: str) -> dict[str, str]:
    """Roles and kinds as the page has them selected, by the names of the fields."""
    selects = re.findall(r'<select name="((?:role|kind)-\d+)"[^>]*>(.*?)</select>', text, re.S)
    return {name: re.search(r'value="(\w*)" selected', inner)[1] for name, inner in selects}


def test_the_page_selects_the_roles_the_schema_infers(opened):
    """Left as guessed, a run is carried out by the same roles as on the command line."""
    page, frame = opened
    selected = form(page.text)
    assert {n: selected[f"role-{frame.columns.index(n)}"] for n in PERSONAL} == PERSONAL
    assert not re.search(r"patient_id.{0,10} looks like free text", page.text)
    inferred = Schema.infer(frame)
    kept = corrected(inferred, Choices.from_form(FormData(selected), frame.columns))
    assert {n: kept[n].roles for n in PERSONAL} == {n: inferred[n].roles for n in PERSONAL}


def test_the_page_shows_nobodys_name(opened):
    page, frame = opened
    assert not [value for value in frame["name"].unique() if value in page.text]
    assert "@example.org" not in page.text


def test_the_page_ticks_no_method_that_the_file_is_too_wide_for(opened):
    page, _ = opened
    ticked = re.findall(r'name="method" value="(\w+)"[^>]* checked', page.text)
    assert "cart" in ticked
    assert "saturated" not in ticked
    assert 'value="saturated"' in page.text, "still there for whoever wants it"


def test_the_page_ticks_what_a_plan_of_the_command_line_tries(opened):
    page, frame = opened
    ticked = re.findall(r'name="method" value="(\w+)"[^>]* checked', page.text)
    assert sorted(ticked) == sorted(sensible_methods(Table.from_frame(frame)))


def test_text_can_be_called_a_date_in_words_and_is_read_as_one(tmp_path):
    """One odd word makes a column of dates text; told that the word is no answer, the page reads the rest as dates."""
    days = [f"2020-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(297)] + ["unknown"] * 3
    file = tmp_path / "visits.csv"
    pl.DataFrame({"day": days, "sex": ["f", "m"] * 150}).write_csv(file)
    client = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE)
    client.get("/enter?token=secret")
    page = client.post("/open", files={"file": ("visits.csv", file.read_bytes())}, headers=SAME)
    offered = re.search(r'<select name="kind-0".*?</select>', page.text, re.S)[0]
    assert '<option value="datetime">date or time</option>' in offered
    sent = FormData({**form(page.text), "kind-0": "datetime", "missing-0": "unknown"})
    schema = corrected(Schema.infer(pl.read_csv(file)), Choices.from_form(sent, ["day", "sex"]))
    schema.to_yaml(tmp_path / "schema.yaml")
    read_back = read(file, schema=Schema.from_yaml(tmp_path / "schema.yaml"))
    assert read_back["day"].values.astype("datetime64[us]").max() == np.datetime64("2020-12-28")
