"""Columns of text to raw columns and back: the typing that a CSV file leaves to its reader.

A number is only a number if it is written like one: "007" is a code and stays text, "1.50" remembers its two decimals.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from dalenius.data.distinct import distinct_whole, places_of
from dalenius.data.encode import EPOCH, MICROSECOND, level_key
from dalenius.data.frames import Raw, text_raw
from dalenius.data.names import Names
from dalenius.data.schema import Column, Kind, Level
from dalenius.data.vector import MISSING, NAN, SPECIAL, VALUE, AnyArray, Vector

NUMBER = r"^(?:[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|Inf|INF))$"
"""A number as people and programs write it; leading zeros make a code."""
PLAIN_NUMBER = r"^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?$"
"""What nearly every number looks like: one look is enough."""
LONG_WHOLE = r"^[+-]?[0-9]{16,}"
"""More digits before the point than a double holds: reading it as a number would change it."""
PEEK = 200
ZONE_END = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


DAY = 86_400_000_000
"""Microseconds of a day."""
GROUPED = r"^[+-]?(?:[0-9]{{1,3}}(?:{0}[0-9]{{3}})+|[0-9]+)(?:{1}[0-9]*)?$"
"""A number with a sign between thousands, as the dialect has it."""


def ungrouped(texts: pl.Series, decimal: str, thousands: str) -> pl.Series | None:
    """Numbers without the sign between their thousands; None where the column is no such column.

    Examples
    --------
    >>> ungrouped(pl.Series(["3.535,34", "12,50"]), ",", ".").to_list()
    ['3535,34', '12,50']
    >>> ungrouped(pl.Series(["01.02.2020", "3.535,34"]), ",", ".") is None
    True
    """
    filled = texts.drop_nulls()
    form = GROUPED.format(re.escape(thousands), re.escape(decimal))
    if not len(filled) or not filled.head(PEEK).str.contains(form).all():
        return None
    if not filled.str.contains(thousands, literal=True).any() or not filled.str.contains(form).all():
        return None
    return texts.str.replace_all(thousands, "", literal=True)


def raw_from_text(name: str, texts: pl.Series, decimal: str = ".", column: Column | None = None) -> Raw:
    """Type one text column: as the schema says, otherwise as it is written.

    Examples
    --------
    >>> raw_from_text("code", pl.Series(["007", "012"])).storage
    'text'
    >>> raw = raw_from_text("price", pl.Series(["1.50", None]))
    >>> raw.storage, raw.decimals
    ('float', 2)
    """
    if column is None:
        return _numbers(name, texts, decimal) or text_raw(name, texts)
    if column.kind is Kind.DATETIME:
        plain = text_raw(name, texts)
        return plain if column.format else _moments(plain)
    if column.kind.is_number:
        return _numbers(name, texts, decimal) or _parsed(text_raw(name, texts), decimal)
    if column.kind is Kind.TEXT:
        return text_raw(name, texts)
    if column.levels is None:
        return _numbers(name, texts, decimal) or text_raw(name, texts)
    return _matched(text_raw(name, texts), column, decimal)


def _numbers(name: str, texts: pl.Series, decimal: str) -> Raw | None:
    """Whole numbers, else decimal numbers, else None."""
    filled = texts.drop_nulls()
    if decimal == ",":
        if filled.head(PEEK).str.contains(".", literal=True).any():
            return None
        if filled.str.contains(".", literal=True).any():
            return None
        filled, texts = filled.str.replace(",", ".", literal=True), texts.str.replace(",", ".", literal=True)
    if not len(filled) or not filled.head(PEEK).str.contains(NUMBER).all():
        return None
    state = _gaps(texts)
    if not filled.head(PEEK).str.contains("[.eE]").any():
        whole = texts.cast(pl.Int64, strict=False)
        if whole.null_count() == texts.null_count() and written_plainly(
            filled, whole.drop_nulls().to_numpy()
        ):
            return Raw(name, "integer", whole.fill_null(0).to_numpy(), state)
    floats = texts.cast(pl.Float64, strict=False)
    if floats.null_count() != texts.null_count():
        return None
    places = plain_places(filled, floats.drop_nulls().to_numpy())
    if places is not None:
        return Raw(name, "float", floats.fill_null(0.0).to_numpy(), state, decimals=places or None)
    plain = bool(filled.str.contains(PLAIN_NUMBER).all())
    if not plain and (not filled.str.contains(NUMBER).all() or filled.str.contains(LONG_WHOLE).any()):
        return None
    if not plain and (floats.is_infinite() & ~texts.str.contains("(?i)inf")).any():
        return None  # 1e400 is a number that a float cannot hold, not infinity
    return Raw(name, "float", floats.fill_null(0.0).to_numpy(), state, decimals=_places(filled, plain))


def written_plainly(texts: pl.Series, values: AnyArray) -> bool:
    """Whether whole numbers that were read from texts are written as these texts, without zeros or signs in front.

    No text can be shorter than the number it says, so that equal lengths in all are equal texts in each.

    Examples
    --------
    >>> [written_plainly(pl.Series(each), np.array([7, -12])) for each in (["7", "-12"], ["07", "-12"])]
    [True, False]
    """
    if len(values) and values.min() == np.iinfo(np.int64).min:  # has no absolute value
        return bool((pl.Series(values).cast(pl.String) == texts).all())
    return int(texts.str.len_bytes().sum()) == int(
        _digits(np.abs(values)).sum() + np.count_nonzero(values < 0)
    )


def _digits(sizes: AnyArray) -> AnyArray:
    """Digits before the point of numbers without a sign."""
    digits = np.ones(len(sizes), np.int8)
    for power in range(1, len(str(int(sizes.max()))) if len(sizes) else 0):
        digits += sizes >= 10**power
    return digits


EXACT_DIGITS = 15
"""Numbers of so many digits are told apart by a double."""


def plain_places(texts: pl.Series, values: AnyArray) -> int | None:
    """Most decimals of numbers that are all written plainly; None where one look at their lengths cannot tell.

    A number is plain when nothing but a minus and its digits stands before the point: no exponent, no zeros in front.

    Examples
    --------
    >>> plain_places(pl.Series(["1.50", "-0.2"]), np.array([1.5, -0.2]))
    2
    >>> plain_places(pl.Series(["01.11", "2.5"]), np.array([1.11, 2.5])) is None
    True
    """
    if not len(values) or not np.isfinite(values).all():
        return None
    sizes, lengths = np.abs(values), texts.str.len_bytes()
    points = texts.str.find(".", literal=True)
    places = int((lengths - points - 1).max() or 0)  # type: ignore[arg-type]
    if len(str(int(min(sizes.max(), 1e18)))) + places > EXACT_DIGITS:
        return None
    before = (points.fill_null(lengths) if points.null_count() else points).to_numpy()
    if not np.array_equal(before, _digits(sizes) + np.signbit(values)):
        return None
    if points.null_count():  # 1e2 is as long as 100
        hundreds = texts.filter(pl.Series(points.is_null().to_numpy() & (sizes >= 100) & (sizes % 100 == 0)))
        if hundreds.str.contains("[eE]").any():
            return None
    return places


def _places(filled: pl.Series, plain: bool) -> int | None:
    """Decimal places as written; None when some number is written with an exponent or has more than 15."""
    if not plain and filled.str.contains("[eE]").any():
        return None
    point = filled.str.find(".", literal=True)
    longest = (filled.str.len_bytes() - point - 1).max()
    return int(longest) if isinstance(longest, int) and 0 < longest <= 15 else None


def _gaps(texts: pl.Series) -> Any:
    return (
        np.where(texts.is_null().to_numpy(), MISSING, VALUE).astype(np.uint8) if texts.null_count() else None
    )


def _parsed(raw: Raw, decimal: str) -> Raw:
    """Text among numbers (a code such as "NA", or leading zeros where a number is declared): parse each value once."""
    levels = tuple(_number(str(text), decimal) for text in raw.levels or ())
    return Raw(raw.name, "mixed", raw.data, raw.state, levels)


def _number(text: str, decimal: str) -> Level:
    plain = text.strip().replace(",", ".") if decimal == "," and "." not in text else text.strip()
    for convert in (int, float):
        try:
            return text if "_" in plain else convert(plain)
        except ValueError:
            continue
    return text


def _moments(raw: Raw) -> Raw:
    """Dates and times in ISO 8601, what we write when the schema gives no format."""
    texts = [str(text) for text in raw.levels or ()]
    moments = [_iso(text) for text in texts]
    known = [moment for moment in moments if moment is not None]
    if len(known) < len(texts):
        mixed = tuple(moment or text for moment, text in zip(moments, texts, strict=True))
        return Raw(raw.name, raw.storage, raw.data, raw.state, mixed)
    # Nanoseconds reach from 1678 to 2261; a date beyond leaves microseconds to all.
    fine = any(len(text.partition(".")[2].rstrip("Z")) > 6 for text in texts)
    fine = fine and all(1678 <= moment.year <= 2261 for moment in known)
    values = np.zeros(max(len(texts), 1), np.int64)
    for i, (moment, text) in enumerate(zip(known, texts, strict=True)):
        values[i] = moment_count(moment, text, fine)
    data = np.where(raw.present, values[raw.data], 0)
    return Raw(raw.name, "datetime", data, raw.state, decimals=9 if fine else None)


def _iso(text: str) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment - (moment.utcoffset() or dt.timedelta(0))).replace(tzinfo=None)


def moment_count(moment: dt.datetime, text: str, fine: bool) -> int:
    """Microseconds since 1970, or nanoseconds when the text has more than six decimals of a second."""
    count = (moment - EPOCH) // MICROSECOND
    if not fine:
        return count
    digits = ZONE_END.sub("", text.partition(".")[2])[:9].ljust(9, "0")
    return count // 1_000_000 * 1_000_000_000 + int(digits)


def _matched(raw: Raw, column: Column, decimal: str) -> Raw:
    """Declared levels are recognised by how they are written; what matches none stays text and is reported later."""
    declared = {level_text(v): v for v in (*(column.levels or ()), *column.special)}
    by_value = {level_key(v): v for v in declared.values()}
    truths = {text.lower(): v for text, v in declared.items() if isinstance(v, bool)}
    levels: list[Level] = []
    for text in map(str, raw.levels or ()):
        if text in declared:
            levels.append(declared[text])
            continue
        spelled = {"1": "true", "0": "false"}.get(text, text.lower())
        levels.append(truths.get(spelled, by_value.get(level_key(_number(text, decimal)), text)))
    return Raw(raw.name, "mixed", raw.data, raw.state, tuple(levels))


def level_text(value: Any) -> str:
    """How a level is written in a text file.

    Examples
    --------
    >>> level_text(True), level_text(1.0), level_text(dt.date(2020, 1, 2)), level_text("01")
    ('true', '1.0', '2020-01-02', '01')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else str(value)


def text_from_vector(
    vector: Vector,
    decimal: str = ".",
    zoned: bool = False,
    written: Callable[[pl.Series], pl.Series] | None = None,
    thousands: str = "",
) -> pl.Series:
    """One column as it is written to a text file; null where the cell stays empty.

    ``written`` says how values are written that are text themselves, ``thousands`` what stands between digits.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> text_from_vector(Table.from_frame({"a": [1.25, 3.5, None]})["a"]).to_list()
    ['1.25', '3.50', None]
    """
    if vector.column.kind is Kind.INTEGER and vector.state is None and not thousands:
        return pl.Series(vector.column.name, vector.data).cast(pl.String)
    if vector.is_number:
        values = vector.values
        distinct, codes = _distinct(values, vector.column)
        texts = _number_texts(distinct, vector.column, decimal, zoned)
        if thousands:
            texts = [_in_groups(text, decimal, thousands) for text in texts]
        cells = pl.Series(texts, dtype=pl.String)
        positions = np.zeros(len(vector), np.int64)
        positions[vector.present] = codes
    else:
        cells = _level_cells(vector.column.levels or (), decimal, written)
        positions = vector.data
    size, special = len(cells), len(vector.column.special)
    if vector.state is not None:
        others = [
            _level_cells(vector.column.special, ".", written),
            pl.Series(["NaN", None], dtype=pl.String),
        ]
        cells = pl.concat([cells, *others])
        targets = np.full(256, size + special + 1, np.int64)
        targets[SPECIAL : SPECIAL + special] = size + np.arange(special)
        targets[NAN] = size + special
        positions = np.where(vector.present, positions, targets[vector.state])
    return cells.gather(pl.Series(positions)).alias(vector.column.name)


def _level_cells(
    levels: Sequence[Level], decimal: str, written: Callable[[pl.Series], pl.Series] | None
) -> pl.Series:
    """How levels are written, those that are text as ``written`` says."""
    if isinstance(levels, Names):
        return levels.texts if written is None else written(levels.texts)
    comma = decimal == ","
    texts = [
        _commas(level_text(v)) if comma and isinstance(v, (float, Decimal)) else level_text(v) for v in levels
    ]
    cells = pl.Series(texts, dtype=pl.String)
    if written is None:
        return cells
    own = pl.Series([isinstance(level, str) for level in levels], dtype=pl.Boolean)
    return pl.select(pl.when(own).then(written(cells)).otherwise(cells)).to_series()


def _distinct(values: AnyArray, column: Column) -> tuple[AnyArray, AnyArray]:
    """Different numbers, and where each row's is among them; by their bits: 0 and -0 are written differently."""
    bits = values.view(np.int64) if values.dtype == np.float64 else values
    whole_days = column.kind is Kind.DATETIME and column.decimals != 9 and not (bits % DAY).any()
    step = DAY if whole_days else 1  # days are so few that a table finds them
    bits = bits // step if whole_days else bits
    distinct = distinct_whole(bits)
    return (distinct * step).view(values.dtype), places_of(bits, distinct)


def _number_texts(distinct: AnyArray, column: Column, decimal: str, zoned: bool) -> list[str]:
    if column.kind is Kind.DATETIME:
        return _moment_texts(distinct, column, zoned)
    values: Sequence[Any] = distinct.tolist()
    if column.kind is Kind.INTEGER:
        return [str(value) for value in values]
    if column.decimals is None:
        texts = [repr(value) for value in values]
    else:
        texts = [f"{value:.{column.decimals}f}" for value in values]
    return [_commas(text) for text in texts] if decimal == "," else texts


def _in_groups(text: str, decimal: str, thousands: str) -> str:
    """A number with a sign between its thousands."""
    whole, mark, rest = text.partition(decimal)
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits):,}".replace(",", thousands) + mark + rest if digits.isdigit() else text


def _commas(text: str) -> str:
    return text.replace(".", ",")


def _moment_texts(distinct: AnyArray, column: Column, zoned: bool) -> list[str]:
    unit = "ns" if column.decimals == 9 else "us"
    if column.format is not None:
        return [(EPOCH + int(v) * MICROSECOND).strftime(column.format) for v in distinct.tolist()]
    moments = distinct.astype(f"datetime64[{unit}]")
    for shorter in ("D", "s"):
        # Whole days (or seconds) throughout: write no more than that, unless a zone gives the time of day a meaning.
        if np.all(moments.astype(f"datetime64[{shorter}]") == moments) and not (zoned and shorter == "D"):
            moments = moments.astype(f"datetime64[{shorter}]")
            break
    return [f"{text}Z" if zoned else str(text) for text in np.datetime_as_string(moments).tolist()]
