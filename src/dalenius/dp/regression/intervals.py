"""Intervals of private fits, from what is released and nothing else: simulated fits around the released one.

Part of the budget buys noisy sums of products (`moments`): of all columns for a linear fit, of the predictors weighted
by the curvature of the loss for the others. With them, fits are simulated whose scatter comes from the sampling of
records and from the noise, both of known law (a parametric bootstrap: Ferrando, Wang and Sheldon 2022). A fit that the
ridge pulls towards its public guess is moved back by as much as the released curvature says. The curvature is noisy
itself: where the noise is as large as it is, the intervals are as wide as the bounds, for then nothing is known.
"""

from __future__ import annotations

import numpy as np

from dalenius.dp.noise import FloatArray
from dalenius.dp.queries import Query
from dalenius.dp.regression.bounds import Reach
from dalenius.dp.regression.design import Design
from dalenius.dp.regression.moments import lifted, noisy_moments, scale_for
from dalenius.dp.regression.smoothing import Check, Loss

DRAWS = 2000
BOX = 2.0
"""Coefficients lie within ± this, in units in which all columns lie between -1 and 1: lines stay within the bounds."""
CERTAIN = 20.0
"""The same for log-odds: beyond this a probability is 0 or 1 to eight digits."""
LEAST = 0.005
"""Simulated curvatures lie above this share of their noise's scale: a sum of squares is not negative."""
KNOWN = 2.0
"""Released curvatures below this many of their noise's scales say hardly anything."""
TRIES = 8
_SEED = 0
"""The simulation protects nobody: it draws from laws that are public, so that it may be repeated."""


def release_moments(
    asked: Query, columns: FloatArray, reach: Reach, price: float, weights: FloatArray | None = None,
    most: float = 1.0, what: str = "sums of products",
) -> tuple[FloatArray, float, bool]:  # fmt: skip
    """Pay for noisy moments, and make them: the matrix, its noise's scale in its own unit, whether it is Gaussian."""
    gaussian = asked.budget.accounting == "zcdp"
    scale = scale_for(columns.shape[1], reach.records, reach.moved // reach.records, price, gaussian)
    noise = f"{'discrete Gaussian' if gaussian else 'discrete Laplace'}, scale {scale:.4g}"
    epsilon, rho = (0.0, price) if gaussian else (price, 0.0)
    asked.budget.spend(f"{asked.what}: {what}", epsilon=epsilon, rho=rho, noise=noise)
    weights = np.ones(len(columns)) if weights is None else weights
    return noisy_moments(columns, weights, most, scale, gaussian), scale * most, gaussian


def release_curvature(
    asked: Query, design: Design, reach: Reach, loss: Loss, theta: FloatArray, price: float
) -> tuple[FloatArray, FloatArray, float]:
    """Noisy curvature of the losses at the released fit, noisy covariance of their gradient, scale of the first."""
    weights = loss.curvature(design.y, design.x @ theta)
    each = price / 2 if isinstance(loss, Check) else price
    curve, scale, _ = release_moments(asked, design.x, reach, each, weights, loss.sharpest, "curvature")
    if not isinstance(loss, Check):  # the model says that the gradient's covariance is the curvature
        return curve, lifted(curve, scale), scale
    spread, wide, _ = release_moments(asked, design.x, reach, each)
    return curve, loss.tau * (1 - loss.tau) * lifted(spread, wide), scale


def perturbed_draws(
    theta: FloatArray, curve: tuple[FloatArray, float, bool], spread: FloatArray, ridge: float, scale: float, *,
    gaussian: bool, box: float,
) -> FloatArray:  # fmt: skip
    """Simulated coefficients around the released ones, for objective perturbation.

    The fit solves Σ gradient + ridge·θ + b = 0, so the truth is θ + H⁻¹(ridge·θ + b + G) to first order, where G is the
    gradient's scatter over samples and H the curvature, of which a noisy one is known (with its noise's scale, and
    whether that is Gaussian). Nothing lies beyond ± ``box``.
    """
    rng = np.random.default_rng(_SEED)
    width = len(theta)
    pushes = rng.normal(0, 1, (DRAWS, width))
    if not gaussian:
        pushes *= rng.gamma(width, 1, (DRAWS, 1)) / np.linalg.norm(pushes, axis=1, keepdims=True)
    scatter = rng.multivariate_normal(np.zeros(width), spread, DRAWS)
    matrix, wide, normal = curve
    curves = _curves(rng, matrix, wide, gaussian=normal)
    moved = np.linalg.solve(curves, (ridge * theta + scale * pushes + scatter)[:, :, None])[:, :, 0]
    return np.asarray(np.clip(theta + moved, -box, box))


def _curves(rng: np.random.Generator, matrix: FloatArray, scale: float, *, gaussian: bool) -> FloatArray:
    """Curvatures that may be behind the released one: it less other noise, of those the ones that can be a curvature.

    Where hardly any can, the nearest that can.
    """
    tried = (
        np.concatenate([_symmetric(rng, scale, len(matrix), gaussian=gaussian) for _ in range(TRIES)])
        + matrix
    )
    values, vectors = np.linalg.eigh(tried)
    order = np.argsort(values[:, 0] < LEAST * scale, kind="stable")[:DRAWS]
    values, vectors = np.maximum(values[order], LEAST * scale), vectors[order]
    return np.asarray((vectors * values[:, None, :]) @ np.transpose(vectors, (0, 2, 1)))


def _symmetric(rng: np.random.Generator, scale: float, width: int, *, gaussian: bool) -> FloatArray:
    """Noise of released matrices, drawn from its law again."""
    off = (rng.normal if gaussian else rng.laplace)(0, scale, (DRAWS, width, width))
    return np.asarray(np.triu(off) + np.transpose(np.triu(off, 1), (0, 2, 1)))


def linear_coefficients(released: tuple[FloatArray, float, bool]) -> FloatArray:
    """Coefficients of the last column on the others, from noisy moments."""
    matrix, scale, _ = released
    return np.asarray(np.linalg.solve(lifted(matrix[:-1, :-1], scale), matrix[:-1, -1]))


def linear_draws(released: tuple[FloatArray, float, bool], theta: FloatArray) -> FloatArray:
    """Simulated coefficients of a linear fit: other samples and other noise, everything else as released."""
    matrix, scale, gaussian = released
    rng, width = np.random.default_rng(_SEED), len(theta)
    sums = lifted(matrix[:-1, :-1], scale)
    records = max(float(matrix[0, 0]), width + 1.0)
    left = max(float(matrix[-1, -1] - theta @ matrix[:-1, -1]), 0.0) / (records - width)
    scatter = rng.multivariate_normal(np.zeros(width), left * sums, DRAWS)
    law = rng.normal if gaussian else rng.laplace
    off = _symmetric(rng, scale, width, gaussian=gaussian)
    right = sums @ theta + scatter + law(0, scale, (DRAWS, width))
    # what was released differs from the exact sums by noise of the same law: the simulated truth lies as far away
    return np.asarray(np.linalg.solve(sums + off, right[:, :, None])[:, :, 0])
