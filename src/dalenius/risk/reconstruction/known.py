"""`Known`: what can be said of groups of people, by adding and subtracting printed cells and by bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.random import generator
from dalenius.published import Published
from dalenius.published.arrays import Bools, Ints
from dalenius.published.ends import Ends
from dalenius.published.nullspace import NullSpace
from dalenius.published.recipes import Recipe, fewest_cells
from dalenius.published.system import System
from dalenius.published.whole import Whole

MOST_BOUNDED = 200
"""Groups whose bounds are looked for by programs of their own."""
NODES = 2000


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """Published sums over atoms (people whom no published cell tells apart), where certainly empty atoms are left out.

    Attributes
    ----------
    atom_of
        The atom of every possible cell; -1 where certainly nobody is.
    matrix
        Sums × atoms.
    low, high
        Bounds of the atoms.
    solution
        How many people each atom has in one table that fits, if one was found.
    """

    system: System
    atom_of: Ints
    matrix: sp.csr_matrix
    low: Ints
    high: Ints
    solution: Ints | None

    @classmethod
    def of(cls, published: Published, most: int) -> Known:
        """Take together whom nothing tells apart, and leave out where nobody can be."""
        system = System.of(published, most)
        system.bounds()
        first, atom_of = _atoms(system.rows)
        matrix = sp.csr_matrix(sp.csc_matrix(system.rows)[:, first])
        ends = _ends(replace(system, cells=system.cells[first], rows=matrix))
        alive = np.flatnonzero(ends.high > 0)
        number = np.full(len(first) + 1, -1, np.int64)
        number[alive] = np.arange(len(alive))
        solution = None if ends.solution is None else ends.solution[alive]
        kept = sp.csr_matrix(matrix[:, alive])
        return cls(system, number[atom_of], kept, ends.low[alive], ends.high[alive], solution)

    @cached_property
    def alive(self) -> Ints:
        """Codes of the cells where somebody may be."""
        return self.system.cells[self.atom_of >= 0]

    @cached_property
    def exact(self) -> Ints:
        """Which sums are printed exactly."""
        return np.flatnonzero(self.system.low == self.system.high)

    @cached_property
    def exact_rows(self) -> Any:
        """Sums that are printed exactly, by atom."""
        return sp.csr_matrix(self.matrix[self.exact])

    @cached_property
    def _added(self) -> NullSpace:
        return NullSpace(sp.csc_matrix(self.exact_rows.T), vectors=2)

    @cached_property
    def _proved(self) -> NullSpace:
        sure = np.flatnonzero(self.low == self.high)
        units = sp.identity(self.matrix.shape[1], dtype=np.int64, format="csr")[sure]
        return NullSpace(sp.csc_matrix(sp.vstack([self.exact_rows, units]).T), vectors=2)

    def computable(self, groups: Any) -> Bools:
        """Which groups follow by adding and subtracting printed cells."""
        return self._added.computable(sp.csc_matrix(groups.T)) if groups.shape[0] else np.zeros(0, np.bool_)

    def proved(self, groups: Any) -> Bools:
        """Which groups follow when atoms that bounds leave no choice are known too."""
        return self._proved.computable(sp.csc_matrix(groups.T)) if groups.shape[0] else np.zeros(0, np.bool_)

    def may_be_small(self, groups: Any, threshold: int) -> Bools:
        """Which groups have 1 to fewer than ``threshold`` people in a table that fits: of no other that is certain."""
        if self.solution is None:
            return np.ones(groups.shape[0], np.bool_)
        counts = np.asarray(groups @ self.solution)
        return np.asarray((counts > 0) & (counts < threshold))

    def printed(self, groups: Any) -> Bools:
        """Which groups are printed as they are."""
        both = sp.csr_matrix(sp.vstack([self.exact_rows, groups]))
        marks = generator(1, "printed").integers(1, 2**62, (both.shape[1], 2), dtype=np.int64)
        place = np.unique(np.asarray(both @ marks), axis=0, return_inverse=True)[1].ravel()
        exact = self.exact_rows.shape[0]
        return np.isin(place[exact:], place[:exact])

    def counted(self, group: Any) -> int:
        """The count of a group that is proved."""
        table = self.low if self.solution is None else self.solution
        return int(np.asarray(group @ table)[0])

    def members(self, atoms: Ints) -> Bools:
        """Which cells where somebody may be belong to some atoms."""
        return np.isin(self.atom_of[self.atom_of >= 0], atoms)

    def ends_of(self, groups: Any, asked: Ints, threshold: int) -> tuple[dict[int, tuple[int, int]], bool]:
        """Bounds of the groups that certainly have 1 to fewer than ``threshold`` people; and whether all were tried."""
        made: dict[int, tuple[int, int]] = {}
        merged = replace(self.system, cells=np.zeros((len(self.low), 0), np.int64), rows=self.matrix)
        whole, left, tried = Whole(merged, self.low, self.high, NODES), asked.tolist(), 0
        try:
            while left and tried < MOST_BOUNDED:
                group, tried = left.pop(0), tried + 1
                bounds = []
                for sense in (-1, 1):
                    status, table = whole.ask(dict.fromkeys(groups[group].indices.tolist(), sense))
                    if table is None:
                        return made, False
                    left = [g for g in left if self._small(groups[g], table, threshold)]
                    if not self._small(groups[group], table, threshold):
                        break
                    bounds += [int(table[groups[group].indices].sum())] if status == "best" else []
                if len(bounds) == 2:
                    made[group] = (bounds[0], bounds[1])
        finally:
            whole.close()
        return made, not left

    @staticmethod
    def _small(group: Any, table: Ints, threshold: int) -> bool:
        return bool(0 < table[group.indices].sum() < threshold)

    def touching(self, atoms: Ints) -> tuple[tuple[int, int], ...]:
        """Margin and place of every published sum that has people of some atoms in it."""
        rows = np.flatnonzero(np.diff(sp.csr_matrix(self.matrix[:, atoms]).indptr))
        return tuple((int(a), int(b)) for a, b in self.system.origin[rows])

    def recipe(self, group: Any, name: str) -> tuple[Recipe | None, int, tuple[tuple[int, int], ...]]:
        """How a group follows from printed cells, its count, and margin and place of the cells it takes.

        There is no recipe where it takes fractions or many cells.
        """
        wanted = np.asarray(group.toarray(), np.int64).ravel()
        times = fewest_cells(self.exact_rows, wanted)
        printed = self.system.low[self.exact]
        if times is None:
            dense = self.exact_rows.toarray().T.astype(np.float64)
            shares = np.linalg.lstsq(dense, wanted.astype(np.float64), rcond=None)[0]
            value = round(float(shares @ printed)) if self.solution is None else int(wanted @ self.solution)
            return None, value, self._places(np.abs(shares) > 1e-9)
        value = int(times @ printed)
        add, subtract = (
            tuple(self.system.named(int(r)) for r in np.repeat(self.exact, np.maximum(sign * times, 0)))
            for sign in (1, -1)
        )
        counts = {self.system.named(int(r)): int(self.system.low[r]) for r in self.exact[times != 0]}
        return Recipe(name, add, subtract, value, counts), value, self._places(times != 0)

    def _places(self, used: Bools) -> tuple[tuple[int, int], ...]:
        return tuple((int(a), int(b)) for a, b in self.system.origin[self.exact[used]])


def _atoms(rows: Any) -> tuple[Ints, Ints]:
    """Cells that lie in the same published sums are one atom: the first cell of each, and every cell's atom."""
    columns = sp.csc_matrix(rows)
    columns.sort_indices()
    keys = [columns.indices[a:b].tobytes() for a, b in pairwise(columns.indptr)]
    place: dict[bytes, int] = {}
    atom_of = np.array([place.setdefault(key, len(place)) for key in keys], np.int64)
    first = np.unique(atom_of, return_index=True)[1] if len(atom_of) else np.zeros(0, np.int64)
    return first.astype(np.int64), atom_of


def _ends(merged: System) -> Ends:
    """Bounds of the atoms by everything that is published, ranges and non-negativity included; one table that fits."""
    ends = Ends.of(merged, *merged.bounds(), NODES, 1, walk=False)
    try:
        ends.search(True)
    finally:
        ends.whole.close()
    return ends
