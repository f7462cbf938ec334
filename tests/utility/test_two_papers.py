"""Worked examples of Fössing and Drechsler 2024 and of Miletic and Sariyar 2024, to the digits computed by hand.

The tables of counts are in `test_golden_tables`, ε-identifiability and shared neighbours in `tests/risk`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.counts.pair import Pair
from dalenius.data import Column, Kind, Schema, examples
from dalenius.utility import joint_wasserstein, mixed_associations, summed_distance, tuned_forest_table
from dalenius.utility.analyses.tuned_forest import GRIDS, tuned_settings, weighted_f1
from dalenius.utility.distributions import coverage
from dalenius.utility.inference.synthetic import ci_overlap
from dalenius.utility.mixed import correlation_ratio, hellinger, mixed_differences, uncertainty
from dalenius.utility.propensity import logit_propensity
from dalenius.utility.transport import transport_figures


def test_overlap_of_intervals():
    found = ci_overlap(
        *(np.array(v, float) for v in ([1, 0, 0, 0], [3, 4, 1, 1], [2, 1, 0, 2], [4, 2, 1, 3]))
    )
    assert np.clip(found, 0, None).tolist() == [0.5, 0.625, 1.0, 0.0]
    assert found[3] < 0  # how far they are apart is kept


def test_null_of_a_logit_and_the_most_it_can_say():
    """c (1 − c)² (k − 1) / N for two files of 49,436 rows and 30 coefficients, and 0.25 over it."""
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in range(30)]
    rows = 400
    first, second = ({n: rng.normal(size=rows) for n in names} for _ in range(2))
    schema = Schema(tuple(Column(n, Kind.CONTINUOUS) for n in names))
    fit = logit_propensity(Pair(first, second, schema=schema))
    assert fit.df == 30
    null = fit.figures.pMSE / fit.S_pMSE * (rows / 49_436)
    assert null == pytest.approx(3.792782588e-5, rel=1e-9)
    assert 0.25 / null == pytest.approx(6591.47, abs=5e-3)


def test_vanished_categories_count_by_how_common_they_were():
    original = {"a": ["A"] * 55 + ["B"] * 45, "b": ["W"] * 86 + ["O"] * 14}
    found = coverage(Pair(original, {"a": ["B"] * 100, "b": ["O"] * 100}))
    assert found.values["vanished categories"] == pytest.approx(1.41)


def test_three_kinds_of_association():
    assert hellinger(np.array([5, 3, 2]), np.array([4, 4, 2])) == pytest.approx(0.0798514, abs=5e-8)
    assert correlation_ratio(np.array([0, 0, 1, 1, 2, 2]), np.arange(1.0, 7)) == pytest.approx(
        0.9561829, abs=5e-8
    )
    table = np.array([[2, 1], [0, 3]])  # a = xxxyyy, b = ppqqqq
    assert uncertainty(table) == pytest.approx(0.4591479, abs=5e-8)
    assert uncertainty(table.T) == pytest.approx(0.5)
    assert uncertainty(np.array([[3, 4]])) == 1.0


@pytest.mark.parametrize(("cost", "value"), [("sqeuclidean", 0.0333333), ("euclidean", 0.1333333)])
def test_transport_in_one_dimension(cost, value):
    pair = Pair({"x": [0.0, 0.5, 1.0]}, {"x": [0.1, 0.5, 0.7]})
    assert joint_wasserstein(pair, cost=cost).value == pytest.approx(value, abs=5e-8)


def test_transport_is_that_of_one_hot_categories():
    """Against the definition: all assignments of four records tried one by one."""
    from itertools import permutations

    first = {"c": ["a", "b", "b", "c"], "x": [0.0, 1.0, 4.0, 10.0]}
    second = {"c": ["b", "a", "d", "c"], "x": [2.0, 0.0, 3.0, 20.0]}
    levels = ["a", "b", "c", "d"]
    points = [
        np.column_stack([np.array(f["x"]) / 10, *([c == level for c in f["c"]] for level in levels)]).astype(
            float
        )
        for f in (first, second)
    ]
    costs = ((points[0][:, None] - points[1][None]) ** 2).sum(axis=2)
    least = min(sum(costs[i, j] for i, j in enumerate(order)) / 4 for order in permutations(range(4)))
    schema = Schema((Column("c", Kind.CATEGORICAL), Column("x", Kind.CONTINUOUS)))
    assert joint_wasserstein(Pair(first, second, schema=schema)).value == pytest.approx(least)


def test_a_copy_is_at_no_distance_and_fresh_people_are():
    people = examples.survey(900, seed=3).select("sex", "age", "region", "income")
    pair = Pair(people[:300], people[:300], people[300:600])
    assert joint_wasserstein(pair).value == 0
    assert summed_distance(pair).value == 0
    assert mixed_associations(pair).value == 0
    assert mixed_associations(pair).values["Frobenius norm"] == 0
    assert "repeats the original" in joint_wasserstein(pair).sentence
    fresh = joint_wasserstein(Pair(people[:300], people[600:], people[300:600]))
    assert "repeats" not in fresh.sentence
    assert fresh.value == pytest.approx(fresh.yardsticks["holdout"], rel=0.25)


def test_only_equal_sizes_are_compared():
    """The distance falls as files grow: a protected file of a third of the rows is held against as many."""
    people = examples.survey(900, seed=3).select("age", "income")
    found = transport_figures(Pair(people[:600], people[600:700], people[700:]), repeats=2)
    few = transport_figures(Pair(people[:100], people[600:700], people[700:800]))
    assert found["protected"].mean() == pytest.approx(few["protected"].mean(), rel=0.6)
    assert set(found) == {"protected", "holdout", "original drawn again"}


def test_matrices_of_numbers_and_categories_by_hand():
    first = {"x": [1.0, 2, 3, 4, 5, 6], "y": [2.0, 4, 6, 8, 10, 13], "g": list("aabbcc")}
    second = {"x": [1.0, 2, 3, 4, 5, 6], "y": [13.0, 10, 8, 6, 4, 2], "g": list("abcabc")}
    schema = Schema(
        (Column("x", Kind.CONTINUOUS), Column("y", Kind.CONTINUOUS), Column("g", Kind.CATEGORICAL))
    )
    table = mixed_differences(Pair(first, second, schema=schema)).filter(pl.col("first") == "x")
    r = np.corrcoef(first["x"], first["y"])[0, 1]
    by = {row["second"]: row for row in table.to_dicts()}
    assert by["y"]["original"] == pytest.approx(r)
    assert by["y"]["size"] == pytest.approx(2 * r, abs=0.02)
    assert by["g"]["original"] == pytest.approx(0.9561829, abs=5e-8)


def test_f1_is_weighted_as_in_scikit_learn():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(4)
    truth, guessed = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    assert weighted_f1(truth, guessed) == pytest.approx(f1_score(truth, guessed, average="weighted"))


def test_forests_are_tuned_on_the_original_and_tried_on_real_people():
    rng = np.random.default_rng(5)
    x = rng.random((300, 2))
    y = np.where(x[:, 0] + rng.normal(0, 0.3, 300) > 0.5, 1, 0)
    assert tuned_settings(x, y, number=False) in [
        dict(zip(GRIDS["short"], (30, depth, least), strict=True)) for depth in (None, 10) for least in (1, 4)
    ]
    data = {"a": x[:, 0], "b": x[:, 1], "y": np.array(["n", "y"])[y]}
    broken = {**data, "y": rng.permutation(data["y"])}
    table = tuned_forest_table(Pair(data, broken), ["y"])
    assert table["original"][0] > table["protected"][0] + 0.1
    same = tuned_forest_table(Pair(data, data), ["y"])
    assert same["settings"][0] == table["settings"][0]


def test_a_file_of_one_class_is_scored_by_its_one_answer():
    data = {"a": list(range(100)), "y": ["n", "y"] * 50}
    table = tuned_forest_table(Pair(data, {"a": list(range(100)), "y": ["n"] * 100}), ["y"])
    assert table["protected"][0] == pytest.approx(1 / 3, abs=0.1)
