"""Regressions for numbers: normal, on ranks, on a transformed scale, and predictive mean matching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats, Terms
from dalenius.synth.sequential.fitted import Job, Tuning, column_method
from dalenius.synth.sequential.regression import Regression

Scale = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """Coefficients and residual spread of one regression."""

    beta: Floats
    sigma: float

    @classmethod
    def fit(cls, x: Floats, y: Floats, w: Floats | None, tuning: Tuning, rng: np.random.Generator) -> Line:
        """Weighted least squares; for a proper synthesis a draw from the posterior under a flat prior.

        With weights this is the pseudo-likelihood estimate of Oganian et al. 2024 (weights sum to n).
        """
        n, q = x.shape
        weight = np.ones(n) if w is None else w * (n / w.sum())
        cross = x.T @ (x * weight[:, None])
        shrink = tuning.ridge * np.maximum(np.diag(cross), 1e-12)
        shrink[0] = 1e-12 * n
        inverse = np.asarray(np.linalg.inv(cross + np.diag(shrink)), np.float64)
        beta = inverse @ (x.T @ (weight * y))
        rss = float(weight @ (y - x @ beta) ** 2)
        free = max(n - q, 1)
        if not tuning.proper:
            return cls(beta, float(np.sqrt(rss / (n if w is not None else free))))
        sigma = np.sqrt(rss / rng.chisquare(free))
        return cls(beta + sigma * (np.linalg.cholesky(inverse) @ rng.standard_normal(q)), float(sigma))

    @classmethod
    def of(cls, job: Job, y: Floats) -> tuple[Terms, Line]:
        """Terms and regression of a response on the predictors of a job."""
        terms = Terms.fit(job.design, job.use, job.rows)
        x = terms.matrix(job.design, job.rows)
        return terms, cls.fit(x, y, job.weights, job.tuning, job.rng("beta"))


@column_method
@dataclass(eq=False, repr=False)
class Normal(Regression):
    """Linear regression with normal residuals, on the scale that a subclass chooses."""

    name = "norm"
    takes = "number"
    summary = "linear regression, normal residuals"
    floor: ClassVar[float | None] = None
    """Smallest number that the scale can take; smaller columns are moved up by a constant first."""
    scale: ClassVar[tuple[Scale, Scale]] = (np.asarray, np.asarray)
    """To the scale of the regression, and back."""

    terms: Terms
    beta: Floats
    sigma: float
    shift: float

    @classmethod
    def fit(cls, job: Job) -> Normal:
        """Fit on the transformed scale."""
        y = job.values.astype(np.float64)
        y = np.nan_to_num(y, posinf=np.nanmax(y[np.isfinite(y)], initial=0.0), neginf=0.0)
        shift = max(0.0, cls.floor - float(y.min())) if cls.floor is not None else 0.0
        terms, line = Line.of(job, cls.scale[0](y + shift))
        return cls(terms, line.beta, line.sigma, shift)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Prediction plus a normal residual, back on the original scale."""
        z = self.by_chunk(design, rows, lambda x, _: x @ self.beta)
        z += self.sigma * generator(seed, "residual").standard_normal(len(rows))
        return self.scale[1](z) - self.shift


@column_method
class LogNormal(Normal):
    """Regression of the logarithm."""

    name = "lognorm"
    summary = "linear regression of the logarithm"
    floor = 1.0
    scale = (np.log, lambda z: np.exp(np.minimum(z, 700)))


@column_method
class SqrtNormal(Normal):
    """Regression of the square root."""

    name = "sqrtnorm"
    summary = "linear regression of the square root"
    floor = 0.0
    scale = (np.sqrt, lambda z: np.maximum(z, 0.0) ** 2)


@column_method
class CubeRootNormal(Normal):
    """Regression of the cube root."""

    name = "cubertnorm"
    summary = "linear regression of the cube root"
    scale = (np.cbrt, lambda z: z**3)


@column_method
@dataclass(eq=False, repr=False)
class NormalRank(Regression):
    """Regression of normal scores of the ranks; the result has the column's own distribution.

    Default of the parametric preset for numbers, as in synthpop.
    """

    name = "normrank"
    takes = "number"
    summary = "linear regression of normal scores of ranks"

    terms: Terms
    beta: Floats
    sigma: float
    values: AnyArray
    shares: Floats

    @classmethod
    def fit(cls, job: Job) -> NormalRank:
        """Scores from (weighted) ranks, ties at their middle."""
        values, inverse = np.unique(job.values, return_inverse=True)
        mass = np.bincount(inverse, weights=job.masses)
        ends = np.cumsum(mass)
        # The middle of a value's share of all mass, kept off 0 and 1.
        n = len(job.rows)
        middle = ((ends - mass / 2) / ends[-1] * n + 0.5) / (n + 1)
        terms, line = Line.of(job, ndtri(middle)[inverse])
        return cls(terms, line.beta, line.sigma, values, ends / ends[-1])

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Drawn score, then the value at that share of the distribution."""
        z = self.by_chunk(design, rows, lambda x, _: x @ self.beta)
        z += self.sigma * generator(seed, "residual").standard_normal(len(rows))
        place = np.searchsorted(self.shares, ndtr(z), side="left")
        return self.values[np.minimum(place, len(self.values) - 1)]


@column_method
@dataclass(eq=False, repr=False)
class MeanMatching(Regression):
    """Predictive mean matching: the value of an original row with nearly the same prediction (Little 1988)."""

    name = "pmm"
    takes = "number"
    summary = "predictive mean matching"

    terms: Terms
    beta: Floats
    scores: Floats
    values: AnyArray
    donors: int

    @classmethod
    def fit(cls, job: Job) -> MeanMatching:
        """Predictions of the donors in order."""
        terms, line = Line.of(job, job.values.astype(np.float64))
        scores = terms.matrix(job.design, job.rows) @ line.beta
        order = np.argsort(scores, kind="stable")
        return cls(terms, line.beta, scores[order], job.values[order], job.tuning.donors)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """One of the nearest donors at random."""
        wanted = self.by_chunk(design, rows, lambda x, _: x @ self.beta)
        reach = min(self.donors, len(self.scores))
        first = np.clip(np.searchsorted(self.scores, wanted) - reach // 2, 0, len(self.scores) - reach)
        return self.values[first + generator(seed, "donor").integers(0, reach, len(rows))]
