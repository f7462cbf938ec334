"""The forecast: small trials, carried on to all rows; nothing is kept."""

from __future__ import annotations

import json

import pytest

from dalenius.core.cost import extrapolate
from dalenius.release import read_plan
from dalenius.release.forecast import trial_sizes

from .conftest import PLAN, invoke, make_plan


def test_a_line_where_growth_is_steady_and_a_power_where_it_slackens():
    assert extrapolate([100, 400, 1600], [0.1, 0.4, 1.6], 16_000) == pytest.approx(16.0)
    slackening = extrapolate([100, 400, 1600], [0.1, 0.4, 0.8], 6400)
    assert 1.5 < slackening < 1.7
    assert extrapolate([100, 400], [0.5, 0.4], 10_000) == 0.4, "noise of short trials never counts backwards"
    assert extrapolate([100], [0.5], 10_000) == 0.5


def test_trials_are_a_part_of_the_data():
    for rows in (1, 7, 100, 999, 2000, 1_000_000):
        sizes = trial_sizes(rows)
        assert sizes == sorted(sizes)
        assert sizes[-1] <= max(rows / 2, 1)


@pytest.mark.slow
def test_every_candidate_is_forecast_and_nothing_is_written(tmp_path):
    few = PLAN.replace("  saturated: {}\n  cart: {minbucket: {each: [5, 50]}}\n", "")
    path = make_plan(tmp_path, 300, few)
    before = sorted(tmp_path.rglob("*"))
    told = json.loads(invoke("release", str(path), "--dry-run", "--json", "-q").stdout)
    costs = told["candidates"]
    assert list(costs) == [c.name for c in read_plan(path).candidates]
    assert all(c["make"] >= 0 and c["measure"] > 0 and c["bytes"] > 0 for c in costs.values())
    assert told["seconds"] > 0
    assert set(costs["loglinear"]) == {"seconds", "make", "measure", "bytes"}
    assert sorted(tmp_path.rglob("*")) == before
