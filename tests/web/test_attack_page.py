"""Published tables on the page: opened, attacked, read by pattern, revealed only where somebody asks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient

from dalenius.web.server import make_app
from tests.web.test_page import host_of, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}
OLD = b"sex,n\nf,52\nm,48\n"
NEW = b"sex,age,n\nf,0-79,49\nm,0-79,30\nm,80+,18\n"
GROUP = "sex = f, age = 80+"


@pytest.fixture
def client(tmp_path):
    made = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    made.get("/enter?token=secret")
    return made


def opened(client, *files, title=""):
    sent = [("files", file) for file in files]
    return client.post("/attack/open", files=sent, data={"title": title}, headers=SAME)


def test_from_tables_to_a_recipe(client):
    old = opened(client, ("everybody.csv", OLD), title="Last year").headers["location"]
    new = opened(client, ("young.csv", NEW), title="This year <b>").headers["location"]
    assert "Last year" in client.get("/attack").text
    alone = client.get(new).text
    assert "This year &lt;b&gt;" in alone
    assert "No small group follows" in alone
    query = f"earlier={old.rsplit('/', 1)[-1]}&same=1"
    beside = client.get(f"{new}?{query}").text
    assert "1 small group follows" in beside
    assert "1 cell must be held back" in beside
    for secret in (GROUP, "everybody [", "young ["):
        assert secret not in beside
    shown = client.get(f"{new}?{query}&reveal=1&guesses=1").text
    assert f"{GROUP}: 3" in shown
    for cell in ("everybody [sex = f]", "young [sex = f, age = 0-79]"):
        assert cell in shown
    assert "records ranked highest" in shown
    hidden = client.get(f"{new}?{query}&guesses=1").text
    assert "records ranked highest" in hidden
    assert 'Records ranked highest"><table' not in hidden
    assert client.post(f"{new}/delete", headers=SAME).status_code == 303
    assert client.get(new).status_code == 400


def test_bad_packs_are_told_without_their_counts_and_leave_nothing(client, tmp_path):
    for name, content, said in (
        ("a.csv", b"sex,n\nf,-77\n", "negative"),
        ("a.exe", b"MZ", "tables come as"),
        ("a.csv", b"sex,age\nf,3\n", "column of counts"),
    ):
        answer = opened(client, (name, content))
        assert answer.status_code == 400
        assert said in answer.text
        assert "-77" not in answer.text
    assert not list((tmp_path / "space" / "published").iterdir())
    assert opened(client).status_code == 400
    wrong = opened(client, ("a.csv", b"sex,n\nf,3\nm,4\nTotal,8\n")).headers["location"]
    answer = client.get(f"{wrong}?small=no&earlier=../../etc")
    assert answer.status_code == 400
    assert "disagrees" in answer.text
    odd = opened(client, ("../../x<y>.csv", OLD)).headers["location"]
    assert client.get(odd).status_code == 200
    assert {p.parent.name for p in (tmp_path / "space" / "published").rglob("*.csv")} <= {
        wrong.rsplit("/", 1)[-1], odd.rsplit("/", 1)[-1],
    }  # fmt: skip


@pytest.mark.slow
def test_the_attack_in_a_browser(tmp_path, browsing):
    shots = Path(os.environ.get("DALENIUS_SHOTS", tmp_path))
    (tmp_path / "everybody.csv").write_bytes(OLD)
    (tmp_path / "young.csv").write_bytes(NEW)
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        page.click("text=Attack published tables")
        page.set_input_files("#files", [tmp_path / "everybody.csv", tmp_path / "young.csv"])
        page.fill("#title", "Yearbook")
        page.screenshot(path=str(shots / "attack-open.png"), full_page=True)
        faults = seen.faults()
        page.click("text=Open the tables")
        page.wait_for_selector("#proved .crowd svg")
        assert GROUP not in page.content()
        page.check("input[name=guesses]")
        page.click("#attack-button")
        page.wait_for_selector("#ranked .crowd svg")
        page.screenshot(path=str(shots / "attack-patterns.png"), full_page=True)
        faults += seen.faults()
        page.check("input[name=reveal]")
        page.click("#attack-button")
        page.click(f"text={GROUP}: 3")
        totals = page.locator("#recipes details[open] tbody tr td:last-child").all_inner_texts()
        faults += seen.faults()
        page.screenshot(path=str(shots / "attack-revealed.png"), full_page=True)
        assert seen.fits()
    assert totals == ["52", "3"]
    assert seen.noise == []
    assert faults == []
