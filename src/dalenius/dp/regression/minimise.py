"""The minimum of a sum of losses: Newton's steps with a safeguard, for fits with and without privacy."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dalenius.core.errors import DataError
from dalenius.dp.noise import FloatArray
from dalenius.dp.regression.smoothing import Check, KernelName, Loss

_STEPS, _HALVINGS = 200, 60
TOLERANCE = 1e-8
"""Length of the gradient before the last step, for each record: a promise about the exact minimum needs the minimum."""
_ROUNDING = 1e-13
"""Near the minimum the sum is flat to its last digits: a step may seem to rise by this, only the gradient can tell."""
_BLOCK = 1 << 16


def minimise(
    x: FloatArray, y: FloatArray, loss: Loss, *, ridge: float = 0.0, centre: FloatArray | None = None,
    push: FloatArray | None = None,
) -> FloatArray:  # fmt: skip
    """θ at which Σ loss(y, xθ) + ridge/2·|θ - centre|² + push·θ is smallest.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> minimise(np.ones((5, 1)), y, Check(0.5, h=0.1)).round(3).tolist()
    [3.0]
    """
    width = x.shape[1]
    middle = np.zeros(width) if centre is None else np.asarray(centre, np.float64)
    pushed = np.zeros(width) if push is None else push
    theta = middle.copy()
    goal = TOLERANCE * max(1, len(y))

    def height(at: FloatArray) -> float:
        away = at - middle
        return _total(x, y, loss, at) + ridge / 2 * float(away @ away) + float(pushed @ at)

    now = height(theta)
    for _ in range(_STEPS):
        gradient, curve = _derivatives(x, y, loss, theta)
        gradient += ridge * (theta - middle) + pushed
        if np.linalg.norm(gradient) <= goal:
            return theta + _downhill(curve + ridge * np.eye(width), gradient)  # to the last digits
        step = _downhill(curve + ridge * np.eye(width), gradient)
        slope, size = float(gradient @ step), 1.0
        for _ in range(_HALVINGS):
            after = height(theta + size * step)
            if after <= now + 1e-4 * size * slope + _ROUNDING * abs(now):
                break
            size /= 2
        theta, now = theta + size * step, after
    raise DataError(
        "the fit did not reach its minimum; leave out predictors that follow from others, or take a larger h"
    )


def smoothed_quantile_regression(
    x: FloatArray, y: FloatArray, tau: float = 0.5, *, h: float = 0.5, kernel: KernelName = "logistic"
) -> FloatArray:
    """Coefficients of a quantile regression with the smoothed loss; no privacy.

    ``x`` has its column of ones where an intercept is wanted.

    Examples
    --------
    >>> x = np.column_stack([np.ones(200), np.linspace(0, 1, 200)])
    >>> smoothed_quantile_regression(x, 3 + 2 * x[:, 1]).round(3).tolist()
    [3.0, 2.0]
    """
    return minimise(x, y, Check(tau, h, kernel))


def _total(x: FloatArray, y: FloatArray, loss: Loss, theta: FloatArray) -> float:
    return float(loss.value(y, x @ theta).sum())


def _derivatives(
    x: FloatArray, y: FloatArray, loss: Loss, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient and curvature of the sum, block by block: no second copy of the data."""
    gradient, curve = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    for start in range(0, len(y), _BLOCK):
        rows, held = x[start : start + _BLOCK], y[start : start + _BLOCK]
        at = rows @ theta
        gradient += loss.slope(held, at) @ rows
        curve += (rows * loss.curvature(held, at)[:, None]).T @ rows
    return gradient, curve


def _downhill(curve: FloatArray, gradient: FloatArray) -> FloatArray:
    """Newton's step; where the sum is flat, with as much ridge as it takes."""
    size = max(float(np.trace(curve)) / len(gradient), 1e-12)
    for damping in (0.0, *(10.0**k for k in range(-12, 13))):
        try:
            factor = cho_factor(curve + damping * size * np.eye(len(gradient)))
            return np.asarray(-cho_solve(factor, gradient))
        except np.linalg.LinAlgError:
            continue
    return -gradient
