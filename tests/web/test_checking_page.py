"""The checker's page: a queue that is cleared by keyboard, evidence only where its folder is, only approved files."""

from __future__ import annotations

import io
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient

from dalenius.outputs import Desk
from dalenius.outputs.pack import read_pack, verify_outputs
from dalenius.web.server import make_app
from tests.web.test_page import host_of, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}


def project(place, outputs: int):
    """A folder of outputs in a workspace: passing and failing ones in turn."""
    rng = np.random.default_rng(5)
    desk = Desk({"differencing": False}, unit="person")
    data = pd.DataFrame({
        "region": rng.choice(["North", "South", "West"], 400, p=[0.6, 0.38, 0.02]), "sex": rng.choice(["f", "m"], 400),
        "pay": rng.lognormal(3, 1, 400), "person": [f"Lindqvist{i}" for i in range(400)],
    })  # fmt: skip
    for i in range(outputs):
        desk.table(data, ["region", "sex"] if i % 5 == 0 else "sex")
        if desk.last.status != "pass":
            desk.last.exception("needed for the paper")
    desk.finalise(place / "outputs" / "project-7")
    return place / "outputs" / "project-7"


@pytest.fixture
def client(tmp_path):
    space = tmp_path / "space"
    project(space, 6)
    client = TestClient(make_app(space, "secret", 8123), base_url=BASE, follow_redirects=False)
    client.get("/enter?token=secret")
    return client, space / "outputs" / "project-7"


def test_queue_decisions_and_files(client):
    page, folder = client
    assert "project-7" in page.get("/outputs").text
    shown = page.get("/outputs/project-7").text
    assert shown.index('id="output_0"') < shown.index('id="output_1"')  # what fails comes first
    assert "needed for the paper" in shown
    assert "min_threshold" in shown
    assert page.get("/outputs/project-7/approved.zip").status_code == 400
    refused = page.post(
        "/outputs/project-7/decide", data={"output": "output_0", "decision": "approve"}, headers=SAME
    )
    assert refused.status_code == 400
    both = {"output": ["output_1", "output_2"], "decision": "approve"}
    assert page.post("/outputs/project-7/decide", data=both, headers=SAME).status_code == 303
    archive = zipfile.ZipFile(io.BytesIO(page.get("/outputs/project-7/approved.zip").content))
    assert sorted(archive.namelist()) == ["output_1_0.csv", "output_2_0.csv"]
    (folder / "output_1_0.csv").write_text("sex,count\nf,9999\n")
    assert "was changed" in page.get("/outputs/project-7").text
    assert page.get("/outputs/project-7/approved.zip").status_code == 400


def test_a_fix_is_approved_in_the_place_of_the_output(client):
    page, folder = client
    shown = page.get("/outputs/project-7").text
    assert 'value="output_0:suppress"' in shown
    assert "After suppress" in shown
    send = {"output": "output_1", "fix": "output_0:suppress", "reason": ""}
    assert page.post("/outputs/project-7/decide", data=send, headers=SAME).status_code == 303
    lost = {"fix": "output_0:magic"}
    assert page.post("/outputs/project-7/decide", data=lost, headers=SAME).status_code == 400
    assert "approved after suppress" in page.get("/outputs/project-7").text
    archive = zipfile.ZipFile(io.BytesIO(page.get("/outputs/project-7/approved.zip").content))
    assert archive.namelist() == ["output_0_suppress.csv"]
    assert [r.decision for r in read_pack(folder).records][:2] == ["approved", ""]


def test_evidence_only_where_its_folder_is(client):
    page, folder = client
    assert "Evidence (confidential)" in page.get("/outputs/project-7").text
    shutil.rmtree(folder / "evidence")
    shown = page.get("/outputs/project-7").text
    assert "Evidence (confidential)" not in shown
    assert "is not here" in shown
    assert "Lindqvist" not in shown


def test_names_from_outside_are_ignored(client):
    page, _ = client
    for name in ("..", "%2e%2e", "nothing", "project-7%2f..", "<script>"):
        answer = page.get(f"/outputs/{name}")
        assert answer.status_code in (400, 404, 200)
        assert "<script>" not in answer.text.replace('<script src="/static', "")
    post = page.post("/outputs/project-7/decide", data={"output": "no", "decision": "approve"}, headers=SAME)
    assert post.status_code == 400


@pytest.mark.slow
def test_fifty_outputs_by_keyboard(tmp_path, browsing):
    folder = project(tmp_path / "space", 50)
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        page.goto(f"{host_of(address)}/outputs/project-7")
        faults = seen.faults()
        page.wait_for_selector("body[data-ready=yes]")
        shots = tmp_path / "checking.png"
        page.screenshot(path=str(shots), full_page=False)
        with page.expect_navigation():
            page.keyboard.press("f")  # the first: what its cheapest fix makes of it
        page.wait_for_selector("body[data-ready=yes]")
        for _ in range(9):  # what else fails: one by one, with a reason
            page.keyboard.press("r")
            page.keyboard.type("too few people")
            with page.expect_navigation():
                page.keyboard.press("Enter")
            page.wait_for_selector("body[data-ready=yes]")
        for _ in range(40):  # what passes: marked, then at once
            page.keyboard.press("x")
            page.keyboard.press("j")
        with page.expect_navigation():
            page.keyboard.press("a")
        page.wait_for_selector("body[data-ready=yes]")
        assert page.locator("#waiting").get_attribute("data-waiting") == "0"
        faults += seen.faults()
        assert seen.noise == []
    assert faults == []
    decided = [r.decision for r in read_pack(folder).records]
    assert decided.count("approved") == 41
    assert decided.count("rejected") == 9
    assert verify_outputs(folder) == []
