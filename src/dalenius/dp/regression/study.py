"""Which mechanism, on data like mine? Simulated designs with known coefficients (Tran, Reimherr and Slavković 2024, 4).

The distance is the Euclidean norm. In the third design the slope moves with the quantile (the noise grows with x), so
its true coefficients are 1 and 2 + Φ⁻¹(τ).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.later import stats
from dalenius.core.random import Seed, generator
from dalenius.dp.accounting import rho_of_epsilon
from dalenius.dp.budget import Neighbours
from dalenius.dp.noise import FloatArray
from dalenius.dp.regression.bounds import Reach
from dalenius.dp.regression.descents import adaptive_fit, stochastic_fit
from dalenius.dp.regression.gradient_norm import Box, drawn_fit
from dalenius.dp.regression.minimise import smoothed_quantile_regression
from dalenius.dp.regression.perturbed import perturbed_fit
from dalenius.dp.regression.smoothing import Check

Name = Literal["normal", "heavy-tail", "heteroscedastic"]
TAUS = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class StudyDesign:
    """A law of x and y, the coefficients of each quantile, the bounds, and the box of K-norm draws."""

    draw: Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]
    truth: Callable[[float], list[float]]
    entry: float
    row: float
    box: float
    clips: tuple[float, float]


def _normal(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    x = np.column_stack([np.ones(n), rng.normal(0, 3, n), rng.normal(0, 1, n)])
    return x, x @ np.array([3.0, 2.0, -1.0]) + rng.normal(0, 2, n)


def _heavy(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    x = np.column_stack([np.ones(n), rng.random(n), rng.random(n)])
    return x, x @ np.array([3.0, 2.0, 0.5]) + rng.exponential(10, n)


def _widening(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    x = np.column_stack([np.ones(n), rng.uniform(0, 2, n)])
    return x, x @ np.array([1.0, 2.0]) + x[:, 1] * rng.normal(0, 1, n)


def _z(tau: float) -> float:
    return float(stats.norm.ppf(tau))


DESIGNS: dict[str, StudyDesign] = {
    "normal": StudyDesign(_normal, lambda t: [3 + 2 * _z(t), 2, -1], 10, math.sqrt(201), 10, (15, 15)),
    "heavy-tail": StudyDesign(
        _heavy, lambda t: [3 - 10 * math.log1p(-t), 2, 0.5], 1, math.sqrt(3), 100, (1.5, 2)
    ),
    "heteroscedastic": StudyDesign(_widening, lambda t: [1, 2 + _z(t)], 2, math.sqrt(5), 10, (2.24, 5)),
}


def quantile_study(
    design: Name, rows: int = 2500, *, epsilon: float = 1.0, delta: float = 1e-6, taus: Sequence[float] = TAUS,
    mechanisms: Sequence[str] = ("none", "opm"), replicates: int = 50, neighbours: Neighbours = "add-remove",
    h: float = 0.5, points: int | None = None, seed: Seed = 0,
) -> pl.DataFrame:  # fmt: skip
    """Distance of fitted from true coefficients, check loss on fresh data and seconds, over repeated samples.

    Mechanisms are "none" (the smoothed fit without privacy), "opm", "opm-gaussian", "kng", "agd" and "sgd". The
    seed fixes the samples; the noise is fresh.

    Examples
    --------
    >>> table = quantile_study("heteroscedastic", 500, taus=[0.5], replicates=2)
    >>> table["mechanism"].to_list(), table.columns
    (['none', 'opm'], ['mechanism', 'tau', 'mean log10 error', 'median error', 'check loss', 'seconds'])
    """
    rows_of = []
    for mechanism in mechanisms:
        for tau in taus:
            errors = np.array([
                _one(DESIGNS[design], rows, epsilon, delta, tau, mechanism, neighbours, h, points, r, seed)
                for r in range(replicates)
            ])  # fmt: skip
            rows_of.append((
                mechanism, tau, float(np.log10(errors[:, 0]).mean()), float(np.median(errors[:, 0])),
                float(errors[:, 1].mean()), float(errors[:, 2].mean()),
            ))  # fmt: skip
    names = ["mechanism", "tau", "mean log10 error", "median error", "check loss", "seconds"]
    return pl.DataFrame(rows_of, schema=names, orient="row")


def _one(
    law: StudyDesign, rows: int, epsilon: float, delta: float, tau: float, mechanism: str, neighbours: Neighbours,
    h: float, points: int | None, replicate: int, seed: Seed,
) -> tuple[float, float, float]:  # fmt: skip
    rng = generator(seed, "quantile study", replicate)
    x, y = law.draw(rng, rows)
    before = time.process_time()
    theta = _fit(law, x, y, Check(tau, h), epsilon, delta, mechanism, neighbours, points)
    seconds = time.process_time() - before
    fresh, response = law.draw(rng, 2000)
    u = response - fresh @ theta
    away = float(np.linalg.norm(theta - np.array(law.truth(tau))))
    return away, float(np.mean(np.abs(u) / 2 + (tau - 0.5) * u)), seconds


def _fit(
    law: StudyDesign, x: FloatArray, y: FloatArray, loss: Check, epsilon: float, delta: float, mechanism: str,
    neighbours: Neighbours, points: int | None,
) -> FloatArray:  # fmt: skip
    reach = Reach(law.row, law.entry, neighbours)
    if mechanism == "none":
        return smoothed_quantile_regression(x, y, loss.tau, h=loss.h, kernel=loss.kernel)
    if mechanism == "kng":
        box = Box.of(-law.box, law.box, x.shape[1])
        return drawn_fit(x, y, loss, reach, box, epsilon=epsilon, points=points)
    if mechanism == "agd":
        rho = rho_of_epsilon(epsilon, delta)
        return adaptive_fit(
            x, y, loss, reach, rho=rho, clip_gradient=law.clips[0], clip_objective=law.clips[1], first=1 / 20
        )
    if mechanism == "sgd":
        return stochastic_fit(x, y, loss, Reach(law.row, law.entry), epsilon=epsilon, delta=delta)
    return perturbed_fit(
        x, y, loss, reach, epsilon=epsilon, delta=delta if mechanism == "opm-gaussian" else 0.0
    )
