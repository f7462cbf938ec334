"""Isolation: what anybody could single out without the release, and what the release adds.

D'Acquisto et al. 2024, section 3.

A description *isolates* when exactly one row of the data fits it. An outsider who knows only the distribution and the
number n of rows isolates with a description of weight p (share of the population it fits) with probability
n p (1 - p)^(n-1). The *isolation gain* of a release is how much more often one can isolate with it. Two postulates
frame the reading: a release without information from the data identifies nobody in it; a description may identify when
it is narrow enough to be unique in the population (D'Acquisto, Cohen, Naldi and Nissim 2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.later import stats
from dalenius.data.vector import AnyArray


def isolation_probability(p: float | AnyArray, n: int) -> AnyArray:
    """Chance that a description of weight p fits exactly one of n rows: n p (1 - p)^(n-1).

    Examples
    --------
    >>> float(isolation_probability(0.2, 5).round(4))
    0.4096
    """
    _check_rows(n)
    weight = np.asarray(p, dtype=float)
    if np.any((weight < 0) | (weight > 1)):
        raise OptionError("a weight is a probability; it must be between 0 and 1")
    inner = np.where((weight > 0) & (weight < 1), weight, 0.5)
    result = np.exp(math.log(n) + np.log(inner) + (n - 1) * np.log1p(-inner))
    return np.where(weight == 0, 0.0, np.where(weight == 1, float(n == 1), result))


def max_isolation_probability(n: int) -> float:
    """Best that an outsider can do with one description: (1 - 1/n)^(n-1), at weight 1/n; never below 1/e.

    Examples
    --------
    >>> round(max_isolation_probability(10), 6)
    0.38742
    """
    _check_rows(n)
    return 1.0 if n == 1 else math.exp((n - 1) * math.log1p(-1 / n))


def misspecified_isolation_probability(c: float, n: int | None = None) -> float:
    """Chance to isolate with weight c/n; without n the limit c e^-c.

    Examples
    --------
    >>> round(misspecified_isolation_probability(2), 6)
    0.270671
    """
    if c < 0 or (n is not None and c > n):
        raise OptionError("c must be between 0 and n")
    return c * math.exp(-c) if n is None else float(isolation_probability(c / n, n))


def optimal_guess_weight(n: int, k: int) -> float:
    """Weight that k disjoint descriptions should have to isolate most of n rows: 1 / max(n, k) (theorem 2).

    Examples
    --------
    >>> optimal_guess_weight(5, 10)
    0.1
    """
    _check_rows(n)
    return 1 / max(n, k)


def expected_isolations(n: int, k: int) -> float:
    """Rows that k disjoint descriptions of the best weight 1/max(n, k) isolate on average.

    Examples
    --------
    >>> round(expected_isolations(5, 10), 4)
    3.2805
    """
    _check_rows(n)
    if k < 0:
        raise OptionError("the number of guesses must be 0 or more")
    return k * max_isolation_probability(n) if k <= n else n * math.exp((n - 1) * math.log1p(-1 / k))


def expected_isolations_weights(weights: Sequence[float] | AnyArray, n: int) -> float:
    """Rows that disjoint descriptions of these weights isolate on average.

    Examples
    --------
    >>> round(expected_isolations_weights([0.2] * 5, 5), 3)
    2.048
    """
    p = np.asarray(weights, float)
    if p.sum() > 1 + 1e-12:
        raise OptionError("weights of disjoint descriptions add up to more than 1")
    return float(isolation_probability(p, n).sum())


def guesses_needed(n: int, share: float) -> int:
    """Descriptions an outsider needs to isolate a share of the rows on average.

    Examples
    --------
    >>> guesses_needed(1000, 0.95)
    19477
    """
    _check_rows(n)
    if not 0 < share < 1:
        raise OptionError("the share must lie between 0 and 1; isolating everybody cannot be expected")
    if n == 1:
        return 1
    if share <= max_isolation_probability(n):
        return math.ceil(share * n / max_isolation_probability(n))
    return math.ceil(1 / -math.expm1(math.log(share) / (n - 1)))


def population_unique_probability(weight: float, population: int, n: int | None = None) -> float:
    """Chance that a description that fits one row of a sample fits nobody else in the population.

    Examples
    --------
    >>> round(population_unique_probability(1e-8, 10**6, 10**4), 6)
    0.990149
    """
    others = population - (1 if n is None else n)
    return math.exp(others * math.log1p(-weight))


def max_weight_for_uniqueness(population: int, n: int, level: float = 0.99) -> float:
    """Largest weight at which a description is unique in the population with this probability.

    Examples
    --------
    >>> 9e-9 < max_weight_for_uniqueness(10**6, 10**4) < 1.1e-8
    True
    """
    return -math.expm1(math.log(level) / (population - n))


def finite_isolation_probability(fitting: int, population: int, n: int) -> float:
    """Chance that a sample of n out of a finite population holds exactly one of the people who fit (hypergeometric).

    Examples
    --------
    >>> round(finite_isolation_probability(2, 10, 5), 4)
    0.5556
    """
    if not 0 <= fitting <= population or not 1 <= n <= population:
        raise OptionError("people who fit and rows drawn cannot be more than the population")
    return float(stats.hypergeom.pmf(1, population, fitting, n))


def _check_rows(n: int) -> None:
    if n < 1 or n != int(n):
        raise OptionError(f"the number of rows is {n}; it must be a whole number of 1 or more")
