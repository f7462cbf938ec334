"""Does a table follow a schema? Every fault at once, counts only, never a value."""

from __future__ import annotations

import datetime as dt

import numpy as np

from dalenius.core.errors import counted, names
from dalenius.data.encode import EPOCH, MICROSECOND, level_key
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.vector import SPECIAL, Vector


def faults_of(table: Table, schema: Schema) -> list[str]:
    """List how a table departs from a schema.

    Examples
    --------
    >>> table = Table.from_frame({"age": [3, 200, 41]})
    >>> faults_of(table, Schema((Column("age", Kind.INTEGER, bounds=(0, 120)), Column("sex", Kind.TEXT))))
    ["column 'sex' of the schema is not in the data", "column 'age': 1 row above the upper bound"]
    """
    missing = [name for name in schema.names if name not in table]
    extra = [name for name in table.names if name not in schema]
    faults = [f"column {names(missing)} of the schema is not in the data"] if missing else []
    faults += [f"column {names(extra)} is not in the schema"] if extra else []
    for name in table.names:
        if name in schema:
            faults += _column_faults(table[name], schema[name])
    return faults


def _column_faults(vector: Vector, wanted: Column) -> list[str]:
    where = f"column {wanted.name!r}"
    if vector.is_number != wanted.kind.is_number:
        return [f"{where}: declared {wanted.kind}, but it holds {vector.column.kind} values"]
    strange = _unlisted_codes(vector, wanted)
    if vector.is_number:
        return [f"{where}: {fault}" for fault in _out_of_bounds(vector, wanted) + strange]
    if wanted.levels is None:
        return [f"{where}: {fault}" for fault in strange]
    allowed = {level_key(v) for v in (*wanted.levels, *wanted.special)}
    unknown = np.array([level_key(v) not in allowed for v in vector.levels], dtype=bool)
    rows = int(np.count_nonzero(unknown[vector.values])) if unknown.any() else 0
    faults = [f"{counted(rows, 'row')} with a value that is not a level of the schema"] if rows else []
    return [f"{where}: {fault}" for fault in faults + strange]


def _unlisted_codes(vector: Vector, wanted: Column) -> list[str]:
    """Special codes of the data which the schema knows neither as a code nor as a level."""
    known = {level_key(v) for v in (*wanted.special, *(wanted.levels or ()))}
    strange = [SPECIAL + j for j, code in enumerate(vector.column.special) if level_key(code) not in known]
    rows = int(np.isin(vector.state, strange).sum()) if strange and vector.state is not None else 0
    return [f"{counted(rows, 'row')} with a missing code that is not in the schema"] if rows else []


def _out_of_bounds(vector: Vector, wanted: Column) -> list[str]:
    if wanted.bounds is None:
        return []
    low, high = (float_bound(bound, wanted) for bound in wanted.bounds)
    below, above = int(np.count_nonzero(vector.values < low)), int(np.count_nonzero(vector.values > high))
    faults = [f"{counted(below, 'row')} below the lower bound"] if below else []
    return faults + ([f"{counted(above, 'row')} above the upper bound"] if above else [])


def float_bound(bound: float | str, column: Column) -> float:
    """A bound as the column counts: dates in microseconds since 1970 (nanoseconds where it holds them).

    Examples
    --------
    >>> float_bound("1970-01-02", Column("day", Kind.DATETIME))
    86400000000
    """
    if column.kind is Kind.DATETIME and isinstance(bound, str):
        scale = 1000 if column.decimals == 9 else 1
        return scale * ((dt.datetime.fromisoformat(bound) - EPOCH) // MICROSECOND)
    return float(bound)
