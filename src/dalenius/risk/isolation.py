"""Isolation: what anybody could single out without the release, and what the release adds (spec psd01).

A description *isolates* when exactly one row of the data fits it. An outsider who knows only the distribution and the
number n of rows isolates with a description of weight p (share of the population it fits) with probability
n p (1 - p)^(n-1). The *isolation gain* of a release is how much more often one can isolate with it. Two postulates
frame the reading: a release without information from the data identifies nobody in it; a description may identify when
it is narrow enough to be unique in the population (D'Acquisto, Cohen, Naldi and Nissim, PSD 2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from dalenius.core.errors import OptionError
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


def partition_lower_bound(n: int, k: int, spread: float) -> float:
    """Least number of isolations to expect of k cells of a partition whose weights have this relative spread.

    Examples
    --------
    >>> round(partition_lower_bound(100, 100, 0.25), 6)
    22.830544
    """
    cells = max(n, k)
    power = n - 1
    inner = min((1 - 1 / (2 * cells)) ** power, 3 * (1 - 3 / (2 * cells)) ** power)
    return max(0.0, 1 - 4 * spread**2) * k * n / (2 * cells) * inner


@dataclass(frozen=True)
class CellGain:
    """Isolation with the help of one published count.

    Examples
    --------
    >>> round(cell_isolation_gain(1e-6, 1, 10_000).gain, 4)
    101.0049
    """

    probability: float
    weight: float
    baseline: float
    gain: float

    @property
    def weight_too_large(self) -> bool:
        """The gain only means something for descriptions rarer than one in n (the baseline then grows with weight)."""
        return self.baseline > 0 and self.gain < 1 < self.probability / max(self.baseline, 1e-300)


def isolation_gain(probability: float, weight: float, n: int) -> float:
    """Ratio of isolation with the release to isolation without: infinite when only the release can.

    Examples
    --------
    >>> isolation_gain(0.5, 0.0, 10)
    inf
    """
    base = float(isolation_probability(weight, n))
    if base == 0:
        return math.inf if probability > 0 else math.nan
    return probability / base


def cell_isolation_gain(share: float, m: int, n: int) -> CellGain:
    """Gain from an exact count m of n rows in a region that holds this share of the population (eq. 2)."""
    if m < 1:
        return CellGain(0.0, 0.0, 0.0, 0.0)
    probability, weight = max_isolation_probability(m), share / m
    return CellGain(
        probability, weight, float(isolation_probability(weight, n)), isolation_gain(probability, weight, n)
    )


def noisy_cell_isolation_gain(
    share: float, noisy: float, n: int, noise: Callable[[AnyArray], AnyArray]
) -> CellGain:
    """Gain from a count with noise of known law: Bayes over the true count, then the best inner share q.

    Examples
    --------
    >>> geometric = lambda e: lambda x: np.exp(-e * np.abs(x))
    >>> round(noisy_cell_isolation_gain(0.001, 1, 1000, geometric(1.0)).gain, 4)
    1.7237
    """
    middle, width = max(noisy, n * share), 60 + 10 * math.sqrt(n * share + 1)
    m = np.arange(0, min(n, int(middle + width)) + 1)
    weights = binom.pmf(m, n, share) * noise(noisy - m)
    weights = weights / weights.sum()

    def chance(q: float) -> float:
        return float((weights[1:] * m[1:] * q * (1 - q) ** (m[1:] - 1.0)).sum())

    best = minimize_scalar(
        lambda q: -chance(q), bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-10}
    )
    q = 1.0 if float(weights[1] if len(weights) > 1 else 0.0) >= chance(best.x) else float(best.x)
    probability = float(weights[1]) if q == 1.0 else chance(q)
    weight = share * q
    return CellGain(
        probability, weight, float(isolation_probability(weight, n)), isolation_gain(probability, weight, n)
    )


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


@dataclass(frozen=True)
class Identification:
    """Two tests of a description; it is never called an identification, at most "may enable identification"."""

    unique: float
    gain: float
    narrow: bool
    sentence: str


def identification(
    weight: float,
    probability: float,
    n: int,
    population: int,
    *,
    weight_factor: float = 100,
    gain_min: float = 10,
) -> Identification:
    """Judge whether a description from a release may enable identification.

    It may when it is narrower than one in ``weight_factor`` populations and the release makes it isolate ``gain_min``
    times as often as chance. Both thresholds are the caller's; the paper proposes none but the illustration 100.

    Examples
    --------
    >>> identification(1e-9, 0.9, 10**4, 10**6).sentence
    'The description may enable identification: it is narrow enough and the release makes it isolate.'
    """
    unique, gain = (
        population_unique_probability(weight, population, n),
        isolation_gain(probability, weight, n),
    )
    narrow = weight <= 1 / (weight_factor * population)
    if narrow and gain >= gain_min:
        text = (
            "The description may enable identification: it is narrow enough and the release makes it isolate."
        )
    elif weight >= 1 / n:
        text = "The description isolates but is not identifying: it fits many people in the population."
    else:
        text = "The description does not pass both tests; between the two postulates the question stays open."
    return Identification(unique, gain, narrow, text)


def differencing_isolations(
    counts: Mapping[str, int], inside: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Pairs (part, whole) of published regions whose counts differ by one: the rest isolates somebody.

    Examples
    --------
    >>> differencing_isolations({"all": 10, "women": 9}, [("women", "all")])
    [('women', 'all')]
    """
    return [(part, whole) for part, whole in inside if counts[whole] - counts[part] == 1]


def _check_rows(n: int) -> None:
    if n < 1 or n != int(n):
        raise OptionError(f"the number of rows is {n}; it must be a whole number of 1 or more")
