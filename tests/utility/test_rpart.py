"""The propensity tree grown as R's rpart grows it, against a slow restatement of the rule in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import OptionError
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.utility import propensity_tree
from dalenius.utility.propensity import tree_propensity
from dalenius.utility.propensity.design import Predictor, predictors
from dalenius.utility.propensity.tree import grow
from dalenius.utility.propensity.tree.redraw import Redrawing

SCHEMA = Schema(
    (Column("age", Kind.INTEGER), Column("region", Kind.CATEGORICAL), Column("income", Kind.CONTINUOUS))
)


def files(seed: int, original: int = 500, protected: int = 500) -> list[dict[str, list[Any]]]:
    """An original and a file that follows it badly, with numbers, levels and gaps."""
    rng = np.random.default_rng(seed)
    made = []
    for n, shift in ((original, 0.0), (protected, 0.35)):
        age = rng.integers(18, 80, n)
        region = rng.choice(
            list("abcdefg"), n, p=np.roll([0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05], int(2 * shift))
        )
        income = np.round(rng.normal(20 + 0.2 * age * (1 - shift), 4 + 4 * shift), 1)
        gap = rng.random(n) < 0.1
        made.append(
            {
                "age": age.tolist(),
                "region": region.tolist(),
                "income": [None if g else float(x) for g, x in zip(gap, income, strict=True)],
            }
        )
    return made


@dataclass
class Plain:
    """The rule word for word: rows as tuples, all splits tried, complexity of a node by who collapses first."""

    columns: list[list[Any]]
    t: list[int]
    alpha: float = 0.0
    minbucket: int = 5
    leaves: list[list[int]] = field(default_factory=list)

    def risk(self, rows: list[int]) -> int:
        ones = sum(self.t[i] for i in rows)
        return min(ones, len(rows) - ones)

    def gini(self, rows: list[int]) -> float:
        ones = sum(self.t[i] for i in rows)
        return 2 * ones * (len(rows) - ones) / len(rows)

    def split(self, rows: list[int]) -> tuple[list[int], list[int]] | None:
        best, found = 1e-9, None
        for column in self.columns:
            values = sorted({column[i] for i in rows})
            if isinstance(values[0], str):
                share = {v: np.mean([self.t[i] for i in rows if column[i] == v]) for v in values}
                values.sort(key=lambda v, share=share: share[v])
            for cut in range(1, len(values)):
                inside = set(values[:cut])
                left = [i for i in rows if column[i] in inside]
                right = [i for i in rows if column[i] not in inside]
                if min(len(left), len(right)) < self.minbucket:
                    continue
                gain = self.gini(rows) - self.gini(left) - self.gini(right)
                if gain > best * (1 + 1e-12):
                    best, found = gain, (left, right)
        return found

    def grow(self, rows: list[int], budget: float) -> tuple[float, int, float]:
        own, mark = self.risk(rows), len(self.leaves)
        reach = min(own, budget)
        parts = self.split(rows) if len(rows) >= 3 * self.minbucket and reach > self.alpha else None
        if parts:
            alone = [self.risk(part) for part in parts]
            left_risk, left_splits, left_worth = self.grow(parts[0], reach - self.alpha)
            reach = min(max((own - left_risk) / (left_splits + 1), own - alone[0]), budget)
            right_risk, right_splits, right_worth = self.grow(parts[1], reach - self.alpha)
            risk, splits, worths = (
                [left_risk, right_risk],
                [left_splits, right_splits],
                [left_worth, right_worth],
            )
            worth = (own - sum(risk)) / (sum(splits) + 1)
            first = 0 if left_worth < right_worth else 1
            for child in (first, 1 - first):
                if worth <= worths[child]:
                    break
                risk[child], splits[child] = alone[child], 0
                worth = (own - sum(risk)) / (sum(splits) + 1)
            if worth > self.alpha:
                return sum(risk), sum(splits) + 1, worth
            del self.leaves[mark:]
        self.leaves.append(rows)
        return own, 0, self.alpha

    def pmse(self) -> float:
        rows = list(range(len(self.t)))
        root = self.risk(rows)
        self.alpha *= root
        self.grow(rows, root)
        share = np.mean(self.t)
        return sum(
            len(leaf) * (np.mean([self.t[i] for i in leaf]) - share) ** 2 for leaf in self.leaves
        ) / len(rows)


def plain(
    original: dict[str, list[Any]], protected: dict[str, list[Any]], cp: float, minbucket: int
) -> Plain:
    income = protected["income"] + original["income"]
    columns = [
        protected["age"] + original["age"],
        protected["region"] + original["region"],
        [0.0 if x is None else x for x in income],
        [float(x is None) for x in income],
    ]
    t = [1] * len(protected["age"]) + [0] * len(original["age"])
    return Plain(columns, t, cp, minbucket)


@pytest.mark.parametrize(
    ("seed", "sizes", "cp", "minbucket"),
    [
        (1, (300, 300), 0.001, 5),
        (1, (300, 170), 0.01, 5),
        (2, (150, 300), 0.01, 5),
        (4, (300, 300), 0.004, 5),
        (4, (150, 300), 0.004, 8),
    ],
)
def test_equals_the_rule_in_plain_python(
    seed: int, sizes: tuple[int, int], cp: float, minbucket: int
) -> None:
    made = files(seed, *sizes)
    slow = plain(*made, cp, minbucket)
    wanted = slow.pmse()
    pair = Pair(*made, schema=SCHEMA)
    found = tree_propensity(pair, repeats=0, growth="rpart", complexity=cp, minbucket=minbucket)
    assert found.figures.pMSE == pytest.approx(wanted, rel=1e-12)
    assert found.leaves == len(slow.leaves)
    assert min(len(leaf) for leaf in slow.leaves) >= minbucket


def test_every_row_counts_alike_and_nothing_is_looked_for_ahead() -> None:
    # 30 of 100 against 100 of 200: a share of 3/13 and 1/2 of the leaves, and no split where no column tells anything.
    pair = Pair({"a": ["A"] * 100 + ["B"] * 100}, {"a": ["A"] * 30 + ["B"] * 70})
    found = propensity_tree(pair, growth="rpart", repeats=0)
    assert found.values["leaves"] == 1  # both leaves would be called original: no misclassified row is saved
    assert propensity_tree(pair, repeats=0).values["leaves"] == 2
    crossed = Pair(
        {"a": ["x", "x", "y", "y"] * 50, "b": ["u", "v", "u", "v"] * 50},
        {"a": ["x", "x", "y", "y"] * 50, "b": ["u", "u", "v", "v"] * 50},
    )
    assert propensity_tree(crossed, growth="rpart", repeats=0).values["pMSE"] == 0
    assert propensity_tree(crossed, repeats=0).values["pMSE"] > 0.05


@pytest.mark.parametrize("bins", [4, 64])
@pytest.mark.parametrize("sizes", [(700, 700), (900, 400)])
def test_a_second_look_inside_bins_finds_the_same_cuts(
    bins: int, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(*files(11, *sizes), schema=SCHEMA)
    ways: tuple[dict[str, Any], ...] = ({"repeats": 2}, {"repeats": 0, "growth": "rpart"}, {"depth": 6})
    plain = [tree_propensity(pair, **way) for way in ways]
    monkeypatch.setattr(grow, "BINS", bins)
    for way, wanted in zip(ways, plain, strict=True):
        found = tree_propensity(pair, **way)
        assert np.array_equal(found.scores, wanted.scores)
        assert found.importance == pytest.approx(wanted.importance)
        assert found.null == pytest.approx(wanted.null, nan_ok=True)


def test_many_levels_and_many_values() -> None:
    rng = np.random.default_rng(2)
    made = [
        {"a": rng.permutation(9000) + 0.25, "b": rng.integers(0, 70_000, 9000).astype(str)} for _ in range(2)
    ]
    made[1]["a"] = np.where(made[1]["a"] > 8000, made[1]["a"] - 4000.5, made[1]["a"])
    pair = Pair(*made, schema=Schema((Column("a", Kind.CONTINUOUS), Column("b", Kind.CATEGORICAL))))
    found = tree_propensity(pair, ["a"], repeats=0, growth="rpart")
    # the one split worth making: beyond 8000 there are original rows only
    assert found.scores[-9000:][made[0]["a"] > 8000].max() == 0
    assert tree_propensity(pair, repeats=0).leaves > 1


def test_the_null_stops_when_it_is_precise() -> None:
    rng = np.random.default_rng(1)
    made = [{name: rng.integers(0, 4, 2000).astype(str) for name in "abcdefgh"} for _ in range(2)]
    found = tree_propensity(Pair(*made), repeats=200, complexity=1e-4)
    assert 5 <= found.repeats < 200
    assert found.null_error < 0.05 * found.null


@pytest.mark.parametrize("wrong", [{"growth": "cart"}, {"complexity": -1.0}, {"minbucket": 0}])
def test_wrong_options_are_named(wrong: dict[str, Any]) -> None:
    pair = Pair({"a": [1, 2, 3]}, {"a": [1, 2, 3]})
    with pytest.raises(OptionError, match=next(iter(wrong))):
        propensity_tree(pair, **wrong)


NUMBERS = {
    "never": lambda rng, size: rng.integers(0, 40, size),
    "some": lambda rng, size: rng.geometric(0.02, size),
    "all": lambda rng, size: rng.normal(size=size),
}


@pytest.mark.parametrize("once", NUMBERS)
def test_a_row_drawn_again_weighs_what_it_would_weigh_written_out(once: str) -> None:
    rng, n, k = np.random.default_rng(2), 3000, 2000
    x = NUMBERS[once](rng, n + k)
    frame = pl.DataFrame({"x": x, "y": rng.integers(0, 6, n + k), "f": rng.choice(list("abcde"), n + k)})
    data = grow.Stacked.of(predictors(Pair(frame[k:], frame[:k])))
    drawn = Redrawing.of(data, k).draw(k, np.random.default_rng(3))
    values, count = np.unique(x[k:], return_counts=True)
    moved = np.isin(x[k:][np.random.default_rng(3).integers(0, n, k)], values[count == 1])
    assert (once != "never") == moved.any()
    assert (once == "all") == moved.all()
    np.testing.assert_array_equal(drawn.who >= n, moved)
    rule = grow.Rule(complexity=0.0005)
    light = grow.grow(drawn.data, drawn.weights(n), rule)
    written = grow.grow(drawn.stacked(n), grow.weighed(np.arange(n + k) < k), rule)
    leaves = [[(leaf.size, leaf.ones) for leaf in tree.leaves] for tree in (light, written)]
    assert leaves[0] == leaves[1]
    assert len(leaves[0]) > 5
    assert np.sum(leaves[0], axis=0).tolist() == [n + k, k]
    np.testing.assert_array_equal(light.gains, written.gains)
    ranks = drawn.data.column(0).astype(int)  # what occurs once is nobody's value again
    assert not np.isin(ranks[n:], ranks[:n]).any()


def test_a_root_without_a_split_is_cut_half_way_by_weight() -> None:
    """Files alike in every margin: x and b tell nothing alone, and half of the rows have an x of 3."""
    x, b = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    many = np.repeat([10, 10, 90, 90], 2)
    protected = (x + b) % 2 == 1
    parts = [Predictor("x", "x", x.astype(float), False), Predictor("b", "b", b, True, 2)]
    weights = np.where(protected, many << 32, many)
    light = grow.grow(grow.Stacked.of(parts), weights)
    rows = np.repeat(np.arange(8), many)
    written = grow.grow(grow.Stacked.of([p.some(rows) for p in parts]), grow.weighed(protected[rows]))
    leaves = [[(leaf.size, leaf.ones) for leaf in tree.leaves] for tree in (light, written)]
    assert leaves[0] == leaves[1], leaves
    assert len(leaves[0]) > 1
