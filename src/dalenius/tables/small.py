"""`SmallSums`: which sums of small counts may be published (Langsrud 2024, section 4).

Small inner cells are zeros where zeros are suppressed, ones where zeros are public. They cannot protect each other: a
published sum of zeros tells that each of them is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.tables.elimination import Columns
from dalenius.tables.options import SmallMethod
from dalenius.tables.protected import Bools, Ints

PUBLISHES_ZEROS = ("anysum_notprimary", "anysum0")
"""Methods for tables in which some small inner cells are published."""


@dataclass
class SmallSums:
    """The rule for columns that consist of small inner cells only.

    Attributes
    ----------
    method, early
        The method; whether rows count as used as soon as a column passed (as R does) or only when it is published.
    start
        First row of the small inner cells, which come last.
    used
        Rows of published differences of small inner cells.
    family
        For ``anysum0``: column → columns that are parts of it, among those of small inner cells only.
    every_row
        Whether every small inner cell is a cell of its own.
    first
        Number of the first protected column.
    """

    method: SmallMethod
    early: bool
    start: int
    used: Bools
    family: Mapping[int, Sequence[int]]
    every_row: bool
    first: int

    def refuses(self, columns: Columns, j: int) -> bool | Ints:
        """Whether column ``j`` must not be published; rows instead, if publishing it tells that they are all zero."""
        rows, values = columns.column(j)
        if rows[0] < self.start:
            return False
        if "subspace" in self.method:
            return True
        mixed = bool((values > 0).any() and (values < 0).any())
        if mixed and not self.used[rows].any():
            if self.early:
                self.used[rows] = True
            return False
        if self.method not in PUBLISHES_ZEROS:
            return True
        told = self._told(columns, rows)
        if told is None or columns.covered(told) >= 0:
            return True
        return told

    def publish(self, rows: Ints) -> None:
        """Remember a published difference of small inner cells."""
        if rows[0] >= self.start:
            self.used[rows] = True

    def keeps(self, j: int) -> bool:
        """Whether a suppressed column is still needed to see what its parts tell."""
        return j in self.family

    def _told(self, columns: Columns, rows: Ints) -> Ints | None:
        """The zeros that a published zero tells: its parts, and the last open part of a zero around them.

        None if a protected cell is among the latter: a zero total and just one of its parts must not be what is
        left suppressed (R: anySum0).
        """
        known = set(rows.tolist())
        while self.family:
            before = len(known)
            for whole, parts in self.family.items():
                inside = set(columns.column(whole)[0].tolist())
                rest = inside - known
                if not rest or len(rest) == len(inside):
                    continue
                found = [p for p in parts if set(columns.column(p)[0].tolist()) == rest]
                if found and found[-1] >= self.first:
                    return None
                if found or (self.every_row and len(rest) == 1):
                    known |= rest
            if len(known) == before:
                break
        return np.array(sorted(known), np.int64)


def families(matrix: Any, small: Bools) -> tuple[dict[int, list[int]], bool]:
    """Columns of small inner cells only, with their parts; and whether every small inner cell is such a column.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 1]]))
    >>> families(x, np.array([True, True, False]))
    ({0: [1, 2]}, True)
    """
    matrix = sp.csc_matrix(matrix)
    sizes = np.diff(matrix.indptr)
    inside = np.asarray(matrix.T @ small.astype(np.int64)).ravel()
    places = np.flatnonzero((sizes > 0) & (inside == sizes))
    part = matrix[:, places]
    common = sp.coo_matrix(part.T @ part)
    held = (common.data == sizes[places][common.row]) & (sizes[places][common.col] > common.data)
    found: dict[int, list[int]] = {}
    for child, whole in sorted(zip(common.row[held].tolist(), common.col[held].tolist(), strict=True)):
        found.setdefault(int(places[whole]), []).append(int(places[child]))
    alone = part[:, np.flatnonzero(sizes[places] == 1)]
    return found, bool(np.asarray(alone.getnnz(axis=1))[small].all())
