"""Noise of the amount asked for, rotations that keep covariances, shuffles that keep columns and relations."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DataError
from dalenius.data.steps.step import Step
from dalenius.data.table import Table
from dalenius.mask.microaggregation import Microaggregate
from dalenius.mask.noise import AddNoise
from dalenius.mask.series_step import AverageSeries
from dalenius.mask.shuffling import Shuffle


def pair(rows: int = 4000) -> Table:
    rng = np.random.default_rng(1)
    first = rng.normal(10, 2, rows)
    return Table.from_frame(
        {"a": first, "b": 3 * first + rng.normal(0, 3, rows), "s": rng.choice(["x", "y"], rows)}
    )


def columns(table: Table) -> np.ndarray:
    return np.column_stack([table["a"].data, table["b"].data])


@pytest.mark.parametrize("method", ["additive", "correlated", "restored", "rotation", "outliers"])
def test_noise_of_each_kind(method: str) -> None:
    before = pair(1000 if method == "outliers" else 4000)
    made = AddNoise(("a", "b"), amount=0.3, method=method).apply(before, 1)
    x, y = columns(before), columns(made.table)
    gap = y - x
    again = AddNoise(("a", "b"), amount=0.3, method=method).apply(before, 1).table
    assert columns(again).tobytes() == y.tobytes()
    if method in ("additive", "correlated"):
        np.testing.assert_allclose(gap.std(axis=0) / x.std(axis=0), 0.3, rtol=0.06)
        together = np.corrcoef(gap.T)[0, 1]
        assert abs(together - (0 if method == "additive" else np.corrcoef(x.T)[0, 1])) < 0.06
    elif method == "restored":
        np.testing.assert_allclose(np.cov(y.T), np.cov(x.T), rtol=0.06)
    elif method == "rotation":
        np.testing.assert_allclose(np.cov(y.T), np.cov(x.T), rtol=1e-8)
        np.testing.assert_allclose(y.mean(axis=0), x.mean(axis=0), rtol=1e-9)
        assert 0.1 < (gap.std(axis=0) / x.std(axis=0)).min() < 0.6
    else:
        moved = (gap != 0).any(axis=1)
        assert moved.mean() == pytest.approx(0.025, abs=0.002)
        far = np.abs((x - x.mean(axis=0)) / x.std(axis=0)).max(axis=1)
        assert far[moved].mean() > 2 * far[~moved].mean()


def test_whole_numbers_and_gaps() -> None:
    table = Table.from_frame({"age": [*range(20, 80), None], "pay": [x * 1.5 for x in range(61)]})
    made = AddNoise(("age", "pay"), amount=0.2, method="correlated").apply(table, 1).table
    assert made["age"].data.dtype == table["age"].data.dtype
    assert not made["age"].present[-1]
    assert made["pay"].data[-1] != table["pay"].data[-1]


def test_shuffled_columns_keep_values_and_relations() -> None:
    before = pair()
    made = Shuffle(("b",), by=("a", "s")).apply(before, 1)
    x, y = columns(before), columns(made.table)
    assert np.array_equal(np.sort(x[:, 1]), np.sort(y[:, 1]))
    assert abs(np.corrcoef(x.T)[0, 1] - np.corrcoef(y.T)[0, 1]) < 0.03
    assert (x[:, 1] == y[:, 1]).mean() < 0.01
    loose = columns(Shuffle(("b",)).apply(before, 1).table)
    assert abs(np.corrcoef(loose.T)[0, 1]) < 0.06


def test_faults() -> None:
    table = Table.from_frame({"a": [1.5, 2.5, float("inf")], "s": ["x", "y", "x"]})
    for step in (AddNoise(("a", "s")), Shuffle(("a", "s"))):
        with pytest.raises(DataError, match="2 faults"):
            step.apply(table)
    with pytest.raises(DataError, match="needs 3 or more"):
        AddNoise(("a",), method="rotation").apply(table.take(np.array([0, 1])))


@pytest.mark.parametrize(
    "step",
    [
        AddNoise(("lon", "lat"), amount=0.1),
        Microaggregate(("lon", "lat"), k=3),
        AverageSeries(("lon", "lat"), k=3),
    ],
)
def test_coordinates_are_no_whole_numbers(step: Step) -> None:
    """They are floats of a kind of their own, and were rounded to whole degrees."""
    rng = np.random.default_rng(1)
    homes = Table.from_frame({"lon": 6.9 + rng.random(60) / 10, "lat": 50.9 + rng.random(60) / 10})
    made = step.apply(homes, 1).table["lon"].floats()
    assert len(np.unique(made)) >= 10
    assert np.abs(made - homes["lon"].floats()).max() < 0.1
