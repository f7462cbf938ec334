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

from dalenius.core.errors import OptionError
from dalenius.core.later import stats
from dalenius.data.vector import AnyArray
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
    first, second = (np.array([mechanism(side) for _ in range(runs)], np.float64) for side in (False, True))
    return compare(first, second, epsilon, delta=delta, confidence=confidence)


def compare(
    first: AnyArray, second: AnyArray, epsilon: float, *, delta: float = 0.0, confidence: float = 0.99,
    search: float = 0.5,
) -> Audit:  # fmt: skip
    """Lower bound on ε from numbers that were read off releases of two neighbouring tables; see `audit`.

    The best such number is the logarithm of how much likelier the release is under one table than under the other:
    no event tells more than a threshold on it (Neyman and Pearson 1933).

    Parameters
    ----------
    first, second
        One number for each release of the one table, and as many for its neighbour.
    epsilon, delta
        What is claimed.
    search
        Share of the runs that choose the event; the others test it.

    Examples
    --------
    >>> from dalenius.dp.noise import add_laplace
    >>> zeros, ones = np.zeros(2000, np.int64), np.ones(2000, np.int64)
    >>> compare(add_laplace(zeros, 0.5), add_laplace(ones, 0.5), epsilon=1.0).refuted
    True
    """
    outcomes = [np.asarray(held, np.float64) for held in (first, second)]
    runs = len(outcomes[0])
    if runs < 100 or len(outcomes[1]) != runs:
        raise OptionError(
            f"an audit with {runs} and {len(outcomes[1])} runs says nothing; use 100 or more, as many of both"
        )
    half = int(search * runs)
    threshold, above, likelier = _most_telling([o[:half] for o in outcomes], delta, 1 - confidence)
    hits = [np.count_nonzero((o[half:] >= threshold) == above) for o in outcomes]
    lower = _epsilon(
        np.array(hits[likelier]), np.array(hits[1 - likelier]), runs - half, delta, 1 - confidence
    )
    return Audit(float(lower), epsilon, runs, confidence)


def _most_telling(search: list[FloatArray], delta: float, risk: float) -> tuple[float, bool, int]:
    """Threshold, side and table whose event bounds ε best in the first half of the runs."""
    runs = len(search[0])
    thresholds = np.unique(np.quantile(np.concatenate(search), np.linspace(0.002, 0.998, 300)))
    below = [np.searchsorted(np.sort(o), thresholds, side="left") for o in search]
    best = (-math.inf, 0.0, True, 0)
    for above in (True, False):
        hits = [runs - b if above else b for b in below]
        for likelier in (0, 1):
            values = _epsilon(hits[likelier], hits[1 - likelier], runs, delta, risk)
            at = int(np.argmax(values))
            if values[at] > best[0]:
                best = (float(values[at]), float(thresholds[at]), above, likelier)
    return best[1:]


def _epsilon(hits: AnyArray, others: AnyArray, runs: int, delta: float, risk: float) -> FloatArray:
    """Lower bound of ln((p - δ) / q) with p bounded from below and q from above, each at half of the risk."""
    lower = np.where(hits > 0, stats.beta.ppf(risk / 2, np.maximum(hits, 1), runs - hits + 1), 0.0)
    upper = np.where(
        others < runs, stats.beta.ppf(1 - risk / 2, others + 1, np.maximum(runs - others, 1)), 1.0
    )
    gain = np.maximum(lower - delta, 0.0)
    return np.log(gain / upper, out=np.full(np.shape(gain), -np.inf), where=gain > 0)
