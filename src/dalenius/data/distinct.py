"""The different values of a column of whole numbers, without sorting where their range is small."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.data.vector import AnyArray, compact

WIDE = 1 << 20
"""Up to this range (or that of the rows, if there are more) a table of what was seen is cheaper than hashing."""
SOME = 1 << 16
"""Values that are looked at together."""


def distinct_whole(values: AnyArray) -> AnyArray:
    """The different whole numbers, sorted.

    Examples
    --------
    >>> distinct_whole(np.array([3, 1, 3])), distinct_whole(np.array([7, -(10**15)]))
    (array([1, 3]), array([-1000000000000000,                 7]))
    """
    if not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    if high - low >= max(WIDE, len(values)):
        return pl.Series(values).unique().sort().to_numpy()  # several times faster than np.unique
    seen = np.zeros(high - low + 1, bool)
    for start in range(0, len(values), SOME):  # in parts: no second copy of a long column
        seen[values[start : start + SOME] - low] = True
    return np.flatnonzero(seen) + low


def places_of(values: AnyArray, distinct: AnyArray) -> AnyArray:
    """Where each value stands among the different ones.

    Examples
    --------
    >>> places_of(np.array([3, 1, 3]), np.array([1, 3])).tolist()
    [1, 0, 1]
    """
    if len(distinct) and values.dtype.kind in "iu":
        low, high = int(distinct[0]), int(distinct[-1])
        if high - low < max(WIDE, len(values)):
            table = compact(np.zeros(high - low + 1, np.int64), len(distinct))
            table[distinct - low] = np.arange(len(distinct))
            places = np.empty(len(values), table.dtype)
            for start in range(0, len(values), SOME):
                places[start : start + SOME] = table[values[start : start + SOME] - low]
            return places
    return np.searchsorted(distinct, values)
