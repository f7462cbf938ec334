"""`Raw`: a column as it was stored, read from Arrow, the common language of the border."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from dalenius.core.errors import DataError
from dalenius.data.names import MANY, Names
from dalenius.data.schema import Level
from dalenius.data.vector import MISSING, NAN, VALUE, AnyArray, compact

Storage = Literal["integer", "float", "boolean", "datetime", "text", "category", "mixed", "null"]
TURN = "turn it into text, numbers or dates"


def _names(texts: pl.Series) -> tuple[Level, ...]:
    """Texts as levels; long ones stand in for a tuple, as which `Vector.levels` gives them."""
    return cast("tuple[Level, ...]", Names(texts)) if len(texts) >= MANY else tuple(texts.to_list())


@dataclass(frozen=True, eq=False)
class Raw:
    """A column as it was stored, before anybody decided what it means.

    Numbers and datetimes (microseconds, or nanoseconds when ``decimals`` is 9) are in ``data``; everything else is
    codes over ``levels``.
    """

    name: str
    storage: Storage
    data: AnyArray
    state: npt.NDArray[np.uint8] | None
    levels: tuple[Level, ...] | None = None
    ordered: bool = False
    decimals: int | None = None

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Rows that hold a value."""
        return np.ones(len(self.data), bool) if self.state is None else self.state == VALUE

    @property
    def values(self) -> AnyArray:
        """What the rows hold that hold a value."""
        return self.data if self.state is None else self.data[self.state == VALUE]

    def take(self, rows: AnyArray) -> Raw:
        """These rows, in this order, each as often as it is named."""
        return replace(
            self,
            data=self.data[rows],
            state=None if self.state is None else _state(self.state[rows] != VALUE),
        )


def read_arrow(name: str, column: pa.Array | pa.ChunkedArray) -> Raw:
    """Take an Arrow column apart.

    Examples
    --------
    >>> read_arrow("a", pa.array([1.5, None])).storage
    'float'
    """
    column = _one_array(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _read_dictionary(name, "category", column)
    gaps = _numpy(column.is_null()) if column.null_count else None
    if pa.types.is_null(kind):
        return Raw(name, "null", np.zeros(len(column), np.uint8), _state(gaps), ())
    if pa.types.is_decimal(kind):
        return _read_decimal(name, column, gaps)
    if pa.types.is_boolean(kind):
        codes = _numpy(pc.fill_null(column, False)).astype(np.uint8)
        return Raw(name, "boolean", codes, _state(gaps), (False, True))
    if pa.types.is_integer(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        return _read_integers(name, column, gaps)
    if pa.types.is_floating(kind):
        data = _numpy(pc.fill_null(column.cast(pa.float64()), 0.0)).astype(np.float64)
        nan = np.isnan(data)
        state = _state(gaps)
        if nan.any():
            state = np.zeros(len(data), np.uint8) if state is None else state
            state[nan] = NAN
            data = np.where(nan, 0.0, data)
        return Raw(name, "float", data, state)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _read_datetime(name, column, gaps)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return text_raw(name, _polars_text(column))
    raise DataError(f"column {name!r} holds {kind} values, which are not supported; {TURN}")


def text_raw(name: str, texts: pl.Series) -> Raw:
    """A column of text as codes over its sorted distinct values; a million different names take about a second.

    Examples
    --------
    >>> text_raw("a", pl.Series(["b", "a", None])).levels
    ('a', 'b')
    """
    gaps = texts.is_null().to_numpy() if texts.null_count() else None
    if gaps is None and len(texts) > 1 and _rising(texts):  # as identifiers often are
        codes = np.arange(len(texts), dtype=np.int32 if len(texts) < 2**31 else np.int64)
        return Raw(name, "text", compact(codes, len(texts)), None, _names(texts))
    distinct = texts.drop_nulls().unique()
    if gaps is None and len(distinct) == len(texts) > 1:
        order = texts.arg_sort()  # all differ: sorting them once gives codes and levels
        codes = np.empty(len(texts), np.int64)
        codes[order.to_numpy()] = np.arange(len(texts))
        return Raw(name, "text", compact(codes, len(texts)), None, _names(texts.gather(order)))
    distinct = distinct.sort()
    if not len(distinct):
        return Raw(name, "null" if len(texts) else "text", np.zeros(len(texts), np.uint8), _state(gaps), ())
    codes = texts.cast(pl.Enum(distinct)).to_physical().fill_null(0).to_numpy()
    return Raw(name, "text", compact(codes, len(distinct)), _state(gaps), tuple(distinct.to_list()))


def _rising(texts: pl.Series) -> bool:
    """Whether each text stands after the one before it."""
    first = texts.head(100)
    if not first.is_sorted() or not texts.is_sorted():
        return False
    return bool((texts.slice(1) != texts.head(len(texts) - 1)).all())


def _polars_text(column: pa.Array) -> pl.Series:
    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made.cast(pl.String)


def _read_integers(name: str, column: pa.Array, gaps: AnyArray | None) -> Raw:
    if column.type == pa.uint64() and len(column) and (pc.max(column).as_py() or 0) >= 2**63:
        return _as_levels(name, column)
    if pa.types.is_time32(column.type):
        column = column.cast(pa.int32())
    data = _numpy(pc.fill_null(column.cast(pa.int64()), 0)).astype(np.int64)
    return Raw(name, "integer", data, _state(gaps))


def _as_levels(name: str, column: pa.Array) -> Raw:
    """Values that fit no number type here: kept exactly, as levels."""
    return sorted_levels(_read_dictionary(name, "mixed", column.dictionary_encode()))


def _read_dictionary(name: str, storage: Storage, array: pa.DictionaryArray) -> Raw:
    codes = _numpy(pc.fill_null(array.indices.cast(pa.int64()), -1))
    levels = [scalar(value) for value in array.dictionary.to_pylist()]
    gone = [i for i, value in enumerate(levels) if value is None]
    if gone:  # a dictionary may hold the empty cell as one of its values
        target = np.array([-1 if value is None else 1 for value in levels] + [-1])
        shifted = np.cumsum(target > 0) - 1
        codes = np.where(target[codes] > 0, shifted[codes], -1)
        levels = [value for value in levels if value is not None]
    return coded(name, storage, codes, codes < 0, tuple(levels), array.type.ordered)


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    if pa.types.is_dictionary(column.type):
        try:
            column = column.unify_dictionaries()
        except (
            pa.ArrowInvalid
        ):  # dictionaries that hold the empty cell as a value cannot be merged as they are
            column = column.cast(column.type.value_type).dictionary_encode()
    merged = column.combine_chunks()
    return merged if isinstance(merged, pa.Array) else pa.concat_arrays(merged.chunks)


def _read_decimal(name: str, column: pa.Array, gaps: AnyArray | None) -> Raw:
    if column.type.precision > 15 and len(column) > column.null_count:
        largest = pc.max(pc.abs(column)).as_py()
        if largest is not None and largest * 10 ** max(column.type.scale, 0) >= 10**15:
            return _as_levels(name, column)
    data = _numpy(pc.fill_null(column.cast(pa.float64()), 0.0)).astype(np.float64)
    return Raw(name, "float", data, _state(gaps), decimals=max(column.type.scale, 0))


def _read_datetime(name: str, column: pa.Array, gaps: AnyArray | None) -> Raw:
    kind = column.type
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        data = _numpy(pc.fill_null(column.cast(pa.int64()), 0)).astype(np.int64)
        if np.any(data % 1000):
            return Raw(name, "datetime", data, _state(gaps), decimals=9)
        return Raw(name, "datetime", data // 1000, _state(gaps))
    micro = column.cast(pa.timestamp("us", zone)).cast(pa.int64())
    return Raw(name, "datetime", _numpy(pc.fill_null(micro, 0)).astype(np.int64), _state(gaps))


def _numpy(column: Any) -> AnyArray:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _state(gaps: AnyArray | None) -> npt.NDArray[np.uint8] | None:
    if gaps is None or not gaps.any():
        return None
    return np.where(gaps, MISSING, VALUE).astype(np.uint8)


def coded(
    name: str, storage: Storage, codes: AnyArray, gaps: AnyArray, levels: tuple[Any, ...], ordered: bool
) -> Raw:
    """A raw column of codes over levels, with ``gaps`` as missing rows."""
    clean = np.where(gaps, 0, codes) if gaps.any() else codes
    return Raw(name, storage, compact(clean, len(levels)), _state(gaps), levels, bool(ordered))


def sorted_levels(raw: Raw) -> Raw:
    """Levels in a stable order of their own, so that codes do not depend on the order of the rows."""
    levels = raw.levels or ()
    try:
        order = sorted(range(len(levels)), key=lambda i: (type(levels[i]).__name__, levels[i]))
    except TypeError:  # no order among themselves, as moments with and without a time zone
        order = sorted(range(len(levels)), key=lambda i: (type(levels[i]).__name__, str(levels[i])))
    rank = np.empty(len(levels), dtype=np.int64)
    rank[order] = np.arange(len(levels))
    data = compact(rank[raw.data], len(levels)) if len(levels) else raw.data
    return Raw(raw.name, raw.storage, data, raw.state, tuple(levels[i] for i in order), raw.ordered)


def arrow_from(name: str, values: Any, from_pandas: bool = True) -> Any:
    """Values as an Arrow array, or a `DataError` that names the column."""
    try:
        return pa.array(values, from_pandas=from_pandas)
    except (pa.ArrowException, TypeError, ValueError) as error:
        kind = getattr(values, "dtype", type(values).__name__)
        raise DataError(f"column {name!r} holds {kind} values, which are not supported; {TURN}") from error


def scalar(value: Any) -> Any:
    """Plain Python value of a NumPy or pandas scalar; intervals, periods and the like become text.

    Examples
    --------
    >>> scalar(np.int8(3)), scalar(range(2))
    (3, 'range(0, 2)')
    """
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if type(value).__name__ == "Timestamp":
        return value.to_pydatetime(warn=False)
    return value if isinstance(value, tuple(_PLAIN)) else str(value)


_PLAIN = {str, int, float, bool, Decimal, dt.date, dt.datetime, dt.time, dt.timedelta}
