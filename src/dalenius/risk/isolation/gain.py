"""Isolation gain: how much more often one can isolate with a release than without.

D'Acquisto et al. 2024, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import minimize_scalar

from dalenius.core.later import stats
from dalenius.data.vector import AnyArray
from dalenius.risk.isolation.chance import (
    isolation_probability,
    max_isolation_probability,
    population_unique_probability,
)


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
    n: int

    @property
    def weight_too_large(self) -> bool:
        """The gain only means something for descriptions rarer than one in n (the baseline then grows with weight)."""
        return self.weight >= 1 / self.n


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
    """Gain from an exact count m of n rows in a region that holds this share of the population (eq. 2).

    Examples
    --------
    >>> round(cell_isolation_gain(1e-4, 9, 10_000).gain, 4)
    3.9199
    """
    if m < 1:
        return CellGain(0.0, 0.0, 0.0, 0.0, n)
    probability, weight = max_isolation_probability(m), share / m
    return _cell(probability, weight, n)


def _cell(probability: float, weight: float, n: int) -> CellGain:
    baseline = float(isolation_probability(weight, n))
    return CellGain(probability, weight, baseline, isolation_gain(probability, weight, n), n)


def release_isolation_gain(counts: Mapping[str, tuple[float, int]], n: int) -> pl.DataFrame:
    """Gain of every published count, the largest first: name -> (share of the population, count).

    Examples
    --------
    >>> release_isolation_gain({"a": (0.1, 1000), "b": (1e-6, 1)}, 10_000)["region"].to_list()
    ['b', 'a']
    """
    cells = {name: cell_isolation_gain(share, m, n) for name, (share, m) in counts.items()}
    rows = [
        {
            "region": name,
            "count": counts[name][1],
            "probability": c.probability,
            "weight": c.weight,
            "gain": c.gain,
        }
        for name, c in cells.items()
    ]
    return pl.DataFrame(rows).sort("gain", descending=True)


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
    weights = stats.binom.pmf(m, n, share) * noise(noisy - m)
    weights = weights / weights.sum()

    def chance(q: float) -> float:
        return float((weights[1:] * m[1:] * q * (1 - q) ** (m[1:] - 1.0)).sum())

    best = minimize_scalar(
        lambda q: -chance(q), bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-10}
    )
    q = 1.0 if float(weights[1] if len(weights) > 1 else 0.0) >= chance(best.x) else float(best.x)
    probability = float(weights[1]) if q == 1.0 else chance(q)
    weight = share * q
    return _cell(probability, weight, n)


@dataclass(frozen=True)
class Identification:
    """Two tests of a description; it is never called an identification, at most "may enable identification".

    Examples
    --------
    >>> found = identification(1e-3, 0.9, 10**4, 10**6)
    >>> found.narrow, found.unique < 1e-100
    (False, True)
    """

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
    >>> print(identification(1e-9, 0.9, 10**4, 10**6).sentence)
    The description may enable identification: it is rarer than one in 100 populations, and the release makes it isolate
    at least 10 times as often as chance.
    """
    unique, gain = (
        population_unique_probability(weight, population, n),
        isolation_gain(probability, weight, n),
    )
    narrow = weight <= 1 / (weight_factor * population)
    if narrow and gain >= gain_min:
        text = (
            f"The description may enable identification: it is rarer than one in {weight_factor:g} populations, and "
            f"the release makes it isolate at least {gain_min:g} times as often as chance."
        )
    elif weight >= 1 / n:
        text = "The description isolates but is not identifying: it fits many people in the population."
    else:
        text = "The description does not pass both tests; between the two postulates the question stays open."
    return Identification(unique, gain, narrow, text)
