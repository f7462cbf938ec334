"""`Events`: rows of a parent that follow one another in time, drawn as gaps between dates and a stop.

Whether there is a first event is drawn with the parent. Each event is then drawn given the parent, its place, the event
before and the time since the parent's own dates; after each comes the answer whether it was the last. A date that no
original passes (never before birth, never after death) is not passed here either, and an event that breaks a rule of
the schema, alone or beside its parent, is drawn again. Where events are spells the gap counts from the end of the spell
before; a spell that is still going on, or in a state that nobody left, is the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, sequence
from dalenius.data.exit import guard
from dalenius.data.relations import OWNER
from dalenius.data.rules import Rule, parse_rules
from dalenius.data.schema import Column, Kind
from dalenius.data.spells import ends_of, lasting, step_of, step_within
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
WAVES = 60
"""So few different dates are waves of a panel: which one it is matters, and so does all of a person's past."""
TRIES = 6
AGAIN = 30
"""The same where an event breaks a rule: what few events keep is found by more draws."""
MANY = 0.05
"""Share of parents whose last spell ends on one day, from which on it is the day the study ended."""
SURE = 10
"""Events of a level that must all be last before it counts as one that nobody leaves."""
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
    rules
        What must hold for an event, alone or beside its parent's columns.
    lasts
        Column that says how long a spell lasts (`split_spells`); None where events are moments.
    until
        The last date on which spells of a few parents end: longer ones are cut there, or go on where some do.
    terminal
        Levels, by column, after which no original event came.
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
    rules: tuple[str, ...] = ()
    lasts: str | None = None
    until: int = 0
    open: bool = False
    terminal: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

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
        own, lasts = children.take(rows), lasting(children)
        ends = dates if lasts is None else ends_of(own, order, lasts)[0]
        first = np.append(True, owners[1:] != owners[:-1])[: len(owners)]
        last = np.append(first[1:], True)[: len(first)]
        least, until = children.schema.min_units, _largest(ends[last], children.schema.min_units)
        some_go_on = lasts is not None and not own[lasts].present.all()
        moments = {n: above[n].take(owners) for n in above.names if above[n].column.kind is when.column.kind}
        floors = tuple(n for n, v in moments.items() if _bound(dates, v, 1))
        ceilings = tuple(n for n, v in moments.items() if _bound(dates, v, -1))
        whole = [n for n in floors if above[n].present.all()]
        anchor = max(whole, key=lambda n: float(above[n].data.mean()), default=None)
        if anchor is not None and not _nearer(dates[first], moments[anchor].data[first]):
            anchor = None
        unit = step_of(when.column, [dates, *(v.values for v in moments.values())])[1]
        since = moments[anchor].data if anchor else dates
        before = np.where(first, since, np.roll(ends, 1)).astype(np.int64)
        if lasts is not None and not some_go_on:
            own = own.with_vectors(_ended_by_the_study(own[lasts], last & (ends == until), int(first.sum())))
        wide = cls._columns(own.drop([order]), first, before, dates, anchor, unit, when.column)
        beside = [v.take(owners) for v in above.vectors.values()]
        table = loose([*beside, *wide.vectors.values()], len(rows), children.schema)
        table = replace(table, schema=replace(table.schema, rules=()))
        held = guard(table, seed=seed)
        done = cls._seen(held.table, above, first, before, moments, unit, anchor is None)
        if lasts is not None or len(np.unique(dates)) <= WAVES:
            done = done.with_vectors(*cls._past(done, above, first, before, unit))
        given, ordered = _roles(done, above)
        model = Beside.fit(done.select([*given, *ordered]), given, trees, sequence(seed, "events"))
        sizes = np.diff(np.append(np.flatnonzero(first), len(rows)))
        names = [n for n in children.names if n != OWNER]
        known = {*names, *map(plain_name, above.names)}
        rules = tuple(rule.text for rule in parse_rules(children.schema.rules) if rule.can_read(known))
        return cls(
            model, when.column, unit, anchor, floors, ceilings, _largest(sizes, least), _largest(dates[last], least),
            tuple(names), tuple(held.notes), rules, lasts, until, some_go_on,
            _never_left(held.table, names, last, least),
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
            event, good = self._event(
                parents, rows, before, total, date, place, sequence(seed, "event", place)
            )
            total = None if total is None else {name: values[good] for name, values in total.items()}
            event, rows = self._cut(event.take(good)), rows[good]
            drawn.append(event)
            whose.append(rows)
            on = np.flatnonzero(~self._over(event))
            total = {name: values[on] for name, values in added(total, event).items()}
            before, date, rows = event.take(on), self._end(event)[on], rows[on]
        owners = np.concatenate(whose)
        order = np.argsort(owners, kind="stable")
        made = stack(drawn).take(order)
        return made.select(self.names), owners[order]

    def _event(
        self, parents: Table, rows: IntArray, before: Table | None, total: Mapping[str, AnyArray] | None,
        date: IntArray, place: int, seed: Seed,
    ) -> tuple[Table, BoolArray]:  # fmt: skip
        """One event of each row, drawn again while it passes a bound; rows that still pass one end here."""
        given = {name: vector.take(rows) for name, vector in parents.vectors.items()}
        given |= self._before(given, before, total, date, place, len(rows))
        event = self.model.draw(given, len(rows), seed)
        when = self._date(event, date, place)
        for turn in range(AGAIN if self.rules else TRIES):
            bad = np.flatnonzero(self._broken(event, when, given))
            if not len(bad):
                break
            again = self.model.draw(
                {n: v.take(bad) for n, v in given.items()}, len(bad), sequence(seed, "again", turn)
            )
            event = _put(event, bad, again)
            when = self._date(event, date, place)
        good = ~self._broken(event, when, given)
        return event.with_vectors(self._dated(when)), good

    def _cut(self, event: Table) -> Table:
        """Spells that would pass the last date, or that the study ended, end there; where some go on, they do."""
        if self.lasts is None or not event.rows:
            return event
        length = event[self.lasts]
        ends, known = ends_of(event, self.order.name, self.lasts)
        beyond = ~known | (ends > self.until)
        if self.open:
            return event.with_vectors(emptied(length, beyond))
        start = event[self.order.name]
        left = np.maximum(self.until - start.data.astype(np.int64), 0) // step_within(
            start.column, self.lasts
        )
        return event.with_vectors(Vector(length.column, np.where(beyond, left, length.data)))

    def _end(self, event: Table) -> IntArray:
        """From when on the next event counts its gap."""
        if self.lasts is None:
            return event[self.order.name].data.astype(np.int64)
        return ends_of(event, self.order.name, self.lasts)[0]

    def _over(self, event: Table) -> BoolArray:
        """Rows whose sequence ends here: it was drawn so, the spell is still going on, or nobody left such a state."""
        over = _true(event[LAST])
        if self.lasts is not None:
            ends, known = ends_of(event, self.order.name, self.lasts)
            over |= ~known | (ends >= self.until)
        for name, levels in self.terminal.items():
            vector = event[name]
            final = np.array([level in levels for level in vector.levels] or [False])
            over |= vector.present & final[vector.data]
        return over

    def _dated(self, when: IntArray) -> Vector:
        return Vector(replace(self.order, bounds=None), when)

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

    @cached_property
    def _rules(self) -> list[Rule]:
        return parse_rules(self.rules)

    def _broken(self, event: Table, when: IntArray, parents: Mapping[str, Vector]) -> BoolArray:
        """Events that pass a bound or break a rule."""
        bad = when > self.latest
        for name in self.floors:
            bad |= parents[name].present & (when < parents[name].data)
        for name in self.ceilings:
            bad |= parents[name].present & (when > parents[name].data)
        if self.rules and len(when):
            known = (BEFORE, SINCE, MEAN)  # what is known of the past is no column of the parent
            above = {plain_name(n): v for n, v in parents.items() if "›" in n and not n.startswith(known)}
            beside = [replace(v, column=_alone(v.column, n)) for n, v in above.items() if n not in self.names]
            whole = loose([*beside, *event.with_vectors(self._dated(when)).vectors.values()], len(when))
            for rule in self._rules:
                bad |= rule.violations(whole)
        return bad


def plain_name(name: str) -> str:
    """What a parent's column is called in its own table; those of grandparents keep the name of their table.

    Examples
    --------
    >>> plain_name("people›sex"), plain_name("people›homes›area")
    ('sex', 'homes›area')
    """
    return name.partition("›")[2] or name


def _alone(column: Column, name: str) -> Column:
    return replace(column, name=name, parent=None, partner=None, roles=())


def _true(vector: Vector) -> BoolArray:
    """Rows that say yes (or nothing: a sequence that does not know goes on no further)."""
    yes = np.array([bool(level) for level in vector.levels] or [True])
    return np.where(vector.present, yes[vector.data], True)


def _put(table: Table, rows: IntArray, other: Table) -> Table:
    """A table with some rows taken from another."""
    places = np.arange(table.rows)
    places[rows] = table.rows + np.arange(len(rows))
    return stack([table.select(other.names), other]).take(places)


def _roles(table: Table, above: Table) -> tuple[list[str], list[str]]:
    """Columns that are known when an event is drawn, and those drawn, in order: when, what, how long, whether more."""
    known = (BEFORE, SINCE, MEAN)
    given = [n for n in table.names if n in above or n.startswith(known) or n in (PLACE, WHEN)]
    drawn = [n for n in table.names if n not in given and n != OWNER]
    when, lasts = [n for n in (GAP, FIRST) if n in drawn], lasting(table)
    later = [*([lasts] if lasts is not None else []), LAST]
    return given, [*when, *(n for n in drawn if n not in (*when, *later)), *later]


def _ended_by_the_study(length: Vector, there: BoolArray, parents: int) -> Vector:
    """Lengths of spells, those that the end of the study cut short emptied: how long they are says when they began.

    It is the end of the study where the last spells of many end on one day.
    """
    many = np.count_nonzero(there) >= max(SURE, MANY * parents)
    return emptied(length, there) if many else length


def _largest(values: IntArray, least: int) -> int:
    """The largest value that so many reach, so that it is nobody's own."""
    few = min(least, len(values))
    return int(np.sort(values)[-few]) if few else 0


def _never_left(
    table: Table, names: Sequence[str], last: BoolArray, least: int
) -> dict[str, tuple[Any, ...]]:
    """Levels that enough events have, each of them the last of its parent."""
    found = {}
    for name in names:
        if name not in table or table[name].is_number or table[name].column.kind is Kind.TEXT:
            continue
        vector, size = table[name], len(table[name].levels)
        often = np.bincount(vector.data[vector.present], minlength=size)
        final = np.bincount(vector.data[vector.present & last], minlength=size)
        left = np.flatnonzero((often == final) & (often >= max(least, SURE)))
        if len(left) and (often > final).any():
            found[name] = tuple(vector.levels[code] for code in left)
    return found


def _nearer(dates: IntArray, since: AnyArray) -> bool:
    """Whether first events are nearer to each other when counted from the parent's date than by the calendar."""
    return bool(np.std((dates - since).astype(np.float64)) < np.std(dates.astype(np.float64)))


def _bound(dates: IntArray, other: Vector, side: int) -> bool:
    """Whether no event comes before (side 1) or after (side -1) the parent's date."""
    both = other.present
    return int(both.sum()) >= ENOUGH and bool(np.all(side * (dates[both] - other.data[both]) >= 0))
