"""The different values of a column of whole numbers, without sorting where their range is small."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.data.vector import AnyArray

WIDE = 1 << 20
"""Up to this range (or that of the rows, if there are more) a table of what was seen is cheaper than hashing."""


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
    seen[values - low] = True
    return np.flatnonzero(seen) + low


def places_of(values: AnyArray, distinct: AnyArray) -> AnyArray:
    """Where each value stands among the different ones.

    Examples
    --------
    >>> places_of(np.array([3, 1, 3]), np.array([1, 3]))
    array([1, 0, 1])
    """
    if len(distinct) and values.dtype.kind in "iu":
        low, high = int(distinct[0]), int(distinct[-1])
        if high - low < max(WIDE, len(values)):
            table = np.zeros(high - low + 1, np.int64)
            table[distinct - low] = np.arange(len(distinct))
            return np.asarray(table[values - low])
    return np.searchsorted(distinct, values)
