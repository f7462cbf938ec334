"""`Coder`: one column as small integers for the tree engine, alike for original and synthetic rows.

Numbers become bins in order (every distinct value its own bin up to `BINS`, quantile bins beyond), categories
keep their codes. Empty cells and special codes get codes of their own, so a tree can split on "not asked" like
on any answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.data.schema import Kind
from dalenius.data.vector import SPECIAL, AnyArray, Vector
from dalenius.synth._store import stored

BINS = 240
"""Bins of a number: a cut is never further than 0.4 % of the rows from where it should be, and codes fit a byte."""
LEVELS = 60_000
"""Levels of a category that are told apart as predictor; rarer ones share a code."""

Codes = npt.NDArray[np.unsignedinteger[Any]]


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Coder:
    """How one column is coded.

    Attributes
    ----------
    edges
        Cut points of a number (a value at an edge goes right); None for a category.
    folded
        Code of each level when there are more than `LEVELS`; None when levels are their own codes.
    unordered
        Whether codes have no order.
    gaps
        Number of codes kept for what is no ordinary value: empty, NaN and each special code.
    size
        Number of codes.
    """

    edges: npt.NDArray[np.float64] | None
    folded: Codes | None
    unordered: bool
    gaps: int
    size: int

    @classmethod
    def fit(cls, vector: Vector) -> Coder:
        """Coder of one column of the original.

        Examples
        --------
        >>> from dalenius.data.table import Table
        >>> ages = Table.from_frame({"age": [30, 41, None, 30]})["age"]
        >>> coder = Coder.fit(ages)
        >>> coder.codes(ages).tolist(), coder.size
        ([2, 3, 0, 2], 4)
        """
        gaps = SPECIAL - 1 + len(vector.column.special)
        if vector.is_number:
            edges = _edges(vector.values)
            return cls(edges, None, False, gaps, gaps + len(edges) + 1)
        levels = len(vector.levels)
        folded = None
        if levels > LEVELS:
            often = np.argsort(-np.bincount(vector.values, minlength=levels), kind="stable")
            folded = np.empty(levels, np.uint16)
            folded[often] = np.minimum(np.arange(levels), LEVELS - 1)
            levels = LEVELS
        return cls(None, folded, vector.column.kind is not Kind.ORDERED, gaps, gaps + levels)

    def codes(self, vector: Vector) -> Codes:
        """Codes of rows of this column: gaps first, then values."""
        if self.edges is not None:
            codes = (np.searchsorted(self.edges, vector.data, side="right") + self.gaps).astype(np.uint16)
        else:
            plain = vector.data if self.folded is None else self.folded[vector.data]
            codes = (plain + np.uint16(self.gaps)).astype(np.uint16)
        if vector.state is not None:
            gap = vector.state > 0
            codes[gap] = vector.state[gap] - 1
        return codes


def _edges(values: AnyArray) -> npt.NDArray[np.float64]:
    """Cut points between bins: midpoints of neighbouring values, so that rounding cannot move a value across."""
    distinct = _distinct(values)
    if len(distinct) > BINS:
        at = (np.arange(1, BINS) * (len(values) / BINS)).astype(np.int64)
        distinct = np.unique(np.partition(values, at)[at])
        return np.asarray(distinct, np.float64)
    wide = np.asarray(distinct, np.float64)
    return (wide[:-1] + wide[1:]) / 2 if len(wide) > 1 else np.zeros(0)


def _distinct(values: AnyArray) -> AnyArray:
    """Distinct finite values in order."""
    return distinct_counts(values[np.isfinite(values)] if values.dtype.kind == "f" else values)[0]


def distinct_counts(values: AnyArray) -> tuple[AnyArray, npt.NDArray[np.int64]]:
    """Distinct values in order and how often each occurs; whole numbers of small range are counted, not sorted.

    Examples
    --------
    >>> [part.tolist() for part in distinct_counts(np.array([7, 5, 7]))]
    [[5, 7], [1, 2]]
    """
    if len(values) and values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values):
            times = np.bincount(values - low)
            places = np.flatnonzero(times)
            return places + low, times[places]
    distinct, times = np.unique(values, return_counts=True)
    return distinct, times.astype(np.int64)


def places_of(values: AnyArray, distinct: AnyArray) -> npt.NDArray[np.intp]:
    """Place of each value among the distinct ones; whole numbers of small range are looked up, not searched.

    Examples
    --------
    >>> places_of(np.array([7, 5, 7]), np.array([5, 7])).tolist()
    [1, 0, 1]
    """
    if values.dtype.kind in "iu" and len(distinct):
        low, high = int(distinct[0]), int(distinct[-1])
        if high - low < 4 * len(values):
            place = np.zeros(high - low + 1, np.intp)
            place[distinct - low] = np.arange(len(distinct))
            return place[values - low]
    return np.searchsorted(distinct, values)
