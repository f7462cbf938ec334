"""Trees learnt together: bins, ends found in secret, merging that votes like all, messages that tell no records."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import reduce

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.data import Column, Kind, Schema
from dalenius.dp import ledger_path, open_ledger
from dalenius.dp.doubling import sum_within
from dalenius.models.federated import (
    Agreement,
    Attribute,
    EqualWidth,
    Leaf,
    Node,
    PlainSum,
    SharedSum,
    client_message,
    ends_message,
    ends_of,
    federate,
    freedman_diaconis_bins,
    kth_ranked,
    label_skew_partition,
    merge,
    merge_messages,
    predict,
    two_party_median,
)
from dalenius.models.federated.bounds import PRIME, _Party
from dalenius.models.federated.trees import from_json, leaves, to_json

AGREED = Agreement(
    (Attribute("age", (0, 100)), Attribute("pay", (0, 50)), Attribute("sex", levels=("f", "m"))),
    "ill", ("no", "yes"), depth=3, theta=0.2,
)  # fmt: skip


def people(rows: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 100, rows), rng.choice(["f", "m"], rows)
    ill = (age > 60) ^ (rng.random(rows) < 0.1)
    return {
        "age": age,
        "pay": rng.gamma(2, 5, rows).clip(0, 50),
        "sex": sex,
        "ill": np.where(ill, "yes", "no"),
    }


def test_the_worked_merge():
    """Kwatra and Torra 2024: two trees on x0 cut at 2 and 4, one on x1 cut at 1."""
    one, two = (Node(0, (float(cut),), (Leaf(0), Leaf(1))) for cut in (2, 4))
    merged = merge([one, two, Node(1, (1.0,), (Leaf(0), Leaf(1)))])
    assert merged == Node(0, (2.0, 4.0), (Leaf(0), Node(1, (1.0,), (Leaf(0), Leaf(1))), Leaf(1)))
    assert len(leaves(merged)) == 4


@st.composite
def trees(draw, deep=0):
    if deep == 4 or draw(st.booleans()):
        return Leaf(draw(st.integers(0, 2)))
    cuts = sorted(draw(st.sets(st.integers(-3, 3), min_size=1, max_size=2)))
    return Node(
        draw(st.integers(0, 2)),
        tuple(map(float, cuts)),
        tuple(draw(trees(deep + 1)) for _ in range(len(cuts) + 1)),
    )


@given(st.lists(trees(), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_the_merged_tree_votes_like_all_trees(held):
    grid = np.array(np.meshgrid(*[np.arange(-4, 4.5, 0.5)] * 3)).reshape(3, -1).T
    votes = np.stack([predict(tree, grid) for tree in held])
    counts = np.stack([(votes == label).sum(axis=0) for label in range(3)])
    assert (predict(merge(held), grid) == counts.argmax(axis=0)).all()


@given(trees())
@settings(max_examples=50, deadline=None)
def test_trees_go_through_json(tree):
    assert from_json(json.loads(json.dumps(to_json(tree))), 3, 3) == tree


@pytest.mark.parametrize(
    "message",
    [
        {"label": 7}, {"label": -1}, {"label": True}, {"label": "0"}, {}, [],
        {"column": 9, "cuts": [1], "branches": []},
        {"column": 0, "cuts": [2, 1], "branches": [{"label": 0}] * 3},
        {"column": 0, "cuts": [float("nan")], "branches": [{"label": 0}] * 2},
        {"column": 0, "cuts": ["1"], "branches": [{"label": 0}] * 2},
        {"column": 0, "cuts": [1], "branches": [{"label": 0}]},
        {"label": 0, "counts": [1]}, {"label": 0, "counts": [1, -2]},
    ],
)  # fmt: skip
def test_messages_are_read_with_suspicion(message):
    with pytest.raises(DataError, match="message 1"):
        merge_messages([json.dumps({"tree": message, "epsilon": {}, "changed": {}})], AGREED)


@pytest.fixture(scope="module")
def sent():
    return client_message(people(200, 3), AGREED, seed=1)


LEAVES = [{"label": 0}, {"label": 1}]
WRONG = {
    "more": {"records": [[31, "f", 2500]] * 50},
    "more in a leaf": {"tree": {"label": 0, "who": "P7"}},
    "deep": {"tree": reduce(lambda below, at: {"column": 0, "cuts": [at], "branches": [LEAVES[0], below]},
        (4.0, 3.0, 2.0, 1.0), LEAVES[1])},
    "a few": {"tree": {"label": 0, "counts": [9, 0]}},
    "outside": {"tree": {"column": 0, "cuts": [1e9], "branches": LEAVES}},
    "endless": {"tree": {"column": 0, "cuts": [10**400], "branches": LEAVES}},
    "no edge": {"tree": {"column": 2, "cuts": [0.4], "branches": LEAVES}},
    "below nothing": {"epsilon": -50.0},
    "a text": {"epsilon": "0.1"},
    "no number": {"epsilon": float("nan")},
    "free": {"epsilon": None},
    "left out": {"epsilon": {}},
    "huge": {"number": 2**60},
}  # fmt: skip


@pytest.mark.parametrize("why", WRONG)
def test_a_message_that_breaks_the_agreement_is_refused(sent, why):
    merge_messages([json.dumps(sent)], AGREED)
    change = dict(WRONG[why])
    if "epsilon" in change and not isinstance(change["epsilon"], dict):
        change["epsilon"] = {**sent["epsilon"], AGREED.attributes[0].name: change["epsilon"]}
    with pytest.raises(DataError, match="message 1"):
        merge_messages([json.dumps({**sent, **change})], AGREED)


def test_the_same_message_in_another_order_votes_once(sent):
    turned = json.dumps({key: sent[key] for key in reversed(sent)}, indent=1)
    with pytest.raises(DataError, match="nobody votes twice"):
        merge_messages([json.dumps(sent), turned], AGREED)


def test_holders_who_are_named_vote_once_each(sent):
    agreed = replace(AGREED, holders=("north", "south"))
    north, again = (
        json.dumps(client_message(people(200, 3), agreed, seed=s, holder="north")) for s in (1, 2)
    )
    south = json.dumps(client_message(people(200, 4), agreed, seed=1, holder="south"))
    merge_messages([north, south], agreed)
    for messages, words in (
        ([north, again], "more than one message is of 'north'"),
        ([json.dumps(sent)], "none of the"),
    ):
        with pytest.raises(DataError, match=words):
            merge_messages(messages, agreed)
    with pytest.raises(OptionError, match="name the holder"):
        client_message(people(200, 3), agreed)


def test_no_file_that_is_read_is_written_over(files):
    run("agree", files / "schema.yaml", "--class", "ill", "-o", files / "mine.json")
    held = (files / "mine.json").read_bytes()
    done = run("client", files / "h1.csv", files / "mine.json", "-o", files / "mine.json")
    assert done.exit_code == 2
    assert (files / "mine.json").read_bytes() == held


def test_a_message_that_nests_for_ever_is_refused():
    deep = {"label": 0}
    for _ in range(200):
        deep = {"column": 0, "cuts": [1.0], "branches": [{"label": 0}, deep]}
    with pytest.raises(DataError, match="message 1"):
        merge_messages([json.dumps({"tree": deep, "epsilon": {}, "changed": {}})], AGREED)


def test_a_tree_that_grows_too_large_is_given_up():
    rng = np.random.default_rng(1)

    def grown(deep):
        if deep == 0:
            return Leaf(int(rng.integers(0, 2)))
        return Node(int(rng.integers(0, 8)), (float(rng.normal()),), (grown(deep - 1), grown(deep - 1)))

    with pytest.raises(OptionError, match="shallower"):
        merge([grown(6) for _ in range(9)], most=2000)


def test_counting_people_needs_counts():
    with pytest.raises(DataError, match="small ones are never sent"):
        merge([Leaf(0)], vote="count")
    merged = merge([Leaf(0, (9, 1)), Leaf(1, (0, 50))], vote="count")
    assert merged == Leaf(1, (9, 51))


def test_two_parties_find_their_median():
    assert two_party_median([1, 4, 6, 7], [2, 3, 5, 8]) == (4.0, [(4.0, 3.0), (1.0, 5.0)])


@given(st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=6), min_size=1, max_size=4), st.data())
@settings(max_examples=100, deadline=None)
def test_ranks_are_found_by_counts_alone(parties, data):
    whole = sorted(x for party in parties for x in party)
    k = data.draw(st.integers(1, len(whole)))
    for way in (PlainSum(), SharedSum()):
        assert kth_ranked(parties, k, (-20, 20), secure_sum=way) == whole[k - 1]


def test_shares_tell_nothing_of_the_numbers():
    firsts = []
    for _ in range(2000):
        way = SharedSum()
        assert way.total([5, 900]) == 905
        firsts.append(way.seen[0][1] / PRIME)  # what the first party sees of the second's number
    assert abs(np.mean(firsts) - 0.5) < 0.04
    assert abs(np.std(firsts) - np.sqrt(1 / 12)) < 0.02


def test_a_party_that_contradicts_itself_ends_the_run():
    class Liar(_Party):
        def answer(self, pivot):
            return (5, 0) if pivot < 60 else (0, 5)

    with pytest.raises(DataError, match="party 1 contradicts"):
        kth_ranked([Liar(np.arange(5.0), 0), np.arange(50, 55)], 8, (0, 100))


def test_ranks_off_the_grid_are_an_error():
    with pytest.raises(DataError, match="finer step"):
        kth_ranked([[0.5]], 1, (0, 10))
    with pytest.raises(OptionError, match="between 1 and the 1"):
        kth_ranked([[0.5]], 2, (0, 10))


@given(
    st.floats(-50, 50),
    st.floats(0.1, 50),
    st.integers(1, 20),
    st.lists(st.floats(-99, 99), min_size=1, max_size=9),
)
def test_a_cut_in_units_parts_people_as_the_code_does(low, width, bins, values):
    scale = EqualWidth(low, low + width, bins)
    held = np.array([*values, np.nan, low, low + width])
    codes = scale.codes(held)
    beyond = np.where(np.isnan(held), np.inf, held)
    for code in range(bins):
        same = (beyond < scale.cut(code)) == (codes <= code)
        near = np.abs(held - min(scale.cut(code), 1e9)) < 1e-9 * (
            abs(low) + width
        )  # a number on the edge itself
        assert (same | near).all()
    assert scale.outside(held) == int(((held < low) | (held > low + width)).sum())


def test_numbers_of_bins():
    assert freedman_diaconis_bins(np.arange(1000.0)) == 10
    assert freedman_diaconis_bins(np.full(5, 3.0)) == 1
    whole = np.repeat([38, 39, 40, 41, 99], [10, 400, 500, 400, 1])
    assert freedman_diaconis_bins(whole) == 5  # never more bins than different numbers
    assert freedman_diaconis_bins(whole, cap_distinct=False) > 50
    with pytest.warns(UserWarning, match="Sturges"):
        freedman_diaconis_bins(np.repeat([0, 1, 2], [900, 50, 50]))


def test_a_round_of_three_holders():
    done = federate([people(500, s) for s in (1, 2, 3)], AGREED, seed=1)
    assert done.scores["accuracy"].mean() > 0.85  # one in ten classes is noise
    assert done.total == pytest.approx(done.epsilon["ε"].sum())
    assert "means nothing" in done.sentence
    plain = federate(
        [people(500, s) for s in (1, 2, 3)], Agreement(AGREED.attributes, "ill", ("no", "yes"), theta=0.0)
    )
    assert "no ε" in plain.sentence


def test_the_same_seed_gives_the_same_messages_and_another_does_not():
    first, again, other = (client_message(people(500, 1), AGREED, seed=s) for s in (1, 1, 2))
    assert first == again
    strong = Agreement(AGREED.attributes, "ill", ("no", "yes"), theta=0.9, protect_label=True)
    assert client_message(people(500, 1), strong, seed=1) != client_message(people(500, 1), strong, seed=2)
    assert "ill" in client_message(people(500, 1), strong, seed=1)["epsilon"]
    assert other["epsilon"] == first["epsilon"]


def test_a_known_seed_does_not_tell_what_was_changed(monkeypatch):
    """Files that differ in one record only have other changes all over: draws follow from the records too."""
    from dalenius.models.federated import client

    drawn, real = [], client.moved
    monkeypatch.setattr(client, "moved", lambda *given: drawn.append(real(*given)) or drawn[-1])
    agreed = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"), depth=1, theta=0.5)
    age = np.repeat([10, 30, 50, 70], 100)
    for first in (10, 30):
        own = np.concatenate([[first], age[1:]])
        client_message({"age": own, "ill": np.where(own < 40, "no", "yes")}, agreed, bins=10, seed=0)
    assert (drawn[0][1:] != drawn[1][1:]).sum() > 40


def test_a_message_tells_no_small_count_and_no_value_of_a_person():
    data = people(400, 1)
    data["pay"][7] = 48.123456
    message = json.dumps(client_message(data, AGREED, seed=1))
    assert "48.12" not in message
    for leaf in leaves(from_json(json.loads(message)["tree"], 3, 2)):
        assert leaf.counts is None or all(n == 0 or n >= AGREED.smallest for n in leaf.counts)


def test_cuts_are_edges_of_bins_never_values():
    data = people(600, 4)
    data["age"] = data["age"] + 0.123
    message = client_message(data, AGREED, bins=20, seed=1)
    tree = from_json(message["tree"], 3, 2)

    def cuts(node):
        if isinstance(node, Leaf):
            return []
        return [(node.column, c) for c in node.cuts] + [x for b in node.branches for x in cuts(b)]

    for column, cut in cuts(tree):
        if column == 0 and np.isfinite(cut):
            assert cut % 5 == pytest.approx(0)


@pytest.mark.parametrize("alpha", [None, 0.3])
def test_people_are_dealt_out_whole(alpha):
    labels = np.repeat([0, 1, 2], [300, 150, 50])
    parts = label_skew_partition(labels, 7, alpha=alpha, sizes=[200, 100, 60, 60, 40, 30, 10], seed=3)
    assert [len(p) for p in parts] == [200, 100, 60, 60, 40, 30, 10]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(500))
    shares = np.array([(labels[p] == 0).mean() for p in parts])
    assert shares.std() < 0.03 if alpha is None else shares.std() > 0.1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Agreement((), "y", ("a", "b")), "a column to ask"),
        (lambda: Agreement(AGREED.attributes, "ill", ("no", "yes"), theta=1.0), "theta"),
        (lambda: client_message({"age": [1] * 30}, AGREED), "'pay', 'sex'"),
        (lambda: client_message(people(5, 1), AGREED), "at least 20 records"),
        (
            lambda: client_message({**people(50, 1), "sex": ["x"] * 50}, AGREED),
            "1 of its levels are not agreed on",
        ),
        (lambda: client_message({**people(50, 1), "age": ["old"] * 50}, AGREED), "agreed to be a number"),
        (
            lambda: client_message({**people(50, 1), "ill": [None] * 25 + ["no"] * 25}, AGREED),
            "25 rows have no class",
        ),
        (lambda: EqualWidth(0, 1, 0), "1 or more"),
        (lambda: EqualWidth(0, np.inf, 2), "finite ends"),
        (lambda: federate([], AGREED), "no holder"),
        (lambda: label_skew_partition([0, 1], 3), "3 holders"),
        (lambda: Agreement.from_json({"attributes": 3}), "no agreement"),
    ],
)
def test_bad_input_names_what_to_do(call, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((DataError, OptionError), match=words):
            call()


def test_a_schema_that_does_not_declare_is_refused_with_everything_it_lacks():
    schema = Schema(
        (Column("age", Kind.INTEGER), Column("sex", Kind.CATEGORICAL), Column("ill", Kind.CATEGORICAL))
    )
    with pytest.raises(DataError, match=r"'age' needs bounds; 'sex' needs levels; .*'ill'"):
        Agreement.of(schema.declare(), "ill")


def test_what_was_read_off_a_file_is_not_agreed_on():
    schema = Schema.infer(people(200, 1))
    with pytest.raises(DataError, match="'age' is not declared, what stands there was read off a file"):
        Agreement.of(schema, "ill")


def test_private_ends_hold_the_numbers_and_are_nobodys():
    rng = np.random.default_rng(1)
    holders = [{"age": rng.integers(20, 80, 400), "debt": rng.normal(0, 500, 400)} for _ in range(5)]
    holders[0]["debt"][0] = 1e9  # one person far out moves nothing
    messages = [json.loads(json.dumps(ends_message(h, ["age", "debt"], epsilon=2.0))) for h in holders]
    found = ends_of(messages, ["age", "debt"])
    assert found["age"][0] in (16.0, 32.0)
    assert found["age"][1] == 128.0
    assert -4096 <= found["debt"][0] <= -512
    assert 512 <= found["debt"][1] <= 4096
    with pytest.raises(DataError, match=r"'age'.*too little ε"):
        ends_of([ends_message({"age": np.arange(30.0, 60.0, 1.5)}, ["age"], epsilon=0.1)], ["age"])
    for broken in (
        [{"counts": {"age": [1]}, "scale": 1.0}],
        [{"scale": 1.0}],
        [{"counts": {"age": ["x"]}, "scale": 2}],
    ):
        with pytest.raises(DataError, match="cannot be read"):
            ends_of(broken, ["age"])


def test_noise_of_sums_stays_within_what_is_said():
    rng = np.random.default_rng(1)
    for parties in (1, 5, 40):
        noise = np.abs(rng.laplace(0, 3.0, (20_000, parties)).sum(axis=1))
        assert np.mean(noise <= sum_within(3.0, parties, 0.95) + 1) >= 0.95


def test_private_ends_from_the_command_line(tmp_path):
    for i in range(3):
        pl.DataFrame(people(400, i)).write_csv(tmp_path / f"{i}.csv")
    held = Schema.infer(people(400, 0))
    columns = [replace(c, bounds=None) if c.kind.is_number else c for c in held]
    Schema(tuple(columns)).declare().to_yaml(tmp_path / "schema.yaml")
    words = ["agree", tmp_path / "schema.yaml", "--class", "ill", "-o", tmp_path / "agreed.json"]
    assert "needs bounds" in run(*words).output
    open_ledger(ledger_path(tmp_path / "0.csv"), 1.0)
    for i in range(3):
        done = run(
            "ends", tmp_path / f"{i}.csv", tmp_path / "schema.yaml", "-e", "1", "-o", tmp_path / f"e{i}.json"
        )
        assert done.exit_code == 0, done.output
    again = run("ends", tmp_path / "0.csv", tmp_path / "schema.yaml", "-e", "1", "-o", tmp_path / "more.json")
    assert again.exit_code != 0  # the ledger is empty
    assert not (tmp_path / "more.json").exists()
    done = run(*words, *(part for i in range(3) for part in ("--ends", tmp_path / f"e{i}.json")))
    assert done.exit_code == 0, done.output
    agreed = Agreement.from_json(json.loads((tmp_path / "agreed.json").read_text()))
    assert all(
        np.log2(abs(end)) % 1 == 0 for a in agreed.attributes if a.is_number for end in a.bounds if end
    )


def test_one_class_only_is_a_leaf():
    data = people(100, 1)
    data["ill"] = np.full(100, "no")
    assert client_message(data, AGREED)["tree"]["label"] == 0


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("federated")
    for i in (1, 2):
        pl.DataFrame(people(400, i)).write_csv(folder / f"h{i}.csv")
    Schema((
        Column("age", Kind.INTEGER, bounds=(0, 100)), Column("pay", Kind.CONTINUOUS, bounds=(0, 50)),
        Column("sex", Kind.CATEGORICAL, levels=("f", "m")), Column("ill", Kind.CATEGORICAL, levels=("no", "yes")),
    )).declare().to_yaml(folder / "schema.yaml")  # fmt: skip
    return folder


def run(*words: object):
    return CliRunner().invoke(app, ["models", "federate", *map(str, words)])


def test_agree_client_merge(files):
    assert run("agree", files / "schema.yaml", "--class", "ill", "-o", files / "agreed.json").exit_code == 0
    for i in (1, 2):
        done = run("client", files / f"h{i}.csv", files / "agreed.json", "-o", files / f"m{i}.json")
        assert done.exit_code == 0, done.output
    done = run(
        "merge", files / "agreed.json", files / "m1.json", files / "m2.json", "-o", files / "tree.json"
    )
    assert done.exit_code == 0, done.output
    assert "2 holders sent one tree each" in " ".join(done.output.split())
    held = json.loads((files / "tree.json").read_text())
    tree = from_json(held["tree"], 3, 2)
    fresh = people(500, 9)
    values = np.column_stack([fresh["age"], fresh["pay"], fresh["sex"] == "m"])
    assert np.mean(np.array(["no", "yes"])[predict(tree, values)] == fresh["ill"]) > 0.85


def test_a_client_without_a_seed_draws_anew(files):
    run(
        "agree",
        files / "schema.yaml",
        "--class",
        "ill",
        "--theta",
        0.9,
        "--protect-class",
        "-o",
        files / "strong.json",
    )
    made = []
    for i in range(3):
        run("client", files / "h1.csv", files / "strong.json", "-o", files / f"draw{i}.json")
        made.append((files / f"draw{i}.json").read_text())
    assert len(set(made)) > 1


def test_nobody_votes_twice(files, tmp_path):
    run("agree", files / "schema.yaml", "--class", "ill", "-o", files / "agreed.json")
    run("client", files / "h1.csv", files / "agreed.json", "-o", files / "once.json")
    done = run("merge", files / "agreed.json", *[files / "once.json"] * 2, "-o", tmp_path / "never.json")
    assert done.exit_code == 2
    assert "two messages are the same" in " ".join(done.output.split())
    assert not (tmp_path / "never.json").exists()
    (tmp_path / "h1.csv").write_bytes((files / "h1.csv").read_bytes())
    for others, words in ((files / "h1.csv", "named twice"), (tmp_path / "h1.csv", "have the same records")):
        done = run("play", files / "h1.csv", others, "--class", "ill", "--schema", files / "schema.yaml")
        assert done.exit_code == 2
        assert words in " ".join(done.output.split())
    with pytest.raises(DataError, match="holder 1 and holder 2 have the same records"):
        federate([people(100, 1), people(100, 1)], AGREED)


def test_holders_with_files_of_the_same_name_all_vote(files, tmp_path):
    (tmp_path / "h1.csv").write_bytes((files / "h2.csv").read_bytes())
    done = run(
        "play", files / "h1.csv", tmp_path / "h1.csv", "--class", "ill", "--schema", files / "schema.yaml", "--json",
        "-q",
    )  # fmt: skip
    assert len(json.loads(done.output)["scores"]) == 2, done.output


def test_holders_with_the_same_tree_each_have_a_vote():
    """A leaf for everybody is the same tree at every holder; their messages are not the same."""
    same = {**people(60, 1), "ill": ["no"] * 60}
    other = {**people(60, 2), "ill": ["no"] * 60}
    messages = [
        json.dumps(client_message(d, AGREED, seed=s)) for s, d in ((1, same), (2, other), (None, same))
    ]
    assert len({json.dumps(json.loads(m)["tree"]) for m in messages}) == 1
    merge_messages(messages, AGREED)


def test_the_whole_round_from_one_file(files):
    done = run(
        "play", files / "h1.csv", "--class", "ill", "--schema", files / "schema.yaml", "--deal", 3, "--json", "-q",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert len(told["scores"]) == 3
    assert told["total"] > 0


def test_a_broken_message_costs_nothing(files):
    (files / "bad.json").write_text('{"tree": ')
    run("agree", files / "schema.yaml", "--class", "ill", "-o", files / "agreed.json")
    done = run("merge", files / "agreed.json", files / "bad.json", "-o", files / "never.json")
    assert done.exit_code == 2
    assert "bad.json holds no JSON" in " ".join(done.output.split())
    assert not (files / "never.json").exists()
