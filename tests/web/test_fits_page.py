"""Private fits on the page: three are paid for and seen, one is chosen and taken; what is refused costs nothing."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient

from dalenius.dp import open_ledger
from dalenius.release import verify_pack
from dalenius.web.server import make_app
from tests.web.test_page import host_of, open_example, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}
PUBLIC = "age: 0 to 100\nincome: 0 to 130000\nsex: female, male"
ASKED = {
    "family": "dp-quantile", "response": "income", "predictor": ["age", "sex"], "taus": "0.5", "epsilons": "2, 8, 40",
    "public": PUBLIC, "budget": "60", "title": "Income <b>",
}  # fmt: skip


@pytest.fixture
def client(tmp_path):
    made = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    made.get("/enter?token=secret")
    return made


def run_of(client):
    return client.post("/example", headers=SAME).headers["location"]


def ledgers(folder):
    return [open_ledger(path) for path in sorted((folder / "space" / "ledgers").glob("*.budget"))]


def asked(client, run, **changed):
    return client.post(f"{run}/fits", data={**ASKED, **changed}, headers=SAME)


def test_from_three_fits_to_the_public_part_of_one(client, tmp_path):
    run = run_of(client)
    assert "The ledger begins with the first fit" in client.get(f"{run}/fits").text
    place = asked(client, run).headers["location"]
    assert [ledger.spent for ledger in ledgers(tmp_path)] == [50.0]
    shown = client.get(place).text
    assert "Income &lt;b&gt;" in shown
    assert "there is 10 left" in shown
    assert "not private" not in shown
    assert client.get(f"{place}/inside").status_code == 400  # nobody looks by accident
    assert client.get(f"{place}/public.zip").status_code == 400
    assert client.post(f"{place}/choose", data={"candidate": "ε = 8"}, headers=SAME).status_code == 303
    sent = zipfile.ZipFile(io.BytesIO(client.get(f"{place}/public.zip").content))
    assert {name.split("/", 1)[0] for name in sent.namelist()} == {"release"}
    assert sorted(name.split("/", 1)[1] for name in sent.namelist()) == [
        "public/checksums.txt", "public/coefficients.csv", "public/fit-card.md", "public/fit.json",
        "public/lines.csv", "public/report.html",
    ]  # fmt: skip
    card = sent.read("release/public/fit-card.md").decode()
    assert "the choice costs nothing" in card
    assert pl.read_csv(sent.read("release/public/coefficients.csv"))["term"].to_list() == [
        "intercept",
        "age",
        "sex=male",
    ]
    assert client.post(f"{place}/look", headers=SAME).headers["location"] == f"{place}/inside"
    inside = client.get(f"{place}/inside").text
    assert "is not free" in inside
    assert "original, not private" in inside
    client.post(f"{place}/choose", data={"candidate": "ε = 40"}, headers=SAME)
    again = zipfile.ZipFile(io.BytesIO(client.get(f"{place}/public.zip").content))
    assert "no ε covers" in " ".join(again.read("release/public/fit-card.md").decode().split())
    assert ledgers(tmp_path)[0].spent == 50.0  # looking and choosing cost nothing more
    (pack,) = (tmp_path / "space" / "runs").glob("*/fits/*/release")
    assert verify_pack(pack).accepted


def test_what_is_refused_costs_nothing_and_is_not_kept(client, tmp_path):
    run = run_of(client)
    for changed, said in (
        ({"public": PUBLIC.replace("age: 0 to 100\n", "")}, "column &#39;age&#39;: say what is public"),
        ({"public": "age: young, old"}, "column &#39;age&#39; is a number"),
        ({"public": "nothing"}, "write COLUMN: 0 to 100"),
        ({"taus": "1"}, "tau is 1.0; use a number above 0 and below 1"),
        ({"epsilons": "0"}, "each ε is a number above 0"),
        ({"epsilons": "x"}, "numbers, separated by commas"),
        ({"epsilons": "2, 30, 40"}, "the ledger cannot pay for all fits, so none was made"),
        ({"budget": ""}, "say what everything"),
        ({"predictor": []}, "mark at least one column"),
        ({"predictor": ["income"]}, "cannot explain itself"),
        ({"family": "dp-logit"}, "must be yes or no"),
    ):
        answer = asked(client, run, **changed)
        assert answer.status_code == 400, changed
        assert said in answer.text, changed
        assert 'value="2, 8, 40"' in answer.text or "epsilons" in changed  # what was typed stays
    assert ledgers(tmp_path) == []
    assert not list((tmp_path / "space" / "runs").glob("*/fits/*"))
    assert client.get(f"{run}/fits/0123456789ab").status_code == 400


def test_one_budget_however_often_the_data_are_opened(client, tmp_path):
    first = run_of(client)
    asked(client, first, epsilons="20")
    second = run_of(client)
    assert "there is 40 left" in client.get(f"{second}/fits").text
    assert "so none was made" in asked(client, second, epsilons="41").text
    client.post(f"{first}/delete", headers=SAME)
    third = client.post(f"{second}/again", headers=SAME).headers["location"].removesuffix("/setup")
    answer = asked(client, third, epsilons="15")
    assert answer.status_code == 303, answer.text
    assert [ledger.spent for ledger in ledgers(tmp_path)] == [35.0]


@pytest.mark.slow
def test_fits_in_a_browser(tmp_path, browsing):
    """Three ε on the example survey: lines alone, beside the original's, one chosen, its public part downloaded."""
    shots = Path(os.environ.get("DALENIUS_SHOTS", tmp_path))
    faults: list[str] = []
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        open_example(page, address)
        page.click("#to-fits")
        page.wait_for_selector("#fit-form")
        faults += seen.faults()
        page.select_option("#response", "income")
        page.check('input[name="predictor"][value="age"]')
        page.check('input[name="predictor"][value="sex"]')
        page.fill("#public", PUBLIC)
        page.fill("#epsilons", "2, 8, 40")
        page.fill("#title", "Median income by age and sex")
        page.click("#fit")
        page.wait_for_selector("[role=alert]")
        assert "say what everything" in page.inner_text("[role=alert]")
        faults += seen.faults()
        page.fill("#budget", "60")
        page.click("#fit")
        page.wait_for_selector("#lines svg")
        assert page.locator("#fits tbody tr").count() == 3
        assert "not private" not in page.inner_text("main")
        assert "there is 10 left" in page.inner_text("main")
        page.screenshot(path=str(shots / "fits-public.png"), full_page=True)
        faults += seen.faults()
        page.click('nav >> text="sex"')
        page.wait_for_selector("#lines svg")
        faults += seen.faults()
        assert "female" in page.inner_html("#lines")
        page.click("#look")
        page.wait_for_selector("#not-free")
        assert "is not free" in page.inner_text("#not-free")
        assert "original, not private" in page.inner_html("#lines")
        page.screenshot(path=str(shots / "fits-internal.png"), full_page=True)
        faults += seen.faults()
        page.set_viewport_size({"width": 800, "height": 900})
        assert seen.fits()
        page.screenshot(path=str(shots / "fits-narrow.png"), full_page=True)
        page.click("text=Alone (public)")
        page.click('[aria-label="Choose ε = 40"]')
        page.wait_for_selector("#chosen")
        assert seen.fits()
        page.screenshot(path=str(shots / "fits-chosen.png"), full_page=True)
        faults += seen.faults()
        with page.expect_download() as got:
            page.click("#public")
        names = zipfile.ZipFile(got.value.path()).namelist()
        assert "release/public/coefficients.csv" in names
        assert not any("internal" in name for name in names)
    assert [ledger.spent for ledger in ledgers(tmp_path)] == [50.0]
    assert [line for line in seen.noise if "400" not in line] == []  # one form was refused on purpose
    assert faults == []
