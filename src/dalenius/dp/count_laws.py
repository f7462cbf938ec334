"""Laws of a synthetic count around an original one: Poisson, negative binomial, Poisson-inverse-Gaussian.

A count model replaces every cell a of a table by a draw around a + α. The pseudo-count α is what makes
neighbouring tables hard to tell apart: without it an empty cell stays empty for certain. (Jackson, Mitra,
Francis and Dove 2024; Jackson et al. 2024.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from dalenius.core.errors import OptionError
from dalenius.core.later import stats
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.noise import FloatArray


@dataclass(frozen=True)
class CountLaw(ABC):
    """Distribution of a synthetic count given its mean."""

    @abstractmethod
    def log_pmf(self, counts: AnyArray, means: AnyArray) -> FloatArray:
        """Logarithm of the chance of a count."""

    @abstractmethod
    def draw(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """One count for each mean."""

    @abstractmethod
    def variance(self, mean: float) -> float:
        """Variance of a count with this mean."""

    def pmf(self, counts: AnyArray, means: AnyArray) -> FloatArray:
        """Chance of a count."""
        return np.exp(self.log_pmf(counts, means))


@dataclass(frozen=True)
class Poisson(CountLaw):
    """Variance equal to the mean.

    Examples
    --------
    >>> float(Poisson().pmf(np.array(0), np.array(1.0)).round(6))
    0.367879
    """

    def log_pmf(self, counts: AnyArray, means: AnyArray) -> FloatArray:
        """Logarithm of the chance of a count."""
        result: FloatArray = stats.poisson.logpmf(counts, means)
        return result

    def draw(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """One count for each mean."""
        return rng.poisson(means)

    def variance(self, mean: float) -> float:
        """Equal to the mean."""
        return mean


@dataclass(frozen=True)
class NegativeBinomial(CountLaw):
    """A Poisson law with a gamma mean: variance μ + dispersion · μ².

    Examples
    --------
    >>> law = NegativeBinomial(dispersion=0.5)
    >>> law.variance(4.0)
    12.0
    """

    dispersion: float = 1.0

    def __post_init__(self) -> None:
        _positive(self.dispersion)

    def log_pmf(self, counts: AnyArray, means: AnyArray) -> FloatArray:
        """Logarithm of the chance of a count."""
        size = 1 / self.dispersion
        result: FloatArray = stats.nbinom.logpmf(counts, size, size / (size + np.asarray(means, np.float64)))
        return result

    def draw(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """One count for each mean."""
        return rng.poisson(rng.gamma(1 / self.dispersion, self.dispersion * means))

    def variance(self, mean: float) -> float:
        """Mean and dispersion times its square."""
        return mean + self.dispersion * mean**2


@dataclass(frozen=True)
class PoissonInverseGaussian(CountLaw):
    """A Poisson law with an inverse Gaussian mean: variance as the negative binomial's, with a longer tail.

    Examples
    --------
    >>> law = PoissonInverseGaussian(dispersion=0.5)
    >>> float(law.pmf(np.arange(400), np.array(4.0)).sum().round(9))
    1.0
    """

    dispersion: float = 1.0

    def __post_init__(self) -> None:
        _positive(self.dispersion)

    def log_pmf(self, counts: AnyArray, means: AnyArray) -> FloatArray:
        """Logarithm of the chance of a count (by the modified Bessel function of the second kind)."""
        y, mean = np.broadcast_arrays(np.asarray(counts, np.int64), np.asarray(means, np.float64))
        s = self.dispersion
        a = np.sqrt(1 / s**2 + 2 * mean / s)
        scaled = special.xlogy(y, mean) - y * np.log(a * s) - special.gammaln(y + 1)
        result: FloatArray = 0.5 * np.log(2 * a / np.pi) + scaled + 1 / s + _log_bessel(y, a)
        return np.where(mean > 0, result, np.where(y == 0, 0.0, -np.inf))

    def draw(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """One count for each mean."""
        safe = np.maximum(means, np.finfo(float).tiny)
        return np.where(means > 0, rng.poisson(rng.wald(safe, safe / self.dispersion)), 0)

    def variance(self, mean: float) -> float:
        """Mean and dispersion times its square."""
        return mean + self.dispersion * mean**2


def _log_bessel(y: IntArray, a: FloatArray) -> FloatArray:
    """Logarithm of K of order y - 1/2 at a, upwards by its recurrence: K(v+1) / K(v) = K(v-1) / K(v) + 2v / a."""
    points, place = np.unique(a, return_inverse=True)
    logs = np.empty((int(y.max(initial=0)) + 2, len(points)))
    logs[:2] = 0.5 * np.log(np.pi / (2 * points)) - points  # K(-1/2) = K(1/2)
    growth = np.ones(len(points))
    for order in range(1, len(logs) - 1):
        growth = 1 / growth + (2 * order - 1) / points
        logs[order + 1] = logs[order] + np.log(growth)
    return logs[y, place.reshape(a.shape)]


def draw_table(
    counts: AnyArray,
    law: CountLaw,
    alpha: float,
    rng: np.random.Generator,
    impossible: AnyArray | None = None,
) -> IntArray:
    """Synthetic counts for every cell of a table; impossible cells stay 0.

    Examples
    --------
    >>> draw_table(np.array([0, 5]), Poisson(), 0.0, np.random.default_rng(0)).tolist()[0]
    0
    """
    table = check_counts(counts)
    if not 0 <= alpha < np.inf:
        raise OptionError(f"alpha must be 0 or more, got {alpha}")
    means = table + float(alpha)
    if impossible is not None:
        means = np.where(impossible, 0.0, means)
    return law.draw(means.astype(np.float64), rng)


def check_counts(counts: AnyArray) -> IntArray:
    """Counts as whole numbers; an error when one is negative or has a fraction.

    Examples
    --------
    >>> check_counts(np.array([1.0, 2.0])).tolist()
    [1, 2]
    """
    table = np.asarray(counts)
    if table.dtype.kind not in "iuf" or not np.all(np.isfinite(table)):
        raise OptionError("counts must be finite numbers")
    if np.any(table < 0) or np.any(table != np.round(table)):
        raise OptionError("counts must be whole numbers of 0 or more")
    return table.astype(np.int64)


def _positive(dispersion: float) -> None:
    if not 0 < dispersion < np.inf:
        raise OptionError(f"dispersion must be above 0, got {dispersion}")
