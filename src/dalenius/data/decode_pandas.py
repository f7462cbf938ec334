"""From vectors back to pandas, with its many ways to say the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dalenius.data.decode import arrow_array, flat, is_nan, looked_up, moments, numbers, object_cells
from dalenius.data.frames import Objects, Origin
from dalenius.data.raw import scalar
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray, Vector


def pandas_frame(vectors: Mapping[str, Vector], rows: int, origin: Origin) -> Any:
    """A pandas frame with the dtypes, column names and (when the rows are the same) index it had.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]))
    >>> pandas_frame(table.vectors, 2, table.origin).index.tolist()
    ['x', 'y']
    """
    columns = [_column(v, origin.dtypes.get(n), origin.objects.get(n)) for n, v in vectors.items()]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(rows))
    frame.columns = _names(list(vectors), origin)
    if origin.index is not None and len(origin.index) == rows:
        frame.index = origin.index
    return frame


def _names(wanted: list[str], origin: Origin) -> Any:
    """The column index as it was; for fewer columns, the part of it that is left."""
    known = list(origin.names)
    if origin.columns is not None and all(name in origin.names for name in wanted):
        if wanted == known:
            return origin.columns
        position = {name: i for i, name in enumerate(known)}
        part = origin.columns.take([position[name] for name in wanted])
        return part.remove_unused_levels() if part.nlevels > 1 else part
    return pd.Index([origin.names.get(name, name) for name in wanted], dtype=None if wanted else object)


def _column(vector: Vector, dtype: Any, objects: Objects | None) -> Any:
    if dtype is None:
        return _untyped(vector)
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        return _objects(vector, objects or Objects())
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(vector, dtype)
    if isinstance(dtype, pd.ArrowDtype):
        array = arrow_array(vector, dtype.pyarrow_dtype)
        return pd.Series(pd.array(array, dtype=pd.ArrowDtype(array.type)))
    kind = getattr(dtype, "kind", "O")
    if kind == "M":
        dates = moments(vector)
        if dates is not None:
            return _moments(*dates, dtype)
    plain = flat(vector) if kind in "iufm" else None
    if plain is not None:
        return _numbers(*plain, dtype)
    cells = object_cells(vector, Objects())
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb" and None in cells:
        dtype = {"b": "boolean", "f": "Float64"}.get(dtype.kind, "Int64")
    try:
        return pd.Series(cells, dtype=dtype)
    except (TypeError, ValueError, OverflowError):  # new values that the old dtype cannot hold
        return pd.Series(cells)


def _untyped(vector: Vector) -> Any:
    if vector.column.kind is Kind.ORDERED:
        values, codes = looked_up(vector) or ([], np.zeros(0))
        dtype = pd.CategoricalDtype([v for v in values if not is_nan(v)], ordered=True)
        return pd.Series(
            pd.Categorical.from_codes(np.where(codes < len(dtype.categories), codes, -1), dtype=dtype)
        )
    if vector.is_number and vector.column.format is None:
        if vector.column.kind is Kind.DATETIME:
            data, gaps, unit = moments(vector) or (vector.data, ~vector.present, "us")
            return _moments(data, gaps, unit, np.dtype(f"datetime64[{unit}]"))
        data, gaps = numbers(vector)
        if not gaps.any():
            return pd.Series(data)
        return _numbers(data, gaps, pd.Int64Dtype() if data.dtype.kind == "i" else np.dtype("float64"))
    return pd.Series(object_cells(vector, Objects()), dtype=object).infer_objects()


def _objects(vector: Vector, objects: Objects) -> Any:
    if objects.stamped:
        dates = moments(vector)
        if dates is not None:
            zone = getattr(objects.kind, "tz", None)
            dtype = pd.DatetimeTZDtype(dates[2], zone) if zone else np.dtype(f"datetime64[{dates[2]}]")
            series = _moments(*dates, dtype).astype(object)
            return series.where(~dates[1], objects.gap) if dates[1].any() else series
    cells = np.empty(len(vector), dtype=object)
    cells[:] = object_cells(vector, objects)
    return pd.Series(cells, dtype=object)


def _categories(vector: Vector, dtype: Any) -> Any:
    """Codes over the categories the caller had, in the caller's order; what is new is added at the end."""
    values, codes = looked_up(vector) or _number_entries(vector)
    position = {_key(scalar(v)): i for i, v in enumerate(dtype.categories)}
    new = [v for v in values if not is_nan(v) and _key(v) not in position]
    used = set(codes.tolist())
    new = [v for v in new if values.index(v) in used]
    for value in new:
        position[_key(value)] = len(position)
    target = np.array([position.get(_key(v), -1) for v in values] + [-1], dtype=np.int64)
    if new:
        dtype = pd.CategoricalDtype([*dtype.categories, *new], ordered=dtype.ordered)
    return pd.Series(pd.Categorical.from_codes(target[codes], dtype=dtype))


def _key(value: Any) -> tuple[str, Any]:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return ("number" if number else type(value).__name__), value


def _number_entries(vector: Vector) -> tuple[list[Any], AnyArray]:
    data, gaps = numbers(vector)
    distinct, inverse = np.unique(data, return_inverse=True)
    return distinct.tolist(), np.where(gaps, -1, inverse)


def _moments(data: AnyArray, gaps: AnyArray, unit: str, dtype: Any) -> Any:
    times = data.astype(f"datetime64[{unit}]")
    times[gaps] = np.datetime64("NaT")
    series = pd.Series(times)
    zone = getattr(dtype, "tz", None)
    return (series.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else series).astype(dtype)


def _numbers(data: AnyArray, gaps: AnyArray, dtype: Any) -> Any:
    if isinstance(dtype, np.dtype):
        if dtype.kind == "m":
            spans = data.astype(np.int64).astype(dtype)
            spans[gaps] = np.timedelta64("NaT")
            return pd.Series(spans)
        if dtype.kind == "f":
            return pd.Series((np.where(gaps, np.nan, data) if gaps.any() else data).astype(dtype))
        fits = data.dtype.kind != "f" or bool(np.all(data == np.round(data)))
        if gaps.any() and fits:
            dtype = pd.Int64Dtype()
        elif not fits:
            return pd.Series(np.where(gaps, np.nan, data))
        else:
            return pd.Series(data.astype(dtype))
    if dtype.kind == "f":
        return pd.Series(pd.arrays.FloatingArray(data.astype(dtype.numpy_dtype), gaps.copy()))
    if data.dtype.kind == "f" and not np.all(np.isfinite(data) & (data == np.round(data))):
        return pd.Series(pd.arrays.FloatingArray(data.astype(np.float64), gaps.copy()))
    return pd.Series(pd.arrays.IntegerArray(data.astype(dtype.numpy_dtype), gaps.copy()))
