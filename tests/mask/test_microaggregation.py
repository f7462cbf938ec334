"""Microaggregation: groups of k or more, the figures of sdcMicro, the optimum of one column, faults in one error."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, OptionError
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.mask.grouping import best_of_one, grouped, mdav
from dalenius.mask.microaggregation import Microaggregate, averaged
from dalenius.mask.neighbours import Points, spread

GOLDEN = Path(__file__).parents[1] / "golden" / "sdcmicro"
CASES = json.loads((GOLDEN / "microaggregation.json").read_text())["cases"]


def plain_mdav(z: np.ndarray, k: int, far) -> np.ndarray:
    """The algorithm word by word: all distances, stable sorts."""
    rest, labels, group = np.arange(len(z)), np.full(len(z), -1), 0

    def take(seed: int) -> None:
        nonlocal rest, group
        near = rest[np.argsort(far(z[rest], z[seed]), kind="stable")[:k]]
        labels[near] = group
        rest, group = rest[~np.isin(rest, near)], group + 1

    while len(rest) >= 2 * k:
        twice = len(rest) >= 3 * k
        first = rest[np.argmax(far(z[rest], z[rest].mean(axis=0)))]
        second = rest[np.argmax(far(z[rest], z[first]))]
        take(first)
        if twice:
            take(second if labels[second] < 0 else rest[np.argmax(far(z[rest], z[first]))])
    labels[rest] = group
    return labels


def squared(points: np.ndarray, to: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - to[j]) ** 2
    return total


def manhattan(points: np.ndarray, to: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += np.abs(points[:, j] - to[j])
    return total


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(4, 150),
    st.integers(1, 4),
    st.integers(2, 6),
    st.booleans(),
    st.booleans(),
)
def test_the_tree_finds_what_a_plain_search_finds(
    seed: int, rows: int, width: int, k: int, ties: bool, straight: bool
) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, width))
    values = np.round(2 * values) if ties else values
    points = Points(values, np.zeros(width, bool), 1 if straight else 2)
    if rows < k:
        return
    found = mdav(points, k)
    sizes = np.bincount(found)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert len(sizes) == rows // k
    if not ties:  # a mean in another order of sums may break an exact tie otherwise
        assert (found == plain_mdav(values, k, manhattan if straight else squared)).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_masked_values_are_those_of_sdcmicro(case: dict) -> None:
    names, k = case["variables"], case["aggr"]
    people = pl.read_csv(GOLDEN / "data" / case["data"], infer_schema_length=None).head(case["first_rows"])
    alone = len(names) == 1  # sdcMicro sorts and cuts a single column, whatever the method
    way = "sorted" if alone else {"mdav": "mdav", "onedims": "each", "pca": "pca"}[case["method"]]
    made = Microaggregate(tuple(names), k, method=way, exact=True).apply(
        Table.from_frame(people.select(names))
    )
    for name in names:
        np.testing.assert_allclose(made.table[name].data, case["expected"]["masked"][name], rtol=0, atol=1e-8)
    if way != "each":
        rows = np.column_stack([made.table[name].data for name in names])
        sizes = np.unique(np.unique(rows, axis=0, return_counts=True)[1], return_counts=True)
        assert (
            dict(zip(map(str, sizes[0].tolist()), sizes[1].tolist(), strict=True))
            == case["expected"]["group_sizes"]
        )


def brute(values: np.ndarray, k: int) -> float:
    """Least squared loss over all ways to cut the sorted column."""
    ordered, best = np.sort(values), np.inf
    for cuts in itertools.product((False, True), repeat=len(values) - 1):
        parts = np.split(ordered, np.flatnonzero(cuts) + 1)
        if min(map(len, parts)) >= k:
            best = min(best, sum(float(((part - part.mean()) ** 2).sum()) for part in parts))
    return best


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=10), st.integers(2, 3))
def test_one_column_is_cut_best(values: list[int], k: int) -> None:
    column = np.array(values, float)
    labels = best_of_one(column, k)
    assert np.bincount(labels).min() >= k
    loss = float(((column - averaged(column, labels)[labels]) ** 2).sum())
    assert loss == pytest.approx(brute(column, k), abs=1e-9)


def test_one_column_agrees_with_microagg1d() -> None:
    # univariate_microaggregation(column, k, method="wilber") of version 0.4.0; "simple" is 1e-4 off
    column = np.random.default_rng(5).lognormal(size=200)
    for k, loss in {2: 7.366678378013283, 3: 19.399088797059488, 5: 45.01831607070577}.items():
        labels = best_of_one(column, k)
        ours = float(((column - averaged(column, labels)[labels]) ** 2).sum())
        assert ours == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("way", ["mdav", "varying", "pca", "clusters", "sorted"])
@pytest.mark.parametrize("distance", ["standard", "raw", "robust"])
def test_groups_are_large_enough(way: str, distance: str) -> None:
    values = np.random.default_rng(1).normal(size=(203, 3)) * [1, 50, 0.1]
    sizes = np.bincount(grouped(spread(values, distance), 5, way, seed=1))
    assert sizes.min() >= 5
    assert sizes.sum() == 203
    if way == "varying":
        assert sizes.max() < 2 * 5 + 4


def test_varying_groups_follow_clusters() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(place, 0.1, (5, 2)) for place in (0, 10, 20, 30)])
    fixed, free = (grouped(spread(values, "raw"), 3, way, gain=1.5) for way in ("mdav", "varying"))
    loss = [float(((values - np.column_stack([averaged(c, lab)[lab] for c in values.T])) ** 2).sum())
            for lab in (fixed, free)]  # fmt: skip
    assert loss[1] < 0.05 * loss[0]


def test_robust_distance_is_not_set_by_outliers() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(200, 2))
    values[:10] += [1000, 0]
    assert np.std(spread(values, "standard").values[10:, 0]) < 0.01
    assert 0.5 < np.std(spread(values, "robust").values[10:], axis=0).min() < 2


def test_mixed_columns_by_gower() -> None:
    rng = np.random.default_rng(4)
    table = Table.from_frame({
        "job": rng.choice(["clerk", "judge", "nurse"], 60).tolist(),
        "pay": rng.integers(1, 100, 60).tolist(),
        "city": rng.choice(["a", "b"], 60).tolist(),
    })  # fmt: skip
    made = Microaggregate(("job", "pay"), 4, distance="gower", strata=("city",)).apply(table)
    cells = pl.DataFrame(made.table.to_frame()).group_by("job", "pay", "city").len()
    assert cells["len"].min() >= 4
    assert set(made.table["job"].levels) == {"clerk", "judge", "nurse"}


def test_weights_move_the_means() -> None:
    table = Table.from_frame({"pay": [1.25, 3.25], "w": [3.0, 1.0]})
    assert Microaggregate(("pay",), 2, weight="w").apply(table).table["pay"].data.tolist() == [1.75, 1.75]


def test_gaps_stay_and_their_neighbours_are_averaged() -> None:
    table = Table.from_frame({"a": [1.25, 1.75, 10.25, 10.75, 10.4], "b": [1.25, 2.25, 10.25, 11.25, None]})
    made = Microaggregate(("a", "b"), 2).apply(table).table.to_frame()
    assert made == {"a": [1.5, 1.5, 10.5, 10.5, 10.5], "b": [1.75, 1.75, 10.75, 10.75, None]}


def test_whole_numbers_stay_whole_unless_told() -> None:
    table = Table.from_frame({"age": [31, 32, 50, 53]})
    assert Microaggregate(("age",), 2).apply(table).table.to_frame()["age"] == [32, 32, 52, 52]
    assert Microaggregate(("age",), 2, exact=True).apply(table).table.to_frame()["age"] == [
        31.5,
        31.5,
        51.5,
        51.5,
    ]


def test_median_of_groups() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1, 1])
    found = averaged(np.array([1.0, 9.0, 2.0, 4.0, 1.0, 3.0, 2.0]), labels, how="median")
    assert found.tolist() == [2.0, 2.5]


FAULTY = Schema((
    Column("pay", Kind.CONTINUOUS), Column("job", Kind.CATEGORICAL), Column("none", Kind.CONTINUOUS),
    Column("age", Kind.INTEGER),
))  # fmt: skip


def test_faults_come_together_and_quote_nothing() -> None:
    data = {
        "pay": [1.0, float("inf"), 77123.5],
        "job": ["ZZTOP", "b", "c"],
        "none": [None] * 3,
        "age": [1, 0, 9],
    }
    table = Table.from_frame(data, FAULTY)
    with pytest.raises(DataError) as told:
        Microaggregate(("pay", "job", "none"), 2, weight="age").apply(table)
    assert len(told.value.faults) == 4
    assert "ZZTOP" not in str(told.value)
    assert "77123" not in str(told.value)
    with pytest.raises(DataError, match="fewer than k = 5"):
        Microaggregate(("pay",), 5).apply(Table.from_frame({"pay": [1.0, 2.0]}))
    with pytest.raises(DataError, match="no values"):
        Microaggregate(("pay",), 2).apply(Table.from_frame({"pay": [1.0]}).take(np.array([], int)))
    with pytest.raises(OptionError, match="2 faults"):
        Microaggregate((), 1, gain=-1)
    with pytest.raises(OptionError, match="2 faults"):
        Microaggregate(("a", "a"), weight="a")


CONSTANT = Schema((Column("a", Kind.CONTINUOUS), Column("b", Kind.CONTINUOUS)))


def test_constant_columns() -> None:
    made = Microaggregate(("a", "b"), 2).apply(
        Table.from_frame({"a": [5.0] * 6, "b": [1.0, 2, 3, 4, 5, 6]}, CONSTANT)
    )
    assert made.table["a"].data.tolist() == [5.0] * 6
    assert made.records == 6


def test_the_centre_of_a_nominal_column_is_its_commonest_level() -> None:
    points = spread(np.array([0.0, 0, 0, 0, 1, 1])[:, None], "gower", np.array([True]))
    assert mdav(points, 2).tolist() == [1, 1, 2, 2, 0, 0], (
        "the farthest from the commonest is of the other level"
    )
