"""Reading a column by its declaration alone, as a method with a privacy promise must.

Every cell is read by itself: what it becomes depends on the cell and on the schema, never on other cells, so that one
person more or less changes nobody else's codes, no type and no error. A value outside the declared domain follows the
column's rule ``outside``: the nearest bound, a level such as "other", or missing.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from dalenius.data.encode import EPOCH, MICROSECOND
from dalenius.data.frames import Origin, Raw
from dalenius.data.schema import Column, Kind, Level, Schema
from dalenius.data.vector import MISSING, SPECIAL, VALUE, AnyArray, Vector, compact


def encode_declared(raw: Raw, column: Column) -> Vector:
    """Hold a raw column as its declaration says; nothing about the data is an error.

    Examples
    --------
    >>> from dalenius.data.frames import open_frame
    >>> raw = open_frame({"age": [31, 999, "?", None]})[1][0]
    >>> column = Column("age", Kind.INTEGER, bounds=(0, 110), domain="declared", outside="nearest")
    >>> encode_declared(raw, column).data.tolist(), encode_declared(raw, column).state.tolist()
    ([31, 110, 0, 0], [0, 0, 1, 1])
    """
    column = replace(column, note="", decimals=None if column.kind is Kind.DATETIME else column.decimals)
    return (_numbers(raw, column) if column.kind.is_number else _categories(raw, column)).tidy()


def declared_bounds(column: Column) -> tuple[float, float] | None:
    """Declared bounds as the column's numbers are held: moments as microseconds since 1970.

    Examples
    --------
    >>> declared_bounds(Column("day", Kind.DATETIME, bounds=("1970-01-01", "1970-01-02")))
    (0.0, 86400000000.0)
    """
    if column.bounds is None:
        return None
    scale = 1000 if column.decimals == 9 and column.kind is Kind.DATETIME else 1
    low, high = (
        b if isinstance(b, (int, float)) else scale * _count(_moment(b, None)) for b in column.bounds
    )
    return float(low), float(high)


def declared_origin(origin: Origin, schema: Schema) -> Origin:
    """The caller's library and column names, with types that follow from the declaration alone.

    Whether a column of whole numbers came as integers or as decimal numbers depends on whether a value was missing; the
    types of what goes out must not.

    Examples
    --------
    >>> schema = Schema((Column("age", Kind.INTEGER),))
    >>> declared_origin(Origin("polars", dtypes={"age": "Float64"}), schema).dtypes
    {}
    """
    plain = Origin(origin.backend, origin.names, columns=origin.columns)
    if origin.backend != "pandas":
        return plain
    dtypes = {
        Kind.INTEGER: "Int64",
        Kind.CONTINUOUS: "float64",
        Kind.POINT: "float64",
        Kind.BOOLEAN: "boolean",
        Kind.DATETIME: "datetime64[us]",
    }
    import pandas as pd  # noqa: PLC0415 (only where the caller uses it)

    kinds = {c.name: dtypes.get(c.kind, "object") for c in schema if c.kind is not Kind.ORDERED}
    texts = {c.name for c in schema if c.kind is Kind.DATETIME and c.format is not None}
    read = {name: "object" if name in texts else dtype for name, dtype in kinds.items()}
    return replace(plain, dtypes={name: pd.Series([], dtype=dtype).dtype for name, dtype in read.items()})


def _numbers(raw: Raw, column: Column) -> Vector:
    whole = column.kind in (Kind.INTEGER, Kind.DATETIME)
    numbers, state = _read(raw, column)
    bounds = declared_bounds(column)
    present = state == VALUE
    if bounds is not None:
        if column.outside == "nearest":
            numbers = np.clip(numbers, *bounds)
        else:
            present &= (numbers >= bounds[0]) & (numbers <= bounds[1])
    if whole:
        numbers = np.round(numbers)
        # Beyond 2^62 a double is no whole number any more that an integer could hold.
        present &= np.abs(numbers) < 2.0**62
    present &= np.isfinite(numbers)
    state = np.where((state == VALUE) & ~present, MISSING, state).astype(np.uint8)
    data = np.where(present, numbers, 0.0)
    return Vector(column, data.astype(np.int64 if whole else np.float64), state)


def _read(raw: Raw, column: Column) -> tuple[AnyArray, AnyArray]:
    """Every cell as a number and a state; special codes are told apart by their value."""
    if raw.levels is None:
        moments = raw.storage == "datetime"
        data = raw.data.astype(np.float64) / (1000 if moments and raw.decimals == 9 else 1)
        state = np.where(raw.present, VALUE, MISSING).astype(np.uint8)
        if moments != (column.kind is Kind.DATETIME):
            state[:] = MISSING
        for j, code in enumerate(column.special):
            number = _number(code, column)
            if number is not None:
                state[(data == number) & (state == VALUE)] = SPECIAL + j
        return data, state
    special = {_key(code): SPECIAL + j for j, code in enumerate(column.special)}
    values = np.zeros(len(raw.levels) + 1)
    states = np.full(len(raw.levels) + 1, MISSING, np.uint8)
    for i, level in enumerate(raw.levels):
        number = _number(level, column)
        states[i] = special.get(_key(level), MISSING if number is None else VALUE)
        values[i] = number or 0.0
    codes = np.where(raw.present, raw.data, len(raw.levels)).astype(np.int64)
    return values[codes], states[codes]


def _number(value: Level, column: Column) -> float | None:
    if column.kind is Kind.DATETIME:
        moment = _moment(value, column.format)
        return None if moment is None else float(_count(moment))
    if isinstance(value, (bool, dt.date)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _moment(value: Level, pattern: str | None) -> dt.datetime | None:
    if isinstance(value, str):
        try:
            value = dt.datetime.strptime(value, pattern) if pattern else dt.datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, dt.datetime):
        return (value - (value.utcoffset() or dt.timedelta(0))).replace(tzinfo=None)
    return dt.datetime(value.year, value.month, value.day) if isinstance(value, dt.date) else None


def _count(moment: dt.datetime | None) -> int:
    return 0 if moment is None else (moment - EPOCH) // MICROSECOND


def _categories(raw: Raw, column: Column) -> Vector:
    levels = column.levels if column.levels is not None else (False, True)
    column = replace(column, levels=levels)
    cells, codes = _cells(raw)
    position = {_key(level): i for i, level in reversed(list(enumerate(levels)))}
    special = {_key(code): SPECIAL + j for j, code in enumerate(column.special)}
    other = position.get(_key(column.outside), -1) if column.outside not in (None, "missing") else -1
    target = np.zeros(len(cells) + 1, np.int64)
    states = np.full(len(cells) + 1, MISSING, np.uint8)
    for i, cell in enumerate(cells):
        key = _key(cell)
        place = position.get(key, other)
        states[i] = special.get(key, MISSING if place < 0 else VALUE)
        target[i] = max(place, 0)
    rows = np.where(raw.present, codes, len(cells)).astype(np.int64)
    data = np.where(states[rows] == VALUE, target[rows], 0)
    return Vector(column, compact(data, max(len(levels), 1)), states[rows])


def _cells(raw: Raw) -> tuple[Sequence[Any], AnyArray]:
    """Distinct cells of a column, and each row's position among them."""
    if raw.levels is not None:
        return raw.levels, raw.data
    distinct, codes = np.unique(raw.data, return_inverse=True)
    if raw.storage != "datetime":
        return distinct.tolist(), codes
    scale = 1000 if raw.decimals == 9 else 1
    return [EPOCH + int(value) // scale * MICROSECOND for value in distinct.tolist()], codes


def _key(value: Any) -> tuple[str, Any]:
    """Equal for cells that mean the same however the file was typed: 1, 1.0 and "1"; true and "True"; but not "01"."""
    if isinstance(value, bool):
        return "word", str(value).lower()
    if isinstance(value, (int, float, Decimal)):
        return "number", value if math.isfinite(value) else str(value)
    if isinstance(value, dt.date):
        return "moment", _count(_moment(value, None))
    text = str(value)
    if text.lower() in ("true", "false"):
        return "word", text.lower()
    try:
        number = float(text)
    except ValueError:
        return "text", text
    plain = text.lstrip("+-")
    coded = len(plain) > 1 and plain[0] == "0" and plain[1].isdigit()
    return ("text", text) if coded or not math.isfinite(number) or "_" in text else ("number", number)
