"""From raw columns to vectors: what a column *is* (its kind) decides how it is held."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import SchemaError
from dalenius.data.distinct import distinct_whole, places_of
from dalenius.data.frames import Raw
from dalenius.data.schema import Column, Kind, Level
from dalenius.data.vector import NAN, SPECIAL, VALUE, AnyArray, Vector, compact

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)


def encode(raw: Raw, column: Column) -> Vector:
    """Hold a raw column as its kind asks; `SchemaError` when the stored values cannot be of that kind.

    Examples
    --------
    >>> from dalenius.data.frames import open_frame
    >>> raw = open_frame({"income": [1200, -8, None]})[1][0]
    >>> vector = encode(raw, Column("income", Kind.INTEGER, not_applicable=(-8,)))
    >>> vector.state.tolist(), vector.values.tolist()
    ([0, 3, 1], [1200])
    """
    vector = _numbers(raw, column) if column.kind.is_number else _categories(raw, column)
    return vector.tidy()


def _numbers(raw: Raw, column: Column) -> Vector:
    if raw.storage == "null":
        return Vector(column, np.zeros(len(raw.data), _dtype(column)), raw.state)
    if raw.levels is not None:
        return _numbers_from_levels(raw, column)
    if (column.kind is Kind.DATETIME) != (raw.storage == "datetime"):
        raise _mismatch(raw, column)
    data, state = raw.data, raw.state
    for j, code in enumerate(column.special):
        number = special_number(code, column.kind, raw.decimals)
        hit = np.zeros(0, bool) if number is None else (data == number) & raw.present
        if hit.any():
            state = np.zeros(len(data), np.uint8) if state is None else state.copy()
            state[hit] = SPECIAL + j
    if column.kind is Kind.INTEGER and raw.storage == "float":
        ordinary = data if state is None else data[state == VALUE]
        if not np.all(np.isfinite(ordinary) & (ordinary == np.round(ordinary)) & (np.abs(ordinary) < 2**53)):
            raise _mismatch(raw, column, "has fractions or infinities; use kind continuous")
    if state is not None:
        data = np.where(state == VALUE, data, 0)
    if raw.storage == "datetime" and raw.decimals == 9:
        column = replace(column, decimals=9)
    return Vector(column, data.astype(_dtype(column), copy=False), state)


def special_number(code: Level, kind: Kind, decimals: int | None) -> int | float | None:
    """How a special code is held among numbers of a kind; None when it cannot be (text among numbers).

    Examples
    --------
    >>> special_number(-8, Kind.INTEGER, None), special_number("NA", Kind.INTEGER, None)
    (-8, None)
    """
    if kind is Kind.DATETIME:
        if not isinstance(code, dt.date):
            return None
        return _count_moment(code) * (1000 if decimals == 9 else 1)
    if isinstance(code, bool) or not isinstance(code, (int, float, Decimal)):
        return None
    return int(code) if _is_whole(code) else float(code)


def _is_whole(code: int | float | Decimal) -> bool:
    return math.isfinite(code) and -(2**63) < code < 2**63 and code == int(code)


def _count_moment(value: dt.date) -> int:
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    plain = value.replace(tzinfo=None) - (value.utcoffset() or dt.timedelta(0))
    return (plain - EPOCH) // MICROSECOND


def _dtype(column: Column) -> type[np.generic]:
    return np.int64 if column.kind in (Kind.INTEGER, Kind.DATETIME) else np.float64


def _numbers_from_levels(raw: Raw, column: Column) -> Vector:
    """Numbers or dates that were stored as text or categories: convert each distinct value once."""
    levels = raw.levels or ()
    converted = np.zeros(max(len(levels), 1), _dtype(column))
    states = np.zeros(max(len(levels), 1), np.uint8)
    special = {level_key(code): SPECIAL + j for j, code in enumerate(column.special)}
    read = _read_dates(levels, column)
    bad = 0
    for i in np.unique(raw.data[raw.present]).tolist():
        key = level_key(levels[i])
        if key in special:
            states[i] = special[key]
        elif read is not None and read[i] is not None:
            converted[i] = read[i]
        elif isinstance(levels[i], float) and levels[i] != levels[i]:
            states[i] = NAN
        else:
            try:
                converted[i] = _as_number(levels[i], column)
            except (ValueError, TypeError, OverflowError):
                bad += 1
    if bad:
        raise _mismatch(raw, column, f"has {bad} distinct values that cannot be read as that")
    data, state = converted[raw.data], states[raw.data]
    if raw.state is not None:
        state = np.where(raw.state == VALUE, state, raw.state)
        data = np.where(raw.state == VALUE, data, 0)
    return Vector(column, data, state.astype(np.uint8))


def _read_dates(levels: Sequence[Level], column: Column) -> list[int | None] | None:
    """Dates in text, all at once; None where the quick reader cannot or need not help."""
    if column.kind is not Kind.DATETIME or not column.format or not quick_format(column.format):
        return None
    texts = [value if isinstance(value, str) else None for value in levels]
    read = pl.Series(texts, dtype=pl.String).str.to_datetime(column.format, time_unit="us", strict=False)
    return read.to_physical().to_list()


def quick_format(pattern: str) -> bool:
    """Whether Polars reads this strptime format just as Python does."""
    return set(re.findall("%.", pattern)) <= {"%Y", "%m", "%d", "%H", "%M", "%S"} and "%d" in pattern


def _as_number(value: Level, column: Column) -> float | int:
    if column.kind is Kind.DATETIME:
        if isinstance(value, str) and column.format:
            value = dt.datetime.strptime(value, column.format)
        if isinstance(value, dt.date):
            return _count_moment(value)
        raise TypeError
    if isinstance(value, (bool, str, dt.date)):
        raise TypeError
    if column.kind is Kind.INTEGER:
        if value != int(value):
            raise ValueError
        return int(value)
    return float(value)


def _categories(raw: Raw, column: Column) -> Vector:
    if raw.levels is None:
        data = raw.data if raw.state is None else raw.data[raw.present]
        whole = data.dtype.kind in "iu"
        distinct = distinct_whole(data) if whole else np.unique(data)
        categories: Sequence[Any] = (
            [_moment(v) for v in distinct.tolist()] if raw.storage == "datetime" else distinct.tolist()
        )
        inverse = places_of(data, distinct)
        codes = inverse
        if raw.state is not None:
            codes = np.zeros(len(raw.data), dtype=np.int64)
            codes[raw.present] = inverse
    else:
        categories, codes = raw.levels, raw.data
    special = {level_key(code): j for j, code in enumerate(column.special)}
    levels = column.levels
    if levels is None and not (column.kind is Kind.BOOLEAN and raw.storage == "boolean"):
        # Levels that are about to be read off the data are not public, whatever the schema says.
        column = replace(column, domain="from-data")
    if not special and (levels is None or levels is categories):
        # Nothing to translate, which matters for a column of a million different names.
        held = tuple(categories) if raw.levels is None else raw.levels
        return Vector(replace(column, levels=held), compact(codes, len(categories)), raw.state)
    if levels is None:
        levels = tuple(value for value in categories if level_key(value) not in special)
    position = {level_key(value): i for i, value in enumerate(levels)}
    target = np.array([position.get(level_key(value), -1) for value in categories], dtype=np.int64)
    states = np.array(
        [SPECIAL + special[level_key(v)] if level_key(v) in special else VALUE for v in categories], np.uint8
    )
    _refuse_unknown(codes, raw, column, (target < 0) & (states == VALUE))
    if len(categories) == 0:
        return Vector(replace(column, levels=levels), np.zeros(len(raw.data), np.uint8), raw.state)
    state = raw.state
    if states.any():
        state = states[codes] if state is None else np.where(state == VALUE, states[codes], state)
    data = compact(target.clip(0), len(levels))[codes]
    if raw.state is not None:
        data[raw.state != VALUE] = 0
    return Vector(replace(column, levels=levels), data, state)


def _refuse_unknown(codes: AnyArray, raw: Raw, column: Column, unknown: AnyArray) -> None:
    if not unknown.any():
        return
    rows = int(np.count_nonzero(unknown[codes] & raw.present))
    if rows:
        raise SchemaError(
            f"column {column.name!r}: {rows} rows hold a value that is not among the {len(column.levels or ())} levels "
            "of the schema; add the level, or declare it as a missing code"
        )


def level_key(value: Level) -> tuple[str, Any]:
    """Equal for values a person would call the same level: 1 and 1.0, but not 1 and "1" or True.

    Examples
    --------
    >>> level_key(1) == level_key(1.0), level_key(1) == level_key(True), level_key(1) == level_key("1")
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return type(value).__name__, value
    return "number", value


def _moment(microseconds: int) -> dt.datetime:
    return EPOCH + microseconds * MICROSECOND


def _mismatch(raw: Raw, column: Column, why: str = "") -> SchemaError:
    stored = {"float": "decimal numbers", "integer": "whole numbers", "datetime": "dates"}.get(
        raw.storage, raw.storage
    )
    reason = why or f"holds {stored}; change its kind in the schema"
    return SchemaError(f"column {column.name!r}: declared {column.kind}, but it {reason}")
