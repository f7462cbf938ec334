"""What is said about accuracy holds in about 95 % of draws, for every mechanism (`bench/dp.py` draws more)."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from dalenius.dp.accuracy import error_within, laplace_peak
from dalenius.dp.repair import cell_errors, consistent
from tests import LONG

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "dp.py"))
DRAWS = 1000 if LONG else 100


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", BENCH["MECHANISMS"])
def test_counts_of_a_released_file_are_as_near_as_is_said(mechanism):
    share, error, counts, _ = BENCH["coverage"](mechanism, DRAWS)
    assert counts > 3 * DRAWS
    assert error < 0.02
    # The law may be off by half a point; five and a half errors is what chance does in one of 10^7 runs.
    assert abs(share - 0.95) <= 0.005 + 5.5 * error
    assert share < 1


@pytest.mark.parametrize("peaked", [0.0, 3.0])
def test_the_law_of_a_repaired_cell_is_that_of_simulated_ones(peaked):
    """Variance and fourth cumulant by weights, beside those of many noisy tables that were made to agree."""
    rng = np.random.default_rng(1)
    shapes = {(0, 1): (3, 4), (1, 2): (4, 2), (0,): (3,)}
    variances = {(0, 1): 4.0, (1, 2): 9.0, (0,): 1.0}
    truth = {key: np.full(shape, 6000.0 / np.prod(shape)) for key, shape in shapes.items()}
    off: dict[tuple[int, ...], list[np.ndarray]] = {key: [] for key in shapes}
    for _ in range(4000):
        noisy = {}
        for key, shape in shapes.items():
            unit = rng.laplace(0, np.sqrt(0.5), shape) if peaked else rng.normal(0, 1, shape)
            noisy[key] = truth[key] + np.sqrt(variances[key]) * unit
        agreed = consistent(noisy, variances, 6000.0, rounds=0, shrink=False)
        for key in shapes:
            off[key].append(agreed[key] - truth[key])
    said = cell_errors(truth, variances, 0.0, peaked, shrink=False)
    for key, held in off.items():
        errors = np.array(held)
        variance, fourth = said[key]
        assert errors.var() == pytest.approx(variance, rel=0.05)
        kurtosis = float((errors**4).mean() / errors.var() ** 2 - 3)
        assert kurtosis == pytest.approx(fourth / variance**2, abs=0.25)
        inside = np.abs(errors) <= error_within(variance, fourth)
        assert inside.mean() == pytest.approx(0.95, abs=0.01)


def test_tails_of_laplace_noise():
    scale = 20.0
    peak = laplace_peak(scale)
    noise = np.random.default_rng(2).laplace(0, scale, 400_000)
    variance = 2 * scale**2
    assert np.mean(np.abs(noise) <= error_within(variance, peak * variance**2)) == pytest.approx(
        0.953, abs=0.002
    )
