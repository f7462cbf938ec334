"""The calibration tables of the docs: fresh people add nothing, copies and leaks stand out, at every ratio of sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.counts.measure import MEASURES

DOCS = Path(__file__).parents[2] / "docs"
RATIOS = ("1:1", "4:1", "1:4")
RISKS = [
    m.info.name
    for m in MEASURES.values()
    if m.info.family == "risk" and m.info.compares and m.function.__module__.startswith("dalenius.")
]
NEVER_BEYOND = 3.5
"""Halves of two standard errors, that is 1.75 times the printed ones: hardly ever beyond by chance."""


def table(page: str, columns: int) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Mean and two standard errors of every cell, by measure and ratio of sizes."""
    found = {}
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == columns and cells[1:2] and cells[1] in RATIOS:
            numbers = [re.fullmatch(r"(\S+)(?: ± (\S+))?", cell) for cell in cells[2:]]
            found[cells[0], cells[1]] = [
                (float("nan"), 0.0) if m is None or m[1] == "–" else (float(m[1]), float(m[2] or 0))
                for m in numbers
            ]
    return found


RISK = table("risk.md", 6)
USE = table("utility.md", 5)


@pytest.mark.parametrize("name", RISKS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_risk_measures_are_calibrated(name, ratio):
    assert (name, ratio) in RISK, (
        f"the calibration table of docs/risk.md has no line for {name} at {ratio}: run 'python bench/risk_coverage.py "
        f"calibration 31 {name}', then 'python bench/risk_coverage.py tables', and put its lines there"
    )
    (fresh, off), (leak, leak_off), (copy, copy_off), (constant, _) = RISK[name, ratio]
    assert abs(fresh) <= NEVER_BEYOND / 2 * off, "fresh people are strangers"
    assert leak - leak_off > 0, "a leak of 5 % stands out"
    assert copy - copy_off > max(fresh + off, leak + leak_off), "a copy is worse than a leak"
    assert not constant >= copy, "one row repeated gives away less than a copy"


def test_few_cells_are_beyond_two_standard_errors():
    beyond = [abs(cells[0][0]) > cells[0][1] for cells in RISK.values()]
    assert sum(beyond) <= 0.1 * len(beyond)


@pytest.mark.parametrize(("name", "ratio"), USE)
def test_fresh_people_meet_the_yardsticks_of_utility(name, ratio):
    difference, off = USE[name, ratio][2]
    assert abs(difference) <= NEVER_BEYOND / 2 * off


def test_every_yardstick_of_utility_is_in_the_table():
    tabled = {name for name, _ in USE}
    assert tabled >= {
        "two-way-utility",
        "one-way-utility",
        "column-shapes",
        "k-marginal",
        "statistic-similarity",
    }
    assert tabled >= {"propensity-logit", "three-way-utility", "detection-auc"}
