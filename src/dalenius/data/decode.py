"""From vectors back to the caller's own frame type, with its dtypes, category order and column names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from dalenius.core.errors import MissingExtraError
from dalenius.data.encode import EPOCH, MICROSECOND
from dalenius.data.frames import Backend, Origin
from dalenius.data.schema import Kind
from dalenius.data.vector import MISSING, NAN, SPECIAL, AnyArray, Vector


def build_frame(vectors: Mapping[str, Vector], rows: int, origin: Origin, backend: Backend | None = None) -> Any:
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
    dtypes = origin.dtypes if same else {}
    named = {name: origin.names.get(name, name) if same else name for name in vectors}
    if backend == "pandas":
        return _pandas_frame(vectors, rows, origin if same else Origin("pandas"), named)
    if backend == "dict":
        return {named[n]: _plain_list(v, dtypes.get(n)) for n, v in vectors.items()}
    if backend in ("polars", "polars-lazy"):
        frame = pl.DataFrame([_polars_series(n, v, dtypes.get(n)) for n, v in vectors.items()])
        return frame.lazy() if backend == "polars-lazy" else frame
    arrays = [_arrow_array(v, dtypes.get(n)) for n, v in vectors.items()]
    table = pa.Table.from_arrays(arrays, names=list(vectors))
    if backend == "duckdb":
        import duckdb  # noqa: PLC0415

        return duckdb.from_arrow(table)
    return table


def entries(vector: Vector) -> tuple[list[Any], AnyArray]:
    """Distinct values of a category column and each row's position among them (-1 = missing)."""
    values: list[Any] = [*vector.levels, *vector.column.special, float("nan")]
    if vector.state is None:
        return values, vector.data.astype(np.int64)
    lookup = np.full(256, -1, dtype=np.int64)
    special = len(vector.column.special)
    lookup[SPECIAL : SPECIAL + special] = len(vector.levels) + np.arange(special)
    lookup[NAN] = len(values) - 1
    return values, np.where(vector.present, vector.data, lookup[vector.state]).astype(np.int64)


def numbers(vector: Vector) -> tuple[AnyArray, AnyArray]:
    """Numbers with special codes filled in, and the mask of missing rows; NaN rows hold NaN."""
    data = vector.data
    if vector.state is None:
        return data, np.zeros(len(data), bool)
    data = data.astype(np.float64) if np.any(vector.state == NAN) else data.copy()
    for j, code in enumerate(vector.column.special):
        hit = vector.state == SPECIAL + j
        if hit.any():
            whole = isinstance(code, (int, np.integer)) or float(str(code)).is_integer()
            data = data if whole or data.dtype.kind == "f" else data.astype(np.float64)
            data[hit] = float(str(code)) if data.dtype.kind == "f" else int(float(str(code)))
    if np.any(vector.state == NAN):
        data[vector.state == NAN] = np.nan
    return data, vector.state == MISSING


def _text_dates(vector: Vector) -> tuple[list[Any], AnyArray] | None:
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


def _lookup(vector: Vector) -> tuple[list[Any], AnyArray] | None:
    """Values and positions for columns that are rebuilt from distinct values; None for plain numbers."""
    return _text_dates(vector) if vector.is_number else entries(vector)


def _arrow_array(vector: Vector, dtype: Any) -> pa.Array:
    looked = _lookup(vector)
    if looked is not None:
        values, codes = looked
        return _arrow_lookup(values, codes, dtype)
    data, gaps = numbers(vector)
    if vector.column.kind is Kind.DATETIME:
        unit = "ns" if vector.column.decimals == 9 else "us"
        wanted = dtype or pa.timestamp(unit)
        zone = wanted.tz if pa.types.is_timestamp(wanted) else None
        return pa.array(data, mask=gaps).cast(pa.timestamp(unit, zone)).cast(wanted)
    if dtype is None and vector.column.kind is Kind.INTEGER:
        dtype = pa.int64()
    if dtype is not None and pa.types.is_decimal(dtype):
        return pa.array(_decimals(data, gaps, dtype.scale), dtype)
    array = pa.array(data, mask=gaps)
    if dtype is None or array.type == dtype:
        return array
    if pa.types.is_dictionary(dtype):
        return array.cast(dtype.value_type).dictionary_encode().cast(dtype)
    return array.cast(dtype, safe=False) if data.dtype.kind == "f" else array.cast(pa.int64()).cast(dtype)


def _decimals(data: AnyArray, gaps: AnyArray, scale: int) -> list[Decimal | None]:
    distinct, inverse = np.unique(data, return_inverse=True)
    exact = [Decimal(f"{value:.{max(scale, 0)}f}") for value in distinct.tolist()]
    return [None if gap else exact[i] for i, gap in zip(inverse.tolist(), gaps.tolist(), strict=True)]


def _arrow_lookup(values: list[Any], codes: AnyArray, dtype: Any) -> pa.Array:
    indices = pa.array(codes, mask=codes < 0)
    used = values if (codes == len(values) - 1).any() else [v for v in values if v == v]
    if dtype is not None and pa.types.is_dictionary(dtype):
        known = pa.array([v for v in used if v == v], dtype.value_type)
        return pa.DictionaryArray.from_arrays(indices.cast(dtype.index_type), known, ordered=dtype.ordered)
    if dtype is None and not used:
        dtype = pa.null()
    return pa.array(used, dtype, from_pandas=False).take(indices)


def _polars_series(name: str, vector: Vector, dtype: Any) -> pl.Series:
    looked = _lookup(vector)
    if looked is None:
        series = pl.Series(name, _arrow_array(vector, None))
        if dtype is None or series.dtype == dtype:
            return series
        if isinstance(dtype, pl.Decimal):
            data, gaps = numbers(vector)
            return pl.Series(name, _decimals(data, gaps, dtype.scale), dtype=dtype)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone:
            return series.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone).cast(dtype)
        return series.cast(pl.Int64).cast(dtype) if dtype == pl.Time else series.cast(dtype)
    values, codes = looked
    nan_used = bool((codes == len(values) - 1).any())
    known = values if nan_used else [v for v in values if v == v]
    lookup = pl.Series(name, known, dtype=dtype or _polars_dtype(vector, known), strict=dtype is not None)
    if not len(lookup):
        return pl.Series(name, [None] * len(codes), dtype=lookup.dtype)
    return lookup.gather(pl.Series(np.where(codes < 0, 0, codes))).zip_with(
        pl.Series(codes >= 0), pl.Series([None], dtype=lookup.dtype).new_from_index(0, len(codes))
    ).alias(name)


def _polars_dtype(vector: Vector, known: list[Any]) -> Any:
    if vector.column.kind is Kind.ORDERED and known and all(isinstance(v, str) for v in known):
        return pl.Enum(known)
    return None if known else pl.Null


def _plain_list(vector: Vector, dtype: Any) -> Any:
    looked = _lookup(vector)
    if looked is not None:
        values, codes = looked
        result: list[Any] = [None if code < 0 else values[code] for code in codes.tolist()]
    elif vector.column.kind is Kind.DATETIME:
        result = _arrow_array(vector, dtype if isinstance(dtype, pa.DataType) else None).to_pylist()
    else:
        data, gaps = numbers(vector)
        result = [None if gap else value for value, gap in zip(data.tolist(), gaps.tolist(), strict=True)]
    if dtype is None:
        return result
    fill = [float("nan") if value is None else value for value in result] if dtype.kind == "f" else result
    return np.array(fill, dtype=dtype if None not in fill else object)


def _pandas_frame(vectors: Mapping[str, Vector], rows: int, origin: Origin, named: Mapping[str, Any]) -> Any:
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("pandas", "files", "make pandas frames") from error
    keep_index = origin.index is not None and len(origin.index) == rows
    index = origin.index if keep_index else pd.RangeIndex(rows)
    columns = [_pandas_column(pd, v, origin.dtypes.get(n)) for n, v in vectors.items()]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(rows))
    frame.columns = pd.Index([named[n] for n in vectors], dtype=object if not vectors else None)
    frame.index = index
    return frame


def _pandas_column(pd: Any, vector: Vector, dtype: Any) -> Any:
    looked = _lookup(vector)
    if looked is not None:
        return _pandas_lookup(pd, *looked, dtype, vector)
    data, gaps = numbers(vector)
    if dtype is None:
        array = _arrow_array(vector, None)
        return pd.Series(array.to_pandas()) if gaps.any() or vector.column.kind is Kind.DATETIME else pd.Series(data)
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Series(pd.Categorical(np.where(gaps, None, data.astype(object)), dtype=dtype))
    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(pd.array(_arrow_array(vector, dtype.pyarrow_dtype), dtype=dtype))
    if vector.column.kind is Kind.DATETIME:
        moments = data.astype(f"datetime64[{'ns' if vector.column.decimals == 9 else 'us'}]")
        moments[gaps] = np.datetime64("NaT")
        series = pd.Series(moments)
        zone = getattr(dtype, "tz", None)
        return (series.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else series).astype(dtype)
    return _pandas_numbers(pd, data, gaps, dtype)


def _pandas_numbers(pd: Any, data: AnyArray, gaps: AnyArray, dtype: Any) -> Any:
    if isinstance(dtype, np.dtype):
        if dtype == object:
            return pd.Series(np.where(gaps, None, data.astype(object)), dtype=object)
        if dtype.kind in "iu" and (gaps.any() or data.dtype.kind == "f"):
            dtype = pd.Int64Dtype() if data.dtype.kind != "f" else np.dtype("float64")
        elif dtype.kind == "m":
            deltas = data.astype(np.int64).astype(dtype)
            deltas[gaps] = np.timedelta64("NaT")
            return pd.Series(deltas)
        else:
            return pd.Series(np.where(gaps, np.nan, data) if gaps.any() else data).astype(dtype)
        if isinstance(dtype, np.dtype):
            return pd.Series(np.where(gaps, np.nan, data))
    if hasattr(dtype, "numpy_dtype") and hasattr(pd.arrays, "IntegerArray"):
        maker = pd.arrays.FloatingArray if dtype.kind == "f" else pd.arrays.IntegerArray
        return pd.Series(maker(data.astype(dtype.numpy_dtype), gaps.copy()))
    return pd.Series(np.where(gaps, None, data.astype(object))).astype(dtype)


def _pandas_lookup(pd: Any, values: list[Any], codes: AnyArray, dtype: Any, vector: Vector) -> Any:
    if isinstance(dtype, pd.CategoricalDtype) or (dtype is None and vector.column.kind is Kind.ORDERED):
        known = values[:-1] if not vector.is_number else values
        if dtype is None:
            dtype = pd.CategoricalDtype(known, ordered=True)
        position = {(type(v).__name__, v): i for i, v in enumerate(dtype.categories.tolist())}
        target = np.array([position.get((type(v).__name__, v), -1) for v in values] + [-1], dtype=np.int64)
        return pd.Series(pd.Categorical.from_codes(target[codes], dtype=dtype))
    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(pd.array(_arrow_lookup(values, codes, dtype.pyarrow_dtype), dtype=dtype))
    objects = np.empty(len(values) + 1, dtype=object)
    objects[:-1] = [_naive(v) for v in values]
    objects[-1] = None
    rows = pd.Series(objects[codes], dtype=object)
    if dtype is None:
        return rows.infer_objects()
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and (codes < 0).any():
        dtype = "boolean" if dtype.kind == "b" else "Int64"
    return rows.astype(dtype)


def _naive(value: Any) -> Any:
    return value if not isinstance(value, dt.datetime) else value.replace(tzinfo=value.tzinfo)
