"""Regressions for categories: logistic, multinomial and proportional odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats, Terms
from dalenius.synth.sequential.fitted import (
    Fitted,
    Parts,
    Target,
    Tuning,
    column_method,
    nest,
    nested,
    resampled,
)
from dalenius.synth.sequential.linear import CHUNK

STEPS = 50


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


@column_method
class Logistic(Fitted):
    """Logistic regression of a category with two levels."""

    name = "logreg"
    takes = "classes"
    summary = "logistic regression (two levels)"

    def __init__(self, terms: Terms, beta: Floats, classes: IntArray) -> None:
        self.terms = terms
        self.beta = beta
        self.classes = classes

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> Fitted:
        """Fit; more than two classes go to the multinomial model."""
        found, y = np.unique(target.values[rows], return_inverse=True)
        if len(found) != 2:
            return Multinomial.fit(target, design, use, rows, tuning, seed)
        terms = Terms.fit(design, use, rows)
        w = np.ones(len(rows)) if target.weights is None else target.weights[rows]
        w = w * (len(rows) / w.sum())
        beta, covariance = fit_logistic(terms.matrix(design, rows), y.astype(np.float64), w, tuning.ridge)
        if tuning.proper:
            rng = generator(seed, "beta")
            beta = beta + np.linalg.cholesky(covariance) @ rng.standard_normal(len(beta))
        return cls(terms, beta, found)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """A class by its chance."""
        chance = generator(seed, "class").random(len(rows))
        second = np.zeros(len(rows), np.int64)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            second[part] = chance[part] < expit(self.terms.matrix(design, rows[part]) @ self.beta)
        return self.classes[second]

    def parts(self) -> Parts:
        """Terms and coefficients."""
        facts, arrays = nest("terms", self.terms.parts())
        return facts, arrays | {"beta": self.beta, "classes": self.classes}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Logistic:
        """Rebuild."""
        return cls(Terms.from_parts(*nested("terms", facts, arrays)), arrays["beta"], arrays["classes"])


@column_method
class Multinomial(Fitted):
    """Multinomial logistic regression."""

    name = "polyreg"
    takes = "classes"
    summary = "multinomial logistic regression"

    def __init__(self, terms: Terms, beta: Floats, classes: IntArray) -> None:
        self.terms = terms
        self.beta = beta  # one column per class but the first
        self.classes = classes

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> Multinomial:
        """Fit (on resampled rows for a proper synthesis)."""
        chosen = resampled(rows, target.weights, generator(seed, "rows")) if tuning.proper else rows
        found, y = np.unique(target.values[chosen], return_inverse=True)
        terms = Terms.fit(design, use, chosen)
        w = np.ones(len(chosen)) if target.weights is None else target.weights[chosen]
        x = terms.matrix(design, chosen)
        if len(found) == 2:
            beta, _ = fit_logistic(x, y.astype(np.float64), w * (len(w) / w.sum()), tuning.ridge)
            return cls(terms, beta[:, None], found)
        return cls(terms, _fit_multinomial(x, y, len(found), w / w.sum(), tuning.ridge), found)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """A class by its chance."""
        chance = generator(seed, "class").random(len(rows))
        drawn = np.zeros(len(rows), np.int64)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            score = np.hstack(
                [np.zeros((len(rows[part]), 1)), self.terms.matrix(design, rows[part]) @ self.beta]
            )
            drawn[part] = pick_class(np.exp(score - logsumexp(score, axis=1, keepdims=True)), chance[part])
        return self.classes[drawn]

    def parts(self) -> Parts:
        """Terms and coefficients."""
        facts, arrays = nest("terms", self.terms.parts())
        return facts, arrays | {"beta": self.beta, "classes": self.classes}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Multinomial:
        """Rebuild."""
        return cls(Terms.from_parts(*nested("terms", facts, arrays)), arrays["beta"], arrays["classes"])


@column_method
class ProportionalOdds(Fitted):
    """Cumulative logistic regression of an ordered category (McCullagh 1980)."""

    name = "polr"
    takes = "classes"
    summary = "proportional odds (ordered levels)"

    def __init__(self, terms: Terms, cuts: Floats, beta: Floats, classes: IntArray) -> None:
        self.terms = terms
        self.cuts = cuts
        self.beta = beta
        self.classes = classes

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> Fitted:
        """Fit (on resampled rows for a proper synthesis); two classes are a logistic regression."""
        chosen = resampled(rows, target.weights, generator(seed, "rows")) if tuning.proper else rows
        found, y = np.unique(target.values[chosen], return_inverse=True)
        if len(found) < 3:
            return Multinomial.fit(target, design, use, rows, tuning, seed)
        terms = Terms.fit(design, use, chosen)
        w = np.ones(len(chosen)) if target.weights is None else target.weights[chosen]
        cuts, beta = fit_proportional(
            terms.matrix(design, chosen)[:, 1:], y, len(found), w / w.sum(), tuning.ridge
        )
        return cls(terms, cuts, beta, found)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """A class by its chance."""
        chance = generator(seed, "class").random(len(rows))
        drawn = np.zeros(len(rows), np.int64)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            score = self.terms.matrix(design, rows[part])[:, 1:] @ self.beta
            below = expit(self.cuts[None, :] - score[:, None])
            drawn[part] = (chance[part][:, None] > below).sum(axis=1)
        return self.classes[drawn]

    def parts(self) -> Parts:
        """Terms, cut points and coefficients."""
        facts, arrays = nest("terms", self.terms.parts())
        return facts, arrays | {"cuts": self.cuts, "beta": self.beta, "classes": self.classes}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> ProportionalOdds:
        """Rebuild."""
        terms = Terms.from_parts(*nested("terms", facts, arrays))
        return cls(terms, arrays["cuts"], arrays["beta"], arrays["classes"])


def pick_class(chances: Floats, uniform: Floats) -> npt.NDArray[np.int64]:
    """One class per row by its chances."""
    ends = np.cumsum(chances, axis=1)
    return np.minimum((uniform[:, None] * ends[:, -1:] > ends).sum(axis=1), chances.shape[1] - 1)


def _fit_multinomial(x: Floats, y: IntArray, classes: int, w: Floats, ridge: float) -> Floats:
    hit = np.zeros((len(y), classes - 1))
    other = y > 0
    hit[other, y[other] - 1] = 1.0
    penalty = np.full((x.shape[1], 1), ridge)
    penalty[0] = 1e-10

    def loss(flat: Floats) -> tuple[float, Floats]:
        beta = flat.reshape(x.shape[1], classes - 1)
        score = x @ beta
        total = logsumexp(np.hstack([np.zeros((len(y), 1)), score]), axis=1)
        value = w @ (total - (hit * score).sum(axis=1)) + 0.5 * float((penalty * beta**2).sum())
        slope = x.T @ (w[:, None] * (np.exp(score - total[:, None]) - hit)) + penalty * beta
        return float(value), slope.ravel()

    start = np.zeros(x.shape[1] * (classes - 1))
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-7}
    )
    return np.asarray(found.x).reshape(x.shape[1], classes - 1)


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

    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-11, "gtol": 1e-7}
    )
    cut, _, beta = unpack(np.asarray(found.x))
    return cut, beta


def _density(z: Floats) -> npt.NDArray[np.float64]:
    """Logistic density, 0 at the infinities."""
    return np.exp(log_expit(z) + log_expit(-z))
