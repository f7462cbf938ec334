"""Column shapes, pair trends, coverage and adherence equal SDMetrics' to 1e-6."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.utility.distributions import column_figures, column_shapes
from dalenius.utility.trends import pair_trends, pair_trends_table
from tests.utility.quality_data import SDTYPES, quality_data

REFERENCE = Path(__file__).parents[1] / "golden" / "sdmetrics-quality.json"


def made_pair(original: dict[str, list[Any]], protected: dict[str, list[Any]]) -> Pair:
    kinds = {
        name: Kind.CONTINUOUS if kind == "numerical" else Kind.CATEGORICAL for name, kind in SDTYPES.items()
    }
    return Pair(original, protected, schema=Schema(tuple(Column(name, kind) for name, kind in kinds.items())))


def agrees(pair: Pair, expected: dict[str, Any]) -> None:
    figures = {row["column"]: row for row in column_figures(pair).to_dicts()}
    for name, value in expected["shapes"].items():
        assert figures[name]["shape"] == pytest.approx(value, abs=1e-6), name
    found = {(row["first"], row["second"]): row["score"] for row in pair_trends_table(pair).to_dicts()}
    for first, second, value in expected["pairs"]:
        if not math.isnan(value):  # SDMetrics leaves weak pairs out
            assert found[first, second] == pytest.approx(value, abs=1e-6), (first, second)
    assert pair_trends(pair).values["quality score"] == pytest.approx(expected["score"], abs=1e-6)
    assert column_shapes(pair).value == pytest.approx(expected["properties"]["Column Shapes"], abs=1e-6)
    for key, column in (("coverage", "coverage"), ("adherence", "adherence")):
        for name, value in expected.get(key, {}).items():
            tolerance = (
                0.06 if key == "adherence" and name == "region" else 1e-6
            )  # theirs counts empty cells as valid
            assert figures[name][column] == pytest.approx(value, abs=tolerance), (key, name)
    for name, value in expected.get("missing", {}).items():
        gap = abs(figures[name]["missing original"] - figures[name]["missing protected"])
        assert 1 - gap == pytest.approx(value, abs=1e-6), name


def test_equals_stored_scores() -> None:
    agrees(made_pair(*quality_data()), json.loads(REFERENCE.read_text()))


@pytest.mark.parametrize("seed", [1, 2])
def test_equals_sdmetrics_itself(seed: int) -> None:
    reports = pytest.importorskip(
        "sdmetrics.reports.single_table", reason="SDMetrics is not installed (pip install 'dalenius[peers]')"
    )
    pd = pytest.importorskip("pandas")
    original, protected = quality_data(seed, 900)
    report = reports.QualityReport()
    metadata = {"columns": {name: {"sdtype": kind} for name, kind in SDTYPES.items()}}
    report.generate(pd.DataFrame(original), pd.DataFrame(protected), metadata, verbose=False)
    shapes, trends = report.get_details("Column Shapes"), report.get_details("Column Pair Trends")
    expected = {
        "score": report.get_score(),
        "shapes": dict(zip(shapes["Column"], shapes["Score"], strict=True)),
        "pairs": list(zip(trends["Column 1"], trends["Column 2"], trends["Score"], strict=True)),
        "properties": dict(
            zip(report.get_properties()["Property"], report.get_properties()["Score"], strict=True)
        ),
    }
    agrees(made_pair(original, protected), expected)
