"""`Children`: the rows that belong to a parent, drawn one after the other.

How many there are is drawn by a tree on the parent's columns; each child by trees on the parent, its place among its
siblings, the sibling before it and the mean of those before (Slokom et al. 2024 name the one-to-one case; the rest is
what a sequence of visits or a family needs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.random import Seed, sequence
from dalenius.data.exit import guard
from dalenius.data.relations import OWNER
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, AnyArray, IntArray, Vector, emptied
from dalenius.preparation.keeping import Kept
from dalenius.synth.relational.beside import Beside, fitted, loose, stack
from dalenius.synth.sequential.synthesizers import CartSynthesizer

COUNT, PLACE, BEFORE, MEAN = "(number)", "(place)", "(before) ", "(mean) "
FAR = 12
"""Places among siblings from here on are one."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """How many children a parent has, given its columns."""

    model: Beside | None
    always: int = 1

    @classmethod
    def fit(cls, parents: Table, sizes: IntArray, trees: CartSynthesizer, seed: Seed) -> Numbers:
        """Fit; ``parents`` holds the columns that numbers may depend on, and whose rows they are."""
        if not len(sizes) or sizes.min() == sizes.max():
            return cls(None, int(sizes.max(initial=0)))
        given = [name for name in parents.names if name != OWNER]
        whole = parents.with_vectors(Vector(Column(COUNT, Kind.INTEGER), sizes.astype(np.int64)))
        held = guard(whole, seed=seed).table
        return cls(Beside.fit(held, given, replace(trees, smoothing="none"), sequence(seed, COUNT)))

    def draw(self, parents: Mapping[str, Vector], rows: int, seed: Seed) -> IntArray:
        """The number of children of each parent."""
        if self.model is None:
            return np.full(rows, self.always, np.int64)
        drawn = self.model.draw(parents, rows, seed)[COUNT]
        return np.where(drawn.present, np.maximum(drawn.data, 0), 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Children:
    """Rows of a child table given those of its parents.

    Attributes
    ----------
    single
        Whether nobody has more than one.
    kept
        What follows from other columns, the parent's among them, and is made again afterwards.
    blank
        The columns of a table without rows.
    """

    model: Beside | None
    kept: Kept
    single: bool
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    blank: Table | None = None

    @classmethod
    def fit(
        cls,
        parents: Table,
        children: Table,
        places: IntArray,
        trees: CartSynthesizer,
        seed: Seed,
        single: bool,
    ) -> Children:
        """Fit on the rows of one parent after the other (``places`` says whose they are, in the order they follow)."""
        above = parents.drop([OWNER]) if OWNER in parents else parents
        order = np.argsort(places, kind="stable")
        order = order[places[order] >= 0]
        owned = children.take(order)
        own = owned.drop([OWNER])
        if not own.names or not own.rows:
            return cls(None, Kept(), single, tuple(own.names), blank=own.take(np.zeros(0, np.int64)))
        beside = [v.take(places[order]) for v in above.vectors.values()]
        wide = loose([*beside, *own.vectors.values(), owned[OWNER]], own.rows, children.schema)
        wide = replace(wide, schema=replace(wide.schema, min_units=children.schema.min_units))
        kept = Kept.of(wide, above.names)
        held = guard(kept.apply(wide), seed=seed)
        drawn = [n for n in held.table.names if n not in above and n != OWNER]
        given = list(above.names)
        table = held.table
        if not single:
            more = _family(table, drawn, places[order])
            table = table.with_vectors(*more)
            given += [v.column.name for v in more]
        model = Beside.fit(table, given, trees, sequence(seed, "children"))
        said = (kept.told,) if kept else ()
        return cls(model, kept, single, tuple(own.names), (*said, *held.notes))

    def draw(self, parents: Table, numbers: IntArray, seed: Seed) -> tuple[Table, IntArray]:
        """The children of synthetic parents, and the parent's row of each."""
        owner = np.repeat(np.arange(parents.rows), numbers)
        if self.model is None:
            none = self.blank is None or self.blank.rows < len(owner)
            return (loose([], len(owner)) if none or self.blank is None else self.blank), owner
        if not len(owner):
            return loose(self._none(parents), 0), owner
        drawn, before, total = [], None, None
        whose: list[IntArray] = []
        for place in range(int(numbers.max())):
            rows = np.flatnonzero(numbers > place)
            given = {name: vector.take(rows) for name, vector in parents.vectors.items()}
            if not self.single:
                if before is not None:
                    alive = numbers[whose[-1]] > place
                    before, total = before.take(alive), {n: t[alive] for n, t in (total or {}).items()}
                given |= self._siblings(place, numbers[rows], before, total, len(rows))
            before = self.model.draw(given, len(rows), sequence(seed, "place", place))
            total = added(total, before)
            drawn.append(before)
            whose.append(rows)
        owners = np.concatenate(whose)
        order = np.argsort(owners, kind="stable")
        made = stack(drawn).take(order)
        return self._restored(made, parents, owners[order]), owners[order]

    def _none(self, parents: Table) -> list[Vector]:
        assert self.model is not None
        none = {name: v.take(np.zeros(0, np.int64)) for name, v in parents.vectors.items()}
        none |= self._siblings(0, np.zeros(0, np.int64), None, None, 0) if not self.single else {}
        made = self.model.draw(none, 0, 0)
        return list(self._restored(made, parents, np.zeros(0, np.int64)).vectors.values())

    def _siblings(
        self,
        place: int,
        numbers: IntArray,
        before: Table | None,
        total: Mapping[str, AnyArray] | None,
        rows: int,
    ) -> dict[str, Vector]:
        """What is known of the siblings before."""
        assert self.model is not None
        known: dict[str, Vector] = {}
        for column in self.model.given:
            if column.name == COUNT:
                known[COUNT] = Vector(column, np.minimum(numbers, FAR).astype(np.int64))
            elif column.name == PLACE:
                known[PLACE] = Vector(column, np.full(rows, min(place, FAR), np.int64))
            elif column.name.startswith((BEFORE, MEAN)):
                name = column.name.removeprefix(BEFORE).removeprefix(MEAN)
                if before is None:
                    known[column.name] = _nothing(column, rows)
                elif column.name.startswith(BEFORE):
                    held = before[name]
                    known[column.name] = fitted(
                        replace(held, column=replace(held.column, name=column.name)), column
                    )
                else:
                    known[column.name] = mean_so_far(column, (total or {})[name])
        return known

    def _restored(self, made: Table, parents: Table, owners: IntArray) -> Table:
        """The rows with everything back that follows from other columns."""
        if not self.kept:
            return made.select(self.names)
        beside = [v.take(owners) for v in parents.vectors.values()]
        return self.kept.restore(loose([*beside, *made.vectors.values()], made.rows)).select(self.names)


def _nothing(column: Column, rows: int) -> Vector:
    kind = np.float64 if column.kind is Kind.CONTINUOUS else np.int64
    return emptied(Vector(column, np.zeros(rows, kind)), np.ones(rows, bool))


def numbers_of(table: Table, names: Sequence[str]) -> list[str]:
    """Columns among these that are numbers."""
    return [n for n in names if table[n].is_number]


def added(total: Mapping[str, AnyArray] | None, drawn: Table) -> dict[str, AnyArray]:
    """Sums of the numbers of the siblings so far, and how many of them are known."""
    sums = {}
    for name in numbers_of(drawn, drawn.names):
        values = drawn[name].floats()
        there = ~np.isnan(values)
        mine = np.stack([np.where(there, values, 0.0), there], axis=1)
        sums[name] = mine if total is None else total[name] + mine
    return sums


def mean_so_far(column: Column, sums: AnyArray) -> Vector:
    """The mean of the siblings before, of whom nothing need be known."""
    known = sums[:, 1] > 0
    state = np.where(known, 0, MISSING).astype(np.uint8)
    return Vector(column, sums[:, 0] / np.maximum(sums[:, 1], 1), state).tidy()


def _family(table: Table, drawn: Sequence[str], owners: IntArray) -> list[Vector]:
    """What each row knows of its siblings: how many, its place, the one before, the mean of those before."""
    rows = table.rows
    first = np.append(True, owners[1:] != owners[:-1])
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, rows))
    place = np.arange(rows) - np.repeat(starts, sizes)
    known = [
        Vector(Column(COUNT, Kind.INTEGER), np.minimum(np.repeat(sizes, sizes), FAR)),
        Vector(Column(PLACE, Kind.INTEGER), np.minimum(place, FAR)),
    ]
    back = np.maximum(np.arange(rows) - 1, 0)
    for name in drawn:
        vector = table[name]
        if vector.column.kind is Kind.TEXT:
            continue
        plain = replace(vector.column, name=f"{BEFORE}{name}", parent=None, partner=None, roles=())
        known.append(emptied(replace(vector.take(back), column=plain), first))
    for name in numbers_of(table, drawn):
        known.append(running(table[name], starts, sizes))
    return known


def running(vector: Vector, starts: IntArray, sizes: IntArray) -> Vector:
    """The mean of the known values of the siblings before; nothing of those who come after."""
    values = vector.floats()
    there = ~np.isnan(values)
    own = np.stack([np.where(there, values, 0.0), there], axis=1)
    so_far = np.cumsum(own, axis=0) - own
    so_far -= np.repeat(so_far[starts], sizes, axis=0)
    return mean_so_far(Column(f"{MEAN}{vector.column.name}", Kind.CONTINUOUS), so_far)
