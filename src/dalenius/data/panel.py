"""Panels: one table in which a person has a row for each wave, as people and their waves, and back to one table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, counted, no_column
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_codes
from dalenius.data.vector import IntArray, Vector

PEOPLE, WAVES = "people", "waves"


def split_panel(frame: Any, person: str, wave: str, schema: Schema | None = None) -> Database:
    """People with what never changes, and their waves in order, out of one table of both.

    Parameters
    ----------
    person
        Column that says whose rows they are.
    wave
        Column that puts the rows of a person in order: a number or a date, once for each person.

    Examples
    --------
    >>> panel = {"who": [1, 1, 2], "year": [2020, 2021, 2020], "sex": ["f", "f", "m"], "pay": [9, 8, 7]}
    >>> print(split_panel(panel, "who", "year"))
    people: 2 rows, key who
    waves: 3 rows
    waves.who -> people.who (1-n)
    """
    table = Table.from_frame(frame, schema)
    gone = [name for name in (person, wave) if name not in table]
    if gone:
        raise DataError(no_column(gone, table.names))
    return split_table(table, person, wave)


def split_table(table: Table, person: str, wave: str, changing: Collection[str] = ()) -> Database:
    """People and rows in order; columns of ``changing`` belong to the rows even where they differ for nobody.

    Examples
    --------
    >>> table = Table.from_frame({"who": [1, 1], "t": [1, 2], "x": [5, 5]})
    >>> split_table(table, "who", "t", ["x"])["waves"].names
    ['who', 't', 'x']
    """
    owners, when = owner_codes(table[person]), in_moments(table[wave])
    _check(table, person, wave, owners, when)
    rows = np.lexsort((when.data, owners))
    starts = np.flatnonzero(np.append(True, np.diff(owners[rows]) != 0)[: len(rows)])
    others = [name for name in table.names if name not in (person, wave)]
    fixed = [n for n in others if n not in changing and _constant(table[n].take(rows), starts)]
    key = replace(table[person].column, roles=(Role.IDENTIFIER,))
    held = table.with_vectors(replace(table[person], column=key), when)
    people = held.select([person, *fixed]).take(rows[starts])
    waves = held.select([person, wave, *(name for name in others if name not in fixed)]).take(rows)
    waves = _with_rules(waves, table.schema, people)
    link = Link(PEOPLE, person, WAVES, person)
    return Database({PEOPLE: people, WAVES: waves}, {PEOPLE: person}, (link,), {WAVES: wave}).checked()


def _with_rules(waves: Table, schema: Schema, people: Table) -> Table:
    """Waves with every rule that is not about people alone: a rule may bind what never changes to what does."""
    own = people.schema.rules
    rules = tuple(rule for rule in schema.rules if rule not in own)
    return replace(waves, schema=replace(waves.schema, rules=rules))


def join_panel(base: Database, columns: list[str] | None = None) -> Table:
    """One table of people and waves: rows of a person together, and in order.

    Examples
    --------
    >>> panel = {"who": [2, 1, 1], "year": [2020, 2021, 2020], "sex": ["m", "f", "f"], "pay": [7, 8, 9]}
    >>> join_panel(split_panel(panel, "who", "year"), list(panel)).to_frame("dict")
    {'who': [1, 1, 2], 'year': [2020, 2021, 2020], 'sex': ['f', 'f', 'm'], 'pay': [9, 8, 7]}
    """
    link, waves = base.links[0], base[WAVES]
    places = base.places(link)
    rows = np.lexsort((waves[base.order[WAVES]].floats(), places))
    mine = waves.take(rows)
    beside = [v.take(places[rows]) for n, v in base[PEOPLE].vectors.items() if n != link.parent_key]
    whole = mine.with_vectors(*beside)
    above, own = base[PEOPLE].origin, whole.origin
    types, objects = {**above.dtypes, **own.dtypes}, {**above.objects, **own.objects}
    # a date among people is one in the whole
    whole = replace(whole, origin=replace(own, dtypes=types, objects=objects))
    return whole if columns is None else whole.select([name for name in columns if name in whole])


def in_moments(vector: Vector) -> Vector:
    """A wave as a number: a scale of whole numbers is one.

    Examples
    --------
    >>> in_moments(Table.from_frame({"t": [1, 2, 2]})["t"]).data.tolist()
    [1, 2, 2]
    """
    if vector.is_number:
        return vector
    levels = vector.column.levels or ()
    if not levels or not all(isinstance(level, int) and not isinstance(level, bool) for level in levels):
        raise DataError(
            f"column {vector.column.name!r}: rows are put in order by a number or a date; number the waves"
        )
    numbers = np.asarray(levels, np.int64)[vector.data]
    column = Column(vector.column.name, Kind.INTEGER, vector.column.roles, label=vector.column.label)
    return Vector(column, numbers, vector.state)


def _check(table: Table, person: str, wave: str, owners: IntArray, when: Vector) -> None:
    """All that keeps a table from being a panel, at once."""
    wrong = []
    nobody, never = int((~table[person].present).sum()), int((~when.present).sum())
    if nobody:
        wrong.append(f"column {person!r}: {counted(nobody, 'row')} without a value; leave them out")
    if never:
        wrong.append(f"column {wave!r}: {counted(never, 'row')} without a value; leave them out")
    if not nobody and not never:
        pairs = np.unique(np.stack([owners, np.unique(when.data, return_inverse=True)[1]]), axis=1).shape[1]
        twice = table.rows - pairs
        if twice:
            wrong.append(
                f"columns {person!r} and {wave!r}: {counted(twice, 'row')} too many; keep one a wave"
            )
        if table.rows == len(np.unique(owners)):
            wrong.append(f"column {person!r}: nobody has a second row, so this is no panel; leave it out")
    if wrong:
        raise DataError.from_faults("panel", wrong)


def _constant(vector: Vector, starts: IntArray) -> bool:
    """Whether nobody's rows differ in a column; rows of one person lie together."""
    codes = vector.categories.codes
    return bool(np.array_equal(np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)))
