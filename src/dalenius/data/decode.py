"""From vectors back to the caller's own frame type, with its dtypes, category order and column names."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from dalenius.core.errors import MissingExtraError
from dalenius.data.encode import EPOCH, MICROSECOND, special_number
from dalenius.data.frames import Backend, Objects, Origin
from dalenius.data.schema import Kind
from dalenius.data.vector import MISSING, NAN, SPECIAL, AnyArray, Vector


def build_frame(
    vectors: Mapping[str, Vector], rows: int, origin: Origin, backend: Backend | None = None
) -> Any:
    """Build a frame of the origin's type, or of another ``backend``.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"a": [1, None]})
    >>> build_frame({"a": table["a"]}, 2, table.origin, "dict")
    {'a': [1, None]}
    """
    backend = backend or origin.backend
    same = backend == origin.backend or {backend, origin.backend} <= {"polars", "polars-lazy"}
    origin = origin if same else Origin(backend)
    dtypes = origin.dtypes
    if backend == "pandas":
        try:
            from dalenius.data.decode_pandas import pandas_frame  # noqa: PLC0415 (pandas is optional)
        except ImportError as error:
            raise MissingExtraError("pandas", "files", "make pandas frames") from error
        return pandas_frame(vectors, rows, origin)
    if backend == "dict":
        return {
            origin.names.get(n, n): _plain(v, dtypes.get(n), origin.objects.get(n))
            for n, v in vectors.items()
        }
    if backend in ("polars", "polars-lazy"):
        frame = pl.DataFrame({n: polars_series(n, v, dtypes.get(n)) for n, v in vectors.items()})
        return frame.lazy() if backend == "polars-lazy" else frame
    arrays = [arrow_array(v, dtypes.get(n)) for n, v in vectors.items()]
    table = pa.Table.from_arrays(arrays, names=list(vectors))
    if backend == "duckdb":
        import duckdb  # noqa: PLC0415

        return duckdb.from_arrow(table)
    return table


def entries(vector: Vector) -> tuple[list[Any], AnyArray]:
    """Distinct values of a category column and each row's position among them (-1 = missing)."""
    values: list[Any] = [*vector.levels, *vector.column.special]
    if vector.state is None:
        return values, vector.data.astype(np.int64)
    lookup = np.full(256, -1, dtype=np.int64)
    special = len(vector.column.special)
    lookup[SPECIAL : SPECIAL + special] = len(vector.levels) + np.arange(special)
    if np.any(vector.state == NAN):
        lookup[NAN] = len(values)
        values.append(math.nan)
    return values, np.where(vector.present, vector.data, lookup[vector.state]).astype(np.int64)


def numbers(vector: Vector) -> tuple[AnyArray, AnyArray]:
    """Numbers with special codes filled in, and the mask of missing rows; NaN rows hold NaN.

    A special code that is text has no place among numbers: it is missing here (files of text keep it).
    """
    data = vector.data
    if vector.state is None:
        return data, np.zeros(len(data), bool)
    data = data.astype(np.float64) if np.any(vector.state == NAN) else data.copy()
    gaps = vector.state == MISSING
    for j, code in enumerate(vector.column.special):
        hit = vector.state == SPECIAL + j
        if not hit.any():
            continue
        number = special_number(code, vector.column.kind, vector.column.decimals)
        if number is None:
            gaps = gaps | hit
            continue
        data = data if isinstance(number, int) or data.dtype.kind == "f" else data.astype(np.float64)
        data[hit] = number
    if np.any(vector.state == NAN):
        data[vector.state == NAN] = np.nan
    return data, gaps


def text_dates(vector: Vector) -> tuple[list[Any], AnyArray] | None:
    """Datetimes that were text go back to text, in their own format."""
    pattern = vector.column.format
    if vector.column.kind is not Kind.DATETIME or pattern is None:
        return None
    distinct, inverse = np.unique(vector.values, return_inverse=True)
    texts: list[Any] = [(EPOCH + int(value) * MICROSECOND).strftime(pattern) for value in distinct.tolist()]
    texts += list(vector.column.special)
    codes = np.full(len(vector), -1, dtype=np.int64)
    codes[vector.present] = inverse
    if vector.state is not None:
        for j in range(len(vector.column.special)):
            codes[vector.state == SPECIAL + j] = len(distinct) + j
    return texts, codes


def looked_up(vector: Vector) -> tuple[list[Any], AnyArray] | None:
    """Values and positions for columns that are rebuilt from distinct values; None for plain numbers."""
    return text_dates(vector) if vector.is_number else entries(vector)


def flat(vector: Vector) -> tuple[AnyArray, AnyArray] | None:
    """Numbers and gaps of any column that is made of numbers, also when it is held as categories."""
    looked = looked_up(vector)
    if looked is None:
        return numbers(vector)
    values, codes = looked
    if not all((type(v) is int and abs(v) < 2**63) or type(v) is float for v in values):
        return None
    whole = all(type(v) is int for v in values)
    table = np.array([*values, 0], dtype=np.int64 if whole else np.float64)
    return table[codes], codes < 0


def moments(vector: Vector) -> tuple[AnyArray, AnyArray, str] | None:
    """Counts since 1970, gaps and unit of a column of moments, also when it is held as categories."""
    looked = looked_up(vector)
    if looked is None:
        return (*numbers(vector), "ns" if vector.column.decimals == 9 else "us")
    values, codes = looked
    if not values or not all(isinstance(v, dt.datetime) for v in values):
        return None
    counts = [
        (v.replace(tzinfo=None) - (v.utcoffset() or dt.timedelta(0)) - EPOCH) // MICROSECOND for v in values
    ]
    return np.array([*counts, 0], dtype=np.int64)[codes], codes < 0, "us"


def arrow_array(vector: Vector, dtype: pa.DataType | None) -> pa.Array:
    """One column as Arrow."""
    if dtype is None or pa.types.is_null(dtype):
        return _arrow_untyped(vector) if dtype is None or vector.present.any() else pa.nulls(len(vector))
    if pa.types.is_timestamp(dtype) or pa.types.is_date(dtype):
        dates = moments(vector)
        if dates is not None:
            zone = dtype.tz if pa.types.is_timestamp(dtype) else None
            return pa.array(dates[0], mask=dates[1]).cast(pa.timestamp(dates[2], zone)).cast(dtype)
    if pa.types.is_dictionary(dtype):
        return _arrow_dictionary(vector, dtype)
    plain = None if pa.types.is_boolean(dtype) or is_text(dtype) else flat(vector)
    if plain is None:
        return _gathered(*(looked_up(vector) or _listed(vector)), dtype)
    data, gaps = plain
    if pa.types.is_decimal(dtype):
        return pa.array(decimals(data, gaps, dtype.scale), dtype)
    if data.dtype.kind == "f" and not pa.types.is_floating(dtype):
        whole = bool(np.all(np.isfinite(data[~gaps]) & (data[~gaps] == np.round(data[~gaps]))))
        if not whole:
            return pa.array(data, mask=gaps)
        data = np.where(gaps, 0, data).astype(np.int64)
    elif pa.types.is_floating(dtype):
        data = data.astype(np.float64)
    array = pa.array(data, mask=gaps)
    return (array.cast(pa.int32()) if pa.types.is_time32(dtype) else array).cast(
        dtype, safe=data.dtype.kind != "f"
    )


def _arrow_untyped(vector: Vector) -> pa.Array:
    looked = looked_up(vector)
    if looked is not None:
        return _gathered(*looked, None)
    data, gaps = numbers(vector)
    array = pa.array(data, mask=gaps)
    if vector.column.kind is Kind.DATETIME:
        return array.cast(pa.timestamp("ns" if vector.column.decimals == 9 else "us"))
    return array


def _listed(vector: Vector) -> tuple[list[Any], AnyArray]:
    """Distinct numbers of a column as Python values, for dtypes that are not numbers."""
    data, gaps = numbers(vector)
    distinct, inverse = np.unique(data, return_inverse=True)
    return distinct.tolist(), np.where(gaps, -1, inverse)


def _gathered(values: list[Any], codes: AnyArray, dtype: pa.DataType | None) -> pa.Array:
    if dtype is None and not values:
        return pa.nulls(len(codes))
    try:
        known = pa.array(values, dtype, from_pandas=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Values of several types, or new ones that the old type cannot hold: text holds them all.
        known = pa.array([None if is_nan(v) else str(v) for v in values], pa.large_string())
    return known.take(pa.array(codes, mask=codes < 0))


def _arrow_dictionary(vector: Vector, dtype: pa.DictionaryType) -> pa.Array:
    values, codes = looked_up(vector) or _listed(vector)
    known = pa.array(values, dtype.value_type)
    indices = pa.array(codes, mask=codes < 0).cast(dtype.index_type)
    return pa.DictionaryArray.from_arrays(indices, known, ordered=dtype.ordered)


def is_text(dtype: pa.DataType) -> bool:
    """Whether an Arrow type is one of the three sorts of text."""
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or dtype == pa.string_view())


def is_nan(value: Any) -> bool:
    """Whether a value is the floating NaN."""
    return isinstance(value, float) and math.isnan(value)


def decimals(data: AnyArray, gaps: AnyArray, scale: int) -> list[Decimal | None]:
    """Exact decimal numbers with ``scale`` places."""
    distinct, inverse = np.unique(data, return_inverse=True)
    exact = [Decimal(f"{value:.{max(scale, 0)}f}") for value in distinct.tolist()]
    return [None if gap else exact[i] for i, gap in zip(inverse.tolist(), gaps.tolist(), strict=True)]


def polars_series(name: str, vector: Vector, dtype: Any) -> pl.Series:
    """One column as Polars."""
    if dtype is None:
        return _polars_untyped(name, vector)
    if isinstance(dtype, (pl.Datetime, pl.Date)):
        dates = moments(vector)
        if dates is not None:
            series = _from_arrow(name, pa.array(dates[0], mask=dates[1])).cast(
                pl.Datetime("ns" if dates[2] == "ns" else "us")
            )
            if isinstance(dtype, pl.Datetime) and dtype.time_zone:
                series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
            return series.cast(dtype)
    plain = flat(vector) if dtype.is_numeric() or dtype.is_temporal() else None
    if plain is None:
        looked = looked_up(vector) or _listed(vector)
        return _polars_gathered(name, *looked, dtype)
    data, gaps = plain
    if isinstance(dtype, pl.Decimal):
        return pl.Series(name, decimals(data, gaps, dtype.scale), dtype=dtype)
    series = _from_arrow(name, pa.array(data, mask=gaps))
    if series.dtype.is_float() and not dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        if not (whole.cast(pl.Float64) == series).all():
            return series
        series = whole
    return series if series.dtype == dtype else series.cast(dtype)


def _polars_untyped(name: str, vector: Vector) -> pl.Series:
    looked = looked_up(vector)
    if looked is None:
        return _from_arrow(name, _arrow_untyped(vector))
    values, codes = looked
    if vector.column.kind is Kind.ORDERED and values and all(isinstance(v, str) for v in values):
        return _polars_gathered(name, values, codes, pl.Enum(values))
    return _from_arrow(name, _gathered(values, codes, None))


def _polars_gathered(name: str, values: list[Any], codes: AnyArray, dtype: Any) -> pl.Series:
    try:
        known = pl.Series(name, [*values, None], dtype=dtype, strict=True)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return _from_arrow(name, _gathered(values, codes, None))
    return known.gather(pl.Series(np.where(codes < 0, len(values), codes))).alias(name)


def _from_arrow(name: str, array: pa.Array) -> pl.Series:
    made = pl.from_arrow(array)
    assert isinstance(made, pl.Series)
    return made.alias(name)


def _plain(vector: Vector, dtype: Any, objects: Objects | None) -> Any:
    """A list, or a NumPy array of the dtype it had."""
    if dtype is None or dtype.hasobject:
        cells = object_cells(vector, objects or Objects())
        return cells if dtype is None else _object_array(cells)
    if dtype.kind in "mM":
        array = arrow_array(
            vector, pa.from_numpy_dtype(dtype) if str(dtype) != "datetime64[D]" else pa.date32()
        )
        return np.asarray(array.to_numpy(zero_copy_only=False)).astype(dtype)
    plain = flat(vector) if dtype.kind in "iuf" else None
    if plain is not None:
        data, gaps = plain
        if dtype.kind == "f" or not (gaps.any() or data.dtype.kind == "f"):
            return (np.where(gaps, np.nan, data) if gaps.any() else data).astype(dtype)
        if not gaps.any() and np.all(data == np.round(data)):
            return data.astype(dtype)
    cells = object_cells(vector, Objects())
    return np.array(cells, dtype=dtype) if None not in cells else _object_array(cells)


def _object_array(cells: list[Any]) -> AnyArray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def object_cells(vector: Vector, objects: Objects) -> list[Any]:
    """Every row as a Python object, empty cells as they were."""
    looked = looked_up(vector)
    typed_out = (
        objects.kind is not None and not is_text(objects.kind) and not pa.types.is_boolean(objects.kind)
    )
    if typed_out:
        cells = arrow_array(vector, objects.kind).to_pylist()
    elif looked is not None:
        values, codes = looked
        table = [*values, None]
        cells = [table[code] for code in codes.tolist()]
    else:
        cells = _arrow_untyped(vector).to_pylist()
    if objects.gap is not None:
        cells = [objects.gap if cell is None else cell for cell in cells]
    return cells
