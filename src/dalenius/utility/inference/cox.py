"""Proportional hazards with weights: Cox 1972, ties by Breslow 1974, rows' contributions by Binder 1992."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.vector import BoolArray, IntArray
from dalenius.utility.inference.equations import STEPS, Solved
from dalenius.utility.inference.expressions import Floats
from dalenius.utility.inference.glm import full_rank


def solve_cox(x: Floats, time: Floats, event: BoolArray, weights: Floats | None = None) -> Solved:
    """Fit log hazard ratios.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> solve_cox(x, np.array([1.0, 2, 3, 4]), np.ones(4, bool)).estimates.round(3).tolist()
    [-0.941]
    """
    if not event.any():
        raise DataError(
            "family cox: no event happened; the second column of Surv must be 1 (or true) for some rows"
        )
    full_rank(np.linalg.qr(x - x.mean(axis=0))[1])
    w = np.ones(len(time)) if weights is None else weights
    moments = np.unique(time)
    at = np.searchsorted(moments, time)
    beta, height = np.zeros(x.shape[1]), -np.inf
    for _ in range(STEPS):
        seen = _look(x, at, len(moments), event, w, beta)
        if seen.height - height < 1e-12 * (abs(seen.height) + 0.1) and np.isfinite(height):
            break
        height = seen.height
        step = np.linalg.solve(seen.curve, w @ seen.scores)
        size = 1.0
        while (
            size > 1e-6 and _look(x, at, len(moments), event, w, beta + size * step).height < height - 1e-12
        ):
            size /= 2
        beta = beta + size * step
    seen = _look(x, at, len(moments), event, w, beta)
    return Solved(beta, np.asarray(np.linalg.inv(seen.curve), np.float64), seen.scores)


class _Look:
    def __init__(self, height: float, curve: Floats, scores: Floats) -> None:
        self.height, self.curve, self.scores = height, curve, scores


def _look(x: Floats, at: IntArray, moments: int, event: BoolArray, w: Floats, beta: Floats) -> _Look:
    """Partial likelihood, its curvature and each row's contribution at some coefficients.

    Sums over who is still at risk are sums from the end, moment by moment; what a row owes for having been at risk is a
    sum from the beginning of the hazards.
    """
    eta = x @ beta
    risk = np.exp(np.clip(eta - eta.max(), -60, 0))

    def still(values: Floats) -> Floats:
        return np.asarray(np.cumsum(np.bincount(at, values, minlength=moments)[::-1])[::-1], np.float64)

    s0 = still(w * risk)
    s1 = np.stack([still(w * risk * column) for column in x.T], axis=1)
    middle = s1 / s0[:, None]
    died = np.bincount(at, w * event, minlength=moments)
    hazard = died / s0
    owed, owed_middle = np.cumsum(hazard), np.cumsum(hazard[:, None] * middle, axis=0)
    scores = event[:, None] * (x - middle[at]) - risk[:, None] * (x * owed[at][:, None] - owed_middle[at])
    curve = (x * (w * risk * owed[at])[:, None]).T @ x - (middle * died[:, None]).T @ middle
    height = float((w * event) @ (eta - eta.max()) - died @ np.log(s0))
    return _Look(height, curve, scores)
