"""`Events`: rows of a parent that follow one another in time, drawn as gaps between dates and a stop.

Whether there is a first event is drawn with the parent. Each event is then drawn given the parent, its place, the event
before and the time since the parent's own dates; after each comes the answer whether it was the last. A date that no
original passes (never before birth, never after death) is not passed here either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, sequence
from dalenius.data.exit import guard
from dalenius.data.relations import OWNER
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray, IntArray, Vector, emptied
from dalenius.synth.relational.beside import Beside, fitted, loose, stack
from dalenius.synth.relational.children import (
    BEFORE,
    FAR,
    MEAN,
    PLACE,
    added,
    mean_so_far,
    numbers_of,
    running,
)
from dalenius.synth.sequential.synthesizers import CartSynthesizer

GAP, FIRST, LAST, SINCE, WHEN = "(gap)", "(first)", "(last)", "(since) ", "(wave before)"
UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1)
"""Steps of time in microseconds: the largest that all dates are multiples of."""
WAVES = 60
"""So few different dates are waves of a panel: which one it is matters, and so does all of a person's past."""
TRIES = 6
ENOUGH = 50
"""Events that must keep a bound before it counts as one."""


@dataclass(frozen=True, eq=False)
class Events:
    """Events given parents.

    Attributes
    ----------
    unit
        Step of time (microseconds, or 1 for an order that is a number).
    anchor
        The parent's date from which the first gap counts; None if the first date is drawn by itself.
    floors, ceilings
        The parent's dates that no event comes before, or after.
    most
        Events after which a sequence ends whatever is drawn.
    latest
        The last date that a few parents reach: nothing comes after it.
    """

    model: Beside
    order: Column
    unit: int
    anchor: str | None
    floors: tuple[str, ...]
    ceilings: tuple[str, ...]
    most: int
    latest: int
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls, parents: Table, children: Table, places: IntArray, order: str, trees: CartSynthesizer, seed: Seed
    ) -> Events:
        """Fit on events in the order of their dates; rows without a date cannot be put into an order."""
        when = children[order]
        if not when.is_number or not when.present.all():
            raise DataError(f"order column {order!r}: every row needs a date or a number there")
        rows = np.lexsort((when.data, places))
        rows = rows[places[rows] >= 0]
        above = parents.drop([OWNER])
        owners, dates = places[rows], when.data[rows].astype(np.int64)
        first = np.append(True, owners[1:] != owners[:-1])[: len(owners)]
        moments = {n: above[n].take(owners) for n in above.names if above[n].column.kind is when.column.kind}
        floors = tuple(n for n, v in moments.items() if _bound(dates, v, 1))
        ceilings = tuple(n for n, v in moments.items() if _bound(dates, v, -1))
        whole = [n for n in floors if above[n].present.all()]
        anchor = max(whole, key=lambda n: float(above[n].data.mean()), default=None)
        if anchor is not None and not _nearer(dates[first], moments[anchor].data[first]):
            anchor = None
        unit = _unit(when.column, [dates, *(v.values for v in moments.values())])
        before = np.where(first, moments[anchor].data if anchor else dates, np.roll(dates, 1)).astype(
            np.int64
        )
        wide = cls._columns(
            children.take(rows).drop([order]), first, before, dates, anchor, unit, when.column
        )
        beside = [v.take(owners) for v in above.vectors.values()]
        table = loose([*beside, *wide.vectors.values()], len(rows), children.schema)
        table = replace(table, schema=replace(table.schema, rules=()))
        held = guard(table, seed=seed)
        done = cls._seen(held.table, above, first, before, moments, unit, anchor is None)
        if len(np.unique(dates)) <= WAVES:
            done = done.with_vectors(*cls._past(done, above, first, before, unit))
        given = [
            n for n in done.names if n in above or n.startswith((BEFORE, SINCE, MEAN)) or n in (PLACE, WHEN)
        ]
        drawn = [n for n in done.names if n not in given and n != OWNER]
        ordered = (
            [n for n in (GAP, FIRST) if n in drawn]
            + [n for n in drawn if n not in (GAP, FIRST, LAST)]
            + [LAST]
        )
        model = Beside.fit(done.select([*given, *ordered]), given, trees, sequence(seed, "events"))
        sizes = np.sort(np.diff(np.append(np.flatnonzero(first), len(rows))))
        least = min(children.schema.min_units, len(sizes))
        most = int(sizes[-least]) if least else 0
        ends = np.sort(dates[np.append(first[1:], True)[: len(first)]])
        latest = int(ends[-least]) if least else 0
        own = [n for n in children.names if n != OWNER]
        return cls(
            model, when.column, unit, anchor, floors, ceilings, most, latest, tuple(own), tuple(held.notes)
        )  # fmt: skip

    @staticmethod
    def _columns(
        own: Table,
        first: BoolArray,
        before: IntArray,
        dates: IntArray,
        anchor: str | None,
        unit: int,
        when: Column,
    ) -> Table:
        """What is drawn of an event: the gap, the first date where nothing is before it, whether it is the last."""
        gap = Vector(Column(GAP, Kind.INTEGER), (dates - before) // unit)
        more = [gap if anchor else emptied(gap, first)]
        if anchor is None:
            plain = replace(when, name=FIRST, bounds=None)
            more.append(emptied(Vector(plain, dates), ~first))
        last = np.append(first[1:], True)[: len(first)]
        more.append(Vector(Column(LAST, Kind.BOOLEAN, levels=(False, True)), last.astype(np.uint8)))
        return own.with_vectors(*more)

    @staticmethod
    def _seen(
        table: Table, above: Table, first: BoolArray, before: IntArray, moments: Mapping[str, Vector], unit: int,
        alone: bool,
    ) -> Table:  # fmt: skip
        """The events beside what is known before each: the one before, its place, the time since the parent's dates."""
        rows = table.rows
        starts = np.flatnonzero(first)
        sizes = np.diff(np.append(starts, rows))
        place = np.minimum(np.arange(rows) - np.repeat(starts, sizes), FAR)
        known = [Vector(Column(PLACE, Kind.INTEGER), place)]
        for name, vector in moments.items():
            since = Vector(Column(f"{SINCE}{name}", Kind.INTEGER), (before - vector.data) // unit)
            known.append(emptied(since, ~vector.present | (first if alone else np.zeros(rows, bool))))
        back = np.maximum(np.arange(rows) - 1, 0)
        for name in table.names:
            vector = table[name]
            if name in above or name in (OWNER, LAST, FIRST) or vector.column.kind is Kind.TEXT:
                continue
            plain = replace(vector.column, name=f"{BEFORE}{name}", parent=None, partner=None, roles=())
            known.append(emptied(replace(vector.take(back), column=plain), first))
        return table.with_vectors(*known)

    @staticmethod
    def _past(table: Table, above: Table, first: BoolArray, before: IntArray, unit: int) -> list[Vector]:
        """What else is known in a panel: the wave before, and the mean of each number in the waves so far."""
        starts = np.flatnonzero(first)
        sizes = np.diff(np.append(starts, table.rows))
        own = [
            n
            for n in numbers_of(table, table.names)
            if n not in above and not n.startswith("(") and n != OWNER
        ]
        means = [running(table[name], starts, sizes) for name in own]
        return [emptied(Vector(Column(WHEN, Kind.INTEGER), before // unit), first), *means]

    def draw(self, parents: Table, numbers: IntArray, seed: Seed) -> tuple[Table, IntArray]:
        """The events of synthetic parents (``numbers`` says who has any), and the parent's row of each."""
        rows = np.flatnonzero(numbers > 0)
        drawn, whose = [self._event(parents, rows[:0], None, None, rows[:0], 0, seed)[0]], [rows[:0]]
        before: Table | None = None
        total: Mapping[str, AnyArray] | None = None
        date: IntArray = (
            parents[self.anchor].data[rows].astype(np.int64) if self.anchor else np.zeros(len(rows), np.int64)
        )
        for place in range(self.most):
            if not len(rows):
                break
            event, date, good = self._event(
                parents, rows, before, total, date, place, sequence(seed, "event", place)
            )
            total = None if total is None else {name: values[good] for name, values in total.items()}
            event, date, rows = event.take(good), date[good], rows[good]
            drawn.append(event)
            whose.append(rows)
            on = np.flatnonzero(~_true(event[LAST]))
            total = {name: values[on] for name, values in added(total, event).items()}
            before, date, rows = event.take(on), date[on], rows[on]
        owners = np.concatenate(whose)
        order = np.argsort(owners, kind="stable")
        made = stack(drawn).take(order)
        return made.select(self.names), owners[order]

    def _event(
        self, parents: Table, rows: IntArray, before: Table | None, total: Mapping[str, AnyArray] | None,
        date: IntArray, place: int, seed: Seed,
    ) -> tuple[Table, IntArray, BoolArray]:  # fmt: skip
        """One event of each row, drawn again while it passes a bound; rows that still pass one end here."""
        given = {name: vector.take(rows) for name, vector in parents.vectors.items()}
        given |= self._before(given, before, total, date, place, len(rows))
        event = self.model.draw(given, len(rows), seed)
        when = self._date(event, date, place)
        for turn in range(TRIES):
            bad = np.flatnonzero(self._broken(when, given))
            if not len(bad):
                break
            again = self.model.draw(
                {n: v.take(bad) for n, v in given.items()}, len(bad), sequence(seed, "again", turn)
            )
            event = _put(event, bad, again)
            when = self._date(event, date, place)
        dated = Vector(replace(self.order, bounds=None), when)
        return event.with_vectors(dated), when, ~self._broken(when, given)

    def _before(
        self, parents: Mapping[str, Vector], before: Table | None, total: Mapping[str, AnyArray] | None,
        date: IntArray, place: int, rows: int,
    ) -> dict[str, Vector]:  # fmt: skip
        known: dict[str, Vector] = {}
        for column in self.model.given:
            name = column.name
            if name == PLACE:
                known[name] = Vector(column, np.full(rows, min(place, FAR), np.int64))
            elif name == WHEN:
                known[name] = emptied(Vector(column, date // self.unit), np.full(rows, before is None))
            elif name.startswith(MEAN):
                none = np.zeros((rows, 2))
                known[name] = mean_so_far(column, none if total is None else total[name.removeprefix(MEAN)])
            elif name.startswith(SINCE):
                other = parents[name.removeprefix(SINCE)]
                since = Vector(column, (date - other.data) // self.unit)
                known[name] = emptied(since, ~other.present | (before is None and self.anchor is None))
            elif name.startswith(BEFORE):
                if before is None:
                    kind = np.float64 if column.kind is Kind.CONTINUOUS else np.int64
                    known[name] = emptied(Vector(column, np.zeros(rows, kind)), np.ones(rows, bool))
                else:
                    held = before[name.removeprefix(BEFORE)]
                    known[name] = fitted(replace(held, column=replace(held.column, name=name)), column)
        return known

    def _date(self, event: Table, before: IntArray, place: int) -> IntArray:
        if place == 0 and self.anchor is None:
            return event[FIRST].data.astype(np.int64)
        gap = event[GAP]
        step = np.where(gap.present, np.maximum(gap.data, 0), 0).astype(np.int64)
        return before + step * self.unit

    def _broken(self, when: IntArray, parents: Mapping[str, Vector]) -> BoolArray:
        bad = when > self.latest
        for name in self.floors:
            bad |= parents[name].present & (when < parents[name].data)
        for name in self.ceilings:
            bad |= parents[name].present & (when > parents[name].data)
        return bad


def _true(vector: Vector) -> BoolArray:
    """Rows that say yes (or nothing: a sequence that does not know goes on no further)."""
    yes = np.array([bool(level) for level in vector.levels] or [True])
    return np.where(vector.present, yes[vector.data], True)


def _put(table: Table, rows: IntArray, other: Table) -> Table:
    """A table with some rows taken from another."""
    places = np.arange(table.rows)
    places[rows] = table.rows + np.arange(len(rows))
    return stack([table.select(other.names), other]).take(places)


def _nearer(dates: IntArray, since: AnyArray) -> bool:
    """Whether first events are nearer to each other when counted from the parent's date than by the calendar."""
    return bool(np.std((dates - since).astype(np.float64)) < np.std(dates.astype(np.float64)))


def _bound(dates: IntArray, other: Vector, side: int) -> bool:
    """Whether no event comes before (side 1) or after (side -1) the parent's date."""
    both = other.present
    return int(both.sum()) >= ENOUGH and bool(np.all(side * (dates[both] - other.data[both]) >= 0))


def _unit(column: Column, values: list[AnyArray]) -> int:
    if column.kind is not Kind.DATETIME:
        return 1
    scale = 1000 if column.decimals == 9 else 1
    return next(s * scale for s in UNITS if s == 1 or all(np.all(v % (s * scale) == 0) for v in values))
