"""Links read off a graph service: the worked example, what cannot change, attacks in order, defences, bad input."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.dp import Budget
from dalenius.models.graphs import (
    STRATEGIES,
    Graph,
    GraphNetwork,
    GraphService,
    Noise,
    block_graph,
    found_links,
    inject,
    link_audit,
    link_teller,
    read_graph,
    similar_nodes,
    train_network,
)
from dalenius.models.graphs.links import LinkScores

TOY = Graph.of([(0, 1), (1, 2), (2, 3)], [[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]])
WEIGHTS = (np.array([[1, -1], [0.5, 1]]), np.eye(2))
# Zari et al. 2024, worked through by hand: how far the scores of nodes 0 to 4 move when a node joins at node 1.
MOVED = {
    ("rw", 1): [0.0625, 0.149306, 0.041667, 0, 0],
    ("rw", 0): [0.125, 0.381944, 0.083333, 0, 0],
    ("sym", 1): [0.057281, 0.333972, 0.050492, 0.009116, 0],
    ("sym", 0): [0.130219, 0.313776, 0.102602, 0.009116, 0],
    ("first_order", 1): [0.063710, 1.572283, 0.045050, 0.032439, 0],
    ("first_order", 0): [0.510110, 1.085948, 0.360702, 0.032439, 0],
}


def toy(norm: str) -> GraphNetwork:
    return GraphNetwork(WEIGHTS, (np.zeros(2), np.zeros(2)), norm)


@pytest.mark.parametrize(("norm", "value"), MOVED)
def test_the_worked_example(norm, value):
    service = GraphService(toy(norm), TOY)
    before = service.predict(range(5))
    service.connect(np.full(2, value), 1)
    moved = np.abs(service.predict(range(5)) - before).sum(axis=1)
    assert moved == pytest.approx(MOVED[norm, value], abs=5e-7)


def test_clean_scores_of_the_worked_example():
    assert toy("rw").scores(TOY) == pytest.approx(
        np.array([[0.875, 0], [1.027778, 0], [1.361111, 0], [1.541667, 0], [1, 2]]), abs=5e-7
    )
    assert toy("first_order").scores(TOY) == pytest.approx(
        np.array([[2.737437, 0.207107], [4.496320, 0.292893], [6.306981, 0.146447], [5.298097, 0], [1, 2]]),
        abs=5e-7,
    )


@given(st.integers(0, 10_000), st.sampled_from(["rw", "sym", "first_order"]), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_only_nearby_nodes_change_and_exactly_as_in_a_full_pass(seed, norm, layers):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    graph = Graph.of(pairs[rng.random(len(pairs)) < 2 / n], rng.normal(size=(n, 3)))
    sizes = [3, *[4] * (layers - 1), 2]
    network = GraphNetwork(
        tuple(rng.normal(size=(a, b)) for a, b in pairwise(sizes)),
        tuple(rng.normal(size=b) for b in sizes[1:]), norm, rng.normal(size=3), rng.uniform(0.5, 2, 3),
    )  # fmt: skip
    target, row = int(rng.integers(n)), rng.normal(size=3)
    service = GraphService(network, graph)
    before = service.predict(range(n))
    service.connect(row, target)
    after = service.predict(range(n))
    assert after == pytest.approx(network.scores(graph.with_node(row, target))[:n], abs=1e-10)
    steps = np.full(n, np.inf)
    steps[target], front = 0, [target]
    while front:
        near = [int(m) for k in front for m in graph.neighbours(k) if np.isinf(steps[m])]
        for m in near:
            steps[m] = min(steps[front].min() + 1, steps[m])
        front = sorted(set(near))
    still = steps > (layers - 1 if norm == "rw" else layers)
    assert (after[still] == before[still]).all()
    changed = service.probe(row, target, range(n))
    features = graph.features.copy()
    features[target] = row
    assert changed == pytest.approx(network.scores(Graph(graph.edges, features)), abs=1e-10)


@pytest.fixture(scope="module")
def blocks():
    graph = block_graph(400, 3)
    return graph, train_network(graph, epochs=60, seed=1)


def test_averaging_with_two_layers_gives_every_link_away(blocks):
    graph, _ = blocks
    service = GraphService(train_network(graph, norm="rw", epochs=20, seed=1), graph)
    for strategy in STRATEGIES:
        assert found_links(inject(service, np.arange(120), strategy), graph, threshold="oracle").f1 == 1.0


def test_shapes_of_the_paper(blocks):
    graph, network = blocks
    ids = np.arange(0, 400, 3)
    f1 = {
        s: found_links(inject(GraphService(network, graph), ids, s), graph, threshold="oracle").f1
        for s in STRATEGIES
    }
    assert min(f1["max_attr"], f1["all_ones"]) > max(f1["identity"], f1["all_zeros"])
    teller = found_links(link_teller(GraphService(network, graph), ids), graph, threshold="oracle").f1
    assert f1["max_attr"] > teller
    alike = found_links(similar_nodes(GraphService(network, graph), ids), graph, threshold="oracle").f1
    assert teller > alike
    deep = train_network(graph, layers=3, epochs=60, seed=1)
    assert found_links(inject(GraphService(deep, graph), ids), graph, threshold="oracle").f1 < f1["max_attr"]


def test_coarser_answers_give_less_away(blocks):
    graph, network = blocks
    f1 = [
        link_audit(
            GraphService(network, graph, output=o, decimals=1), people=120, attacks=["max_attr"]
        ).result.value
        for o in ("logits", "softmax", "rounded", "label")
    ]
    assert f1[0] >= f1[1] >= f1[2] >= f1[3]
    assert f1[0] > 0.9
    assert f1[3] < 0.5


def test_noise_on_the_graph_hides_links_and_is_paid_for_at_every_change(blocks):
    graph, network = blocks
    audit = link_audit(GraphService(network, graph, defence=Noise(1.0), budget=Budget(1000.0)), people=40)
    assert audit.result.value < 0.2
    assert "41 times" in audit.result.sentence
    assert "ε = 41 in all" in audit.result.sentence


def test_a_budget_that_is_used_up_refuses_and_changes_nothing(blocks):
    graph, network = blocks
    service = GraphService(network, graph, defence=Noise(1.0), budget=Budget(2.0))
    service.connect(graph.row(0), 1)
    before, spent = service.predict([1, 2]), service.budget.spent
    with pytest.raises(OptionError, match="budget"):
        service.connect(graph.row(0), 2)
    assert service.budget.spent == spent == 2.0
    assert (service.predict([1, 2]) == before).all()
    assert (service.connects, service.releases) == (1, 2)


def test_limits_and_delays(blocks):
    graph, network = blocks
    ids = np.arange(60)
    limited = GraphService(network, graph, most_connects=3)
    with pytest.raises(OptionError, match="3 new nodes"):
        inject(limited, ids)
    waiting = GraphService(network, graph, delay=2)
    assert not inject(waiting, ids).scores.any()  # who does not wait sees nothing
    assert found_links(inject(waiting, ids, patient=True), graph, threshold="oracle").f1 > 0.9


def test_lines_that_an_attacker_can_draw():
    graph = Graph.of([(0, 1), (0, 2)], np.zeros((5, 1)))
    scores = LinkScores("made up", np.array([0]), np.arange(5), np.array([[9.0, 4.0, 2.0, 3.0, 0.0]]))
    dense = found_links(scores, graph)
    assert (dense.precision, dense.recall) == (0.5, 0.5)  # two called: nodes 1 and 3
    best = found_links(scores, graph, threshold="oracle")
    assert (best.recall, best.f1) == (1.0, pytest.approx(0.8))
    wide = found_links(scores, graph, guess=2.0)
    assert wide.by_target["called"].to_list() == [3]  # a score of nothing is no sign
    assert dense.chance == pytest.approx(2 * 0.5 * 2 / 4)


def test_people_without_links_say_nothing(blocks):
    _, network = blocks
    lonely = Graph.of(np.zeros((0, 2), int), block_graph(50, 1).features)
    audit = link_audit(GraphService(network, lonely), people=20, attacks=["all_ones"])
    assert np.isnan(audit.result.value)
    assert not audit.result.trusted


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Graph.of([(0, 1), (1, 1)], np.zeros((2, 1)), strict=True), "to itself"),
        (lambda: Graph.of([(0, 5)], np.zeros((2, 1))), "outside 0 to 1"),
        (lambda: Graph.of([(0, 1)], [[np.nan], [1]]), "missing or infinite"),
        (lambda: Graph.of([(0, 1)], np.zeros((2, 1)), [0]), "one for each of 2"),
        (lambda: GraphService(toy("rw"), TOY).connect([1.0], 0), "2 features, not 1"),
        (lambda: GraphService(toy("rw"), TOY).connect([1.0, np.inf], 0), "missing or infinite"),
        (lambda: GraphService(toy("rw"), TOY).connect([1.0, 1.0], 9), "no node 9"),
        (lambda: GraphService(toy("rw"), TOY, output="words"), "unknown output"),
        (lambda: GraphNetwork(WEIGHTS, (np.zeros(2),), "rw"), "one bias"),
        (lambda: toy("mean"), "unknown norm"),
        (lambda: inject(GraphService(toy("rw"), TOY), [0, 1], "nobody"), "unknown strategy"),
        (lambda: train_network(TOY), "a class for every node"),
        (lambda: GraphService(toy("rw"), Graph.of([(0, 1)], np.zeros((2, 3)))), "fitted on 2"),
    ],
)
def test_bad_input_names_what_to_do(call, words):
    with pytest.raises((DataError, OptionError), match=words):
        call()


def test_loops_and_doubles_are_noted():
    with pytest.warns(UserWarning, match="itself left out"):
        graph = Graph.of([(0, 1), (0, 1), (1, 1)], np.zeros((2, 1)))
    assert len(graph.edges) == 1
    assert len(graph.notes) == 2
    with pytest.warns(UserWarning, match="1 edge given in both directions and others in one"):
        assert len(Graph.of([(0, 1), (1, 0), (1, 2)], np.zeros((3, 1))).edges) == 2
    assert Graph.of([(0, 1), (1, 0), (1, 2), (2, 1)], np.zeros((3, 1)), strict=True).notes == ()


LINKS = "from,to\n" + "\n".join(f"p{i},p{i + 1}" for i in range(20)) + "\n"
PEOPLE = "person,group,f\n" + "\n".join(f"p{i},{'ab'[i % 2]},{i % 3}" for i in range(22)) + "\n"
PLAN = """links: links.csv
people: people.csv
id: person
class: group
asked: 5
candidates: {graph-service: {epochs: 2}}
"""
UNFIT = [
    (LINKS + "p7,p7\n", PEOPLE, ("'from', 'to'", "1 edge from a node to itself", "leave them out")),
    (LINKS + "p1,p0\n", PEOPLE, ("'from', 'to'", "both directions", "give each edge once")),
    (LINKS + "p0,p1\n", PEOPLE, ("'from', 'to'", "named more than once", "name each edge once")),
    (LINKS, PEOPLE + "p3,a,1\n", ("'person'", "more than once", "keep one row for each")),
    (LINKS, PEOPLE + ",a,1\n", ("'person'", "without an identifier", "give them one")),
]


@pytest.mark.parametrize(("links", "people", "words"), UNFIT)
def test_a_file_that_is_no_simple_graph_is_refused_at_every_door(tmp_path, links, people, words):
    (tmp_path / "links.csv").write_text(links)
    (tmp_path / "people.csv").write_text(people)
    (tmp_path / "plan.yaml").write_text(PLAN)
    with pytest.raises(DataError) as fault:
        read_graph(tmp_path / "links.csv", tmp_path / "people.csv", identifier="person", label="group")
    typed = run(tmp_path / "links.csv", tmp_path / "people.csv", "--id", "person", "--class", "group")
    planned = CliRunner().invoke(app, ["release", str(tmp_path / "plan.yaml")])
    assert [typed.exit_code, planned.exit_code] == [2, 2]
    for told in (str(fault.value), typed.output, planned.output):
        flat = " ".join(told.split())
        assert all(word in flat for word in words), flat
        assert "p3" not in flat
        assert "p7" not in flat
    assert not (tmp_path / "release").exists()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    graph = block_graph(200, 1)
    pl.DataFrame(graph.edges, schema=["from", "to"]).write_csv(folder / "links.csv")
    wide = pl.DataFrame(graph.features, schema=[f"f{i}" for i in range(graph.width)])
    people = pl.DataFrame({"person": np.arange(200), "group": np.where(graph.labels == 1, "ill", "well")})
    pl.concat([people, wide], how="horizontal").write_csv(folder / "people.csv")
    return folder


def run(*words: object):
    return CliRunner().invoke(app, ["models", "graph", *map(str, words)])


def test_the_command(files):
    common = (files / "links.csv", files / "people.csv", "--id", "person", "--class", "group", "--asked", 60)
    done = run(*common, "--must", "model-links <= 0.2", "--chart", files / "links.svg")
    assert done.exit_code == 1, done.output
    text = " ".join(done.output.split())
    assert "an attacker finds" in text
    assert "classified rightly" in text
    assert "<svg" in (files / "links.svg").read_text()
    told = json.loads(run(*common, "--answers", "label", "--json", "-q").output)
    assert told["figures"]["model-links"]["value"] < 0.5


def test_the_command_with_a_private_graph(files):
    done = run(
        files / "links.csv", files / "people.csv", "--id", "person", "--class", "group", "--asked", 20,
        "--graph-epsilon", 1, "--must", "model-links <= 0.5",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    # twenty people asked about: a release each, one to serve, and one to fit the model on the same graph
    assert "ε = 22 in all" in " ".join(done.output.split())


def test_a_service_that_limits_new_nodes_is_attacked_as_far_as_it_lets(blocks):
    graph, network = blocks
    service = GraphService(network, graph, most_connects=5)
    seen = link_audit(service, people=60, attacks=["max_attr", "all_ones"])
    assert seen.result.values["people"] == 60
    assert service.connects == 0  # what was tried does not use up the service's own limit
    closed = link_audit(GraphService(network, graph, most_connects=0), people=60)
    assert not any("new node" in name for name in closed.table["attack"])


def test_the_command_names_what_is_wrong(files):
    done = run(files / "links.csv", files / "people.csv", "--id", "who", "--class", "group")
    assert done.exit_code == 2
    assert "no column who" in done.output.replace("'", "")
    bad = files / "bad.csv"
    bad.write_text("from,to\n1,9999\n")
    done = run(bad, files / "people.csv", "--id", "person", "--class", "group")
    assert done.exit_code == 2
    assert "1 edge to nodes that are not in people.csv" in " ".join(done.output.split())
    assert "9999" not in done.output


def test_people_with_few_or_many_links_are_asked_about():
    graph = block_graph(300, 1)
    network = train_network(graph, epochs=20, seed=1)
    middle = int(np.median(graph.degrees))
    for within in ({"most": middle}, {"fewest": middle + 1}):
        found = link_audit(GraphService(network, graph), people=40, attacks=["max_attr"], **within)
        assert found.result.values["people"] == 40
        low, high = within.get("fewest", 0), within.get("most", graph.nodes)
        held = np.flatnonzero((graph.degrees >= low) & (graph.degrees <= high))
        asked = link_audit(
            GraphService(network, graph), people=len(held) + 50, attacks=["max_attr"], **within
        )
        assert asked.result.values["people"] == len(held)
    with pytest.raises(OptionError, match="people have so many links"):
        link_audit(GraphService(network, graph), fewest=10_000)


@pytest.mark.parametrize(("links", "group", "words"), [
    ([], ["a", "b", "a"], "links.csv has no edges"),
    ([("1", "2")], ["a", "a", "a"], "column 'group' of people.csv has one class"),
])  # fmt: skip
def test_files_in_which_there_is_nothing_to_find_are_refused(tmp_path, links, group, words):
    pl.DataFrame(
        links or {"a": [], "b": []},
        schema={"a": pl.String, "b": pl.String},
        orient=None if not links else "row",
    ).write_csv(tmp_path / "links.csv")
    pl.DataFrame({"person": ["1", "2", "3"], "group": group, "x": [1, 0, 1]}).write_csv(
        tmp_path / "people.csv"
    )
    with pytest.raises(DataError, match=words):
        read_graph(tmp_path / "links.csv", tmp_path / "people.csv", identifier="person", label="group")
