"""One battery for every registered measure. A measure registered later is checked without anybody writing a test."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

import dalenius  # noqa: F401 (registers everything)
from dalenius.core.errors import DataError
from dalenius.core.style import configured
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair

from .conftest import KEYS, TARGETS, survey_schema

NAMES = list(MEASURES)
SEEN = [name for name in NAMES if name not in ("households", "key-uniqueness")]
"""The survey has no homes and no identifiers, so there is nothing to measure; see tests/utility."""
TOLERANCE = 1e-9
RANDOM_TOLERANCE = 0.25


def measured(
    name: str, files: dict[str, pl.DataFrame], protected: pl.DataFrame, original: pl.DataFrame | None = None
):
    base = files["original"] if original is None else original
    schema = survey_schema().select(base.columns)
    pair = Pair(base, protected, files["holdout"], schema=schema, keys=KEYS, targets=TARGETS)
    return MEASURES[name](pair)


@pytest.fixture(scope="session")
def values(files: dict[str, pl.DataFrame]) -> dict[tuple[str, str], float]:
    cache: dict[tuple[str, str], float] = {}

    class Lazy(dict):  # type: ignore[type-arg]
        def __missing__(self, place: tuple[str, str]) -> float:
            self[place] = measured(place[0], files, files[place[1]]).value
            return self[place]

    return Lazy(cache)


def badness(name: str, value: float) -> float:
    return value if MEASURES[name].info.better == "lower" else -value


@pytest.mark.parametrize("name", SEEN)
def test_copy_is_worst_on_risk_and_best_on_utility(name, values):
    info = MEASURES[name].info
    copy = badness(name, values[name, "copy"])
    shuffled = badness(name, values[name, "shuffled"])
    fresh = badness(name, values[name, "fresh"])
    if not info.sees_copy:
        return
    if info.family == "risk":
        assert copy > fresh, "a copy of the original must look riskier than a fresh sample"
        assert copy > shuffled, "a copy of the original must look riskier than shuffled columns"
    else:
        assert copy <= fresh
        assert copy <= shuffled


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_columns_are_noticed(name, values):
    info = MEASURES[name].info
    if info.family == "utility" and info.sees_dependence:
        fresh, shuffled = badness(name, values[name, "fresh"]), badness(name, values[name, "shuffled"])
        assert shuffled > fresh, (
            "a fresh sample of the population must look more useful than shuffled columns"
        )


@pytest.mark.parametrize("name", SEEN)
def test_values_stay_in_the_documented_range(name, values):
    low, high = MEASURES[name].info.bounds
    for variant in ("copy", "fresh", "shuffled"):
        value = values[name, variant]
        assert math.isfinite(value)
        assert low <= value <= high


@pytest.mark.parametrize("name", NAMES)
def test_result_reads_itself(name, files):
    result = measured(name, files, files["fresh"])
    assert result.name == name
    assert result.info is MEASURES[name].info
    assert len(result.sentence.split()) > 5
    assert "nan" not in result.sentence.lower().split()
    assert result.sentence.rstrip().endswith((".", "!", "?"))
    json.dumps(result.to_dict(), default=str)
    assert result.info.title in result._repr_html_() or "&" in result._repr_html_()
    if result.interval is not None:
        assert result.interval.low <= result.value <= result.interval.high
    if result.chart is not None:
        assert configured(result.chart()).to_dict()
    assert result.records is None, "per-record figures are made on request only"


@pytest.mark.parametrize("name", SEEN)
def test_row_and_column_order_do_not_matter(name, files, values):
    rng = np.random.default_rng(5)
    original = files["original"][rng.permutation(files["original"].height)].select(
        files["original"].columns[::-1]
    )
    protected = files["fresh"][rng.permutation(files["fresh"].height)]
    value, other = values[name, "fresh"], measured(name, files, protected, original).value
    scale = max(abs(value), 1.0)
    if MEASURES[name].info.random:
        assert other == pytest.approx(value, abs=RANDOM_TOLERANCE * max(scale, 10.0))
    else:
        assert other == pytest.approx(value, rel=1e-6, abs=TOLERANCE)


def odd_files(files: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    fresh = files["fresh"]
    return {
        "half the rows": fresh[: fresh.height // 2],
        "twice the rows": pl.concat([fresh, files["holdout"]]),
        "extra level": fresh.with_columns(
            pl.when(pl.int_range(pl.len()) < 9).then(pl.lit("new")).otherwise("marital").alias("marital")
        ),
        "missing column": fresh.drop("bmi"),
        "constant column": fresh.with_columns(pl.lit("single").alias("marital")),
        "all missing": fresh.with_columns(pl.lit(None, dtype=pl.Float64).alias("bmi")),
        "one row": fresh[:1],
        "other order": fresh.select(fresh.columns[::-1]),
        "floats for integers": fresh.with_columns(pl.col("age").cast(pl.Float64)),
        "new numbers": fresh.with_columns(pl.col("age") + 200),
    }


@pytest.mark.parametrize("name", NAMES)
def test_odd_protected_files(name, files):
    low, high = MEASURES[name].info.bounds
    for what, protected in odd_files(files).items():
        value = measured(name, files, protected).value
        assert math.isnan(value) or low <= value <= high, what


@pytest.mark.parametrize("name", NAMES)
def test_constant_and_missing_columns_in_the_original(name, files):
    low, high = MEASURES[name].info.bounds
    changes = [pl.lit("single").alias("marital"), pl.lit(None, dtype=pl.Float64).alias("bmi")]
    original, protected = (files[which].with_columns(changes) for which in ("original", "fresh"))
    value = measured(name, files, protected, original).value
    assert math.isnan(value) or low <= value <= high


@pytest.mark.parametrize("name", NAMES)
def test_lacking_keys_are_an_error_not_a_number(name, files):
    measure = MEASURES[name]
    if not measure.info.needs:
        return
    schema = survey_schema().with_roles(keys=[], targets=[])
    pair = Pair(files["original"], files["fresh"], schema=schema)
    with pytest.raises(DataError, match="needs"):
        measure(pair)


def test_metadata_is_complete():
    for measure in MEASURES.values():
        info = measure.info
        assert info.title
        assert info.meaning.endswith(".")
        assert info.reference
        assert info.bounds[0] < info.bounds[1]
        assert info.needs <= {"keys", "targets", "holdout"}
