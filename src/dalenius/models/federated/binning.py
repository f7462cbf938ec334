"""Numbers in bins of equal width, and how many bins (Freedman and Diaconis 1981)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray, IntArray


def freedman_diaconis_bins(
    values: AnyArray, low: float | None = None, high: float | None = None, *, cap_distinct: bool = True
) -> int:
    """How many bins of equal width suit some numbers: the range by 2 IQR n^(-1/3), rounded up.

    Parameters
    ----------
    low, high
        Ends of the range; those of the numbers by default.
    cap_distinct
        At most as many bins as there are different numbers: whole numbers would get far more.

    Examples
    --------
    >>> freedman_diaconis_bins(np.arange(1000.0))
    10
    """
    held = np.asarray(values, np.float64)
    held = held[~np.isnan(held)]
    distinct = len(np.unique(held))
    if distinct < 2:
        return 1
    low, high = float(held.min()) if low is None else low, float(held.max()) if high is None else high
    middle = float(np.subtract(*np.quantile(held, [0.75, 0.25])))
    if middle > 0:
        bins = math.ceil((high - low) / (2 * middle * len(held) ** (-1 / 3)))
    else:
        bins = math.ceil(math.log2(len(held))) + 1
        warnings.warn("half of the numbers are equal: bins by Sturges' rule instead", stacklevel=2)
    return max(min(bins, distinct) if cap_distinct else bins, 1)


@dataclass(frozen=True)
class EqualWidth:
    """Bins of equal width, each closed on the left; the last one on both sides. What is missing is a code of its own.

    Examples
    --------
    >>> bins = EqualWidth(0, 10, 5)
    >>> bins.codes(np.array([0, 1.9, 2, 10, 99, np.nan])).tolist()
    [0, 0, 1, 4, 4, 5]
    >>> bins.cut(1), bins.middle(np.array([0, 5])).tolist()
    (4.0, [1.0, nan])
    """

    low: float
    high: float
    bins: int

    def __post_init__(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 1:
            raise OptionError(f"bins are a whole number of 1 or more, got {self.bins}")
        if not -math.inf < self.low <= self.high < math.inf:
            raise OptionError(f"bins need finite ends, the lower first; got {self.low} and {self.high}")

    @property
    def width(self) -> float:
        """Width of a bin."""
        return (self.high - self.low) / self.bins

    def codes(self, values: AnyArray) -> IntArray:
        """The bin of each number; numbers beyond the ends go to the first or last."""
        held = np.asarray(values, np.float64)
        gaps = np.isnan(held)
        place = (
            np.floor((np.where(gaps, self.low, held) - self.low) / self.width)
            if self.width
            else np.zeros(len(held))
        )
        return np.where(gaps, self.bins, np.clip(place, 0, self.bins - 1)).astype(np.int64)

    def outside(self, values: AnyArray) -> int:
        """How many numbers lie beyond the ends."""
        held = np.asarray(values, np.float64)
        return int(((held < self.low) | (held > self.high)).sum())

    def cut(self, code: int) -> float:
        """Where bin ``code`` ends, in the units of the numbers; what is missing lies beyond every number."""
        return math.inf if code + 1 >= self.bins else self.low + (code + 1) * self.width

    def middle(self, codes: IntArray) -> AnyArray:
        """The middle of each bin; NaN for what is missing."""
        held = np.asarray(codes)
        return np.where(held < self.bins, self.low + (held + 0.5) * self.width, np.nan)
