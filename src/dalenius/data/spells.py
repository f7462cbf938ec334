"""Event histories: one table in which a person has a row for each spell (from when to when, in which state), and back.

A spell is held by its start and by how long it lasts, so that what is drawn never ends before it begins and spells of
a person never overlap; time between two spells is a gap. A spell without an end is still going on, and is the last.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, no_column
from dalenius.data.panel import in_moments, join_panel, split_table
from dalenius.data.relations import Database
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_codes
from dalenius.data.vector import AnyArray, IntArray, Vector, states

STEPS = {
    "days": 86_400_000_000,
    "hours": 3_600_000_000,
    "minutes": 60_000_000,
    "seconds": 1_000_000,
    "microseconds": 1,
}
"""Steps of time in microseconds, the largest first."""
NUMBERS = "steps"
LASTS = re.compile(rf"\(({'|'.join(STEPS)}|{NUMBERS}) until (.+)\)")


def step_of(column: Column, values: list[AnyArray]) -> tuple[str, int]:
    """The largest step of time that all values are multiples of, by name and as a number; 1 for plain numbers.

    Examples
    --------
    >>> day = Table.from_frame({"d": ["2020-01-01", "2020-01-05"]})["d"]
    >>> step_of(day.column, [day.values])
    ('days', 86400000000)
    """
    if column.kind is not Kind.DATETIME:
        return NUMBERS, 1
    scale = 1000 if column.decimals == 9 else 1
    return next(
        (word, step * scale)
        for word, step in STEPS.items()
        if step == 1 or all(np.all(v % (step * scale) == 0) for v in values)
    )


def lasting(table: Table) -> str | None:
    """The column that says how long spells last; None in a table that has no spells.

    Examples
    --------
    >>> lasting(Table.from_frame({"(days until end)": [3, 4]}))
    '(days until end)'
    """
    return next((name for name in table.names if LASTS.fullmatch(name)), None)


def step_within(start: Column, lasts: str) -> int:
    """How much one more in the column that says how long spells last adds to their start.

    Examples
    --------
    >>> step_within(Column("since", Kind.DATETIME), "(hours until to)")
    3600000000
    """
    word = LASTS.fullmatch(lasts)
    assert word is not None  # `lasting` found it
    nano = 1000 if start.kind is Kind.DATETIME and start.decimals == 9 else 1
    return 1 if word[1] == NUMBERS else STEPS[word[1]] * nano


def ends_of(table: Table, start: str, lasts: str) -> tuple[IntArray, AnyArray]:
    """When each spell ends (its start, where it is still going on), and whether that is known.

    Examples
    --------
    >>> found = ends_of(Table.from_frame({"t": [5, 9], "(steps until end)": [2, None]}), "t", "(steps until end)")
    >>> found[0].tolist(), found[1].tolist()
    ([7, 9], [True, False])
    """
    begin, length = table[start], table[lasts]
    per, data = step_within(begin.column, lasts), begin.data.astype(np.int64)
    return np.where(length.present, data + length.data.astype(np.int64) * per, data), length.present


def split_spells(frame: Any, person: str, start: str, end: str, schema: Schema | None = None) -> Database:
    """People with what never changes, and their spells in order, out of one table of both.

    Parameters
    ----------
    person
        Column that says whose spells they are.
    start, end
        Dates (or numbers) between which a spell lasts; an end may be missing in a person's last spell.

    Examples
    --------
    >>> jobs = {"who": [1, 1, 2], "since": [0, 5, 2], "to": [4, None, 9], "work": ["a", "b", "a"]}
    >>> base = split_spells(jobs, "who", "since", "to")
    >>> base["waves"].to_frame("dict")["(steps until to)"]
    [4, None, 7]
    """
    table = Table.from_frame(frame, schema)
    gone = [name for name in (person, start, end) if name not in table]
    if gone:
        raise DataError(no_column(gone, table.names))
    begin, stop = in_moments(table[start]), in_moments(table[end])
    _check(table, (person, start, end), begin, stop)
    word, step = step_of(begin.column, [begin.values, stop.values])
    there = stop.present
    length = np.where(there, (stop.data.astype(np.int64) - begin.data.astype(np.int64)) // step, 0)
    lasts = Vector(Column(f"({word} until {end})", Kind.INTEGER), length, states(stop)).tidy()
    held = table.drop([end]).with_vectors(lasts)
    held = replace(held, schema=replace(held.schema, rules=table.schema.rules))
    return split_table(held, person, start, changing=(lasts.column.name,))


def join_spells(base: Database, columns: list[str] | None = None) -> Table:
    """One table of people and spells: rows of a person together and in order, with the dates on which spells end.

    Examples
    --------
    >>> jobs = {"who": [1, 1, 2], "since": [0, 5, 2], "to": [4, None, 9], "work": ["a", "b", "a"]}
    >>> join_spells(split_spells(jobs, "who", "since", "to"), list(jobs)).to_frame("dict") == jobs
    True
    """
    whole = join_panel(base)
    lasts = lasting(whole)
    if lasts is None:
        raise DataError("these tables have no spells; split_spells makes them")
    start = base.order[base.links[0].child]
    end = LASTS.fullmatch(lasts)[2]  # type: ignore[index]
    data, known = ends_of(whole, start, lasts)
    column = replace(whole[start].column, name=end, label="", bounds=None)
    stop = Vector(column, np.where(known, data, 0), states(whole[lasts])).tidy()
    whole = whole.drop([lasts]).with_vectors(stop)
    if start in whole.origin.dtypes:
        types = {**whole.origin.dtypes, end: whole.origin.dtypes[start]}
        whole = replace(whole, origin=replace(whole.origin, dtypes=types))
    return whole if columns is None else whole.select([name for name in columns if name in whole])


def _check(table: Table, names: tuple[str, str, str], begin: Vector, stop: Vector) -> None:
    """All that keeps a table from being one of spells, at once."""
    person, start, end = names
    if begin.column.kind is not stop.column.kind:
        raise DataError(f"columns {start!r} and {end!r} are of two kinds; give dates in both, or numbers")
    wrong = []
    if not begin.present.all():
        wrong.append(f"column {start!r}: {int((~begin.present).sum())} spells begin nowhere; leave them out")
    both = begin.present & stop.present
    back = int((stop.data[both] < begin.data[both]).sum())
    if back:
        wrong.append(
            f"columns {start!r} and {end!r}: {back} spells end before they begin; correct or leave them out"
        )
    owners = owner_codes(table[person])
    rows = np.lexsort((begin.data, owners))
    follows = np.flatnonzero(owners[rows][1:] == owners[rows][:-1])
    first, second = rows[follows], rows[follows + 1]
    still = int((~stop.present[first]).sum())
    if still:
        wrong.append(
            f"column {end!r}: {still} spells that are not a person's last have no end; only the last may"
        )
    over = int((stop.present[first] & (begin.data[second] < stop.data[first])).sum())
    if over:
        wrong.append(
            f"column {start!r}: {over} spells begin before an earlier one of the person ends; divide those that overlap"
        )
    if wrong:
        raise DataError.from_faults("spells", wrong)
