"""Maximum likelihood for categories: logistic, multinomial and proportional odds, weighted and slightly shrunk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logsumexp

from dalenius.data.vector import IntArray
from dalenius.synth.sequential.design import Floats

STEPS = 50
SPARSE = 0.3
"""Share of cells of a model matrix that are not 0 below which it pays to store only those (many indicators)."""
SEPARATED = 10
"""Rows that an indicator must have before one answer among them counts as separation, and not as chance."""


def fit_logistic(x: Floats, y: Floats, w: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Coefficients of a weighted logistic regression, and their covariance.

    Newton's method; a slight shrinkage (a normal prior on the coefficients but the intercept) keeps them finite when
    a predictor separates the classes.

    Examples
    --------
    >>> x = np.array([[1.0, 0], [1, 0], [1, 0], [1, 1], [1, 1], [1, 1]])
    >>> w = np.array([1.0, 2, 1, 3, 1, 4])
    >>> np.abs(fit_logistic(x, np.array([0.0, 1, 0, 1, 1, 0]), w, 1e-12)[0].round(6)).tolist()
    [0.0, 0.0]
    """
    penalty = np.full(x.shape[1], ridge * w.sum())
    penalty[0] = 1e-10 * w.sum()
    beta = np.zeros(x.shape[1])
    information = np.eye(x.shape[1])
    for _ in range(STEPS):
        p = expit(x @ beta)
        information = x.T @ (x * (w * np.maximum(p * (1 - p), 1e-10))[:, None]) + np.diag(penalty)
        step = np.linalg.solve(information, x.T @ (w * (y - p)) - penalty * beta)
        beta = beta + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return beta, np.asarray(np.linalg.inv(information), np.float64)


def fit_multinomial(x: Floats, y: IntArray, classes: int, w: Floats, ridge: float) -> npt.NDArray[np.float64]:
    """Coefficients of a weighted multinomial regression, a column for each class but the first; weights sum to 1.

    Examples
    --------
    >>> x, y = np.ones((4, 1)), np.array([0, 1, 2, 2])
    >>> np.exp(fit_multinomial(x, y, 3, np.full(4, 0.25), 1e-9)).round(3).tolist()
    [[1.0, 2.0]]
    """
    rows = np.arange(len(y))
    other = y > 0
    penalty = np.full((x.shape[1], 1), ridge)
    penalty[0] = 1e-10
    terms = csr_array(x) if np.count_nonzero(x) < SPARSE * x.size else x
    turned = terms.T.tocsr() if isinstance(terms, csr_array) else x.T

    def loss(flat: Floats) -> tuple[float, Floats]:
        beta = flat.reshape(x.shape[1], classes - 1)
        score = np.hstack([np.zeros((len(y), 1)), terms @ beta])
        total = logsumexp(score, axis=1)
        value = w @ (total - score[rows, y]) + 0.5 * float((penalty * beta**2).sum())
        excess = np.exp(score[:, 1:] - total[:, None])
        excess[rows[other], y[other] - 1] -= 1.0
        slope = turned @ (w[:, None] * excess) + penalty * beta
        return float(value), np.asarray(slope).ravel()

    shares = np.bincount(y, weights=w, minlength=classes).clip(1e-12)
    start = np.zeros((x.shape[1], classes - 1))
    start[0] = np.log(shares[1:] / shares[0])  # the margin, so that only relations are left to find
    options = {"maxiter": 200, "ftol": 1e-8, "gtol": 1e-6}
    optimum = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(optimum.x).reshape(x.shape[1], classes - 1)


def separated(x: Floats, y: IntArray) -> bool:
    """Whether an indicator decides the answer completely: its coefficient is then finite by the shrinkage alone.

    Examples
    --------
    >>> x = np.column_stack([np.ones(30), np.arange(30) < 15])
    >>> separated(x, np.arange(30) % 2), separated(x, np.where(np.arange(30) < 15, 1, np.arange(30) % 2))
    (False, True)
    """
    rest = x[:, 1:]
    on = rest[:, ((rest == 0) | (rest == 1)).all(axis=0)]
    rows = on.sum(axis=0)
    hits = np.stack([on[y == k].sum(axis=0) for k in np.unique(y)])
    return bool(np.any((rows >= SEPARATED) & (hits.max(axis=0, initial=0) == rows)))


def fit_proportional(
    x: Floats, y: IntArray, classes: int, w: Floats, ridge: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Cut points and coefficients: P(class <= j) = expit(cut_j - x beta). Cuts are kept in order by log-distances."""
    shares = np.cumsum(np.bincount(y, weights=w, minlength=classes))[:-1].clip(1e-6, 1 - 1e-6)
    cuts = np.log(shares / (1 - shares))
    start = np.concatenate([[cuts[0]], np.log(np.maximum(np.diff(cuts), 1e-4)), np.zeros(x.shape[1])])

    def unpack(flat: Floats) -> tuple[Floats, Floats, Floats]:
        steps = np.exp(np.clip(flat[1 : classes - 1], -30, 30))
        return np.concatenate([[flat[0]], flat[0] + np.cumsum(steps)]), steps, flat[classes - 1 :]

    def loss(flat: Floats) -> tuple[float, Floats]:
        cut, steps, beta = unpack(flat)
        score = x @ beta
        upper = np.where(y < classes - 1, cut[np.minimum(y, classes - 2)] - score, np.inf)
        lower = np.where(y > 0, cut[np.maximum(y - 1, 0)] - score, -np.inf)
        up, low = expit(upper), expit(lower)
        mass = np.maximum(up - low, 1e-300)
        slope_up, slope_low = _density(upper) / mass, _density(lower) / mass
        by_cut = np.bincount(
            np.minimum(y, classes - 2), weights=-w * slope_up * (y < classes - 1), minlength=classes - 1
        )
        by_cut += np.bincount(np.maximum(y - 1, 0), weights=w * slope_low * (y > 0), minlength=classes - 1)
        by_beta = x.T @ (w * (slope_up - slope_low)) + ridge * beta
        tails = np.cumsum(by_cut[::-1])[::-1]
        gradient = np.concatenate([[tails[0]], tails[1:] * steps, by_beta])
        return float(-(w @ np.log(mass)) + 0.5 * ridge * beta @ beta), gradient

    optimum = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-11, "gtol": 1e-7}
    )
    cut, _, beta = unpack(np.asarray(optimum.x))
    return cut, beta


def _density(z: Floats) -> npt.NDArray[np.float64]:
    """Logistic density, 0 at the infinities."""
    return np.exp(log_expit(z) + log_expit(-z))
