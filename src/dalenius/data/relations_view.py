"""Rows of a table beside those they belong to: what an intruder who knows a family sees of one of its members."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.relations import OWNER, Database
from dalenius.data.schema import Column, Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector


def chain(base: Database, table: str) -> list[str]:
    """A table and those above it, up to the topmost.

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1]}})
    >>> chain(base, "people")
    ['people', 'homes']
    """
    tables = [table]
    while (link := base.main(tables[-1])) is not None:
        tables.append(link.parent)
    return tables


def named_columns(base: Database) -> list[str]:
    """Columns that are no keys, as ``table.column``.

    Examples
    --------
    >>> named_columns(Database.of({"homes": {"id": [1, 2], "area": ["n", "s"]}, "people": {"home_id": [1, 1]}}))
    ['homes.area']
    """
    return [f"{name}.{column}" for name in base.tables for column in base.bare(name).names]


def lowest(base: Database, columns: Iterable[str]) -> str:
    """The table furthest down of those that columns (``table.column``) belong to; all must lie above one another.

    Examples
    --------
    >>> homes = {"id": [1, 2], "area": ["n", "s"]}
    >>> lowest(Database.of({"homes": homes, "people": {"home_id": [1, 1], "age": [3, 40]}}), ["homes.area"])
    'homes'
    """
    known = {f"{name}.{column}": name for name in base.tables for column in base[name].names}
    tables = list(dict.fromkeys(known[column] for column in columns))
    for table in tables:
        if set(tables) <= set(chain(base, table)):
            return table
    raise DataError(
        f"tables {', '.join(tables)} do not lie above one another; an intruder looks at one and those above"
    )


def view(base: Database, table: str) -> Table:
    """Rows of a table with the columns of those above it (``table.column``), and whose they are.

    Rows without a parent are left out: nothing is known of their families.

    Examples
    --------
    >>> homes = {"id": [1, 2], "area": ["n", "s"]}
    >>> seen = view(Database.of({"homes": homes, "people": {"home_id": [2, 1], "age": [3, 40]}}), "people")
    >>> seen.drop([OWNER]).to_frame("dict")
    {'people.age': [3, 40], 'homes.area': ['s', 'n']}
    """
    rows: IntArray = np.arange(base[table].rows)
    steps: list[tuple[str, IntArray]] = [(table, rows)]
    for name in chain(base, table)[:-1]:
        link = base.main(name)
        assert link is not None
        places = base.places(link)[steps[-1][1]]
        there = places >= 0
        steps = [(held, at[there]) for held, at in steps] + [(link.parent, places[there])]
    vectors = [v for name, at in steps for v in _named(base.bare(name).take(at), name)]
    owner = Vector(Column(OWNER, Kind.INTEGER, (Role.ENTITY,)), steps[-1][1].astype(np.int64))
    least = max(base[name].schema.min_units for name, _ in steps)
    made = Table.from_vectors([*vectors, owner], len(steps[0][1]))
    return replace(made, schema=replace(made.schema, min_units=least))


def _named(table: Table, prefix: str) -> list[Vector]:
    own = set(table.names)

    def plain(column: Column) -> Column:
        kept = {p: f"{prefix}.{v}" for p in ("parent", "partner") if (v := getattr(column, p)) in own}
        cleared = {p: None for p in ("parent", "partner") if p not in kept}
        return replace(column, name=f"{prefix}.{column.name}", **{**cleared, **kept})  # type: ignore[arg-type]

    return [replace(v, column=plain(v.column)) for v in table.vectors.values()]
