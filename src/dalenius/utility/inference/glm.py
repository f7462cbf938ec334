"""Generalised linear models by iterated weighted least squares: families, links, weights and offsets.

Without weights it starts and stops where R's ``glm`` does (deviance changes by less than 1e-8 of itself), so that they
agree with R to the last digits; with weights it goes on until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import erf, expit, xlogy

from dalenius.core.errors import DataError, OptionError
from dalenius.core.later import stats
from dalenius.utility.inference.equations import STEPS, Solved
from dalenius.utility.inference.expressions import Floats

Linear = Literal["gaussian", "binomial", "poisson", "gamma", "quasibinomial", "quasipoisson"]
Link = Literal["identity", "log", "logit", "probit", "cloglog", "inverse"]
USUAL: dict[str, Link] = {
    "gaussian": "identity", "binomial": "logit", "poisson": "log", "gamma": "inverse", "quasibinomial": "logit",
    "quasipoisson": "log",
}  # fmt: skip
"""The link of each family, as in R."""
FREE = ("gaussian", "gamma", "quasibinomial", "quasipoisson")
"""Families whose dispersion is estimated."""
_HALF = np.sqrt(2.0)
_SMALL = 1e-12


@dataclass(frozen=True)
class _Linked:
    """A link: linear predictor of a mean, mean of a linear predictor, and the slope of the mean."""

    predictor: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


def _probit_slope(eta: Floats) -> Floats:
    return np.maximum(np.exp(-(eta**2) / 2) / np.sqrt(2 * np.pi), _SMALL)


_LINKS: dict[str, _Linked] = {
    "identity": _Linked(lambda mu: mu, lambda eta: eta, np.ones_like),
    "log": _Linked(
        np.log, lambda eta: np.exp(np.clip(eta, -30, 30)), lambda eta: np.exp(np.clip(eta, -30, 30))
    ),
    "logit": _Linked(
        lambda mu: np.log(mu / (1 - mu)),
        lambda eta: expit(np.clip(eta, -30, 30)),
        lambda eta: np.maximum(expit(np.clip(eta, -30, 30)) * expit(-np.clip(eta, -30, 30)), _SMALL),
    ),
    "probit": _Linked(
        lambda mu: np.asarray(stats.norm.ppf(mu)),
        lambda eta: np.clip((1 + erf(eta / _HALF)) / 2, _SMALL, 1 - _SMALL),
        _probit_slope,
    ),
    "cloglog": _Linked(
        lambda mu: np.log(-np.log(1 - mu)),
        lambda eta: np.clip(-np.expm1(-np.exp(np.clip(eta, -30, 30))), _SMALL, 1 - _SMALL),
        lambda eta: np.maximum(np.exp(np.clip(eta, -30, 30) - np.exp(np.clip(eta, -30, 30))), _SMALL),
    ),
    "inverse": _Linked(lambda mu: 1 / mu, lambda eta: 1 / eta, lambda eta: -1 / eta**2),
}


def _shape(family: str) -> str:
    return {"quasibinomial": "binomial", "quasipoisson": "poisson"}.get(family, family)


def _variance(family: str, mu: Floats) -> Floats:
    if family == "gaussian":
        return np.ones_like(mu)
    if family == "binomial":
        return np.maximum(mu * (1 - mu), _SMALL)
    return np.maximum(mu if family == "poisson" else mu**2, _SMALL)


def _deviance(family: str, y: Floats, mu: Floats, w: Floats) -> float:
    if family == "gaussian":
        return float(w @ (y - mu) ** 2)
    if family == "binomial":
        return float(-2 * (w @ (xlogy(y, mu) + xlogy(1 - y, 1 - mu))))
    if family == "poisson":
        return float(2 * (w @ (xlogy(y, y) - xlogy(y, mu) - (y - mu))))
    return float(2 * (w @ ((y - mu) / mu - np.log(y / mu))))


def _first_mean(family: str, y: Floats, w: Floats) -> Floats:
    if family == "binomial":
        return (w * y + 0.5) / (w + 1)
    return y + 0.1 if family == "poisson" else y.copy()


def _check(family: str, link: str, y: Floats) -> None:
    if family not in get_args(Linear):
        raise OptionError(f"no family {family!r}; there are {', '.join(get_args(Linear))}")
    if link not in get_args(Link):
        raise OptionError(f"no link {link!r}; there are {', '.join(get_args(Link))}")
    if _shape(family) == "poisson" and np.any(y < 0):
        raise DataError(f"family {family}: the response has negative values, counts have none")
    if family == "gamma" and np.any(y <= 0):
        raise DataError("family gamma: the response must be above 0 in every row")
    if _shape(family) != "binomial" and link in ("logit", "probit", "cloglog"):
        raise OptionError(f"link {link} goes with the family binomial")
    if _shape(family) == "binomial" and link == "inverse":
        raise OptionError("link inverse does not go with the family binomial")
    if link == "log" and np.any(y <= 0) and family == "gaussian":
        raise DataError("link log: the response must be above 0 in every row")


def solve_glm(
    x: Floats, y: Floats, family: str, link: Link | None = None, weights: Floats | None = None,
    offset: Floats | None = None,
) -> Solved:  # fmt: skip
    """Fit a generalised linear model.

    Examples
    --------
    >>> x, y = np.array([[1.0, 1], [1, 2], [1, 3], [1, 4]]), np.array([2.0, 3, 5, 4])
    >>> solve_glm(x, y, "gaussian", weights=np.array([1.0, 2, 3, 4])).estimates.round(6).tolist()
    [2.1, 0.6]
    """
    chosen = link or USUAL.get(family, "identity")
    _check(family, chosen, y)
    linked, kind = _LINKS[chosen], _shape(family)
    w = np.ones(len(y)) if weights is None else weights
    moved = np.zeros(len(y)) if offset is None else offset
    full_rank(np.linalg.qr(x)[1])
    mu = _first_mean(kind, y, w)
    with np.errstate(all="ignore"):
        eta = linked.predictor(mu)
    beta, inverse, before = np.zeros(x.shape[1]), np.eye(x.shape[1]), np.inf
    for _ in range(STEPS):
        slope, spread = linked.slope(eta), _variance(kind, mu)
        ease = w * slope**2 / spread
        inverse = np.asarray(np.linalg.inv(x.T @ (x * ease[:, None])), np.float64)
        beta = inverse @ (x.T @ (ease * (eta - moved) + w * slope * (y - mu) / spread))
        eta = x @ beta + moved
        if chosen == "inverse":
            eta = np.where(np.abs(eta) < 1e-10, 1e-10, eta)
        mu = linked.mean(eta)
        if kind == "gamma":
            mu = np.maximum(mu, 1e-10)
        now = _deviance(kind, y, mu, w)
        if not np.isfinite(now):
            raise DataError(f"family {family}, link {chosen}: the fit ran away; use another link")
        if abs(now - before) < (1e-8 if weights is None else 1e-13) * (abs(now) + 0.1):
            break
        before = now
    slope, spread = linked.slope(eta), _variance(kind, mu)
    if weights is not None:  # without weights the covariance is R's: that of the last step but one
        inverse = np.asarray(np.linalg.inv(x.T @ (x * (w * slope**2 / spread)[:, None])), np.float64)
    scores = x * (slope * (y - mu) / spread)[:, None]
    dispersion = 1.0
    if family in FREE:
        dispersion = float(w @ ((y - mu) ** 2 / spread)) / max(len(y) - x.shape[1], 1)
    return Solved(beta, inverse, scores, dispersion)


def full_rank(r: Floats) -> None:
    """Raise where some coefficients cannot be told apart."""
    diagonal = np.abs(np.diag(r))
    if diagonal.size and diagonal.min() <= 1e-10 * diagonal.max():
        raise DataError(
            "formula: some coefficients cannot be told apart (a level without rows, or a column twice)"
        )
