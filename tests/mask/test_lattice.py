"""The search finds the optimum, proves it, and agrees with ARX and with trying everything."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius import Pair, synthesize
from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.counts.measure import MEASURES
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.mask.lattice.criteria import Criterion, Groups
from dalenius.mask.lattice.generalise import Generalise
from dalenius.mask.lattice.ladder import Ladder, tree
from dalenius.mask.lattice.losses import LOSSES, Facts
from dalenius.mask.lattice.search import Lattice
from dalenius.mask.lattice.walk import merged
from dalenius.mask.mondrian import Mondrian
from dalenius.mask.target import Target
from dalenius.risk import k_anonymity, l_diversity, t_closeness


def people(rows: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_frame(
        {
            "age": rng.integers(20, 80, rows),
            "town": rng.choice(["a1", "a2", "b1", "b2", "c"], rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["no", "flu", "cold", "rare"], rows, p=[0.6, 0.2, 0.15, 0.05]),
            "w": rng.integers(1, 30, rows).astype(float),
        },
        Schema(
            (
                Column("age", Kind.INTEGER),
                Column("town", Kind.CATEGORICAL),
                Column("sex", Kind.CATEGORICAL),
                Column("ill", Kind.CATEGORICAL),
                Column("w", Kind.CONTINUOUS, roles=(Role.WEIGHT,)),
            )
        ),
    )


LEVELS = {"age": [5, 10, 20, "all"], "town": {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": []}, "sex": None}
KEYS = ("age", "town", "sex")
ASKED = st.sampled_from(
    [
        ("k >= 3",),
        ("k >= 8",),
        ("l(ill) >= 3",),
        ("k >= 2", "entropy-l(ill) >= 2"),
        ("recursive-l(ill, c=3) >= 2",),
        ("t(ill) <= 0.3",),
        ("beta(ill) <= 1",),
        ("k >= 2", "delta-disclosure(ill) <= 1.5"),
        ("k-map >= 60",),
        ("delta-presence <= 0.08",),
        ("k >= 2", "average-risk <= 0.1"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(20, 120),
    asked=ASKED,
    limit=st.sampled_from([0.0, 0.1, 0.3]),
    loss=st.sampled_from(["precision", "granularity", "entropy", "discernibility", "class-size"]),
)
def test_random_lattices_against_trying_everything(seed, rows, asked, limit, loss) -> None:
    step = Generalise(KEYS, LEVELS, None, asked, limit, loss)
    lattice = step.lattice(people(rows, seed), list(KEYS))
    heights = [range(ladder.height + 1) for ladder in lattice.ladders]
    every = [lattice.check(node) for node in itertools.product(*heights)]
    best = min(loss for passes, _, loss, _, _ in every)
    if not any(passes for passes, *_ in every):
        with pytest.raises(DataError, match="not even the coarsest"):
            lattice.search()
        return
    found = lattice.search()
    assert found.loss == pytest.approx(best, abs=1e-12)
    assert found.gap == 0
    assert found.nodes == len(every) == 5 * 3 * 2


def test_criteria_are_those_of_the_risk_room() -> None:
    table = people(400, 5)
    step = Generalise(KEYS, LEVELS, 4, ("l(ill) >= 2", "t(ill) <= 0.35"))
    masked = step.apply(table)
    keys = list(KEYS)
    assert k_anonymity(masked.table, keys).value >= 4
    assert l_diversity(masked.table, keys, "ill")["distinct"].min() >= 2
    assert t_closeness(masked.table, keys, "ill").value <= 0.35
    finer = Generalise(KEYS, LEVELS, 4).apply(table)
    assert finer.figures["loss"] <= masked.figures["loss"]


def half_told() -> dict[str, list[object]]:
    """Everybody in group q is x or says nothing; p and r have three values."""
    rng = np.random.default_rng(0)
    group, said = np.repeat(["p", "q", "r"], 40), rng.choice(["x", "y", "z"], 120).astype(object)
    said[40:80] = np.where(np.arange(40) % 2, "x", None)
    return {"a": group.tolist(), "b": rng.integers(20, 60, 120).tolist(), "s": said.tolist()}


ALL = {"a": ["all"], "b": [10, 20, "all"]}


@pytest.mark.parametrize("asked", ["l(s) >= 2", "entropy-l(s) >= 1.5", "recursive-l(s, c=2) >= 2"])
def test_a_missing_value_is_no_value(asked: str) -> None:
    made = synthesize(
        half_told(), "recipe", keys=["a", "b"], seed=1,
        steps=[{"do": "generalise", "keys": ["a", "b"], "levels": ALL, "k": 3, "require": [asked]}],
    )  # fmt: skip
    told: dict[tuple[object, object], set[object]] = {}
    for a, b, s in zip(made["a"], made["b"], made["s"], strict=True):
        told.setdefault((a, b), set()).add(s)
    assert min(len(values - {None}) for values in told.values()) >= 2


@pytest.mark.parametrize("line", ["l(s) >= 1", "entropy-l(s) >= 1", "recursive-l(s, c=9) >= 1", "t(s) <= 0.9",
                                  "beta(s) <= 9", "delta-disclosure(s) <= 900"])  # fmt: skip
def test_a_group_of_which_nothing_is_known_keeps_nothing(line: str) -> None:
    table = Table.from_frame({"a": ["p", "p", "q", "q"], "s": [None, None, "x", "y"]})
    assert not Target.parse(line).met(table, ["a"])
    assert Target.parse(line).met(table.take(np.arange(2, 4)), ["a"])


def test_gaps_of_a_target_in_every_figure() -> None:
    data = {"a": ["p", "p", "q", "q", "r", "r"], "s": ["x", None, "x", "y", None, None]}
    found = l_diversity(data, ["a"], "s", recursive_c=3)
    assert found["distinct"].to_list() == [1, 1, 2, 2, 0, 0]
    assert found["entropy"].to_list() == pytest.approx([1, 1, 2, 2, 0, 0])
    assert found["recursive"].to_list() == [1, 1, 2, 2, 0, 0]
    apart = t_closeness(data, ["a"], "s", records=True).records
    assert apart is not None
    assert apart["distance"].to_list() == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6, 1, 1])
    told = MEASURES["l-diversity"](Pair(data, data, keys=["a"], targets=["s"]))
    assert told.value == 0
    some = {name: values[:4] for name, values in data.items()}
    assert MEASURES["l-diversity"](Pair(some, some, keys=["a"], targets=["s"])).value == 1


def test_suppressed_rows_lose_their_keys_or_go() -> None:
    table = people(300, 1)
    step = Generalise(KEYS, LEVELS, 5, limit=0.2, loss="granularity")
    masked = step.apply(table)
    lost = int(masked.figures["suppressed rows"])
    assert lost > 0
    assert all(int(gone.sum()) == lost for gone in masked.lens.gaps.values())
    assert set(masked.lens.gaps) == set(KEYS)
    removed = Generalise(KEYS, LEVELS, 5, limit=0.2, loss="granularity", remove=True).apply(table)
    assert removed.table.rows == 300 - lost
    assert k_anonymity(removed.table, list(KEYS)).value >= 5
    assert masked.lens.see_own(table).to_frame("polars").equals(masked.table.to_frame("polars"))


def test_time_is_up_and_the_gap_is_told() -> None:
    table = people(500, 2)
    lattice = Generalise(KEYS, LEVELS, 6, limit=0.05).lattice(table, list(KEYS))
    found, hurried = lattice.search(), lattice.search(seconds=1e-9)
    assert hurried.loss >= found.loss >= hurried.loss - hurried.gap - 1e-12
    assert hurried.checked < found.checked


def test_all_faults_at_once_and_no_value(tmp_path: Path) -> None:
    table = people(50, 3)
    wrong = Generalise(
        ("age", "town", "nose"),
        {"town": {"a": ["a1"]}, "sex": [5], "age": [7, 10]},
        99,
        ("l(eye) >= 2", "t(town) <= 0.1"),
    )
    told = wrong.faults(table)
    text = "; ".join(told)
    for part in (
        "'nose'",
        "4 of its 5 codes",
        "'sex' is not one of the keys",
        "only 50 rows",
        "'eye'",
        "is a key",
    ):
        assert part in text
    assert "does not keep level 1 together" in text, "tens are not made of sevens"
    assert "b1" not in text
    with pytest.raises(OptionError, match=r"2 faults|should read like"):
        Generalise(KEYS, require=("k > 3", "z >= 3"))
    with pytest.raises(DaleniusError, match="two parents"):
        tree({"a": {"b": {"a": []}}})
    (tmp_path / "town.csv").write_text("child,parent\na1,b1\nb1,a1\n")
    with pytest.raises(DaleniusError, match="cycle"):
        Generalise(("town",), {"town": str(tmp_path / "town.csv")}, 2).apply(table)


def test_ten_thousand_levels_constants_and_gaps() -> None:
    rows = 10_000
    table = Table.from_frame(
        {"who": [f"p{i}" for i in range(rows)], "one": ["x"] * rows, "gap": [None] * rows, "sex": ["f", "m"] * 5000},
        Schema(tuple(Column(n, Kind.CATEGORICAL) for n in ("who", "one", "gap", "sex"))),
    )  # fmt: skip
    masked = Generalise(("who", "one", "gap", "sex"), k=5).apply(table)
    assert masked.table.to_frame()["who"][0] == "*"
    assert masked.table.to_frame()["sex"][:2] == ["f", "m"]
    cut = Mondrian(("who", "one", "gap", "sex"), 50).apply(table)
    assert k_anonymity(cut.table, ["who", "one", "gap", "sex"]).value >= 50


def test_infinite_numbers_and_no_rows() -> None:
    odd = Table.from_frame({"x": [1.5, np.inf, 2.5, 3.25], "y": [1.0, 2.0, 3.0, -np.inf]})
    with pytest.raises(DataError, match="2 faults"):
        Generalise(("x", "y"), k=2).apply(odd)
    with pytest.raises(DataError, match="only 0 rows"):
        Generalise(("x",), k=2).apply(odd.take(np.arange(0)))
    with pytest.raises(DataError, match="only 4 rows"):
        Mondrian(("x",), 5).apply(odd.take(np.arange(4)))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), k=st.integers(1, 12))
def test_mondrian_keeps_k_and_is_a_map(seed: int, k: int) -> None:
    table = people(100, seed)
    masked = Mondrian(KEYS, k).apply(table)
    assert k_anonymity(masked.table, list(KEYS)).value >= k
    assert masked.lens.see(table).to_frame("polars").equals(masked.table.to_frame("polars"))
    strangers = masked.lens.see(people(30, seed + 1))
    for name in KEYS:
        assert set(strangers[name].levels) <= set(masked.table[name].levels)


def test_a_hierarchy_of_uneven_depth() -> None:
    table = people(60, 4)
    ladder = Ladder.of(table, "town", LEVELS["town"])
    assert ladder.height == 2
    assert ladder.sizes == (5, 3, 1)
    assert Criterion.parse("k >= 5").monotone
    assert Lattice([ladder], [Criterion.parse("k >= 60")]).search().levels == (2,)


def test_a_utility_measure_as_loss() -> None:
    table = people(200, 6)
    step = Generalise(KEYS, LEVELS, 4, limit=0.1, loss="detail-lost")
    found = step.apply(table)
    lattice = step.lattice(table, list(KEYS))
    heights = [range(ladder.height + 1) for ladder in lattice.ladders]
    every = [lattice.check(node)[2] for node in itertools.product(*heights)]
    assert found.figures["loss"] == pytest.approx(min(every))
    assert 0 < found.figures["loss"] < 100
    with pytest.raises(OptionError, match="no loss 'beauty'"):
        Generalise(KEYS, loss="beauty")


def test_losses_by_hand() -> None:
    ladder = Ladder.of(Table.from_frame({"age": [20, 20, 21, 22, 23, 30]}), "age", [10, "all"])
    facts = Facts([ladder], np.array([[0, 1, 2, 3, 4]], np.int32), np.array([2, 1, 1, 1, 1]))
    groups = Groups(np.array([0, 0, 0, 0, 1], np.int32), facts.weights, np.array([5, 1]), None, {})
    kept = np.array([True, False])  # the one of 30 is suppressed
    before = 2 * np.log2(3.5) + 4 * np.log2(7)
    by_hand = {
        "precision": (0.5 * 5 + 1) / 6,
        "entropy": (2 * np.log2(2.5) + 3 * np.log2(5) + np.log2(7)) / before,
        "discernibility": (5 * 5 + 1 * 6) / 36,
        "class-size": 1 / 2,
    }
    assert {name: LOSSES[name](facts, [1], groups, kept) for name in by_hand} == pytest.approx(by_hand)
    nothing, everything = np.array([True, True]), np.array([False, False])
    assert [LOSSES[name](facts, [0], groups, nothing) for name in ("precision", "granularity")] == [0, 0]
    assert all(loss(facts, [1], groups, everything) == pytest.approx(1) for loss in LOSSES.values())


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.ORDERED, Kind.CATEGORICAL])
def test_a_line_about_t_is_read_alike_by_target_step_and_measure(kind: Kind) -> None:
    """Neighbouring values are near where the target has an order, and a target reads it as the search does."""
    pay = [1, 2, 3, 4, 5, 6, 7, 8]
    levels = None if kind is Kind.INTEGER else list(map(str, pay))
    values = pay if levels is None else levels
    schema = Schema([Column("a", Kind.CATEGORICAL, levels=["x", "y"]), Column("pay", kind, levels=levels)])
    table = Table.from_frame({"a": ["x", "y"] * 4, "pay": values}, schema)
    far = t_closeness(table, ["a"], "pay").value
    assert far == pytest.approx(0.5 if kind is Kind.CATEGORICAL else 2 / 28)
    for limit, kept in ((far + 0.01, True), (far - 0.01, False)):
        line = f"t(pay) <= {limit:.4f}"
        assert Target.parse(line).met(table, ["a"]) is kept
        made = Generalise(keys=("a",), k=2, limit=0, require=(line,)).apply(table)
        assert (made.table["a"].categories.codes.max() > 0) is np.bool_(kept)


def test_targets_count_people_and_those_they_stand_for() -> None:
    schema = Schema([Column("who", Kind.INTEGER, (Role.ENTITY,)), Column("a", Kind.CATEGORICAL),
                     Column("w", Kind.CONTINUOUS, (Role.WEIGHT,))])  # fmt: skip
    table = Table.from_frame({"who": [1, 1, 1, 2, 3, 4], "a": list("xxxyyy"), "w": [10.0] * 6}, schema)
    assert not Target.parse("k >= 3").met(table, ["a"])
    assert Target.parse("k >= 3").met(table.take(np.arange(3, 6)), ["a"])
    assert Target.parse("k-map >= 30").met(table, ["a"])
    assert not Target.parse("k-map >= 31").met(table, ["a"])


def test_equal_cells_are_merged_whatever_their_number_of_values() -> None:
    codes = np.random.default_rng(1).integers(0, 3, (4, 60)).astype(np.int32)
    weights = np.arange(1, 61)
    wanted: dict[tuple[int, ...], int] = {}
    for key, weight in zip(codes.T.tolist(), weights.tolist(), strict=True):
        wanted[tuple(key)] = wanted.get(tuple(key), 0) + weight
    for width in (3, 2**20):  # keys that fit into a number, and keys that do not
        owner, ids, sizes = merged(codes, [width] * 4, weights)
        assert dict(zip(map(tuple, codes[:, owner].T.tolist()), sizes.tolist(), strict=True)) == wanted
        assert (codes[:, owner][:, ids] == codes).all()
