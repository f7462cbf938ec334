"""Files larger than memory on the page: named at the start, opened by their first rows, run in parts, stopped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
pytest.importorskip("httpx2", reason="the test client needs httpx2")

from starlette.testclient import TestClient

from dalenius.web import large
from dalenius.web.runner import carry_out
from dalenius.web.server import make_app
from dalenius.web.workspace import Run

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}


def people(path: Path, rows: int) -> Path:
    rng = np.random.default_rng(1)
    held = {
        "sex": rng.choice(["f", "m"], rows),
        "region": rng.choice(["north", "south", "west"], rows),
        "age": rng.integers(18, 90, rows),
        "ill": rng.random(rows) < 0.2,
    }
    pq.write_table(pa.table(held), path, row_group_size=1 << 20)
    return path


@pytest.fixture
def file(tmp_path):
    return people(tmp_path / "people.parquet", 3000)


@pytest.fixture
def client(tmp_path, file):
    made = TestClient(
        make_app(tmp_path / "space", "secret", 8123, large=[file]), base_url=BASE, follow_redirects=False
    )
    made.get("/enter?token=secret")
    return made


def opened(client) -> str:
    answer = client.post("/open-large/0", headers=SAME)
    assert answer.status_code == 303
    return answer.headers["location"]


def test_only_named_files_are_opened_and_none_is_copied(client, tmp_path, file):
    assert "Open people.parquet" in client.get("/").text
    assert client.post("/open-large/1", headers=SAME).status_code == 404
    assert client.post("/open-large/-1", headers=SAME).status_code == 404
    shown = client.get(opened(client)).text
    assert "3,000 records" in shown
    assert "mostly 2" in shown
    assert not list((tmp_path / "space").rglob("*.parquet"))


@pytest.mark.slow
def test_only_the_first_rows_are_read(client, tmp_path):
    """A file whose later row groups are rubbish opens all the same: nobody looked at them."""
    path = people(tmp_path / "people.parquet", 400_000)
    pq.write_table(pq.read_table(path), path, row_group_size=1 << 17)
    about = pq.read_metadata(path)
    last = about.row_group(about.num_row_groups - 1).column(0)
    whole = bytearray(path.read_bytes())
    begin = last.dictionary_page_offset or last.data_page_offset
    whole[begin : begin + 20] = b"\xff" * 20
    path.write_bytes(whole)
    run = opened(client)
    assert "400,000 records" in client.get(run).text
    answer = client.post(f"{run}/start-large", data={"method": "loglinear"}, headers=SAME)
    assert answer.status_code == 303
    wait_until(client, run, "failed")
    why = client.get(f"{run}/state").json()["why"]
    assert "row group 4 of 4" in why
    client.post(f"{run}/delete", headers=SAME)


def wait_until(client, run: str, wanted: str) -> None:
    for _ in range(2400):
        if client.get(f"{run}/state").json()["state"] == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(client.get(f"{run}/state").json())


def test_from_a_large_file_to_figures(client, tmp_path, file, monkeypatch):
    monkeypatch.setattr(Run, "start", lambda run: carry_out(run.folder))
    monkeypatch.setattr(large, "PAUSE", 0)
    run = opened(client)
    chosen = {"method": "loglinear", "use-0": "key", "use-1": "key", "use-2": "out", "use-3": "target"}
    assert client.post(f"{run}/start-large", data=chosen, headers=SAME).status_code == 303
    assert client.get(f"{run}/state").json()["state"] == "done", client.get(f"{run}/state").json()
    shown = client.get(run).text
    assert "Two-way tables" in shown
    assert "DiSCO" in shown
    assert "not a release pack" in shown
    taken = client.get(f"{run}/synthetic.parquet")
    (tmp_path / "taken.parquet").write_bytes(taken.content)
    made = pq.read_table(tmp_path / "taken.parquet")
    assert made.num_rows == 3000
    assert made.column_names == ["sex", "region", "ill"]
    assert file.exists()
    assert client.post(f"{run}/delete", headers=SAME).status_code == 303
    assert file.exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"method": "cart"}, "choose a method"),
        ({"method": "mst", "options-mst": "epsilom=1"}, "epsilom"),
        ({"method": "loglinear", **{f"use-{i}": "out" for i in range(4)}}, "keep at least one"),
    ],
)
def test_bad_choices_are_told_and_what_was_typed_stays(client, typed, said):
    run = opened(client)
    answer = client.post(f"{run}/start-large", data=typed, headers=SAME)
    assert answer.status_code == 400
    assert said in answer.text
    if "options-mst" in typed:
        assert "epsilom=1" in answer.text


def test_a_file_that_is_gone_and_downloads_that_are_not_ready_are_told(client, file):
    run = opened(client)
    assert client.get(f"{run}/synthetic.parquet").status_code == 400
    file.unlink()
    assert client.get(run).status_code == 400
    assert "no such file" in client.get(run).text


@contextmanager
def served(folder: Path, file: Path):
    command = [sys.executable, "-u", "-c", "from dalenius.cli import app; app()", "app", "-w", str(folder)]
    process = subprocess.Popen(
        [*command, "--file", str(file)], stdout=subprocess.PIPE, text=True, cwd=folder.parent
    )
    try:
        yield re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_a_large_file_in_a_browser(tmp_path, browsing):
    """Open, start, see rows go by, stop, start again, read the figures; no half-written file is left by the stop."""
    file = people(tmp_path / "people.parquet", 4_000_000)
    with served(tmp_path / "space", file) as address, browsing(address.split("/enter")[0]) as seen:
        page = seen.page
        page.goto(address)
        page.click("#large-0")
        page.wait_for_selector("text=4,000,000 records")
        faults = seen.faults()
        assert seen.fits()
        page.click("#run")
        page.wait_for_selector("#cancel")
        page.wait_for_function("/of 4,000,000 rows read/.test(document.getElementById('said').textContent)")
        page.click("#cancel")
        page.wait_for_selector("#continue")
        (folder,) = (tmp_path / "space" / "runs").iterdir()
        assert json.loads((folder / "state.json").read_text())["state"] == "stopped"
        assert not (folder / large.MADE).exists()
        faults += seen.faults()
        page.click("#continue")
        page.wait_for_selector("#figures", timeout=600_000)
        assert "Two-way tables" in page.locator("#figures").inner_text()
        faults += seen.faults()
        assert seen.fits()
        with page.expect_download() as caught:
            page.click("#take")
        caught.value.save_as(tmp_path / "taken.parquet")
    assert pq.read_metadata(tmp_path / "taken.parquet").num_rows == 4_000_000
    assert seen.noise == []
    assert faults == []
