"""The check finds what it should on data built with known faults, and stays quiet on clean data."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.preparation import check, check_protected


@pytest.fixture(scope="module")
def messy() -> pl.DataFrame:
    """Known codes, a derived grouping and formula, an outlier, heaping, many levels."""
    rng = np.random.default_rng(8)
    n = 3000
    age = np.clip(rng.normal(46, 18, n), 16, 97).astype(int)
    height, weight = rng.normal(168, 9, n).round(), rng.normal(75, 15, n).clip(40).round()
    bmi = weight / (height / 100) ** 2
    bmi[7] = 450.0
    friends = rng.poisson(5, n)
    friends = np.where(rng.random(n) < 0.35, rng.choice([10, 20, 30], n), friends + rng.integers(0, 30, n))
    friends[:41] = -8
    labels = ["16-24", "25-34", "35-44", "45-59", "60-64", "65+"]
    return pl.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "age": age,
            "agegr": np.array(labels)[np.searchsorted([25, 35, 45, 60, 65], age, side="right")],
            "height": height,
            "weight": weight,
            "bmi": bmi,
            "nofriend": friends,
            "subject": rng.choice([f"s{i:02d}" for i in range(28)], n),
            "code": rng.choice(["a1", "a2", "b1", "b2"], n),
            "fixed": ["x"] * n,
        }
    ).with_columns(area=pl.col("code").str.head(1))


def schema(frame: pl.DataFrame) -> Schema:
    kinds = {
        "age": "integer",
        "height": "continuous",
        "weight": "continuous",
        "bmi": "continuous",
        "nofriend": "integer",
    }
    kinds |= {"id": "integer"}
    return Schema(tuple(Column(n, Kind(kinds.get(n, "categorical"))) for n in frame.columns))


def test_every_planted_fault_is_found(messy: pl.DataFrame) -> None:
    found = check(messy, schema(messy))
    seen = {(f.kind, f.columns[0]) for f in found.findings}
    assert {
        ("identifier", "id"), ("missing-code", "nofriend"), ("derived-grouping", "agegr"), ("derived-formula", "bmi"),
        ("outlier", "bmi"), ("heaping", "nofriend"), ("many-levels", "subject"), ("dependence", "code"),
        ("constant", "fixed"),
    } <= seen  # fmt: skip
    code = found.of("missing-code")[0]
    assert code.count == 41
    formula = next(f for f in found.of("derived-formula") if f.columns[0] == "bmi")
    assert formula.columns == ("bmi", "weight", "height")
    assert "10000" in formula.evidence


def test_clean_data_raise_nothing_grave() -> None:
    rng = np.random.default_rng(1)
    clean = {"x": rng.normal(size=500).tolist(), "sex": rng.choice(["f", "m"], 500).tolist()}
    assert all(f.severity == "info" for f in check(clean).findings)


def test_no_rows_and_one_row() -> None:
    assert check(pl.DataFrame({"a": []}, schema={"a": pl.Int64})).findings[0].kind == "no-rows"
    check({"a": [1], "b": ["x"]})


def test_after_synthesis(messy: pl.DataFrame) -> None:
    rng = np.random.default_rng(3)
    bad = messy.with_columns(
        nofriend=pl.Series(rng.integers(-8, 35, messy.height)),
        agegr=pl.Series(rng.permutation(messy["agegr"].to_numpy())),
        subject=pl.when(pl.col("subject") == "s01").then(pl.lit("zz")).otherwise("subject"),
        bmi=pl.when(pl.col("bmi") > 30).then(200.0).otherwise("bmi"),
    )
    seen = {(f.kind, f.columns[0]) for f in check_protected(Pair(messy, bad, schema=schema(messy))).findings}
    assert {
        ("contradiction", "agegr"), ("flattened-heaps", "nofriend"), ("vanished", "subject"), ("novel", "subject"),
        ("impossible-values", "bmi"),
    } <= seen  # fmt: skip
    assert check_protected(Pair(messy, messy, schema=schema(messy))).findings == ()


def test_numbers_with_words_among_them() -> None:
    few = check({"visits": [str(i % 12) for i in range(90)] + ["10+"] * 10})
    assert [f.evidence for f in few.of("numbers-and-words")] == ["numbers, but words in 10 of 100 rows"]
    many = check({"pay": [str(100 + 7 * i) for i in range(80)] + ["refused"] * 20})
    assert many.of("number-as-text")[0].evidence.endswith("words in 20 rows")
    assert not check({"code": [f"A{i % 20}" for i in range(100)]}).of("numbers-and-words")


@pytest.mark.parametrize(("few", "told"), [(49, False), (50, True)])
def test_a_question_not_asked_of_a_group_needs_a_group(few: int, told: bool) -> None:
    data = {"work": ["yes"] * 300 + ["no"] * few, "hours": [*range(30, 40)] * 30 + [None] * few}
    assert any(finding.kind == "unasked" for finding in check(data).findings) is told
