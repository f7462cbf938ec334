"""Damage of known size moves the measures that should see it, and leaves the others alone."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import dalenius  # noqa: F401 (registers everything)
from dalenius.counts.pair import Pair
from dalenius.utility.distributions import column_figures
from dalenius.utility.tables import table_utility
from tests.utility.sensitivity import DAMAGES, QUICK, SCHEMA, damaged, figures, moved, original, resampled

TABLES = {"two-way-utility", "three-way-utility"}
REGRESSIONS = {"slopes", "model-agreement", "prediction"}
DEPENDENCE = TABLES | {
    "propensity-tree",
    "associations",
    "conditionals",
    "pca",
    "slopes",
    "model-agreement",
    "prediction",
}
ONE_COLUMN = {"one-way-utility", "propensity-logit", "column-shapes", "coverage"}
NOBODY = {"missingness", "rules", "households"}
SEES = {
    "column permuted": DEPENDENCE | {"pair-trends", "k-marginal"},
    "pair decorrelated": DEPENDENCE,
    "category dropped": TABLES
    | {
        "one-way-utility",
        "propensity-logit",
        "propensity-tree",
        "column-shapes",
        "coverage",
        "pair-trends",
        "k-marginal",
    },
    "2 % outliers": {
        "propensity-logit",
        "pair-trends",
        "associations",
        "slopes",
        "model-agreement",
        "prediction",
    },
    "gaps filled": TABLES
    | {"missingness", "one-way-utility", "propensity-logit", "propensity-tree", "k-marginal"},
    "rule broken": {"rules"},
    "homes torn": {"households"},
}
BLIND = {
    "column permuted": ONE_COLUMN | NOBODY,
    "pair decorrelated": ONE_COLUMN | NOBODY,
    "category dropped": NOBODY | REGRESSIONS | {"associations"},
    "2 % outliers": NOBODY | {"one-way-utility", "coverage"},
    "gaps filled": {"rules", "households", "coverage"},
    "rule broken": set(QUICK) - {"rules"},
    "homes torn": set(QUICK) - {"households"},
}


@pytest.fixture(scope="module")
def table() -> dict[str, dict[str, list[float]]]:
    return figures()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_seen_by_those_who_should(damage: str, table: dict[str, dict[str, list[float]]]) -> None:
    seen = {name for name in QUICK if moved(table[name]["none"], table[name][damage])}
    assert SEES[damage] <= seen
    assert not BLIND[damage] & seen


def test_only_the_decorrelated_tables_get_worse() -> None:
    base = original()
    good = resampled(base, 0)
    scores = []
    for frame in (good, damaged(good, "pair decorrelated", 0)):
        found = table_utility(Pair(base, frame, schema=SCHEMA), 2)
        scores.append(dict(found.select("table", "S_pMSE").iter_rows()))
    worse = {name for name in scores[0] if scores[1][name] > scores[0][name] + 3}
    assert worse == {"grade × income"}


def test_the_damaged_column_is_named() -> None:
    base = original()
    good = resampled(base, 0)

    def row(frame: pl.DataFrame, name: str) -> dict[str, Any]:
        return {r["column"]: r for r in column_figures(Pair(base, frame, schema=SCHEMA)).to_dicts()}[name]

    dropped = row(damaged(good, "category dropped", 0), "region")
    assert dropped["coverage"] == pytest.approx(0.8)
    assert dropped["vanished"] == pytest.approx(0.06, abs=0.015)
    outliers = row(damaged(good, "2 % outliers", 0), "income")
    assert outliers["novel"] == pytest.approx(0.02, abs=0.01)
    assert outliers["Wasserstein"] > 5 * row(good, "income")["Wasserstein"]
