"""Households and distances of counts: the worked examples of Thees et al. 2024."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.utility import (
    count_distances,
    household_counts,
    households_kept,
    table_utility,
    weighted_distances,
)

ROWS = [
    ("1", 40, "f", 100.0),
    ("1", 42, "m", 100.0),
    ("1", 5, "f", 100.0),
    ("2", 9, "m", 80.0),
    ("3", 70, "f", 120.0),
]
SCHEMA = Schema(
    (
        Column("hh", Kind.CATEGORICAL, roles=(Role.HOUSEHOLD,)),
        Column("age", Kind.INTEGER),
        Column("sex", Kind.CATEGORICAL),
        Column("w", Kind.CONTINUOUS, roles=(Role.WEIGHT,)),
    )
)


def survey(rows: list[tuple[str, int, str, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["hh", "age", "sex", "w"], orient="row")


def test_distances() -> None:
    found = count_distances(np.array([10, 20, 30, 40]), np.array([15, 15, 35, 35]), zero="drop")
    assert found == pytest.approx(
        {"MAE": 5, "RMSE": 5, "MAPE": 26.0416667, "Aitchison": 0.5328857221, "zero cells": 0}, abs=1e-7
    )
    empty = count_distances(np.array([10, 0, 30]), np.array([0, 10, 30]))
    assert empty["zero cells"] == 2
    assert empty["Aitchison"] > 4  # two empty cells decide the distance
    assert count_distances(np.array([10, 0, 30]), np.array([0, 10, 30]), zero="drop")["Aitchison"] == 0


def test_distances_of_any_table() -> None:
    pair = Pair({"a": ["x"] * 30 + ["y"] * 70}, {"a": ["x"] * 25 + ["y"] * 25})
    row = table_utility(pair, 1, statistics=["Aitchison", "MAE", "S_pMSE"]).row(0, named=True)
    assert row["MAE"] == 20  # at the original's size
    assert row["Aitchison"] == pytest.approx(np.sqrt(0.5) * np.log(70.5 / 30.5))


def test_households() -> None:
    found = household_counts(Table.from_frame(survey(ROWS), SCHEMA), "hh", "age", "sex", "w")
    assert (found.count, found.estimated) == (3, 300)
    assert (found.children_only, found.children_only_estimated) == (1, 80)
    assert (found.mixed, found.mixed_estimated) == (1, 100)


def test_measure_sees_torn_families() -> None:
    original = survey([(f"{i}{r[0]}", *r[1:]) for i in range(30) for r in ROWS])
    torn = original.with_columns(hh=pl.Series([str(i) for i in range(original.height)]))
    same = households_kept(Pair(original, original, schema=SCHEMA))
    assert same.value == 0
    found = households_kept(Pair(original, torn, schema=SCHEMA))
    rows = {row["figure"]: row for row in found.table.to_dicts()}  # type: ignore[union-attr]
    assert rows["households"]["protected"] == pytest.approx(30 * 500)
    assert rows["adults of both sexes"]["protected"] == 0
    assert rows["children only"]["protected"] == pytest.approx(30 * 180)
    assert found.value > 30


def test_weights() -> None:
    original, other = survey(ROWS), survey([("9", 30, "f", 500.0)])
    pair = Pair(original, other, schema=SCHEMA)
    assert weighted_distances(pair, ["sex"])["MAE"] == pytest.approx(
        (180 + 180) / 2
    )  # f 320 and 500, m 180 and 0
    with pytest.raises(DataError, match="'v' is not in both files"):
        weighted_distances(pair, ["sex"], "v")
