"""Graphs and holders on the page: files opened, offers compared on the map, the chosen one taken away."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")
from fastapi.testclient import TestClient

from dalenius.web.server import make_app
from tests.release.test_learnt_release import graph_place, tree_place
from tests.web.test_page import host_of, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("files")
    graph_place(place)
    tree_place(place)
    return place


@pytest.fixture
def client(tmp_path):
    made = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    made.get("/enter?token=secret")
    return made


def opened(client, address, sent, **facts):
    return client.post(f"/learnt/{address}", files=sent, data=facts, headers=SAME)


def graph_files(files, links=None):
    return [
        ("links", ("links.csv", links or (files / "links.csv").read_bytes())),
        ("people", ("people.csv", (files / "people.csv").read_bytes())),
    ]


def tree_files(files, names=("a", "b")):
    held = [("holders", (f"{n}.csv", (files / f"{n}.csv").read_bytes())) for n in names]
    return [*held, ("schema", ("schema.yaml", (files / "schema.yaml").read_bytes()))]


def zipped(client, place, part="public"):
    return zipfile.ZipFile(io.BytesIO(client.get(f"{place}/{part}.zip").content))


def test_from_a_graph_to_its_pack(client, files):
    facts = {
        "id": "person",
        "class": "group",
        "title": "Club <b>",
        "answers": ["logits", "label"],
        "limit": "0.5",
    }
    place = opened(client, "graph", graph_files(files), **facts).headers["location"]
    shown = client.get(place).text
    assert "Club &lt;b&gt;" in shown
    assert "service answers=label is chosen" in shown
    assert "<svg" in shown
    held = zipped(client, place)
    assert {"release/public/service.json", "release/public/model-card.md"} <= set(held.namelist())
    assert not any("internal" in name for name in held.namelist())
    assert json.loads(held.read("release/public/service.json"))["answers"] == "label"
    assert "release/internal/network.json" in zipped(client, place, "internal").namelist()
    assert "Club &lt;b&gt;" in client.get("/learnt").text
    assert client.post(f"{place}/delete", headers=SAME).status_code == 303
    assert client.get(place).status_code == 400


def test_from_holders_to_their_tree(client, files):
    facts = {"class": "ill", "depths": "1, 3", "thetas": "0.1", "limit": "40"}
    place = opened(client, "holders", tree_files(files), **facts).headers["location"]
    shown = client.get(place).text
    assert "tree depth=3" in shown
    assert "2 holders sent one tree each" in shown
    assert "release/public/tree.json" in zipped(client, place).namelist()
    dealt = opened(client, "holders", tree_files(files, "a"), **facts, deal="3").headers["location"]
    assert "3 holders sent one tree each" in client.get(dealt).text


def test_where_no_offer_keeps_the_limit_nothing_is_packed(client, files):
    facts = {"id": "person", "class": "group", "answers": "logits", "limit": "0.01"}
    place = opened(client, "graph", graph_files(files), **facts).headers["location"]
    assert "nothing is released" in client.get(place).text
    assert client.get(f"{place}/public.zip").status_code == 400


def test_what_does_not_fit_is_told_and_not_kept(client, files, tmp_path):
    graph = {"id": "person", "class": "group", "answers": "label"}
    links = (files / "links.csv").read_bytes()
    for sent, facts, said in (
        (graph_files(files, links + b"p3,p3\n"), graph, "from a node to itself"),
        (graph_files(files, links + b"p3,p999\n"), graph, "1 edge to nodes that are not in"),
        (graph_files(files)[:1], graph, "choose the links and the people"),
        (graph_files(files), {**graph, "id": "who"}, "no column"),
        (graph_files(files), {**graph, "answers": "weights"}, "say what callers may see"),
        (graph_files(files), {**graph, "epsilons": "1; rm"}, "numbers, separated by commas"),
        ([*graph_files(files)[:1], ("people", ("p.pkl", b"x"))], graph, "this file comes as"),
    ):
        answer = opened(client, "graph", sent, **facts)
        assert answer.status_code == 400
        assert said in answer.text
        assert "p3" not in answer.text
        assert "p999" not in answer.text
    for sent, facts, said in (
        (tree_files(files)[:2], {"class": "ill"}, "the schema that all agreed on"),
        (tree_files(files), {"class": "well"}, "no column"),
        (tree_files(files), {"class": "ill", "thetas": "2"}, "theta"),
        ([*tree_files(files), ("holders", ("c.csv", b"age,ill\n3,no\n"))], {"class": "ill"}, "sex"),
    ):
        answer = opened(client, "holders", sent, **facts)
        assert answer.status_code == 400
        assert said in answer.text
    assert not list((tmp_path / "space" / "learnt").iterdir())
    assert client.get("/learnt/../../etc").status_code in (400, 404)


def test_the_same_file_of_two_holders_is_told(client, files):
    sent = [*tree_files(files, "a"), *tree_files(files, "a")[:1]]
    answer = opened(client, "holders", sent, **{"class": "ill"})
    shown = client.get(answer.headers["location"])
    assert shown.status_code == 400
    assert "have the same records" in shown.text


@pytest.mark.slow
def test_graphs_and_holders_in_a_browser(tmp_path, browsing, files):
    shots = Path(os.environ.get("DALENIUS_SHOTS", tmp_path))
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)
        page.click("text=Graphs and holders")
        faults = seen.faults()
        page.screenshot(path=str(shots / "learnt-start.png"), full_page=True)
        page.set_input_files("#links", files / "links.csv")
        page.set_input_files("#people", files / "people.csv")
        page.fill("#id", "person")
        page.fill("#graph-class", "group")
        page.fill("#links-limit", "0.5")
        page.click("#attack-graph")
        page.wait_for_selector("#map svg")
        assert page.locator("#choice tbody tr").count() == 2
        faults += seen.faults()
        page.screenshot(path=str(shots / "learnt-graph.png"), full_page=True)
        with page.expect_download() as got:
            page.click("#public")
        assert "release/public/service.json" in zipfile.ZipFile(got.value.path()).namelist()
        page.click("text=All graphs and holders")
        page.set_input_files("#holders", [files / "a.csv", files / "b.csv"])
        page.set_input_files("#schema", files / "schema.yaml")
        page.fill("#tree-class", "ill")
        page.click("#learn-tree")
        page.wait_for_selector("#map svg")
        assert page.locator("#choice tbody tr").count() == 4
        faults += seen.faults()
        page.screenshot(path=str(shots / "learnt-tree.png"), full_page=True)
        assert seen.fits()
    assert seen.noise == []
    assert faults == []
