"""Several tables on the page: open a folder, correct a link, synthesize, see the drawing and torn families."""

from __future__ import annotations

import json
import time

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient

from dalenius.data import examples
from dalenius.web.server import make_app
from dalenius.web.workspace import Workspace
from tests.web.test_page import host_of, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}


def clinic(patients: int = 300) -> dict[str, bytes]:
    """Two tables as CSV; a few visits name a patient who is not there, and the link's column is called otherwise."""
    tables = examples.visits(patients, seed=1).to_frames("polars")
    lost = pl.when(pl.int_range(pl.len()) % 40 == 0).then(pl.lit(999_999)).otherwise("patient_id")
    tables["visits"] = tables["visits"].with_columns(patient_id=lost).rename({"patient_id": "who"})
    return {f"{name}.csv": frame.write_csv().encode() for name, frame in tables.items()}


@pytest.fixture
def client(tmp_path):
    found = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    found.get("/enter?token=secret")
    return found


def opened(client: TestClient, files: dict[str, bytes]) -> str:
    sent = [("files", (f"clinic/{name}", content)) for name, content in files.items()]
    answer = client.post("/open-folder", files=sent, headers=SAME)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


LINK = {
    "key-patients": "patient_id", "key-visits": "visit_id", "order-visits": "date", "more-child": "visits.who",
    "more-parent": "patients", "orphans": "keep",
}  # fmt: skip


def test_a_link_is_set_and_torn_families_are_told(client):
    place = opened(client, clinic())
    before = client.get(place).text
    assert "<line" not in before.split('id="relations"')[0].split("<svg")[1]
    assert client.post(f"{place}/relations", data=LINK, headers=SAME).status_code == 303
    after = client.get(place).text
    assert "visits.who</strong> is torn: 3 % without a parent" in after
    assert "set on the page" in after
    assert "torn: 3 %" in after.split("<svg")[1].split("</svg>")[0]
    dropped = client.post(f"{place}/relations", data={**LINK, "orphans": "error"}, headers=SAME)
    assert dropped.status_code == 400
    assert "belong to no row" in dropped.text
    assert "999999" not in dropped.text


def test_wrong_choices_and_files_are_told(client, tmp_path):
    assert client.post("/open-folder", files=[("files", ("", b""))], headers=SAME).status_code == 400
    odd = client.post("/open-folder", files=[("files", ("..%2f!.csv", b"a\n1\n"))], headers=SAME)
    assert odd.status_code == 400
    twice = {"patients.csv": b"patient_id,a\n1,x\n1,y\n", "visits.csv": b"visit_id,patient_id\n1,1\n2,1\n"}
    place = opened(client, twice)
    wrong = client.post(
        f"{place}/relations", headers=SAME,
        data={"key-patients": "patient_id", "parent-visits.patient_id": "patients", "orphans": "error"},
    )  # fmt: skip
    assert wrong.status_code == 400
    assert "share a value of the key" in wrong.text
    assert client.post(f"{place}/start-tables", headers=SAME).status_code == 400
    Workspace(tmp_path / "space").runs()[0].delete()
    assert client.get(place).status_code == 404


def test_again_keeps_the_tables_and_their_links(client):
    place = opened(client, clinic())
    client.post(f"{place}/relations", data=LINK, headers=SAME)
    other = client.post(f"{place}/again", headers=SAME).headers["location"]
    assert "visits.who</strong> is torn" in client.get(other).text


@pytest.mark.slow
def test_a_folder_in_a_browser_from_opening_to_verified_pack(tmp_path, browsing):
    files = []
    for name, content in clinic(600).items():
        files.append(tmp_path / name)
        files[-1].write_bytes(content)
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        page.set_input_files("#files", [str(f) for f in files])
        page.click("#open-folder")
        page.wait_for_selector("#relations")
        page.select_option("select[name='more-child']", "visits.who")
        page.select_option("select[name='more-parent']", "patients")
        page.select_option("select[name='order-visits']", "date")
        page.click("#correct")
        page.wait_for_selector("p.torn")
        told = page.inner_text("p.torn")
        lines = page.locator("#drawn svg line").count()
        faults = seen.faults()
        page.screenshot(path=str(tmp_path / "several.png"), full_page=True)
        page.uncheck("input[value='close']")
        page.uncheck("input[value='syndiffix']")
        page.fill("#policy", "keys-and-orphans >= 90 %\nfamily-copies added <= 5 points\ndcr <= 90 %")
        page.click("#run")
        page.wait_for_selector("#verdict", timeout=180_000)
        drawn = page.inner_text("#tables-drawn")
        page.wait_for_selector(".chart svg, .chart canvas")
        page.screenshot(path=str(tmp_path / "several-result.png"), full_page=True)
        page.click("#verify")
        page.wait_for_function(
            "/whole|Not as/.test(document.getElementById('verified').textContent)", timeout=120_000
        )
        verified = page.inner_text("#verified")
        faults += seen.faults()
    assert "torn: 3 % without a parent" in told
    assert lines == 1
    assert "rows made" in drawn
    assert "torn" in drawn
    assert verified.startswith("The pack is whole and unchanged")
    assert seen.noise == []
    assert faults == []


@pytest.mark.slow
def test_the_example_of_two_tables_is_released_by_default(tmp_path, client):
    place = client.post("/example-folder", headers=SAME).headers["location"]
    started = client.post(f"{place}/start-tables", data={"way": ["smooth"]}, headers=SAME)
    assert started.status_code == 303, started.text
    for _ in range(240):
        state = json.loads(client.get(f"{place}/state").text)["state"]
        if state != "running":
            break
        time.sleep(0.5)
    assert state == "done"
    assert "smooth" in client.get(place).text
