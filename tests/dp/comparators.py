"""One interface for all ways to perturb a table of counts: what each costs in privacy, and one draw of it.

Noise comes from OpenDP; the count models are draws of their own and take a generator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import special

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.count_laws import CountLaw, Poisson, check_counts, draw_table
from dalenius.dp.count_privacy import Kind, delta
from dalenius.dp.noise import add_gaussian, add_laplace


class TableMechanism(Protocol):
    """A way to perturb a table."""

    def delta(self, epsilon: float, kind: Kind = "dp") -> float:
        """δ for a given ε."""

    def draw(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """A perturbed table of counts."""


@dataclass(frozen=True)
class CountModel:
    """Every cell replaced by a draw around a + α.

    Examples
    --------
    >>> round(CountModel(alpha=1.0).delta(3.0), 6)
    0.004629
    """

    alpha: float
    law: CountLaw = field(default_factory=Poisson)

    def delta(self, epsilon: float, kind: Kind = "dp") -> float:
        """Supremum over the original counts."""
        return delta(epsilon, self.alpha, kind=kind, law=self.law)

    def draw(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """Synthetic counts."""
        return draw_table(counts, self.law, self.alpha, rng)


@dataclass(frozen=True)
class LaplaceTable:
    """Discrete Laplace noise of scale 1/ε on every cell, then negative cells to zero.

    Examples
    --------
    >>> LaplaceTable(1.0).delta(1.0), LaplaceTable(1.0).delta(0.5) > 0
    (0.0, True)
    """

    epsilon: float

    def delta(self, epsilon: float, kind: Kind = "dp") -> float:
        """0 from its own ε on; below it the exact value of the discrete law."""
        if epsilon >= self.epsilon:
            return 0.0
        # Every count has a ratio of e^ε₀ or e^-ε₀ (also b = a: an erratum of the paper), so all of them tell too much.
        if kind == "pdp":
            return 1.0
        return (1 - math.exp(epsilon - self.epsilon)) / (1 + math.exp(-self.epsilon))

    def draw(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """Noisy counts, none negative; the noise has no seed."""
        return np.maximum(add_laplace(check_counts(counts), 1 / self.epsilon), 0)


@dataclass(frozen=True)
class GaussianTable:
    """Gaussian noise of deviation σ on every cell, then negative cells to zero.

    δ is that of the continuous law; the discrete one that is drawn differs from it by less than anybody can see
    for σ ≥ 1 (Canonne, Kamath and Steinke 2020).

    Examples
    --------
    >>> round(GaussianTable(1.0).delta(1.0), 6), round(GaussianTable(1.0).delta(1.0, "pdp"), 6)
    (0.126937, 0.375345)
    """

    sigma: float

    def delta(self, epsilon: float, kind: Kind = "dp") -> float:
        """Balle and Wang (2018) for "dp"; the chance of a telling ratio for "pdp"."""
        s = self.sigma
        if kind == "pdp":
            return float(
                1 - (special.ndtr(s * epsilon - 1 / (2 * s)) - special.ndtr(-s * epsilon - 1 / (2 * s)))
            )
        return float(
            special.ndtr(1 / (2 * s) - epsilon * s)
            - math.exp(epsilon) * special.ndtr(-1 / (2 * s) - epsilon * s)
        )

    def draw(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """Noisy counts, none negative; the noise has no seed."""
        return np.maximum(add_gaussian(check_counts(counts), self.sigma), 0)


@dataclass(frozen=True)
class DirichletMultinomial:
    """Synthetic records from the posterior of the cell chances under a Dirichlet prior of ``alpha`` in each cell.

    ε-DP for replaced records when the *smallest* prior is at least m / (e^ε - 1), m the number of synthetic
    records (the paper prints "largest": an erratum, Jackson et al. 2024). For added or removed records the
    constants of the law change too: the likelihood ratio gets a factor of at most (m + n - 1 + Σα) / (n - 1 +
    Σα) in one direction.

    Examples
    --------
    >>> round(DirichletMultinomial(alpha=100.0, records=50).epsilon, 6)
    0.405465
    """

    alpha: float
    records: int

    def __post_init__(self) -> None:
        if not self.alpha > 0 or self.records < 1:
            raise OptionError("alpha must be above 0 and records 1 or more")

    @classmethod
    def for_epsilon(cls, epsilon: float, records: int) -> DirichletMultinomial:
        """The smallest prior that gives ε.

        Examples
        --------
        >>> round(DirichletMultinomial.for_epsilon(1.0, 100).alpha, 4)
        58.1977
        """
        if not epsilon > 0:
            raise OptionError(f"epsilon must be above 0, got {epsilon}")
        return cls(records / math.expm1(epsilon), records)

    @property
    def epsilon(self) -> float:
        """ε for replaced records."""
        return math.log1p(self.records / self.alpha)

    def delta(self, epsilon: float, kind: Kind = "dp") -> float:
        """0 from its own ε on; 1 below, where nothing is claimed."""
        return 0.0 if epsilon >= self.epsilon * (1 - 1e-12) else 1.0

    def draw(self, counts: AnyArray, rng: np.random.Generator) -> IntArray:
        """Synthetic counts of ``records`` records."""
        table = check_counts(counts)
        chances = rng.dirichlet(table.reshape(-1) + self.alpha)
        return rng.multinomial(self.records, chances).reshape(table.shape)


def percent_difference(count: int, alpha: float, law: CountLaw | None = None) -> dict[str, float]:
    """Mean and deviation of 100 (b - a) / a of a synthetic count, and (for Poisson) the chance that it is 0.

    Examples
    --------
    >>> {k: round(v, 2) for k, v in percent_difference(5, 0.5).items()}
    {'mean': 10.0, 'deviation': 46.9, 'vanishes': 0.0}
    """
    if count < 1:
        raise OptionError("the percentage difference is for counts of 1 or more")
    chosen = law or Poisson()
    mean = count + alpha
    return {
        "mean": 100 * alpha / count,
        "deviation": 100 * math.sqrt(chosen.variance(mean)) / count,
        "vanishes": float(chosen.pmf(np.array(0), np.array(mean))),
    }
