"""Guessing a schema from data, carefully, and saying why.

A wrong guess here is the commonest source of bad synthetic data: postal codes averaged like numbers, -8 taken for an
income, an identifier modelled as a category. Each rule below leaves a note that the steward reads in the YAML file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import counted
from dalenius.data.distinct import distinct_whole
from dalenius.data.frames import Raw, open_frame
from dalenius.data.owners import whose_rows
from dalenius.data.personal import PEEK as LOOKED_AT
from dalenius.data.personal import names_people, numbers_people
from dalenius.data.schema import Column, Kind, Level, Role, Schema
from dalenius.data.vector import AnyArray

FEW_CODES = 10
"""Whole numbers with at most this many distinct values are codes or a scale, not a quantity."""
ENOUGH_ROWS = 20
"""Below this, "all values differ" says nothing."""
PEEK = 100
DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
)
NOT_APPLICABLE_CODES = frozenset({-8, -88, -888, -8888})
MISSING_CODES = frozenset({-1, -2, -3, -4, -5, -6, -7, -9, -97, -98, -99, -998, -999, -9998, -9999})
MISSING_WORDS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", ".", "?", "-", "<na>"})
MAYBE_ANSWERS = frozenset({"none", "-"})
"""Words that mean "missing" among numbers and may be an answer among words."""
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
WEIGHT_NAMES = re.compile(
    r"(survey|sampling|design|sample|final)_?(weight|wt)|p?weights?_?(hh|person)|fnlwgt|pweight"
)
IDENTIFIER_NAMES = re.compile(
    r"(^|[_.\s])(id|ids|pid|uid|uuid|nr|key|identifier|serial|person|patient|respondent|subject)($|[_.\s0-9])|Id$|ID$"
)
HOUSEHOLD_NAMES = re.compile(r"house|family|(^|[_.\s])hh", re.I)
CODE = re.compile(r"[A-Za-z]{0,4}[-_/.]?[0-9A-Za-z-]*[0-9]{3,}[0-9A-Za-z-]*")
MOSTLY_OWN = 0.8
"""Codes of which this share of rows has one of its own name units, a few of which have several rows."""
FEW_ROWS_EACH = 5
"""A number shared by fewer rows than this on average names a household or a unit, not a place or an answer."""
LATITUDE, LONGITUDE = re.compile(r"^(lat|latitude)$", re.I), re.compile(r"^(lon|lng|long|longitude)$", re.I)


@dataclass
class _Guess:
    kind: Kind
    note: str
    extra: dict[str, Any] = field(default_factory=dict)


def infer_schema(frame: Any, title: str = "") -> Schema:
    """Infer the schema of any supported frame (see `Schema.infer`)."""
    from dalenius.data.table import Table  # noqa: PLC0415 (Table calls this module)

    if isinstance(frame, Table):
        return frame.schema
    return infer_from_raws(open_frame(frame)[1], title)


def infer_from_raws(raws: Sequence[Raw], title: str = "") -> Schema:
    """Infer the schema of raw columns."""
    columns = [_column(raw) for raw in raws]
    owner = whose_rows(raws, columns)
    columns = [_owning(column) if column.name == owner else column for column in columns]
    return Schema(tuple(_pair_points(columns)), title=title)


def _owning(column: Column) -> Column:
    """A column of numbers that say whose rows they are."""
    role = Role.HOUSEHOLD if HOUSEHOLD_NAMES.search(column.name) else Role.ENTITY
    note = f"{column.note}; a few rows each, for which other columns are the same: {role.value}, please check"
    return replace(column, roles=(role,), bounds=None, note=note)


def _column(raw: Raw) -> Column:
    guess = _GUESSES[raw.storage](raw)
    if guess.kind in (Kind.CATEGORICAL, Kind.TEXT) and (why := names_people(raw.name, _texts(raw))):
        # Without levels: a schema is read and passed on, and must not list who is in the data.
        note = f"{guess.note}; {why}: an identifier, please check"
        return Column(raw.name, Kind.TEXT, (Role.IDENTIFIER,), note=note)
    if guess.kind is Kind.INTEGER and (why := numbers_people(raw.name, _numbers(raw))):
        note = f"{guess.note}; {why}: an identifier, please check"
        return Column(raw.name, Kind.INTEGER, (Role.IDENTIFIER,), note=note)
    rest = dict(guess.extra)
    if WEIGHT_NAMES.search(raw.name.lower()) and guess.kind.is_number:
        rest["roles"] = (Role.WEIGHT,)
        guess.note += "; named like a survey weight"
    elif "roles" not in rest and (role := _shared_name(raw)):
        rest["roles"] = (role,)
        guess.note += f"; named like an identifier and shared by a few rows each: {role.value}, please check"
    return Column(raw.name, guess.kind, note=guess.note, **rest)


def _texts(raw: Raw) -> Sequence[object]:
    """Some of the different texts of a column, as many as are looked at; none where it holds numbers."""
    return [value for value in (raw.levels or ())[:LOOKED_AT] if isinstance(value, str)]


def _numbers(raw: Raw) -> list[int]:
    """Some of the different whole numbers of a column, as many as are looked at, without codes such as -8."""
    some = np.unique(raw.values[: 10 * LOOKED_AT]).astype(np.int64)
    return [number for number in some[:LOOKED_AT].tolist() if number >= 0]


def _shared_name(raw: Raw) -> Role | None:
    """Numbers of households, or of units that own a few rows each: such a number must not be modelled as a quantity."""
    named = IDENTIFIER_NAMES.search(raw.name)
    if not named or raw.storage not in ("integer", "text"):
        return None
    values = raw.values
    distinct = len(distinct_whole(values))
    if distinct < ENOUGH_ROWS or not distinct > len(values) / FEW_ROWS_EACH:
        return None
    return Role.HOUSEHOLD if HOUSEHOLD_NAMES.search(raw.name) else Role.ENTITY


def _null(raw: Raw) -> _Guess:
    return _Guess(Kind.CATEGORICAL, "every cell is empty", {"levels": ()})


def _boolean(raw: Raw) -> _Guess:
    return _Guess(Kind.BOOLEAN, "true or false", {"levels": raw.levels})


def _category(raw: Raw) -> _Guess:
    kind = Kind.ORDERED if raw.ordered else Kind.CATEGORICAL
    return _Guess(kind, f"stored as {'ordered ' if raw.ordered else ''}categories", {"levels": raw.levels})


def _datetime(raw: Raw) -> _Guess:
    extra: dict[str, Any] = {"decimals": 9} if raw.decimals == 9 else {}
    return _Guess(Kind.DATETIME, "stored as dates or times", extra)


def _text(raw: Raw) -> _Guess:
    levels = raw.levels or ()
    rows = int(np.count_nonzero(raw.present))
    pattern = _date_format(levels)
    if pattern:
        return _Guess(Kind.DATETIME, f"text that reads as dates ({pattern[1]})", {"format": pattern[0]})
    return _names_or_categories(raw, levels, rows)


def _names_or_categories(raw: Raw, levels: Sequence[Any], rows: int) -> _Guess:
    distinct = len(levels)
    texts = levels if raw.storage == "text" else [value for value in levels if isinstance(value, str)]
    if raw.storage == "mixed":
        about = "values of several types"
    elif texts and _all_digits(texts):
        zeros = any(value.startswith("0") and len(value) > 1 for value in texts)
        about = f"text of digits{' with leading zeros' if zeros else ''}: a code, not a number"
    else:
        about = "text"
    if rows >= ENOUGH_ROWS and distinct == rows:
        return _Guess(
            Kind.TEXT, f"{about}; every value differs: an identifier", {"roles": (Role.IDENTIFIER,)}
        )
    about += _missing_words(texts) or _other_word(word_among_numbers(levels, raw.values))
    if rows >= ENOUGH_ROWS and distinct > MOSTLY_OWN * rows and _code_like(texts):
        told = (
            f"{about}; {distinct:,} codes in {rows:,} rows, some repeated: whose rows they are, please check"
        )
        return _Guess(Kind.TEXT, told, {"roles": (Role.ENTITY,)})
    if rows >= ENOUGH_ROWS and distinct > rows / 2:
        return _Guess(
            Kind.TEXT, f"{about}; {distinct:,} distinct values in {rows:,} rows: too many for categories"
        )
    return _Guess(
        Kind.CATEGORICAL, f"{about}; {counted(distinct, 'distinct value')}", {"levels": tuple(levels)}
    )


def _all_digits(texts: Sequence[str]) -> bool:
    return all(map(_DIGITS.fullmatch, texts))


def _code_like(texts: Sequence[str]) -> bool:
    """Whether texts are numbers or codes such as P00017: one word with digits, all of about the same length."""
    some = texts[:PEEK]
    lengths = [len(text) for text in some]
    return bool(some) and max(lengths) - min(lengths) <= 3 and all(CODE.fullmatch(text) for text in some)


def _missing_words(texts: Sequence[str]) -> str:
    """What to say when a text looks like somebody's word for "missing"; NA may also be a country, so it stays text."""
    words = [text for text in texts if len(text) <= 8 and text.strip().lower() in MISSING_WORDS]
    if not words:
        return ""
    others = [text for text in texts if text not in words]
    numbers = bool(others) and all(_NUMBER.fullmatch(text) for text in others)
    if not numbers:
        # among words "none" is an answer (no diagnosis, no school), as "-" is a blood group's sign
        words = [text for text in words if text.strip().lower() not in MAYBE_ANSWERS]
        if not words:
            return ""
    rest = "; all others are numbers" if numbers else ""
    shown = ", ".join(repr(text.strip()) for text in words[:3])
    return f" in which {shown} looks like a code for missing: if it is, list it under missing{rest}"


def word_among_numbers(levels: Sequence[Level], codes: AnyArray) -> str | None:
    """The one short word, held by many rows, of a column whose other texts are all numbers.

    Examples
    --------
    >>> texts = [*map(str, range(1000, 1040)), "N"]
    >>> word_among_numbers(texts, np.array([*range(40), *[40] * 30]))
    'N'
    """
    some = [value for value in levels[:PEEK] if isinstance(value, str) and _NUMBER.fullmatch(value)]
    if len(some) < min(len(levels), PEEK) - 1 or len(some) < FEW_CODES:
        return None
    words = [i for i, value in enumerate(levels) if not (isinstance(value, str) and _NUMBER.fullmatch(value))]
    if len(words) != 1 or not isinstance(word := levels[words[0]], str) or not 0 < len(word.strip()) <= 8:
        return None
    return word if np.count_nonzero(codes == words[0]) >= ENOUGH_ROWS else None


def _other_word(word: str | None) -> str:
    if word is None:
        return ""
    return f" in which only {word!r} is no number: if it means no answer, read the file with --na {word}"


def _date_format(levels: Sequence[Level]) -> tuple[str, str] | None:
    """The one format that reads every text, and writes it back unchanged."""
    if not levels or not all(6 <= len(str(value)) <= 19 for value in levels[:50]):
        return None
    likely = [p for p in DATE_FORMATS if _dates_one_by_one([str(v) for v in levels[:PEEK]], p)]
    texts = [str(value) for value in levels] if likely else []
    fitting = [pattern for pattern in likely if _all_dates(texts, pattern)]
    if not fitting:
        return None
    day_first = next((pattern for pattern in fitting if pattern.startswith("%d/%m")), None)
    if day_first and day_first.replace("%d/%m", "%m/%d") in fitting:
        return day_first, "day/month and month/day both fit: day first assumed, please check"
    return fitting[0], fitting[0]


def _all_dates(levels: Sequence[str], pattern: str) -> bool:
    texts = pl.Series(levels, dtype=pl.String)
    read = texts.str.to_datetime(pattern, time_unit="us", strict=False)
    return read.null_count() == 0 and bool((read.dt.strftime(pattern) == texts).all())


def _dates_one_by_one(levels: Sequence[str], pattern: str) -> bool:
    try:
        for value in levels:
            moment = dt.datetime.strptime(value, pattern)
            if moment.strftime(pattern) != value or (pattern == "%Y%m%d" and not 1850 <= moment.year <= 2150):
                return False
    except ValueError:
        return False
    return True


def _integer(raw: Raw) -> _Guess:
    data = raw.values
    if len(data) == 0:
        return _Guess(Kind.INTEGER, "whole numbers, none present")
    codes = _special_codes(data)
    ordinary = data[~np.isin(data, codes)] if codes else data
    distinct = distinct_whole(ordinary)
    extra: dict[str, Any] = {
        "missing": tuple(c for c in codes if c not in NOT_APPLICABLE_CODES),
        "not_applicable": tuple(c for c in codes if c in NOT_APPLICABLE_CODES),
    }
    about = (
        f"; {', '.join(map(str, codes))} looks like a code for no answer or not applicable, please check"
        if codes
        else ""
    )
    low, high = int(distinct[0]), int(distinct[-1])
    if _is_identifier(raw, ordinary, distinct):
        extra["roles"] = (Role.IDENTIFIER,)
        return _Guess(Kind.INTEGER, f"whole numbers, every value differs: an identifier{about}", extra)
    if _repeated_identifier(ordinary, distinct):
        extra["roles"] = (Role.ENTITY,)
        told = f"whole numbers in a row, few of them repeated: whose rows they are, please check{about}"
        return _Guess(Kind.INTEGER, told, extra)
    if len(distinct) <= 2 and len(data) > 2:
        extra["levels"] = tuple(distinct.tolist())
        return _Guess(
            Kind.CATEGORICAL, f"{counted(len(distinct), 'distinct whole number')}: codes{about}", extra
        )
    if len(distinct) <= FEW_CODES and len(data) >= 2 * len(distinct):
        extra["levels"] = tuple(distinct.tolist())
        in_a_row = high - low + 1 == len(distinct)
        kind = Kind.ORDERED if in_a_row else Kind.CATEGORICAL
        why = "in a row: a scale or a small count, order kept" if in_a_row else "with gaps: codes"
        return _Guess(kind, f"{len(distinct)} distinct whole numbers {why}{about}", extra)
    extra["bounds"] = (low, high)
    return _Guess(Kind.INTEGER, f"whole numbers; {counted(len(distinct), 'distinct value')}{about}", extra)


def _float(raw: Raw) -> _Guess:
    data = raw.values
    extra: dict[str, Any]
    if len(data) == 0:
        return _Guess(Kind.CONTINUOUS, "numbers, none present")
    finite = data if np.isfinite((data.min(), data.max())).all() else data[np.isfinite(data)]
    whole = len(finite) == len(data) and _whole(finite[:PEEK]) and _whole(finite)
    if whole and not np.any(np.signbit(finite) & (finite == 0)):  # a whole number has no minus zero
        if raw.decimals:
            extra = {"decimals": raw.decimals, "bounds": (float(finite.min()), float(finite.max()))}
            return _Guess(Kind.CONTINUOUS, "decimal numbers", extra)
        guess = _integer(Raw(raw.name, "integer", raw.data.astype(np.int64), raw.state))
        guess.note += " (stored as decimal numbers)"
        return guess
    codes = _special_codes(finite)
    extra = {
        "missing": tuple(c for c in codes if c not in NOT_APPLICABLE_CODES),
        "not_applicable": tuple(c for c in codes if c in NOT_APPLICABLE_CODES),
        "decimals": _decimals(finite) if raw.decimals is None else _held(raw.decimals, finite),
    }
    ordinary = finite[~np.isin(finite, codes)] if codes else finite
    if len(ordinary):
        extra["bounds"] = (float(ordinary.min()), float(ordinary.max()))
    endless = "; has infinite values" if len(finite) < len(data) else ""
    shown = f"; {', '.join(map(str, codes))} looks like a code, please check" if codes else ""
    return _Guess(Kind.CONTINUOUS, f"decimal numbers{endless}{shown}", extra)


def _whole(numbers: AnyArray) -> bool:
    """Whether all are whole numbers that a double holds exactly."""
    return bool(np.all(numbers == np.round(numbers)) and np.all(np.abs(numbers) < 2**53))


def _special_codes(data: AnyArray) -> list[int]:
    """Negative survey codes among otherwise non-negative, wide-ranging numbers, each used more than once."""
    if len(data) < ENOUGH_ROWS or data.min() >= 0:
        return []
    negative = data[data < 0]
    values, times = np.unique(negative, return_counts=True)
    known = NOT_APPLICABLE_CODES | MISSING_CODES
    if not all(float(v).is_integer() and int(v) in known for v in values) or np.any(times < 2):
        return []
    ordinary = data[data >= 0]
    wide = len(ordinary) > 0 and len(np.unique(ordinary)) > 2 and ordinary.max() > 0
    # -1, -2 … next to small numbers may be true values (temperatures, changes): codes stand alone at few values.
    return [int(v) for v in values] if wide and len(values) <= 4 else []


def _is_identifier(raw: Raw, data: AnyArray, distinct: AnyArray) -> bool:
    if len(data) < ENOUGH_ROWS or len(distinct) < len(data):
        return False
    in_a_row = int(distinct[-1]) - int(distinct[0]) + 1 == len(distinct)
    return bool(in_a_row or IDENTIFIER_NAMES.search(raw.name))


def _repeated_identifier(data: AnyArray, distinct: AnyArray) -> bool:
    """Numbers without a gap, of which hardly any is there twice: an identifier in a file with repeated rows."""
    in_a_row = int(distinct[-1]) - int(distinct[0]) + 1 == len(distinct)
    return in_a_row and len(data) >= ENOUGH_ROWS and len(distinct) > MOSTLY_OWN * len(data)


def _decimals(data: AnyArray) -> int | None:
    """Fewest decimal places that write every number exactly; None beyond six, or beyond what a double holds."""
    largest = float(np.abs(data).max()) if len(data) else np.inf
    for places in range(1, 7):
        if largest * 10**places >= 2**53:
            return None
        if np.array_equal(np.round(data, places), data):
            return places
    return None


def _held(places: int, data: AnyArray) -> int | None:
    """Decimal places as they are written; None where these are more than a double holds."""
    largest = float(np.abs(data).max()) if len(data) else 0.0
    return places if largest * 10.0**places < 2**53 else None


def _pair_points(columns: list[Column]) -> list[Column]:
    """Latitude and longitude are one location."""
    north = [c for c in columns if LATITUDE.match(c.name) and c.kind is Kind.CONTINUOUS]
    east = [c for c in columns if LONGITUDE.match(c.name) and c.kind is Kind.CONTINUOUS]
    if len(north) != 1 or len(east) != 1:
        return columns
    other = {north[0].name: east[0].name, east[0].name: north[0].name}
    return [
        replace(c, kind=Kind.POINT, partner=other[c.name], note="named like a coordinate; " + c.note)
        if c.name in other
        else c
        for c in columns
    ]


_GUESSES = {
    "null": _null,
    "boolean": _boolean,
    "category": _category,
    "datetime": _datetime,
    "text": _text,
    "mixed": lambda raw: _names_or_categories(raw, raw.levels or (), int(np.count_nonzero(raw.present))),
    "integer": _integer,
    "float": _float,
}
