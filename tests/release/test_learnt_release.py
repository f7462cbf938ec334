"""Plans whose candidates are services on a graph, or trees learnt together: judged, chosen, packed, verified."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import SchemaError
from dalenius.data import Column, Kind, Schema
from dalenius.models.graphs import block_graph
from dalenius.release import learnt_release, verify_pack
from dalenius.release.learnt_pack import write_learnt_pack
from dalenius.release.learnt_plan import is_learnt_plan, read_learnt_plan
from dalenius.release.learnt_release import run_learnt_plan

GRAPH = """title: Groups of a club
links: links.csv
people: people.csv
id: person
class: group
asked: 60
candidates:
  graph-service: {answers: {each: [logits, label]}, epochs: 30}
  private: {model: graph-service, graph_epsilon: 4, epochs: 10, most_connects: 6}
policy:
  - model-links <= 0.5
"""
TREE = """title: Who is ill
holders: [a.csv, b.csv]
schema: schema.yaml
class: ill
candidates:
  tree: {depth: {each: [1, 3]}, theta: 0.1}
policy:
  - model-smallest-leaf >= 10
  - model-local-epsilon <= 40
"""


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def graph_place(folder, text=GRAPH):
    graph = block_graph(120, 1, inside=0.08, between=0.01, features=12)
    names = np.array([f"p{i}" for i in range(120)])
    pl.DataFrame({"from": names[graph.edges[:, 0]], "to": names[graph.edges[:, 1]]}).write_csv(
        folder / "links.csv"
    )
    held = pl.DataFrame(graph.features, schema=[f"f{i}" for i in range(12)])
    people = held.with_columns(person=names, group=np.array(["x", "y"])[graph.labels])
    people.write_csv(folder / "people.csv")
    (folder / "plan.yaml").write_text(text)
    return folder / "plan.yaml"


def tree_place(folder, text=TREE):
    for i, name in enumerate("ab"):
        rng = np.random.default_rng(i)
        age, sex = rng.integers(20, 80, 400), rng.integers(0, 2, 400)
        ill = np.where(age + 10 * sex + rng.normal(0, 5, 400) > 60, "yes", "no")
        frame = pl.DataFrame({"age": age, "sex": np.array(["f", "m"])[sex], "ill": ill})
        frame.write_csv(folder / f"{name}.csv")
    Schema((
        Column("age", Kind.INTEGER, bounds=(0, 100)), Column("sex", Kind.CATEGORICAL, levels=("f", "m")),
        Column("ill", Kind.CATEGORICAL, levels=("no", "yes")),
    )).declare().to_yaml(folder / "schema.yaml")  # fmt: skip
    (folder / "plan.yaml").write_text(text)
    return folder / "plan.yaml"


@pytest.fixture(scope="module", params=["graph", "tree"])
def packed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    place = (graph_place if request.param == "graph" else tree_place)(folder)
    return request.param, folder, run("release", place)


def test_the_most_useful_that_keeps_every_limit_is_packed(packed):
    kind, folder, done = packed
    assert done.exit_code == 0, done.output
    chosen = json.loads((folder / "release/manifest.json").read_text())["chosen"]
    names = {p.name for p in (folder / "release/public").iterdir()}
    told = json.loads((folder / "release/internal/results.json").read_text())["candidates"]
    if kind == "graph":
        assert {n: held["safe"] for n, held in told.items()} == {
            "graph-service answers=logits": False, "graph-service answers=label": True, "private": True,
        }  # fmt: skip
        assert chosen == "graph-service answers=label"
        assert names == {"service.json", "model-card.md", "report.html", "checksums.txt"}
        assert "callers see label" in (folder / "release/public/model-card.md").read_text()
    else:
        assert chosen == "tree depth=3"
        assert told[chosen]["scores"]["holdout"] > told["tree depth=1"]["scores"]["holdout"]
        tree = json.loads((folder / "release/public/tree.json").read_text())
        assert tree["agreement"]["smallest"] == 10
        assert "No holder sent records" in (folder / "release/public/model-card.md").read_text()
    assert "<svg" in (folder / "release/internal/report.html").read_text()
    assert "not chosen" not in (folder / "release/public/report.html").read_text()


def test_nothing_of_the_other_candidates_and_no_weights_leave(packed):
    kind, folder, _ = packed
    whole = "".join(p.read_text() for p in (folder / "release/public").iterdir())
    assert ("logits" if kind == "graph" else "depth=1") not in whole
    assert "weights" not in whole
    assert "messages" not in whole


def test_a_pack_is_accepted_and_a_changed_one_is_not(packed, tmp_path):
    kind, folder, _ = packed
    place = tmp_path / "there"
    shutil.copytree(folder, place)
    assert verify_pack(place / "release", place / "plan.yaml").accepted
    for name in ("public/model-card.md", "internal/results.json"):
        held = (place / "release" / name).read_text()
        (place / "release" / name).write_text(held.replace("0.", "0.1", 1))
        assert not verify_pack(place / "release", place / "plan.yaml").accepted, name
        (place / "release" / name).write_text(held)
    source = place / ("people.csv" if kind == "graph" else "a.csv")
    source.write_text(source.read_text().replace("1", "2", 1))
    assert any("is not the file" in f for f in verify_pack(place / "release", place / "plan.yaml").faults)


def test_figures_that_are_rewritten_everywhere_are_found_by_learning_again(packed, tmp_path):
    """Whoever rewrites pack and checksums alike still cannot make the tree come out another."""
    _, folder, _ = packed
    place = tmp_path / "there"
    shutil.copytree(folder, place)
    body = json.loads((place / "release/manifest.json").read_text())
    path = place / "release/internal/results.json"
    told = json.loads(path.read_text())
    told["made"]["scores"]["holdout"] = 0.999
    path.write_text(json.dumps(told))
    from dalenius.release.learnt_pack import learnt_faults

    assert any("learnt again" in f for f in learnt_faults(place / "release", body, place / "plan.yaml"))


def test_what_was_made_is_not_made_again(packed, monkeypatch):
    _, folder, _ = packed
    plan = read_learnt_plan(folder / "plan.yaml")
    monkeypatch.setattr(learnt_release, "learn", lambda *given: pytest.fail("made again"))
    again = run_learnt_plan(plan)
    assert write_learnt_pack(again) == plan.output


def test_a_private_graph_says_what_every_release_costs(tmp_path):
    only = GRAPH.replace("  graph-service: {answers: {each: [logits, label]}, epochs: 30}\n", "")
    assert run("release", graph_place(tmp_path, only)).exit_code == 0
    card = " ".join((tmp_path / "release/public/model-card.md").read_text().split())
    assert "costs ε = 4.00 for one link" in card or "costs ε = 4 for one link" in card
    assert "32" in card  # 6 new people, one release to serve, one to fit
    seen = verify_pack(tmp_path / "release", tmp_path / "plan.yaml")
    assert seen.accepted, seen.faults


def test_nothing_is_released_where_no_limit_holds(tmp_path):
    strict = TREE.replace("model-local-epsilon <= 40", "model-local-epsilon <= 1")
    done = run("release", tree_place(tmp_path, strict))
    assert done.exit_code == 1
    assert "No model keeps every limit" in done.output
    assert not (tmp_path / "release").exists()


def test_without_changes_at_random_no_limit_on_epsilon_is_met(tmp_path):
    done = run("release", tree_place(tmp_path, TREE.replace("theta: 0.1", "theta: 0")))
    assert done.exit_code == 1


def test_one_file_is_dealt_out(tmp_path):
    dealt = TREE.replace("holders: [a.csv, b.csv]", "holders: a.csv\ndeal: 4").replace("<= 40", "<= 60")
    assert run("release", tree_place(tmp_path, dealt)).exit_code == 0
    messages = json.loads((tmp_path / "release/internal/messages.json").read_text())
    assert len(messages["messages"]) == 4


@pytest.mark.parametrize(("text", "words"), [
    (TREE.replace("class: ill\n", ""), "no class: name the column"),
    (TREE.replace("depth: {each: [1, 3]}", "depth: 0"), "depth is 0; use a whole number, 1 or more"),
    (TREE.replace("theta: 0.1", "theta: 1"), "theta is 1"),
    (TREE.replace("[a.csv, b.csv]", "[a.csv, c.csv]"), "holder c.csv does not exist"),
    (TREE.replace("  tree:", "  oak:"), "unknown candidate 'oak'; in this plan there is tree"),
    (TREE + "links_too: x\n", "unknown entry 'links_too' in a plan of trees"),
    (TREE.replace("model-smallest-leaf >= 10", "dcr <= 1"), "dcr is not found for trees; there are"),
    (TREE.replace("schema: schema.yaml\n", ""), "no schema: name the file"),
    (TREE + "deal: 3\n", "deal takes one file"),
])  # fmt: skip
def test_plans_that_cannot_be(tmp_path, text, words):
    place = tree_place(tmp_path, text)
    assert is_learnt_plan(place)
    with pytest.raises(SchemaError, match=words):
        read_learnt_plan(place)
    assert not (tmp_path / "release").exists()


def test_options_of_the_command_that_are_not_for_it(packed):
    assert "not for plans of services and trees" in run("release", packed[1] / "plan.yaml", "--check").output
