"""Numbers of a column as a network sees them: a place near one of some modes, or a normal score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.later import special
from dalenius.data.vector import IntArray
from dalenius.synth._store import stored

Floats = npt.NDArray[np.float64]
MODES = 10
"""Most modes of a column, as in CTGAN."""
POINTS = 1000
"""Points that a column is summed up in before its modes are looked for."""
LEAST, WIDE = 0.005, 4.0
"""Least share of a mode, and how many standard deviations from its mean the ends of its scale are."""
TURNS = 100
NEIGHBOURS = 10
"""Numbers whose mean stands for them where few share one."""


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Normal modes; a place is the distance from a mode's mean in fours of its standard deviation (Xu et al. 2019)."""

    means: Floats
    spreads: Floats
    shares: Floats

    @classmethod
    def fit(cls, values: Floats) -> Mixture:
        """Modes of some numbers; each must explain more of them than its own two figures could (Figueiredo, Jain 2002).

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> two = Mixture.fit(np.concatenate([rng.normal(0, 1, 500), rng.normal(50, 2, 500)]))
        >>> bool(abs(two.shares[two.means < 25].sum() - 0.5) < 0.01)
        True
        """
        points, times = _summed_up(values)
        whole = float(np.sqrt(np.cov(points, fweights=times))) if times.sum() > 1 else 0.0
        count = min(MODES, len(points))
        means = np.quantile(np.repeat(points, times), (np.arange(count) + 0.5) / count)
        spreads, shares = np.full(count, max(whole / count, 1e-9)), np.full(count, 1 / count)
        least = (whole or 1.0) * 1e-3
        for _ in range(TURNS):
            weights = _belonging(points, means, spreads, shares) * times
            held = weights.sum(axis=1)
            shares = np.maximum(held - 1.0, 0.0)
            kept = shares > LEAST * shares.sum()
            if not kept.any():
                kept = held == held.max()
                shares = held
            weights, held, shares = weights[kept], held[kept], shares[kept] / shares[kept].sum()
            before, means = means[kept], weights @ points / held
            apart = np.square(points - means[:, None])
            spreads = np.maximum(np.sqrt((weights * apart).sum(axis=1) / held), least)
            if np.abs(before - means).max() < 1e-4 * least:
                break
        return cls(means, spreads, shares)

    @property
    def size(self) -> int:
        """Number of modes."""
        return len(self.means)

    def placed(self, values: Floats, rng: np.random.Generator) -> tuple[IntArray, Floats]:
        """A mode drawn for each number among those it may belong to, and its place there."""
        chances = np.cumsum(_belonging(values, self.means, self.spreads, self.shares), axis=0)
        modes = np.minimum((chances < rng.random(len(values))).sum(axis=0), self.size - 1)
        places = (values - self.means[modes]) / (WIDE * self.spreads[modes])
        return modes, np.clip(places, -0.99, 0.99)

    def values(self, modes: IntArray, places: Floats) -> Floats:
        """Numbers at these places."""
        return places * WIDE * self.spreads[modes] + self.means[modes]


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """One mode; a place is the normal score of a number's rank, and becomes a number of that rank.

    Attributes
    ----------
    ordered
        Numbers at even ranks: all of them where they are heaped, means of neighbours elsewhere.
    """

    ordered: Floats

    @classmethod
    def fit(cls, values: Floats, heaped: bool = False) -> Scores:
        """Numbers in order; what few share goes into means of at least so many that they are nobody's.

        Examples
        --------
        >>> Scores.fit(np.arange(40.0)).ordered.tolist()
        [4.5, 14.5, 24.5, 34.5]
        """
        ordered = np.sort(values)
        if heaped:
            return cls(ordered)
        parts = np.array_split(ordered, int(np.clip(len(ordered) // NEIGHBOURS, 1, POINTS)))
        return cls(np.array([part.mean() for part in parts]))

    @property
    def size(self) -> int:
        """One."""
        return 1

    def placed(self, values: Floats, rng: np.random.Generator) -> tuple[IntArray, Floats]:
        """Scores of numbers, each anywhere in the range of ranks of those equal to it.

        Examples
        --------
        >>> scores = Scores.fit(np.array([1.0, 2.0, 2.0]), heaped=True)
        >>> scores.placed(np.array([1.0]), np.random.default_rng(1))[1] < 0
        array([ True])
        """
        low = np.searchsorted(self.ordered, values, side="left")
        high = np.searchsorted(self.ordered, values, side="right")
        between = np.interp(values, self.ordered, np.arange(len(self.ordered)) + 0.5)
        ranks = np.where(high > low, low + rng.random(len(values)) * (high - low), between)
        count = max(len(self.ordered), 1)
        shares = np.clip(ranks / count, 0.2 / count, 1 - 0.2 / count)
        return np.zeros(len(values), np.int64), special.ndtri(shares)

    def values(self, modes: IntArray, places: Floats) -> Floats:
        """Numbers of the ranks that these scores have, and between them."""
        count = len(self.ordered)
        return np.interp(special.ndtr(places) * count - 0.5, np.arange(count), self.ordered)


def _summed_up(values: Floats) -> tuple[Floats, IntArray]:
    """Distinct numbers and how often they occur; of very many, the means of equal shares."""
    points, times = np.unique(values, return_counts=True)
    if len(points) <= POINTS:
        return points, times
    parts = np.array_split(np.sort(values), POINTS)
    return np.array([part.mean() for part in parts]), np.array([len(part) for part in parts])


def _belonging(points: Floats, means: Floats, spreads: Floats, shares: Floats) -> Floats:
    """Chance of each mode, given each number."""
    away = (points - means[:, None]) / spreads[:, None]
    logs = np.log(shares / spreads)[:, None] - 0.5 * np.square(away)
    chances = np.exp(logs - logs.max(axis=0))
    return chances / chances.sum(axis=0)
