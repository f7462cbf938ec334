"""People outside the data as a yardstick of usefulness: at the size of the protected file, or not at all."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalenius.utility  # noqa: F401 (registers its measures)
from dalenius import Pair
from dalenius.core.result import Result
from dalenius.counts.measure import MEASURES
from dalenius.data import examples

COLUMNS = ["region", "sex", "age", "marital", "education", "income", "health"]


DRAWS, ROWS = 12, 200


def measured(name: str, outside: int) -> list[Result]:
    """A figure of fresh people beside others, drawn anew each time."""
    return [MEASURES[name](pair) for pair in pairs(outside)]


@cache
def pairs(outside: int) -> list[Pair]:
    people = examples.survey(DRAWS * (2 * ROWS + outside), seed=1).select(COLUMNS)
    mixed = people.sample(fraction=1, shuffle=True, seed=1)
    parts = (mixed.gather_every(DRAWS, k) for k in range(DRAWS))
    return [Pair(p[:ROWS], p[ROWS : 2 * ROWS], p[2 * ROWS :]) for p in parts]


@pytest.mark.parametrize("name", ["column-shapes", "k-marginal", "statistic-similarity"])
@pytest.mark.parametrize("outside", [ROWS, 4 * ROWS])
def test_fresh_people_meet_the_yardstick(name, outside):
    best = MEASURES[name].info.bounds[1]
    pairs = [(best - r.value, best - r.yardsticks["holdout"]) for r in measured(name, outside)]
    mine, theirs = np.mean(pairs, axis=0)
    assert mine == pytest.approx(theirs, rel=0.15 if name != "statistic-similarity" else 0.4)


@pytest.mark.parametrize("name", ["column-shapes", "k-marginal", "statistic-similarity", "two-way-utility"])
def test_a_smaller_holdout_is_no_yardstick(name):
    assert "holdout" not in measured(name, ROWS // 4)[0].yardsticks


@pytest.mark.parametrize("name", ["one-way-utility", "two-way-utility"])
@pytest.mark.parametrize("outside", [ROWS, 4 * ROWS])
def test_tables_of_the_holdout_are_brought_to_the_size_of_the_file(name, outside):
    figures = [r.yardsticks["holdout"] for r in measured(name, outside)]
    assert np.mean(figures) == pytest.approx(2, rel=0.25)
