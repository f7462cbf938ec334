"""Regressions for numbers: normal, on ranks, on a transformed scale, and predictive mean matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats, Terms
from dalenius.synth.sequential.fitted import Fitted, Parts, Target, Tuning, column_method, nest, nested

CHUNK = 50_000
"""Rows of a model matrix made at once, so that memory stays flat."""


@dataclass(frozen=True, eq=False)
class Line:
    """Coefficients and residual spread of one regression."""

    beta: Floats
    sigma: float

    @classmethod
    def fit(cls, x: Floats, y: Floats, w: Floats | None, tuning: Tuning, rng: np.random.Generator) -> Line:
        """Weighted least squares; for a proper synthesis a draw from the posterior under a flat prior.

        With weights this is the pseudo-likelihood estimate of spec psd09, 2.2 (weights sum to n).
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


@column_method
class Normal(Fitted):
    """Linear regression with normal residuals, on the scale that a subclass chooses."""

    name = "norm"
    takes = "number"
    summary = "linear regression, normal residuals"
    floor: ClassVar[float | None] = None
    """Smallest number that the scale can take; smaller columns are moved up by a constant first."""

    @staticmethod
    def forward(y: Floats) -> Floats:
        """To the scale of the regression."""
        return y

    @staticmethod
    def backward(z: Floats) -> Floats:
        """Back to the scale of the column."""
        return z

    def __init__(self, terms: Terms, line: Line, shift: float) -> None:
        self.terms = terms
        self.line = line
        self.shift = shift

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> Normal:
        """Fit on the transformed scale."""
        y = target.values[rows].astype(np.float64)
        y = np.nan_to_num(y, posinf=np.nanmax(y[np.isfinite(y)], initial=0.0), neginf=0.0)
        shift = max(0.0, cls.floor - float(y.min())) if cls.floor is not None else 0.0
        terms = Terms.fit(design, use, rows)
        weights = None if target.weights is None else target.weights[rows]
        z = cls.forward(y + shift)
        return cls(
            terms, Line.fit(terms.matrix(design, rows), z, weights, tuning, generator(seed, "beta")), shift
        )

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Prediction plus a normal residual, back on the original scale."""
        z = predicted(self.terms, self.line.beta, design, rows)
        z += self.line.sigma * generator(seed, "residual").standard_normal(len(rows))
        return type(self).backward(z) - self.shift

    def parts(self) -> Parts:
        """Terms and coefficients."""
        facts, arrays = nest("terms", self.terms.parts())
        return facts | {"sigma": self.line.sigma, "shift": self.shift}, arrays | {"beta": self.line.beta}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Normal:
        """Rebuild."""
        line = Line(arrays["beta"], float(facts["sigma"]))
        return cls(Terms.from_parts(*nested("terms", facts, arrays)), line, float(facts["shift"]))


@column_method
class LogNormal(Normal):
    """Regression of the logarithm."""

    name = "lognorm"
    summary = "linear regression of the logarithm"
    floor = 1.0

    @staticmethod
    def forward(y: Floats) -> Floats:
        """Logarithm."""
        return np.log(y)

    @staticmethod
    def backward(z: Floats) -> Floats:
        """Exponential."""
        return np.exp(np.minimum(z, 700))


@column_method
class SqrtNormal(Normal):
    """Regression of the square root."""

    name = "sqrtnorm"
    summary = "linear regression of the square root"
    floor = 0.0

    @staticmethod
    def forward(y: Floats) -> Floats:
        """Square root."""
        return np.sqrt(y)

    @staticmethod
    def backward(z: Floats) -> Floats:
        """Square."""
        return np.maximum(z, 0.0) ** 2


@column_method
class CubeRootNormal(Normal):
    """Regression of the cube root."""

    name = "cubertnorm"
    summary = "linear regression of the cube root"

    @staticmethod
    def forward(y: Floats) -> Floats:
        """Cube root."""
        return np.cbrt(y)

    @staticmethod
    def backward(z: Floats) -> Floats:
        """Cube."""
        return z**3


@column_method
class NormalRank(Fitted):
    """Regression of normal scores of the ranks; the result has the column's own distribution.

    Default of the parametric preset for numbers, as in synthpop.
    """

    name = "normrank"
    takes = "number"
    summary = "linear regression of normal scores of ranks"

    def __init__(self, terms: Terms, line: Line, values: AnyArray, shares: Floats) -> None:
        self.terms = terms
        self.line = line
        self.values = values
        self.shares = shares

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> NormalRank:
        """Scores from (weighted) ranks, ties at their middle."""
        y = target.values[rows]
        w = np.ones(len(rows)) if target.weights is None else target.weights[rows]
        values, inverse = np.unique(y, return_inverse=True)
        mass = np.bincount(inverse, weights=w)
        ends = np.cumsum(mass)
        # The middle of a value's share of all mass, kept off 0 and 1.
        n = len(rows)
        middle = ((ends - mass / 2) / ends[-1] * n + 0.5) / (n + 1)
        terms = Terms.fit(design, use, rows)
        weights = None if target.weights is None else w
        z = ndtri(middle)[inverse]
        line = Line.fit(terms.matrix(design, rows), z, weights, tuning, generator(seed, "beta"))
        return cls(terms, line, values, ends / ends[-1])

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Drawn score, then the value at that share of the distribution."""
        z = predicted(self.terms, self.line.beta, design, rows)
        z += self.line.sigma * generator(seed, "residual").standard_normal(len(rows))
        place = np.searchsorted(self.shares, ndtr(z), side="left")
        return self.values[np.minimum(place, len(self.values) - 1)]

    def parts(self) -> Parts:
        """Terms, coefficients and the column's distribution."""
        facts, arrays = nest("terms", self.terms.parts())
        more = {"beta": self.line.beta, "values": self.values, "shares": self.shares}
        return facts | {"sigma": self.line.sigma}, arrays | more

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> NormalRank:
        """Rebuild."""
        terms = Terms.from_parts(*nested("terms", facts, arrays))
        return cls(terms, Line(arrays["beta"], float(facts["sigma"])), arrays["values"], arrays["shares"])


@column_method
class MeanMatching(Fitted):
    """Predictive mean matching: the value of an original row with nearly the same prediction (Little 1988)."""

    name = "pmm"
    takes = "number"
    summary = "predictive mean matching"

    def __init__(self, terms: Terms, beta: Floats, scores: Floats, values: AnyArray, donors: int) -> None:
        self.terms = terms
        self.beta = beta
        self.scores = scores
        self.values = values
        self.donors = donors

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> MeanMatching:
        """Predictions of the donors in order."""
        terms = Terms.fit(design, use, rows)
        x = terms.matrix(design, rows)
        weights = None if target.weights is None else target.weights[rows]
        y = target.values[rows].astype(np.float64)
        line = Line.fit(x, y, weights, tuning, generator(seed, "beta"))
        scores = x @ line.beta
        order = np.argsort(scores, kind="stable")
        return cls(terms, line.beta, scores[order], target.values[rows][order], tuning.donors)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """One of the nearest donors at random."""
        wanted = predicted(self.terms, self.beta, design, rows)
        reach = min(self.donors, len(self.scores))
        first = np.clip(np.searchsorted(self.scores, wanted) - reach // 2, 0, len(self.scores) - reach)
        return self.values[first + generator(seed, "donor").integers(0, reach, len(rows))]

    def parts(self) -> Parts:
        """Terms, coefficients and donors."""
        facts, arrays = nest("terms", self.terms.parts())
        more = {"beta": self.beta, "scores": self.scores, "values": self.values}
        return facts | {"donors": self.donors}, arrays | more

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> MeanMatching:
        """Rebuild."""
        terms = Terms.from_parts(*nested("terms", facts, arrays))
        return cls(terms, arrays["beta"], arrays["scores"], arrays["values"], int(facts["donors"]))


def predicted(terms: Terms, beta: Floats, design: Design, rows: IntArray) -> npt.NDArray[np.float64]:
    """Linear predictions, some rows at a time."""
    result = np.empty((len(rows), *beta.shape[1:]))
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        result[part] = terms.matrix(design, rows[part]) @ beta
    return result
