"""`Finish`: a drawn number made fit to stand in the column: smoothed, rounded, in range.

A leaf donor brings a value of the column it was fitted on. Where values are nearly unique (an income, a measurement) it
points at one place of the distribution; smoothing replaces it by one nearby, and gives out values of that column only:
the exit has taken out of it what one person has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.interpolate import PchipInterpolator

from dalenius.core.random import Seed, generator
from dalenius.data.rare import off_taken
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray, Vector
from dalenius.synth._store import stored
from dalenius.synth.sequential.coding import distinct_counts
from dalenius.synth.sequential.design import Floats, deviation

Smoothing = Literal["none", "auto", "density", "spline"]
HEAPED = 10
"""A value that occurs this often is everybody's (an age, a round amount): smoothing leaves it alone."""
UNIQUE_SHARE = 0.05
"""Whole numbers are smoothed by "auto" when at least this share of them occurs once."""
MOST_DECIMALS = 12


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Finish:
    """How drawn numbers of one column are finished.

    Attributes
    ----------
    step
        Grid of the original's values: 1, 100, 0.01; 0 when there is none.
    low, high
        Range of the original (or its declared bounds).
    smoothing
        "none", "density" or "spline".
    width
        Bandwidth of the density smoothing.
    heaps
        Values that are left as they are.
    places
        Values that may be given out when smoothing is on; any, where there are none.
    uniques
        Values that are never given out when smoothing is on.
    knots
        Smoothed quantiles of the original for the spline smoothing.
    exact
        Whether drawn numbers are observed values, which need no rounding.
    """

    dtype: str
    step: float
    low: float
    high: float
    smoothing: str
    width: float
    heaps: Floats
    places: Floats
    uniques: Floats
    knots: Floats
    exact: bool = True

    @classmethod
    def fit(cls, vector: Vector, smoothing: Smoothing, exact: bool = True, guarded: bool = False) -> Finish:
        """Read grid, range and rare values off one column of numbers, or off one that holds no rare values any more."""
        values = vector.values
        values = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        occurring, times = distinct_counts(values)
        distinct = occurring.astype(np.float64)
        once = distinct[times == 1]
        chosen = _choose(vector, smoothing, len(once), len(values))
        low, high = (float(distinct[0]), float(distinct[-1])) if len(distinct) else (0.0, 0.0)
        empty = np.zeros(0)
        smooth = chosen != "none"
        return cls(
            vector.data.dtype.str, _step(vector, distinct), low, high, chosen,
            _bandwidth(values) if smooth else 0.0, distinct[times >= HEAPED] if smooth else empty,
            distinct if smooth and guarded else empty, once if smooth and not guarded else empty,
            _knots(values) if chosen == "spline" else empty, exact,
        )  # fmt: skip

    def apply(self, drawn: AnyArray, seed: Seed) -> AnyArray:
        """Finish drawn numbers."""
        if self.smoothing == "none" and self.exact:
            return drawn
        endless = np.zeros(len(drawn), bool) if drawn.dtype.kind != "f" else ~np.isfinite(drawn)
        numbers = np.where(endless, self.low, drawn).astype(np.float64)
        if self.smoothing != "none" and len(numbers):
            numbers = self._smoothed(numbers, generator(seed, "smooth"))
        finished = self._cast(self._placed(self._gridded(numbers)))
        return np.where(endless, drawn, finished).astype(finished.dtype)  # infinity is no place to move from

    def _smoothed(self, numbers: Floats, rng: np.random.Generator) -> Floats:
        heaped = np.isin(numbers, self.heaps)
        if self.smoothing == "density":
            moved = numbers + self.width * rng.standard_normal(len(numbers))
        else:
            # The rank among the drawn values, spread evenly within ties, on the original's smoothed quantiles.
            order = np.lexsort((rng.random(len(numbers)), numbers))
            rank = np.empty(len(numbers))
            rank[order] = (np.arange(len(numbers)) + 0.5) / len(numbers)
            moved = PchipInterpolator(np.linspace(0, 1, len(self.knots)), self.knots)(rank)
        span = self.high - self.low
        if span > 0:  # reflected at the ends, so that no mass gathers on the extreme values
            inside = np.abs(moved - self.low) % (2 * span)
            moved = self.low + np.where(inside > span, 2 * span - inside, inside)
        return np.where(heaped, numbers, moved)

    def _gridded(self, numbers: Floats) -> Floats:
        if self.step > 0:
            numbers = np.round(numbers / self.step) * self.step
            if self.step < 1:
                numbers = np.round(numbers, min(MOST_DECIMALS, round(-np.log10(self.step))))
        return np.clip(numbers, self.low, self.high)

    def _placed(self, numbers: Floats) -> Floats:
        """Move every number to the nearest value that may be given out."""
        if len(self.places):
            above = np.clip(np.searchsorted(self.places, numbers), 1, max(len(self.places) - 1, 1))
            low, high = self.places[above - 1], self.places[np.minimum(above, len(self.places) - 1)]
            return np.where(numbers - low <= high - numbers, low, high)
        if not len(self.uniques):
            return numbers
        return off_taken(numbers, self.uniques, self.step, self.low, self.high, self.width)

    def _cast(self, numbers: Floats) -> AnyArray:
        kind = np.dtype(self.dtype)
        if kind.kind == "f":
            return numbers.astype(kind)
        # The largest whole numbers round up to one that no longer fits.
        limits = np.iinfo(kind)
        return np.clip(np.rint(numbers), float(limits.min), np.nextafter(float(limits.max), 0)).astype(kind)


def _choose(vector: Vector, smoothing: Smoothing, uniques: int, known: int) -> str:
    if smoothing != "auto":
        return smoothing
    if vector.column.kind in (Kind.CONTINUOUS, Kind.POINT):
        return "density"
    return (
        "density"
        if vector.column.kind is Kind.INTEGER and known and uniques > UNIQUE_SHARE * known
        else "none"
    )


def _step(vector: Vector, distinct: Floats) -> float:
    """Spacing of the values: declared decimals, or the greatest common divisor of whole numbers."""
    column = vector.column
    if column.kind in (Kind.INTEGER, Kind.DATETIME):
        whole = vector.values
        return float(max(np.gcd.reduce(np.abs(whole - whole[0])), 1)) if len(whole) else 1.0
    if column.decimals is not None:
        return 10.0**-column.decimals
    for decimals in range(7):
        if np.array_equal(np.round(distinct, decimals), distinct):
            return 10.0**-decimals
    return 0.0


def _bandwidth(values: AnyArray) -> float:
    """Silverman's rule of thumb with the smaller of standard deviation and scaled quartile range (1986, eq. 3.31)."""
    if len(values) < 2:
        return 0.0
    whole = deviation(values)
    low, high = np.quantile(values, [0.25, 0.75])
    if high > low:
        spread = min(whole, (high - low) / 1.349)
    else:  # a heap in the middle: the others say how far apart they are, unless a far one says it for them
        others = np.quantile(values[values != high], [0.25, 0.75]) if np.any(values != high) else np.zeros(2)
        own = float(others[1] - others[0]) / 1.349
        spread = own if 0 < 10 * own < whole else whole
    return float(0.9 * spread * len(values) ** -0.2)


def _knots(values: AnyArray) -> npt.NDArray[np.float64]:
    """Means of equal shares of the sorted values: a smooth quantile function that holds no single value."""
    if len(values) < 2:
        return np.zeros(2) + (values[0] if len(values) else 0.0)
    count = int(np.clip(np.sqrt(len(values)), 2, 200))
    means = np.array([block.mean() for block in np.array_split(np.sort(values), count)])
    return np.concatenate([[values.min()], means, [values.max()]])
