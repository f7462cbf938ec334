"""The word "interval" is used where docs/risk.md shows that the range holds what it says, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.core.result import SPREAD
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data import examples

DOCS = (Path(__file__).parents[2] / "docs" / "risk.md").read_text(encoding="utf-8")
RISKS = [m.info.name for m in MEASURES.values() if m.info.family == "risk"]
MIN_REPLICATES = 200


def coverage() -> dict[str, list[list[float]]]:
    """Per cent of replicates whose range holds the mean, of the level and of what is added, by measure."""
    section = DOCS[DOCS.index("## Calibration") :].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = cells[0].split(",")[0]  # figures of whole rows are there twice, for many and for few columns
        if len(cells) == 4 and name in RISKS:
            assert int(cells[3]) >= MIN_REPLICATES
            found.setdefault(name, []).append([float(x) for x in re.findall(r"(\d+) %", line)])
    return found


COVERAGE = coverage()


@pytest.mark.parametrize("name", RISKS)
def test_intervals_are_called_so_where_they_cover(name):
    measured = COVERAGE.get(name, [])
    holds = bool(measured) and all(92 <= share <= 98 for row in measured for share in row)
    assert MEASURES[name].info.covered == holds


def test_what_is_surely_added_was_seen_to_hold():
    """A policy may rely on the lower end of a range that holds 92 times in 100 or more."""
    sure = [name for name in RISKS if MEASURES[name].info.added_covered]
    assert sure == ["identical-matches"]
    for name in sure:
        assert len(COVERAGE[name]) == 2
        assert all(added >= 92 for _, added in COVERAGE[name])


def test_other_ranges_are_called_spreads():
    survey, others = (examples.survey(120, seed=s).select("sex", "age", "region", "health") for s in (1, 2))
    pair = Pair(survey, survey, others, keys=["sex", "age"], targets=["health"])
    for name in ("dcr", "replicated-uniques", "disco", "membership-distance"):
        result = MEASURES[name](pair)
        for spread in (result.interval, result.added_interval):
            assert spread is not None
            assert ("interval" in spread.words) == MEASURES[name].info.covered
            assert (spread.kind == SPREAD) != MEASURES[name].info.covered
