"""Intervals for shares of people, also where people of one group stand or fall together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.result import Interval, Redrawn

Scores = npt.NDArray[Any]


def wilson(
    successes: float,
    trials: float,
    level: float = 0.95,
    scale: float = 1.0,
    redrawn: tuple[Redrawn, ...] = ("records",),
) -> Interval:
    """Wilson score interval of a proportion, times ``scale`` (100 for per cent).

    It behaves at 0 and at 1, where the usual normal interval has no width (Wilson 1927).

    Examples
    --------
    >>> print(wilson(0, 100, scale=100))
    [0, 3.7]
    """
    if trials <= 0:
        return Interval(0.0, scale, level, redrawn=redrawn)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Interval(low * scale, high * scale, level, redrawn=redrawn)


@dataclass(frozen=True, eq=False)
class Share:
    """A share of people in groups whose members stand or fall together: who shares the keys shares the secret read off.

    ``trials`` is the size of a plain sample that would tell the share as surely (variance between groups, as for a
    cluster sample; where nothing varies, Kish's (sum of sizes)² / sum of squared sizes).

    Examples
    --------
    >>> share = Share.of(np.array([1, 1, 1, 0, 0, 0]), np.array([7, 7, 7, 8, 8, 8]))
    >>> share.value, share.trials
    (0.5, 2.0)
    """

    value: float
    trials: float
    groups: npt.NDArray[np.int64]
    totals: Scores
    """Numbers of the groups, and how far each moves the share."""

    @classmethod
    def of(cls, scores: Scores, clusters: Scores) -> Share:
        """Share of scores between 0 and 1."""
        n = len(scores)
        if not n:
            return cls(math.nan, 0.0, np.zeros(0, np.int64), np.zeros(0))
        value = float(np.mean(scores))
        groups, place = np.unique(clusters, return_inverse=True)
        totals = np.bincount(place, scores - value) / n
        sizes = np.bincount(place)
        kish = n * n / float(sizes @ sizes)
        variance, plain = float(totals @ totals), value * (1 - value)
        trials = min(float(n), plain / variance) if variance > 1e-15 and plain > 0 else kish
        return cls(value, trials, groups, totals)

    def interval(self, level: float = 0.95, scale: float = 1.0) -> Interval:
        """Interval of the share, people and file redrawn."""
        return wilson(self.value * self.trials, self.trials, level, scale, ("people", "file"))

    def above(self, other: Share, level: float = 0.95, scale: float = 1.0) -> Interval:
        """Interval of this share minus another, which may move with it because one file decides both.

        The method of Zou and Donner 2008, from the intervals of both shares and their correlation over the groups.
        """
        mine, theirs = self.interval(level), other.interval(level)
        rho = self._moves_with(other)
        parts = (
            (self.value - mine.low, theirs.high - other.value),
            (mine.high - self.value, other.value - theirs.low),
        )
        low, high = (math.sqrt(max(a * a - 2 * rho * a * b + b * b, 0.0)) for a, b in parts)
        middle = self.value - other.value
        return Interval(scale * (middle - low), scale * (middle + high), level, redrawn=("people", "file"))

    def _moves_with(self, other: Share) -> float:
        _, mine, theirs = np.intersect1d(self.groups, other.groups, return_indices=True)
        common = float(self.totals[mine] @ other.totals[theirs])
        size = math.sqrt(float(self.totals @ self.totals) * float(other.totals @ other.totals))
        return common / size if size > 0 else 0.0


def clustered_mean(scores: Scores, clusters: Scores, level: float = 0.95) -> tuple[float, float]:
    """Mean of scores and half the width of its interval, where scores of one group move together.

    Examples
    --------
    >>> mean, half = clustered_mean(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    >>> mean, round(half, 2)
    (2.0, 1.96)
    """
    mean = float(np.mean(scores))
    _, place = np.unique(clusters, return_inverse=True)
    totals = np.bincount(place, scores - mean) / len(scores)
    groups = len(totals)
    inflation = groups / (groups - 1) if groups > 1 else 1.0
    half = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(inflation * float(totals @ totals))
    return mean, half
