"""`Eliminator`: the columns of a suppression problem, reduced step by step in exact integer arithmetic.

Candidates come first, protected columns after them. Publishing a candidate clears one of its rows in every other
column; a protected column that becomes empty would be computable from what is published. Rows below ``free`` may be
used as pivot in any order (the outcome does not depend on it: Langsrud 2024, section 3), so the row shared with the
fewest columns is taken, which keeps the columns short. The other rows belong to small counts or to single
contributors and are used in their given order.
"""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dalenius.tables import _kernels as k

Ints = npt.NDArray[np.int64]


class Columns(Protocol):
    """What the suppression rules ask of a set of columns; rows are sorted within a column."""

    def column(self, j: int) -> tuple[Ints, Any]:
        """Rows and values of a column now."""
        ...

    def is_empty(self, j: int) -> bool:
        """Whether a column is a combination of published ones."""
        ...

    def pivot(self, j: int) -> int:
        """The row that publishing ``j`` would use."""
        ...

    def blocker(self, j: int, row: int) -> int:
        """A protected column that publishing ``j`` would empty, or -1."""
        ...

    def reveals(self, j: int, row: int, owner: Ints, guarded: npt.NDArray[np.bool_], holder: Ints) -> int:
        """A guarded column that publishing ``j`` would leave with the rows of one other owner, or -1."""
        ...

    def covered(self, rows: Ints) -> int:
        """A protected column that lies wholly in the given rows, or -1."""
        ...

    def publish(self, j: int, row: int) -> None:
        """Use column ``j`` with pivot ``row``: clear the row everywhere, then the column."""
        ...

    def drop(self, j: int) -> None:
        """Take column ``j`` out of use."""
        ...

    def protect(self, j: int) -> int:
        """Add a copy of column ``j`` to the protected ones; returns its place."""
        ...

    def remove(self, gone: Ints) -> None:
        """Delete rows from all columns (everybody knows their values)."""
        ...


MOST_STALE = 1 << 14
"""Entries of the lists of rows that may always be out of date."""


class GrowthError(Exception):
    """A value left the range of the compiled arithmetic."""


class Eliminator:
    """Compiled columns (int64, checked).

    ``limit`` hides rows from the protected columns: with the sub-space method they see only rows below it. ``listed``
    rows have lists of their columns; without one for a row all columns are looked through, which is cheap if it is
    seldom a pivot.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))
    >>> columns = Eliminator(x, candidates=2, free=2)
    >>> columns.blocker(0, columns.pivot(0)), columns.publish(0, columns.pivot(0)), columns.column(1)[1].tolist()
    (-1, None, [-1])
    >>> columns.blocker(1, columns.pivot(1))  # the second cell and the total would give the protected third
    2
    """

    def __init__(
        self, matrix: Any, candidates: int, free: int, limit: int | None = None, spare: int = 0,
        listed: int | None = None,
    ) -> None:  # fmt: skip
        matrix = sp.csc_matrix(matrix)
        matrix.sort_indices()
        self.count = matrix.shape[0]
        self.first = candidates
        self.free = free
        self.limit = self.count if limit is None else limit
        self.size = matrix.shape[1]
        width = self.size + spare
        self.start = np.zeros(width, np.int64)
        self.start[: self.size] = matrix.indptr[:-1]
        self.length = np.zeros(width, np.int64)
        self.length[: self.size] = np.diff(matrix.indptr)
        self.room = self.length.copy()
        self.end = matrix.nnz
        capacity = max(2 * matrix.nnz, 1 << 12)
        self.rows, self.vals = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
        self.rows[: self.end] = matrix.indices
        self.vals[: self.end] = matrix.data
        self.seen = np.full(width, -1, np.int64)
        self.stamp = 0
        self.near, self.count_near = np.zeros(width, np.int64), 0
        self.asked, self.published = (-1, -1), 0
        rows = self.count if listed is None else listed
        self.head, self.degree = np.empty(rows, np.int32), np.empty(rows, np.int64)
        self._link(capacity)

    def _link(self, capacity: int) -> None:
        """Build the lists anew, with place for so many entries."""
        self.after, self.member = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
        self.used = k.link(
            self.start, self.length, self.rows, self.head, self.after, self.member, self.degree
        )

    def column(self, j: int) -> tuple[Ints, Any]:
        """Rows and values of a column now."""
        part = slice(self.start[j], self.start[j] + self.length[j])
        return self.rows[part].astype(np.int64), self.vals[part]

    def is_empty(self, j: int) -> bool:
        """Whether a column is a combination of published ones."""
        return not self.length[j]

    def pivot(self, j: int) -> int:
        """The free row shared with the fewest columns, else the top row."""
        offset = k.rarest(self.rows, self.start[j], self.length[j], self.free, self.degree)
        return int(self.rows[self.start[j] + offset])

    def _near(self, j: int, row: int) -> int:
        """Fill ``near`` with the other columns that touch the row; whoever asks twice in a row gets the same answer."""
        if self.asked != (j, row):
            if row < len(self.head):
                self.stamp += 1
                self.count_near = k.touching(
                    row, j, self.head, self.after, self.member, self.start, self.length, self.rows, self.seen,
                    self.stamp, self.near,
                )  # fmt: skip
            else:
                self.count_near = k.crossing(row, j, self.start, self.length, self.rows, self.near)
            self.asked = (j, row)
        return self.count_near

    def _near_any(self, j: int, rows: Ints) -> int:
        """Fill ``near`` with the columns that touch any of the rows, which must have lists."""
        self.stamp += 1
        self.asked, self.count_near = (-1, -1), 0
        for row in rows:
            self.count_near += k.touching(
                row, j, self.head, self.after, self.member, self.start, self.length, self.rows, self.seen, self.stamp,
                self.near[self.count_near :],
            )  # fmt: skip
        return self.count_near

    def _visible(self, j: int) -> int:
        """How many entries of a candidate the protected columns can see."""
        size = int(self.length[j])
        if self.limit >= self.count:
            return size
        s = self.start[j]
        return int(np.searchsorted(self.rows[s : s + size], self.limit))

    def blocker(self, j: int, row: int) -> int:
        """A protected column that publishing ``j`` would empty, or -1."""
        size = self._visible(j)
        if size == 0:
            return -1
        if row < len(self.head):
            near, count = self.near, self._near(j, row)
        else:
            near = self.first + np.flatnonzero(self.length[self.first : self.size] == size)
            count = len(near)
        offset = k.locate(self.rows, self.start[j], size, row) - self.start[j]
        return int(
            k.proportional(
                self.start[j], size, offset, near, count, self.first, self.start, self.length, self.rows, self.vals
            )
        )  # fmt: skip

    def reveals(self, j: int, row: int, owner: Ints, guarded: npt.NDArray[np.bool_], holder: Ints) -> int:
        """A guarded column that publishing ``j`` would leave with the rows of one other owner, or -1."""
        count = self._near(j, row)
        return int(
            k.revealed(
                self.start[j], self.length[j], row, self.near, count, self.start, self.length, self.rows, self.vals,
                owner, guarded, holder,
            )
        )  # fmt: skip

    def covered(self, rows: Ints) -> int:
        """A protected column that lies wholly in the given rows, or -1."""
        count = self._near_any(-1, rows)
        return int(k.inside(np.sort(rows), self.near, count, self.first, self.start, self.length, self.rows))

    def publish(self, j: int, row: int) -> None:
        """Clear the pivot row everywhere, then the column."""
        count = self._near(j, row)
        size, prefix, done = int(self.length[j]), self._visible(j), 0
        while done < count:
            self.end, self.used, done, grown = k.eliminate(
                self.start[j], size, row, self.near, done, count, self.first, prefix, self.start, self.length,
                self.room, self.rows, self.vals, self.end, self.head, self.after, self.member, self.degree, self.used,
            )  # fmt: skip
            if grown:
                raise GrowthError
            if done < count:
                self._reserve((int(self.length[self.near[done]]) + size) * 5 // 4, size)
        self.drop(j)
        self.published += 1
        if self.published % 512 == 0 and self.used > MOST_STALE + 3 * int(self.degree.sum()):
            self._link(self.used // 2)  # mostly entries that are gone

    def _reserve(self, arena: int, links: int) -> None:
        """Make place for so many further entries."""
        if self.end + arena > len(self.rows):
            self._tidy(arena)
        if self.used + links > len(self.after):
            self._link(3 * (int(self.degree.sum()) + links) // 2 + MOST_STALE)

    def _tidy(self, arena: int) -> None:
        """Move the columns together where they are, or into a larger arena if that would not leave a quarter free.

        Columns keep a little room, since those that grew will grow again. Rows and values go one after the other, so
        that no more than one of them is there twice.
        """
        self.room = np.minimum(self.room, self.length + self.length // 4)
        order = np.argsort(self.start, kind="stable")
        fresh = np.zeros_like(self.start)
        ends = np.cumsum(self.room[order])
        fresh[order[1:]] = ends[:-1]
        wanted = int(ends[-1]) + arena
        size = len(self.rows) if wanted * 4 <= len(self.rows) * 3 else 2 * wanted
        for name in ("rows", "vals"):
            old = getattr(self, name)
            new = old if size == len(old) else np.empty(size, np.int32)
            k.move(order, self.start, fresh, self.length, old, new)
            setattr(self, name, new)
        self.start, self.end = fresh, int(ends[-1])

    def drop(self, j: int) -> None:
        """Take a column out of use."""
        self.asked = (-1, -1)
        k.clear(j, self.start, self.length, self.rows, self.degree)

    def protect(self, j: int) -> int:
        """Add a copy of column ``j`` to the protected ones."""
        size = self._visible(j)
        self.asked = (-1, -1)
        self._reserve(size, size)
        place, s = self.size, int(self.start[j])
        self.size += 1
        self.rows[self.end : self.end + size] = self.rows[s : s + size]
        self.vals[self.end : self.end + size] = self.vals[s : s + size]
        self.start[place], self.room[place] = self.end, size
        self.used = k.enlist(
            place, self.end, size, self.rows, self.head, self.after, self.member, self.degree, self.used
        )
        self.length[place] = size
        self.end += size
        return place

    def remove(self, gone: Ints) -> None:
        """Delete rows from all columns."""
        count = self._near_any(-1, gone)
        mark = np.zeros(self.count, np.bool_)
        mark[gone] = True
        k.remove_rows(mark, self.near, count, self.start, self.length, self.rows, self.vals, self.degree)


class BigEliminator:
    """The same columns in Python integers: slower, without any bound on the values.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))
    >>> columns = BigEliminator.from_matrix(x, candidates=2, free=2)
    >>> columns.publish(0, columns.pivot(0)), columns.blocker(1, columns.pivot(1))
    (None, 2)
    """

    def __init__(self, columns: list[dict[int, int]], first: int, free: int, limit: int) -> None:
        self.columns, self.first, self.free, self.limit = columns, first, free, limit
        self.touching: dict[int, set[int]] = {}
        for c, entries in enumerate(columns):
            for row in entries:
                self.touching.setdefault(row, set()).add(c)

    @classmethod
    def from_matrix(cls, matrix: Any, candidates: int, free: int, limit: int | None = None) -> BigEliminator:
        """Start from a sparse matrix."""
        matrix = sp.csc_matrix(matrix)
        bounds = matrix.indptr
        columns = [
            {int(r): int(v) for r, v in zip(matrix.indices[a:b], matrix.data[a:b], strict=True)}
            for a, b in pairwise(bounds)
        ]
        return cls(columns, candidates, free, matrix.shape[0] if limit is None else limit)

    @classmethod
    def from_compiled(cls, other: Eliminator) -> BigEliminator:
        """Go on where the compiled columns had to stop."""
        columns = []
        for j in range(other.size):
            rows, vals = other.column(j)
            columns.append(dict(zip(rows.tolist(), vals.tolist(), strict=True)))
        return cls(columns, other.first, other.free, other.limit)

    def column(self, j: int) -> tuple[Ints, Any]:
        """Rows and values of a column now."""
        entries = self.columns[j]
        rows = sorted(entries)
        return np.array(rows, np.int64), np.array([entries[row] for row in rows], object)

    def is_empty(self, j: int) -> bool:
        """Whether a column is a combination of published ones."""
        return not self.columns[j]

    def pivot(self, j: int) -> int:
        """The free row shared with the fewest columns, else the top row."""
        rows = sorted(self.columns[j])
        free = [row for row in rows if row < self.free]
        return min(free, key=lambda row: len(self.touching[row])) if free else rows[0]

    def _seen(self, c: int, column: dict[int, int]) -> dict[int, int]:
        if c < self.first:
            return column
        return {row: value for row, value in column.items() if row < self.limit}

    def _reduced(self, c: int, pivot: dict[int, int], row: int) -> dict[int, int]:
        entries = self.columns[c]
        a, b = pivot[row], entries[row]
        g = gcd(a, b)
        result = {r: v * (a // g) for r, v in entries.items()}
        for r, v in self._seen(c, pivot).items():
            result[r] = result.get(r, 0) - v * (b // g)
        result = {r: v for r, v in result.items() if v}
        divisor = gcd(*result.values()) if result else 1
        return {r: v // divisor for r, v in result.items()}

    def blocker(self, j: int, row: int) -> int:
        """A protected column that publishing ``j`` would empty, or -1."""
        mine = self._seen(self.first, self.columns[j])
        if row not in mine:
            return -1
        for c in sorted(self.touching[row]):
            if c >= self.first and c != j and not self._reduced(c, mine, row):
                return c
        return -1

    def reveals(self, j: int, row: int, owner: Ints, guarded: npt.NDArray[np.bool_], holder: Ints) -> int:
        """A guarded column that publishing ``j`` would leave with the rows of one other owner, or -1."""
        for c in sorted(self.touching[row]):
            if c < len(guarded) and guarded[c] and c != j:
                left = {int(owner[r]) for r in self._reduced(c, self.columns[j], row)}
                if len(left) == 1 and left.isdisjoint({0, int(holder[c])}):
                    return c
        return -1

    def covered(self, rows: Ints) -> int:
        """A protected column that lies wholly in the given rows, or -1."""
        mine = set(rows.tolist())
        for c in range(self.first, len(self.columns)):
            if self.columns[c] and self.columns[c].keys() <= mine:
                return c
        return -1

    def _replace(self, c: int, entries: dict[int, int]) -> None:
        for row in self.columns[c].keys() - entries.keys():
            self.touching[row].discard(c)
        for row in entries.keys() - self.columns[c].keys():
            self.touching.setdefault(row, set()).add(c)
        self.columns[c] = entries

    def publish(self, j: int, row: int) -> None:
        """Clear the pivot row everywhere, then the column."""
        mine = self.columns[j]
        for c in sorted(self.touching[row] - {j}):
            self._replace(c, self._reduced(c, mine, row))
        self.drop(j)

    def drop(self, j: int) -> None:
        """Take a column out of use."""
        self._replace(j, {})

    def protect(self, j: int) -> int:
        """Add a copy of column ``j`` to the protected ones."""
        self.columns.append({})
        place = len(self.columns) - 1
        self._replace(place, dict(self._seen(self.first, self.columns[j])))
        return place

    def remove(self, gone: Ints) -> None:
        """Delete rows from all columns."""
        out = set(gone.tolist())
        for row in out:
            for c in list(self.touching.get(row, ())):
                self._replace(c, {r: v for r, v in self.columns[c].items() if r not in out})
