"""`Records`: what a joint model may ask of the confidential rows: tables of counts, and nothing else.

In memory they are codes, counted when asked for; from a stream they are counted once, in one pass for all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np

from dalenius.core.errors import DataError
from dalenius.counts.junction import Clique
from dalenius.counts.keys import product, ravel
from dalenius.counts.memory import count_codes, tally
from dalenius.data.vector import AnyArray, BoolArray, Categories, IntArray

WIDE = 40
"""Columns up to which all pairs of a stream are counted in one pass."""
LARGEST = 1 << 26
"""Cells of a full table of a stream."""

Counter = Callable[[Sequence[Clique]], dict[Clique, tuple[list[IntArray], AnyArray]]]
"""Cells that occur of some tables, counted in one pass."""


class Records(Protocol):
    """Rows that can be counted."""

    def count(self, margins: Sequence[Clique]) -> list[IntArray]:
        """Full tables of counts over some columns each."""

    def prepare(self, margins: Sequence[Clique]) -> None:
        """Say which tables will be asked for, one by one."""

    def cells(self) -> tuple[IntArray, AnyArray]:
        """Keys of the cells of the whole table that occur, ascending, and their counts."""

    def merged(self, into: Sequence[IntArray], sizes: Sequence[int]) -> Records:
        """The same rows with other codes."""


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """Rows in memory, as codes.

    Examples
    --------
    >>> [t.tolist() for t in Coded([np.array([0, 1, 1])], (2,)).count([(0,)])]
    [[1, 2]]
    """

    codes: list[IntArray]
    sizes: tuple[int, ...]

    def count(self, margins: Sequence[Clique]) -> list[IntArray]:
        """See `Records`."""
        held = [Categories(c, range(max(size, 1))) for c, size in zip(self.codes, self.sizes, strict=True)]
        return [
            count_codes([str(v) for v in margin], [held[v] for v in margin]).dense() for margin in margins
        ]

    def prepare(self, margins: Sequence[Clique]) -> None:
        """See `Records`; they are counted when asked for."""

    def cells(self) -> tuple[IntArray, AnyArray]:
        """See `Records`."""
        rows = self.codes[0].size
        if not rows:
            empty = [np.zeros(0, np.int64) for _ in self.sizes]
            return ravel(empty, self.sizes, 0), np.zeros(0, np.int64)
        return tally(self.codes, self.sizes, rows, None)

    def merged(self, into: Sequence[IntArray], sizes: Sequence[int]) -> Coded:
        """See `Records`."""
        codes: list[IntArray] = [
            new[old].astype(np.uint16 if size < 2**16 else np.int64)
            for new, old, size in zip(into, self.codes, sizes, strict=True)
        ]
        return Coded(codes, tuple(sizes))

    def where(self, rows: BoolArray) -> Coded:
        """Some of the rows."""
        return Coded([codes[rows] for codes in self.codes], self.sizes)


@dataclass(eq=False, repr=False)
class Tallied:
    """Rows that stream by; each table is counted once, all pairs in the first pass.

    Examples
    --------
    >>> seen = Tallied((2,), lambda margins: {m: ([np.array([1])], np.array([3])) for m in margins})
    >>> seen.count([(0,)])[0].tolist()
    [0, 3]
    """

    sizes: tuple[int, ...]
    counter: Counter
    known: dict[Clique, IntArray] = field(default_factory=dict)

    def count(self, margins: Sequence[Clique]) -> list[IntArray]:
        """See `Records`."""
        new = [margin for margin in margins if not self._there(margin)]
        if new:
            columns = range(len(self.sizes))
            pairs = combinations(columns, 2) if 2 <= len(self.sizes) <= WIDE and not self.known else ()
            wanted = dict.fromkeys([*pairs, *(m for m in new if len(m) != 1 or len(self.sizes) == 1)])
            if not wanted:
                wanted = dict.fromkeys(new)
            for margin in wanted:
                self._refuse_large(margin)
            self.known |= {m: self._dense(m, *held) for m, held in self.counter(list(wanted)).items()}
        return [self.known[margin] if self._there(margin) else self._missing(margin) for margin in margins]

    def prepare(self, margins: Sequence[Clique]) -> None:
        """See `Records`; they are counted in one pass."""
        self.count(margins)

    def cells(self) -> tuple[IntArray, AnyArray]:
        """See `Records`."""
        whole = tuple(range(len(self.sizes)))
        codes, counts = self.counter([whole])[whole]
        keys = ravel([c.astype(np.int64) for c in codes], self.sizes, len(counts))
        order = np.argsort(keys) if keys.ndim == 1 else np.lexsort(keys.T[::-1])
        return keys[order], np.asarray(counts)[order]

    def merged(self, into: Sequence[IntArray], sizes: Sequence[int]) -> Folded:
        """See `Records`."""
        return Folded(self, list(into), tuple(sizes))

    def _there(self, margin: Clique) -> bool:
        """Whether a table is known, or follows from one that is."""
        if margin in self.known:
            return True
        for other, table in self.known.items():
            if len(margin) == 1 and margin[0] in other:
                axes = tuple(i for i, v in enumerate(other) if v != margin[0])
                self.known[margin] = table.sum(axis=axes)
                return True
        return False

    def _missing(self, margin: Clique) -> IntArray:
        raise DataError(f"the table of columns {margin} was not counted")

    def _refuse_large(self, margin: Clique) -> None:
        if product([self.sizes[v] for v in margin]) > LARGEST:
            raise DataError(
                f"a table of {len(margin)} columns has more than {LARGEST:,} cells; group numbers, or leave out "
                "columns with many levels"
            )

    def _dense(self, margin: Clique, codes: list[IntArray], counts: AnyArray) -> IntArray:
        shape = tuple(max(self.sizes[v], 1) for v in margin)
        table = np.zeros(shape, np.int64)
        table[tuple(codes)] = counts
        return table


@dataclass(frozen=True, eq=False, repr=False)
class Folded:
    """Counted rows whose levels were merged.

    Examples
    --------
    >>> seen = Tallied((3,), lambda margins: {(0,): ([np.arange(3)], np.array([3, 1, 2]))})
    >>> Folded(seen, [np.array([0, 1, 1])], (2,)).count([(0,)])[0].tolist()
    [3, 3]
    """

    records: Tallied
    into: list[IntArray]
    sizes: tuple[int, ...]

    def count(self, margins: Sequence[Clique]) -> list[IntArray]:
        """See `Records`."""
        return [self._folded(m, t) for m, t in zip(margins, self.records.count(margins), strict=True)]

    def _folded(self, margin: Clique, table: IntArray) -> IntArray:
        for axis, v in enumerate(margin):
            moved = np.moveaxis(table, axis, 0)
            summed = np.zeros((max(self.sizes[v], 1), *moved.shape[1:]), np.int64)
            np.add.at(summed, self.into[v], moved)
            table = np.moveaxis(summed, 0, axis)
        return table

    def prepare(self, margins: Sequence[Clique]) -> None:
        """See `Records`."""
        self.records.count(margins)

    def cells(self) -> tuple[IntArray, AnyArray]:
        """See `Records`."""
        raise NotImplementedError("merged levels are counted by margins")

    def merged(self, into: Sequence[IntArray], sizes: Sequence[int]) -> Folded:
        """See `Records`."""
        return Folded(
            self.records, [new[old] for new, old in zip(into, self.into, strict=True)], tuple(sizes)
        )
