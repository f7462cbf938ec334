"""A noisy table whose cells are never all drawn has the law of one whose cells are."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dalenius.core.errors import OptionError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp import add_laplace
from dalenius.dp.sparse_noise import find_threshold, is_among, noisy_cells
from dalenius.synth.joint import Saturated, saturated

CELLS, SCALE, THRESHOLD = 60_000, 2.0, 3
KEYS = np.arange(0, CELLS, 7)
COUNTS = (KEYS // 7) % 5 + 1


def dense() -> np.ndarray:
    full = np.zeros(CELLS, np.int64)
    full[KEYS] = COUNTS
    noisy = add_laplace(full, SCALE)
    return np.where(noisy >= THRESHOLD, noisy, 0)


def sparse() -> np.ndarray:
    noisy = np.zeros(CELLS, np.int64)
    found, values = noisy_cells(KEYS, COUNTS, CELLS, SCALE, THRESHOLD)
    noisy[found] = values
    return noisy


def groups() -> np.ndarray:
    """Original count of every cell."""
    held = np.zeros(CELLS, np.int64)
    held[KEYS] = COUNTS
    return held


def test_values_have_the_law_of_the_full_table():
    first, second, held = dense(), sparse(), groups()
    for count in range(6):
        both = [np.bincount(np.minimum(t[held == count], 14), minlength=15) for t in (first, second)]
        seen = np.array(both)[:, np.sum(both, axis=0) > 10]
        assert stats.chi2_contingency(seen).pvalue > 1e-8, f"cells with {count} records"


def test_empty_cells_reach_the_threshold_as_often_as_they_should():
    empty = groups() == 0
    p = math.exp(-1 / SCALE)
    chance = p**THRESHOLD / (1 + p)
    hits = np.count_nonzero(sparse()[empty])
    cells = np.count_nonzero(empty)
    assert stats.binomtest(int(hits), int(cells), chance).pvalue > 1e-8


def test_hits_are_independent_and_anywhere():
    hit = sparse()[groups() == 0] > 0
    places = np.histogram(np.flatnonzero(hit), bins=20, range=(0, len(hit)))[0]
    assert stats.chisquare(places).pvalue > 1e-8
    both = np.array(
        [[np.sum(~hit[1:] & ~hit[:-1]), np.sum(~hit[1:] & hit[:-1])],
         [np.sum(hit[1:] & ~hit[:-1]), np.sum(hit[1:] & hit[:-1])]]
    )  # fmt: skip
    assert stats.chi2_contingency(both).pvalue > 1e-8


def test_the_number_of_hits_varies_as_a_binomial_does():
    none = np.zeros(0, np.int64)
    hits = np.array([len(noisy_cells(none, none, 2000, 1.0, 4)[0]) for _ in range(400)])
    chance = math.exp(-4) / (1 + math.exp(-1))
    edges = stats.binom.ppf(np.linspace(0.1, 0.9, 9), 2000, chance)
    seen = np.bincount(np.searchsorted(edges, hits, side="left"), minlength=10)
    steps = np.diff(np.concatenate([[0.0], stats.binom.cdf(edges, 2000, chance), [1.0]]))
    assert stats.chisquare(seen, 400 * steps).pvalue > 1e-8


def test_a_trillion_cells_are_numbered_exactly():
    found, values = noisy_cells(np.array([5, 10**12 - 1]), np.array([10**6, 10**6]), 10**12, 1.0, 20)
    assert {5, 10**12 - 1} <= set(found.tolist())
    assert np.all(np.diff(found) > 0)
    assert values.min() >= 20
    expected = 10**12 * math.exp(-20) / (1 + math.exp(-1))
    assert stats.poisson.cdf(len(found) - 2, expected) > 1e-8
    assert stats.poisson.sf(len(found) - 3, expected) > 1e-8


def test_the_threshold_keeps_invented_records_few():
    assert find_threshold(100, 0.01, 1.0) == 1
    for cells, scale in ((10**6, 1.0), (10**12, 4.0)):
        threshold = find_threshold(cells, scale, 50.0)

        def mass(t: int, cells: int = cells, scale: float = scale) -> float:
            reach = math.exp(-t / scale) / (1 + math.exp(-1 / scale))
            return cells * reach * (t + 1 / math.expm1(1 / scale))

        assert mass(threshold) <= 50 < mass(threshold - 1)


def test_keys_are_found_among_others():
    assert is_among(np.array([1, 2]), np.zeros(0, np.int64)).tolist() == [False, False]
    assert is_among(np.array([9, 10]), np.array([3, 9])).tolist() == [True, False]


def survey() -> Table:
    levels = tuple(map(str, range(30)))
    schema = Schema(
        tuple(Column(n, Kind.CATEGORICAL, levels=levels, domain="declared") for n in ("a", "b", "c"))
    )
    rng = np.random.default_rng(0)
    data = {n: rng.integers(0, 4, 3000).astype(str) for n in ("a", "b", "c")}
    return Table.from_frame(pl.DataFrame(data), schema)


def test_both_paths_of_the_synthesizer_agree(monkeypatch):
    table, options = survey(), {"epsilon": 1.0, "threshold": 12, "prior": 0.0}
    listed = Saturated(**options).fit(table).strata[0].table
    monkeypatch.setattr(saturated, "NOISED_CELLS", 100)
    drawn = Saturated(**options).fit(table).strata[0].table
    for held in (listed, drawn):
        inside = (
            (np.asarray(held.codes[0]) < 4)
            & (np.asarray(held.codes[1]) < 4)
            & (np.asarray(held.codes[2]) < 4)
        )
        assert np.count_nonzero(held.weights[inside]) == 64, (
            "all combinations that occur are far above the threshold"
        )
        assert held.weights[inside].sum() == pytest.approx(3000, abs=150)
        assert np.count_nonzero(held.weights[~inside]) < 20


def test_structural_zeros_and_nothing_left(monkeypatch):
    monkeypatch.setattr(saturated, "NOISED_CELLS", 100)
    rules = [{"a": "0", "b": ["0", "1"]}]
    table = survey()
    model = Saturated(epsilon=0.2, threshold=20, structural_zeros=rules).fit(table)
    out = model.sample(3000, seed=1).to_frame("polars")
    assert out.filter((pl.col("a") == "0") & pl.col("b").is_in(["0", "1"])).height == 0
    empty = Saturated(epsilon=0.2, threshold=10**6, prior=0.0).fit(table)
    assert any("model is uniform" in note for note in empty.notes)
    assert empty.sample(500, seed=1).rows == 500


def test_thresholds_that_make_no_sense_are_refused():
    for bad in ({"threshold": 0, "epsilon": 1.0}, {"threshold": 3}):
        with pytest.raises(OptionError, match="threshold"):
            Saturated(**bad)
    wide = Schema(
        tuple(
            Column(f"c{i}", Kind.CATEGORICAL, levels=tuple(map(str, range(100))), domain="declared")
            for i in range(9)
        )
    )
    table = Table.from_frame({f"c{i}": ["1", "2"] for i in range(9)}, wide)
    with pytest.raises(OptionError, match="drop columns"):
        Saturated(epsilon=1.0).fit(table)
