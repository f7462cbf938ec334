"""How good the tables are: simulated pairs of columns, dependence, and families of small tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from dalenius.counts.pair import Pair
from dalenius.data import Table, examples
from dalenius.synth import synthesize
from dalenius.synth.syndiffix import Anonymity, SynDiffix, TableSet, plan_tables
from dalenius.synth.syndiffix._kernels.clusters import dependence
from dalenius.utility import (
    WideTable,
    correlation_errors,
    family_k_marginal,
    family_pmse,
    value_errors,
)
from dalenius.utility.distributions import shape_scores
from dalenius.utility.trends import pair_trends_table

from .reference import ReferenceForest


@pytest.mark.slow
def test_quality_of_24_two_column_tables():
    """Medians over all designs with 7,000 and 28,000 rows, intervals of numbers from the real data."""
    shapes, pairs = [], []
    for rows in (7_000, 28_000):
        for design in examples.DESIGNS:
            real = examples.two_columns(design, rows, seed=1)
            pair = Pair(real, synthesize(real, "syndiffix", seed=0, salt="q-test-salt"))
            shapes += shape_scores(pair, ["x", "y"]).values()
            pairs.append(pair_trends_table(pair, ["x", "y"], own_edges=False)["score"][0])
    assert (len(shapes), len(pairs)) == (48, 24)
    assert np.median(shapes) >= 0.995
    assert np.median(pairs) >= 0.998


def taxi(rows=1000):
    """Rides: where they begin, what they cost, rate code and riders; a few far ones at a fixed price."""
    rng = np.random.default_rng(2013)
    east = rng.normal(size=rows)
    north = 0.6 * east + 0.8 * rng.normal(size=rows)
    far = rng.random(rows) < 0.03
    return np.column_stack(
        [
            (-73.98 + 0.02 * east + 0.1 * far).round(6),
            (40.75 + 0.025 * north - 0.08 * far).round(6),
            np.where(far, 52.0, 2.5 + 0.5 * np.floor(rng.gamma(2.0, 8.0, rows))).round(1),
            np.where(far, 2, 1),
            rng.choice([1, 2, 3, 4, 5, 6], rows, p=[0.7, 0.14, 0.04, 0.02, 0.06, 0.04]),
        ]
    )


@pytest.mark.slow
def test_dependence_and_entropy_are_those_of_the_reference():
    """Figures that `syndiffix` 1.0.8 gives for the same rides, noise off."""
    rides = taxi()
    scaled = (rides - rides.min(0)) * (0.9999 / np.ptp(rides, axis=0))
    forest = ReferenceForest(scaled, ["lon", "lat", "fare", "rate", "riders"], b"", Anonymity.off())
    trees = [forest.tree((i,)) for i in range(5)]
    shares = [tree.noisy[tree.is_leaf] / tree.noisy[0] for tree in trees]
    found = [-np.sum(share * np.log2(share)) for share in shares]
    assert found == pytest.approx([9.2678, 9.2378, 5.2332, 0.1687, 1.4397], abs=1e-4)
    for i, tree in enumerate(
        trees
    ):  # extremes as codes below the pushed-down root, as our own forest has them
        codes, first = np.unique(forest.actual[i], return_index=True)
        tree.wide[:, -2:] = forest.cells[i][first][np.searchsorted(codes, tree.wide[:, -2:])]
    measured = []
    for i, j in combinations(range(5), 2):
        x, y, xy = trees[i], trees[j], forest.tree((i, j))
        measured.append(dependence(x.ints, x.wide, x.noisy, y.ints, y.wide, y.noisy, xy.ints, xy.noisy))
    wanted = [0.3752, 0.2493, 0.0562, 0.1073, 0.2657, 0.0527, 0.1152, 0.0568, 0.0861, 0.0094]
    assert measured == pytest.approx(wanted, abs=1e-4)


def test_small_tables_beat_one_wide_table():
    survey = examples.survey(4000, seed=2)
    names = ["region", "sex", "age", "marital", "education", "employment", "health", "diagnosis", "children"]
    survey = survey.select(name for name in names if name in survey.columns)
    original = Table.from_frame(survey)
    tables = TableSet.build(original, plan_tables(original.names, width=2), salt="t-test-salt", seed=1)
    wide = WideTable(SynDiffix(salt="t-test-salt").fit(original).sample(seed=1))
    sets = list(combinations(original.names, 2))
    scores = [
        (
            value_errors(original, family)["composite"].mean(),
            correlation_errors(original, family)["error"].mean(),
            -family_k_marginal(original, family),
            family_pmse(original, family, sets),
        )
        for family in (tables, wide)
    ]
    assert np.all(np.array(scores[0]) < np.array(scores[1]))
    perfect = WideTable(original)
    assert value_errors(original, perfect)["composite"].sum() == 0
    assert family_k_marginal(original, perfect) == 1000
    assert correlation_errors(original, perfect)["error"].sum() == 0


def test_errors_of_counts_can_be_brought_to_the_same_size():
    original = Table.from_frame(pl.DataFrame({"a": ["x"] * 40 + ["y"] * 20}))
    half = WideTable(original.take(np.arange(0, 60, 2)))
    assert value_errors(original, half)["composite"].to_list() == [20, 10]
    assert value_errors(original, half, rescale=True)["composite"].to_list() == [0, 0]
