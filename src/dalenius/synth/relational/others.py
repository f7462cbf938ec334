"""`Other`: to which row of a further parent, or of its own table, a row belongs (a visit's ward, a person's mother).

Rows of the other table are put into classes by their columns. The class is drawn like any answer, and a made row of the
class is taken, the more often the more children rows of that class have; within the family where the originals are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.random import Seed, generator, sequence
from dalenius.data.exit import guard
from dalenius.data.relations import OWNER
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray, Vector, compact
from dalenius.synth.relational.beside import Beside, fitted
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.synthesizers import CartSynthesizer

CLASS = "(class)"
CLASSES = 60
PARTS = 5
"""Groups of a number, and levels of a category, that classes tell apart."""
WITHIN = 0.9
"""Share of the rows that must find their other row in the family before it is looked for there."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of rows by a few of their columns."""

    columns: tuple[Column, ...]
    coders: tuple[Coder, ...]
    parts: tuple[IntArray, ...]
    cells: IntArray

    @classmethod
    def of(cls, table: Table) -> Classes:
        """As many columns as there are rows for; each class is held by a few rows at least."""
        columns, coders, parts = [], [], []
        codes: IntArray = np.zeros(table.rows, np.int64)
        most = min(CLASSES, max(table.rows // table.schema.min_units, 1))
        for name in table.names:
            vector = table[name]
            if vector.column.kind is Kind.TEXT:
                continue
            coder = Coder.fit(vector)
            own = coder.codes(vector).astype(np.int64)
            part = _merged(own, coder)
            joint = codes * PARTS + part[own]
            if len(np.unique(joint)) > most:
                continue
            codes = joint
            columns.append(vector.column)
            coders.append(coder)
            parts.append(part)
        return cls(tuple(columns), tuple(coders), tuple(parts), np.unique(codes))

    def codes(self, table: Table) -> IntArray:
        """The class of each row; -1 where the original has none like it."""
        joint: IntArray = np.zeros(table.rows, np.int64)
        for column, coder, part in zip(self.columns, self.coders, self.parts, strict=True):
            own = coder.codes(fitted(table[column.name], column)).astype(np.int64)
            joint = joint * PARTS + part[np.minimum(own, len(part) - 1)]
        at = np.minimum(np.searchsorted(self.cells, joint), max(len(self.cells) - 1, 0))
        return np.where(self.cells[at] == joint, at, -1) if len(self.cells) else np.full(table.rows, -1)


def _merged(codes: IntArray, coder: Coder) -> IntArray:
    """Codes put into a few parts: neighbours together where there is an order, otherwise the rarest."""
    times = np.bincount(codes, minlength=coder.size)
    if coder.unordered:
        rank = np.argsort(np.argsort(-times, kind="stable"))
        return np.minimum(rank, PARTS - 1)
    share = (np.cumsum(times) - times / 2) / max(times.sum(), 1)
    return np.minimum((share * PARTS).astype(np.int64), PARTS - 1)


@dataclass(frozen=True, eq=False)
class Other:
    """Which row of another table a row belongs to.

    Attributes
    ----------
    model
        The class of the other row, given the row's own columns; 0 stands for none.
    sizes, of_class
        How many rows belong to rows of each class, for the draw of how popular a made row is.
    within
        Whether the other row is looked for in the family.
    """

    model: Beside
    classes: Classes
    sizes: IntArray
    of_class: IntArray
    within: bool

    @classmethod
    def fit(
        cls,
        rows: Table,
        above: Table,
        places: IntArray,
        trees: CartSynthesizer,
        seed: Seed,
        owners: IntArray | None,
    ) -> Other:
        """Fit on rows with everything that is known of them and their other rows."""
        held = guard(above, seed=seed).table
        classes = Classes.of(held)
        codes = classes.codes(held)
        own = (
            np.where(places >= 0, codes[np.maximum(places, 0)] + 1, 0)
            if above.rows
            else np.zeros(rows.rows, int)
        )
        levels = tuple(str(i) for i in range(int(own.max(initial=0)) + 1))
        target = Vector(Column(CLASS, Kind.CATEGORICAL, levels=levels), compact(own, len(levels)))
        given = [n for n in rows.names if n != OWNER and rows[n].column.kind is not Kind.TEXT]
        table = guard(rows.select([*given, OWNER]).with_vectors(target), seed=seed, as_is=[CLASS]).table
        model = Beside.fit(table, given, trees, sequence(seed, "class"))
        known = places >= 0
        sizes = np.bincount(places[known], minlength=above.rows)
        usual = np.sort(sizes)[-min(above.schema.min_units, len(sizes))] if len(sizes) else 0
        within = owners is not None and known.any() and float(
            np.mean(owners[np.flatnonzero(known)] == owners[places[known]])
        ) >= WITHIN  # fmt: skip
        return cls(model, classes, np.minimum(sizes, usual), codes, bool(within))

    def draw(self, rows: Table, seed: Seed) -> IntArray:
        """The class of the other row of each row, from 1; 0 for none."""
        drawn = self.model.draw(rows.vectors, rows.rows, seed)[CLASS]
        names = np.array([int(str(level)) for level in drawn.levels] or [0])
        return np.where(drawn.present, names[drawn.data], 0).astype(np.int64)

    def find(self, wanted: IntArray, above: Table, owners: IntArray | None, seed: Seed) -> IntArray:
        """A made row of the wanted class for each row; -1 for none."""
        rng = generator(seed, "find")
        there = self.classes.codes(above)
        weight = self._popularity(there, rng)
        if self.within and owners is not None:
            size = int(owners.max(initial=-1)) + 1
            family = np.where(owners >= 0, owners, size + np.arange(len(owners)))
            picked = _picked(family * 10_000 + wanted - 1, family * 10_000 + there, weight, rng)
        else:
            picked = _picked(wanted - 1, there, weight, rng)
            lost = (picked < 0) & (wanted > 0)
            if lost.any() and above.rows:
                everybody = np.zeros(above.rows, np.int64)
                picked[lost] = _picked(np.zeros(int(lost.sum()), np.int64), everybody, weight, rng)
        if owners is not None or self.within:
            picked[picked == np.arange(len(picked))] = -1  # nobody is their own mother
        return np.where(wanted > 0, picked, -1)

    def _popularity(self, there: IntArray, rng: np.random.Generator) -> AnyArray:
        """How often each made row is taken: as often as some original row of its class was."""
        weight = np.ones(len(there))
        for code in np.unique(there):
            pool = self.sizes[self.of_class == code] if code >= 0 else self.sizes
            mine = np.flatnonzero(there == code)
            if len(pool):
                weight[mine] = pool[rng.integers(0, len(pool), len(mine))]
        return weight + 1e-9


def _picked(wanted: IntArray, there: IntArray, weight: AnyArray, rng: np.random.Generator) -> IntArray:
    """For each wanted group a row of that group, drawn by weight; -1 for a group without any."""
    order = np.argsort(there, kind="stable")
    groups, ends = there[order], np.cumsum(weight[order])
    low = np.searchsorted(groups, wanted, side="left")
    high = np.searchsorted(groups, wanted, side="right")
    if not len(order):
        return np.full(len(wanted), -1)
    start = np.where(low > 0, ends[np.maximum(low - 1, 0)], 0.0)
    stop = ends[np.maximum(high - 1, 0)]
    at = np.searchsorted(ends, start + rng.random(len(wanted)) * (stop - start), side="right")
    at = np.clip(at, low, np.maximum(high - 1, low))
    return np.where(high > low, order[np.minimum(at, len(order) - 1)], -1)
