"""A model on the page: opened with its training file, judged, compared, explained and rounded, its pack taken away."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient
from sklearn.linear_model import LogisticRegression
from skops import io as skops_io

from dalenius.web.server import make_app
from tests.models.conftest import fit, people
from tests.web.test_page import host_of, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("files")
    train, others = people(160, 1), people(160, 2)
    pl.DataFrame(train).write_csv(place / "train.csv")
    pl.DataFrame(others).write_csv(place / "others.csv")
    skops_io.dump(fit(LogisticRegression(), train), place / "logistic.skops")
    return place


@pytest.fixture
def client(tmp_path):
    made = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    made.get("/enter?token=secret")
    return made


def opened(client, files, model=None, **facts):
    sent = {
        "model": model or ("logistic.skops", (files / "logistic.skops").read_bytes()),
        "train": ("train.csv", (files / "train.csv").read_bytes()),
        "holdout": ("others.csv", (files / "others.csv").read_bytes()),
    }
    return client.post(
        "/models/open", files=sent, data={"predicts": "y", "title": "Mine <b>", **facts}, headers=SAME
    )


def test_from_a_model_to_its_pack(client, files):
    place = opened(client, files).headers["location"]
    shown = client.get(place).text
    assert "Mine &lt;b&gt;" in shown
    assert "The limits are kept" in shown
    assert client.get(f"{place}/public.zip").status_code == 400
    compared = client.get(f"{place}/compare?kind=tree&leaves=1,40").text
    assert "is chosen" in compared
    names = zipfile.ZipFile(io.BytesIO(client.get(f"{place}/public.zip").content)).namelist()
    assert {"release/public/model.skops", "release/public/model-card.md"} <= set(names)
    assert not any("internal" in name for name in names)
    explained = client.get(f"{place}/explain?output=logit&decimals=0").text
    assert "7 queries" in explained
    assert client.post(f"{place}/delete", headers=SAME).status_code == 303
    assert client.get(place).status_code == 400


def test_what_does_not_fit_is_told_and_not_kept(client, files, tmp_path):
    bomb = pickle.dumps(LogisticRegression())
    for sent, said in (
        ({"model": ("m.pkl", bomb)}, "a pickle can run any program"),
        ({"model": ("m.skops", bomb)}, "refused"),
        ({"predicts": "zz"}, "no column"),
        ({"predicts": " "}, "name the column"),
    ):
        answer = opened(client, files, **sent)
        assert answer.status_code == 400
        assert said in answer.text
    assert not list((tmp_path / "space" / "models").iterdir())
    place = opened(client, files).headers["location"]
    for query in ("explain?decimals=x", "explain?output=all", "compare?leaves=a", "compare?kind=rm"):
        assert client.get(f"{place}/{query}").status_code == 400
    assert client.get("/models/../../etc").status_code in (400, 404)


@pytest.mark.slow
def test_models_in_a_browser(tmp_path, browsing, files):
    shots = Path(os.environ.get("DALENIUS_SHOTS", tmp_path))
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        page.click("text=Let a model out")
        page.set_input_files("#model", files / "logistic.skops")
        page.set_input_files("#train", files / "train.csv")
        page.set_input_files("#holdout", files / "others.csv")
        page.fill("#predicts", "y")
        page.fill("#title", "Readmission")
        faults = seen.faults()
        page.click("#open-model")
        page.wait_for_selector("#verdict")
        assert "limits are kept" in page.inner_text("#verdict h2")
        page.screenshot(path=str(shots / "model-verdict.png"), full_page=True)
        faults += seen.faults()
        page.fill("#leaves", "1, 10, 40")
        page.click("#compare")
        page.wait_for_selector("#map svg")
        assert page.locator("#choice tbody tr").count() == 3
        page.screenshot(path=str(shots / "model-map.png"), full_page=True)
        faults += seen.faults()
        with page.expect_download() as got:
            page.click("#public")
        assert "release/public/model.skops" in zipfile.ZipFile(got.value.path()).namelist()
        page.click("text=Back to the model")
        page.select_option("#output", "logit")
        reached = []
        for decimals in ("3", "0"):
            page.fill("#decimals", decimals)
            page.click("#explain")
            page.wait_for_selector("#rounded")
            reached.append([float(page.inner_text(f"#{name}").split()[0]) for name in ("skill", "ranks")])
            faults += seen.faults()
        page.screenshot(path=str(shots / "model-explanations.png"), full_page=True)
        assert seen.fits()
    assert reached[0][0] > reached[1][0]  # fewer decimals: less risk
    assert reached[0][1] > reached[1][1]  # and less agreement
    assert seen.noise == []
    assert faults == []
