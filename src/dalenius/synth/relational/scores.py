"""`Score`: one column as a number and back, and its distribution in few parameters, for Gaussian copulas."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from dalenius.data.schema import Column, Kind
from dalenius.data.vector import MISSING, AnyArray, Vector, compact

SMALL = 1e-6


@dataclass(frozen=True, eq=False)
class Score:
    """How one column becomes numbers: a number as it is, a category as a place on the line of its shares.

    Attributes
    ----------
    low, high
        Range of the numbers (after values that few units hold were drawn anew).
    ends
        Upper ends of the shares of a category's levels; None for a number.
    gaps
        Share of empty cells: they are placed at random, as in SDV.
    first, second
        Parameters of a beta distribution on the range, by moments.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> score = Score.of(Table.from_frame({"a": [1.5, 2.0, 4.0, 4.5]})["a"])
    >>> bool(abs(score.at(np.array([0.5]))[0] - 3.0) < 0.2)
    True
    """

    column: Column
    low: float
    high: float
    ends: AnyArray | None
    gaps: float
    first: float
    second: float

    @classmethod
    def of(cls, vector: Vector) -> Score:
        """The score of a column."""
        gaps = float(1 - vector.present.mean()) if len(vector) else 0.0
        if not vector.is_number:
            times = np.bincount(vector.values, minlength=max(len(vector.levels), 1)).astype(np.float64)
            ends = np.cumsum(times) / max(times.sum(), 1)
            return cls(vector.column, 0.0, 1.0, ends, gaps, 1.0, 1.0)
        values = vector.values.astype(np.float64)
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
        return cls(vector.column, low, high, None, gaps, *_beta(values, low, high))

    def numbers(self, vector: Vector, rng: np.random.Generator) -> AnyArray:
        """The cells as numbers; a gap is the mean, a category a random place within its share."""
        if self.ends is None:
            values = vector.floats()
            known = values[~np.isnan(values)]
            return np.where(np.isnan(values), known.mean() if len(known) else 0.0, values)
        starts = np.append(0.0, self.ends[:-1])
        place = starts[vector.data] + rng.random(len(vector)) * (self.ends - starts)[vector.data]
        return np.where(vector.present, place, 0.5)

    def at(self, shares: AnyArray) -> AnyArray:
        """Numbers at some shares of the distribution."""
        if self.ends is not None or self.high <= self.low:
            return shares if self.ends is not None else np.full(len(shares), self.low)
        return self.low + (self.high - self.low) * betaincinv(self.first, self.second, shares)

    def vector(self, numbers: AnyArray, rng: np.random.Generator) -> Vector:
        """Numbers as cells of the column again."""
        rows = len(numbers)
        if self.ends is not None:
            codes = np.searchsorted(self.ends, np.clip(numbers, 0.0, 1.0 - SMALL), side="right")
            data = compact(np.minimum(codes, max(len(self.ends) - 1, 0)), max(len(self.ends), 1))
        else:
            data = np.clip(numbers, self.low, self.high)
            if self.column.kind in (Kind.INTEGER, Kind.DATETIME):
                unit = 86_400_000_000 if self._days else 1
                data = np.round(data / unit).astype(np.int64) * unit
            elif self.column.decimals is not None:
                data = np.round(data, self.column.decimals)
        gone = rng.random(rows) < self.gaps if self.gaps else np.zeros(rows, bool)
        column = replace(self.column, parent=None, partner=None)
        return Vector(column, np.where(gone, 0, data), np.where(gone, MISSING, 0).astype(np.uint8)).tidy()

    @property
    def _days(self) -> bool:
        return (
            self.column.kind is Kind.DATETIME and self.low % 86_400_000_000 == 0 == self.high % 86_400_000_000
        )


def _beta(values: AnyArray, low: float, high: float) -> tuple[float, float]:
    """Parameters of a beta distribution with the mean and variance of the values."""
    if high <= low:
        return 1.0, 1.0
    shares = (values - low) / (high - low)
    mean, spread = float(shares.mean()), float(shares.var())
    if spread <= 0 or spread >= mean * (1 - mean):
        return 1.0, 1.0
    more = mean * (1 - mean) / spread - 1
    return max(mean * more, 0.05), max((1 - mean) * more, 0.05)


def normal_scores(values: AnyArray) -> AnyArray:
    """Values by rank as numbers of a standard normal distribution, equal values alike.

    Examples
    --------
    >>> normal_scores(np.array([5.0, 1.0, 5.0])).round(2).tolist()
    [0.43, -0.97, 0.43]
    """
    _, inverse, times = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(times) - times / 2) / len(values)
    return ndtri(middle[inverse])


@dataclass(frozen=True, eq=False)
class Bent:
    """A normal distribution cut off at the ends of what was seen: parameters of groups of children.

    Examples
    --------
    >>> Bent.of(np.array([1.0, 2.0, 3.0])).at(np.array([0.5])).round(6).tolist()
    [2.0]
    """

    mean: float
    spread: float
    low: float
    high: float

    @classmethod
    def of(cls, values: AnyArray) -> Bent:
        """The distribution of some values, gaps left out."""
        known = values[np.isfinite(values)]
        if not len(known):
            return cls(0.0, 0.0, 0.0, 0.0)
        return cls(float(known.mean()), float(known.std()), float(known.min()), float(known.max()))

    def at(self, shares: AnyArray) -> AnyArray:
        """Values at some shares of the distribution."""
        if self.spread <= 0:
            return np.full(len(shares), self.mean)
        below, above = ndtr((self.low - self.mean) / self.spread), ndtr((self.high - self.mean) / self.spread)
        return np.clip(self.mean + self.spread * ndtri(below + shares * (above - below)), self.low, self.high)


@dataclass(frozen=True, eq=False)
class Sizes:
    """Numbers of children as they are spread: a normal distribution would not know that most have none or one.

    Examples
    --------
    >>> Sizes.of(np.array([0, 0, 0, 2, 2, 2, 9]), least=3).at(np.array([0.1, 0.99])).tolist()
    [0.0, 2.0]
    """

    values: AnyArray
    ends: AnyArray

    @classmethod
    def of(cls, sizes: AnyArray, least: int) -> Sizes:
        """The distribution; a number that fewer parents than ``least`` have is that of the next smaller one."""
        values, times = np.unique(sizes.astype(np.float64), return_counts=True)
        for i in range(len(values) - 1, 0, -1):
            if times[i] < least:
                times[i - 1] += times[i]
                times[i] = 0
        kept = times > 0
        return cls(values[kept], np.cumsum(times[kept]) / max(times.sum(), 1))

    @property
    def mean(self) -> float:
        """Children of a parent on average."""
        return float((self.values * np.diff(self.ends, prepend=0.0)).sum())

    def at(self, shares: AnyArray) -> AnyArray:
        """Numbers at some shares of the distribution."""
        place = np.searchsorted(self.ends, shares, side="left")
        return (
            self.values[np.minimum(place, len(self.values) - 1)]
            if len(self.values)
            else np.zeros(len(shares))
        )
