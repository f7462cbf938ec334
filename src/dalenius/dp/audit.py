"""`audit`.

Is a mechanism as private as it says? Run it many times on two neighbouring tables and try to tell them apart.

For any event, an (ε, δ)-DP mechanism has P(event) ≤ e^ε P'(event) + δ. Exact (Clopper-Pearson) bounds on both
probabilities give an ε that the mechanism certainly has at least, with the stated confidence. It can show that
a claim is false; it can never prove one. (Jagielski, Ullman and Oprea 2020; Ding et al. 2018.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from dalenius.core.errors import OptionError
from dalenius.dp.noise import FloatArray


@dataclass(frozen=True)
class Audit:
    """Lower bound on the ε of a mechanism, and how it was found.

    Examples
    --------
    >>> Audit(0.9, 1.0, 5000, 0.95).refuted
    False
    """

    lower: float
    claimed: float
    runs: int
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is certainly false (at this confidence)."""
        return self.lower > self.claimed

    def __str__(self) -> str:
        verdict = "the claim is false" if self.refuted else "nothing speaks against the claim"
        sure = f"{self.confidence:.0%} sure, {self.runs:,} runs"
        return f"ε is at least {self.lower:.3f} ({sure}); claimed {self.claimed:.3f}: {verdict}"


def audit(
    mechanism: Callable[[bool], float],
    epsilon: float,
    *,
    delta: float = 0.0,
    runs: int = 5000,
    confidence: float = 0.99,
) -> Audit:
    """Lower bound on ε from many runs on two neighbouring tables.

    Parameters
    ----------
    mechanism
        Called with False for the one table and True for its neighbour; returns one number read off the release.
    epsilon, delta
        What is claimed.
    runs
        Runs on each table. Half of them choose the event (the most telling threshold), the other half test it,
        so that the bound is honest.

    Examples
    --------
    >>> from dalenius.dp.noise import add_laplace
    >>> table = np.array([5])
    >>> found = audit(lambda more: float(add_laplace(table + more, 1.0)[0]), epsilon=1.0, runs=2000)
    >>> found.refuted
    False
    """
    if runs < 100:
        raise OptionError(f"an audit with {runs} runs says nothing; use 100 or more")
    outcomes = [np.array([mechanism(side) for _ in range(runs)], dtype=np.float64) for side in (False, True)]
    half = runs // 2
    search, test = [o[:half] for o in outcomes], [o[half:] for o in outcomes]
    threshold, above, first = _most_telling(search, delta)
    hits = [int(np.count_nonzero(o >= threshold if above else o < threshold)) for o in test]
    high, low = hits[first], hits[1 - first]
    return Audit(_epsilon(high, low, runs - half, delta, 1 - confidence), epsilon, runs, confidence)


def _most_telling(search: list[FloatArray], delta: float) -> tuple[float, bool, int]:
    """Threshold, side and table whose event bounds ε best in the first half of the runs."""
    best = (-math.inf, 0.0, True, 0)
    for threshold in np.unique(np.quantile(np.concatenate(search), np.linspace(0.002, 0.998, 300))):
        for above in (True, False):
            hits = [int(np.count_nonzero(o >= threshold if above else o < threshold)) for o in search]
            for first in (0, 1):
                value = _epsilon(hits[first], hits[1 - first], len(search[0]), delta, 0.05)
                if value > best[0]:
                    best = (value, float(threshold), above, first)
    return best[1:]


def _epsilon(hits: int, others: int, runs: int, delta: float, risk: float) -> float:
    """Lower bound of ln((p - δ) / q) with p bounded from below and q from above, each at half of the risk."""
    lower = float(beta.ppf(risk / 2, hits, runs - hits + 1)) if hits else 0.0
    upper = float(beta.ppf(1 - risk / 2, others + 1, runs - others)) if others < runs else 1.0
    return math.log((lower - delta) / upper) if lower > delta else -math.inf
