"""Shapes, trends, coverage, adherence, statistics, keys and the diagnostic report equal SDMetrics' to 1e-6."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.utility import diagnostic, diagnostic_table, key_uniqueness, statistic_similarity
from dalenius.utility.distributions import column_figures, column_shapes
from dalenius.utility.trends import pair_trends, pair_trends_table
from tests.utility.quality_data import SDTYPES, quality_data, with_ids

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


DIAGNOSTIC = Path(__file__).parents[1] / "golden" / "sdmetrics-diagnostic.json"


def keyed_pair(original: dict[str, list[Any]], protected: dict[str, list[Any]]) -> Pair:
    kinds = {
        name: Kind.CONTINUOUS if kind == "numerical" else Kind.CATEGORICAL for name, kind in SDTYPES.items()
    }
    columns = [Column("id", Kind.TEXT, roles=(Role.IDENTIFIER,)), *(Column(n, k) for n, k in kinds.items())]
    return Pair(original, protected, schema=Schema(tuple(columns)))


class TestDiagnostic:
    expected = json.loads(DIAGNOSTIC.read_text())
    pair = keyed_pair(*with_ids(*quality_data()))

    def test_report(self) -> None:
        found = diagnostic(self.pair)
        assert found.value == pytest.approx(self.expected["score"], abs=1e-6)
        for name, value in self.expected["properties"].items():
            assert found.values[name.lower()] == pytest.approx(value, abs=1e-6), name
        table = diagnostic_table(self.pair)
        assert dict(zip(table["column"], table["score"], strict=True)) == pytest.approx(
            self.expected["validity"], abs=1e-6
        )

    @pytest.mark.parametrize("statistic", ["mean", "median", "std"])
    def test_statistics(self, statistic: Any) -> None:
        found = statistic_similarity(self.pair, statistic=statistic)
        assert found.table is not None
        wanted = self.expected["statistics"][statistic]
        assert dict(zip(found.table["column"], found.table["score"], strict=True)) == pytest.approx(
            wanted, abs=1e-6
        )
        assert found.value == pytest.approx(sum(wanted.values()) / len(wanted), abs=1e-6)

    def test_keys(self) -> None:
        assert key_uniqueness(self.pair).value == pytest.approx(self.expected["keys"]["id"], abs=1e-6)
        both = key_uniqueness(self.pair, ["region", "age"])
        assert both.value == pytest.approx(self.expected["keys"]["region, age"], abs=1e-6)
        assert key_uniqueness(self.pair).yardsticks["original"] == 1.0

    def test_columns_of_one_file_only_and_other_kinds(self) -> None:
        pair = Pair(
            {"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [1.5, 2.5, 3.5]},
            {"a": ["q", "r", "q"], "b": ["x"] * 3},
        )
        found = diagnostic(pair)
        assert found.values["data structure"] == pytest.approx(1 / 3)  # b alone is as it was
        assert "'c'" in found.sentence
        assert found.values["data validity"] == pytest.approx(1 / 2)  # no value of a is one of the original's

    def test_gaps_are_valid_only_where_the_original_has_gaps(self) -> None:
        pair = Pair({"a": [1, 2, 3, 4], "b": [1, 2, None, 4]}, {"a": [1, None, 3, 9], "b": [None, 2, 3, 9]})
        scores = dict(diagnostic_table(pair).select("column", "score").rows())
        assert scores == pytest.approx({"a": 0.5, "b": 2 / 3})

    def test_nothing_to_check_is_not_available(self) -> None:
        pair = Pair({"a": [5, 5, 5]}, {"a": [5, 5, 6]})
        assert math.isnan(statistic_similarity(pair).value)
        with pytest.raises(DataError, match="needs identifiers"):
            key_uniqueness(pair)
        with pytest.raises(DataError, match="'z'"):
            key_uniqueness(pair, ["z"])


def test_a_column_without_values_left_is_worth_nothing() -> None:
    pair = Pair({"a": [1, 2, 3], "b": [1.5, 2.5, 4.0]}, {"a": [1, 2, 3], "b": [None, None, None]})
    assert statistic_similarity(pair).value == 0.5


@pytest.mark.parametrize("name", ["diagnostic", "statistic-similarity", "key-uniqueness"])
def test_command_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,age\n" + "".join(f"p{i},{20 + i % 40}\n" for i in range(80)))
    (tmp_path / "b.csv").write_text("id,age\n" + "".join(f"q{i // 2},{25 + i % 40}\n" for i in range(80)))
    option = ["--option", 'key-uniqueness.columns=["id"]'] if name == "key-uniqueness" else []
    done = CliRunner().invoke(
        app, ["evaluate", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--measures", name, *option]
    )
    assert done.exit_code == 0, done.output
    assert name in done.output or MEASURES[name].info.title in done.output
