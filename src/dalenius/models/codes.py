"""Codes for no answer (-8, 99) as the model met them: its file has them as numbers or texts like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalenius.core.errors import names
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import SPECIAL, Vector


def coded_columns(tables: Sequence[Table], wanted: Sequence[str]) -> list[str]:
    """Columns of which some table holds codes that can be ordinary values.

    Examples
    --------
    >>> from dalenius.data.schema import Schema
    >>> schema = Schema((Column("pay", Kind.INTEGER, not_applicable=(-8,)), Column("age", Kind.INTEGER)))
    >>> table = Table.from_frame({"pay": [10, -8], "age": [30, 40]}, schema)
    >>> coded_columns([table], ["pay", "age"])
    ['pay']
    """
    return [name for name in wanted if any(name in table and _has(table[name]) for table in tables)]


def as_values(table: Table, columns: Sequence[str]) -> Table:
    """The table with the codes of these columns as ordinary values.

    Examples
    --------
    >>> from dalenius.data.schema import Schema
    >>> table = Table.from_frame({"pay": [10, -8]}, Schema((Column("pay", Kind.INTEGER, not_applicable=(-8,)),)))
    >>> table["pay"].floats().tolist(), as_values(table, ["pay"])["pay"].floats().tolist()
    ([10.0, nan], [10.0, -8.0])
    """
    made = {name: _plain(table.schema[name]) for name in columns if name in table}
    changed = {name: column for name, column in made.items() if column is not None}
    if not changed:
        return table
    return table.with_schema(
        replace(table.schema, columns=tuple(changed.get(c.name, c) for c in table.schema))
    )


def told(columns: Sequence[str]) -> str:
    """What is said of it.

    Examples
    --------
    >>> print(told(["pay"]))
    Codes for no answer in 'pay' are ordinary values to the model, as they stand in the file. Leave these rows out, or
    the cells empty, where it was fitted so.
    """
    return (
        f"Codes for no answer in {names(columns)} are ordinary values to the model, as they stand in the file. Leave "
        "these rows out, or the cells empty, where it was fitted so."
    )


def _has(vector: Vector) -> bool:
    return (
        vector.state is not None
        and _plain(vector.column) is not None
        and bool((vector.state >= SPECIAL).any())
    )


def _plain(column: Column) -> Column | None:
    """A column whose codes are values; None where it has none, or where they cannot be."""
    codes = column.special
    if not codes or column.kind is Kind.DATETIME:
        return None
    if column.kind.is_number:
        if any(isinstance(code, str) for code in codes):
            return None
        return replace(column, missing=(), not_applicable=(), bounds=None, outside=None)
    kind = Kind.CATEGORICAL if column.kind is Kind.BOOLEAN else column.kind
    levels = None if column.levels is None else (*column.levels, *codes)
    return replace(column, kind=kind, levels=levels, missing=(), not_applicable=(), outside=None)
