"""Whole numbers that say whose rows they are, known by what stands beside them.

A household's number is a number like any other, and seldom named so that a program could tell. But its rows stand
together, and some of what else is written is one and the same for all of a household.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dalenius.data.raw import Raw
from dalenius.data.schema import OWNERS, Column, Kind
from dalenius.data.vector import AnyArray

FEWEST, MOST_ROWS, FEWEST_PAIRS = 20, 20, 20
"""Numbers there are at least, rows each has at most on average, and rows beyond the first of each at least."""
COMMON = 0.9
"""A value that more rows than this share have is one and the same for an owner's rows by chance."""
YEARS = (1800, 2100)


def whose_rows(raws: Sequence[Raw], columns: Sequence[Column]) -> str | None:
    """The column that says whose rows they are, if none is known and one is seen to; of several the one with most.

    Examples
    --------
    >>> home = np.repeat(np.arange(40), 2)
    >>> flat, cost = Raw("flat", "integer", home * 7 % 11, None), Raw("cost", "integer", np.arange(80) % 13, None)
    >>> raws = [Raw("home", "integer", home, None), flat, cost]
    >>> whose_rows(raws, [Column(raw.name, Kind.INTEGER) for raw in raws])
    'home'
    """
    if any(c.has(role) for c in columns for role in OWNERS):
        return None
    found: dict[str, int] = {}
    for raw, column in zip(raws, columns, strict=True):
        starts = _owned(raw) if column.kind is Kind.INTEGER and not column.roles else None
        if starts is None:
            continue
        order = np.argsort(raw.data, kind="stable")
        if any(_one_each(other, order, starts) for other in raws if other is not raw):
            found[raw.name] = len(starts)
    return max(found, key=lambda name: found[name], default=None)


def _owned(raw: Raw) -> npt.NDArray[np.int64] | None:
    """Where each number's rows begin once they are sorted, if numbers are spread over rows as owners are."""
    values = raw.data
    if (
        raw.storage not in ("integer", "float")
        or not raw.present.all()
        or len(values) < FEWEST + FEWEST_PAIRS
    ):
        return None
    several = np.sort(values)
    starts = np.flatnonzero(np.concatenate([[True], several[1:] != several[:-1]]))
    if len(starts) < FEWEST or len(values) - len(starts) < FEWEST_PAIRS or several[0] < 0:
        return None
    if len(values) > MOST_ROWS * len(starts) or (several[0] >= YEARS[0] and several[-1] <= YEARS[1]):
        return None
    together = 1 + int(np.count_nonzero(values[1:] != values[:-1])) == len(starts)
    return starts if together else None


def _one_each(other: Raw, order: AnyArray, starts: npt.NDArray[np.int64]) -> bool:
    """Whether all rows of an owner have the same in a column that neither follows the number's size nor is its name."""
    codes = np.where(other.present, other.data, -1)[order].astype(np.float64)
    low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    if not (low == high).all():  # not-a-number is not equal to itself
        return False
    steps = np.diff(low)
    _, times = np.unique(codes, return_counts=True)
    shared = len(times) < len(starts) and times.max() <= COMMON * len(codes)
    return bool(shared and (steps < 0).any() and (steps > 0).any())
