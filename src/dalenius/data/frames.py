"""The border: any data frame in, raw arrays out; arrays in, the caller's own frame type out.

Narwhals recognises the frame; Arrow is the common language on the way in. Nothing beyond this file and `decode.py`
knows which library the caller uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from dalenius.core.errors import DataError, names
from dalenius.data.schema import Level, typed
from dalenius.data.vector import MISSING, NAN, VALUE, AnyArray, compact

Backend = Literal["polars", "polars-lazy", "pandas", "pyarrow", "duckdb", "dict"]
Storage = Literal["integer", "float", "boolean", "datetime", "text", "category", "mixed", "null"]


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a table came from: enough to give the same frame type, names, dtypes and index back.

    Examples
    --------
    >>> Origin("polars").backend
    'polars'
    """

    backend: Backend = "polars"
    names: Mapping[str, Any] = field(default_factory=dict)
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    index: Any = None


@dataclass(frozen=True, eq=False)
class Raw:
    """A column as it was stored, before anybody decided what it means.

    Numbers and datetimes (microseconds, or nanoseconds when ``decimals`` is 9) are in ``data``; everything else is codes
    over ``levels``.
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


def open_frame(frame: Any) -> tuple[Origin, list[Raw]]:
    """Take any supported frame apart into raw columns.

    Examples
    --------
    >>> origin, raws = open_frame({"a": [1, None]})
    >>> origin.backend, raws[0].storage
    ('dict', 'integer')
    """
    if isinstance(frame, Mapping):
        return _open_dict(frame)
    try:
        wrapped = nw.from_native(frame)
    except TypeError as error:
        raise DataError(
            f"cannot read a {type(frame).__name__} as a table; give a pandas, Polars, Arrow or DuckDB frame, a dict of "
            "columns, or a file"
        ) from error
    backend = _backend(wrapped)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect("polars" if backend == "polars-lazy" else "pyarrow")
    native = wrapped.to_native()
    if backend == "pandas":
        return _open_pandas(native)
    if backend == "duckdb":
        schema = pa.schema(native.schema)
        dtypes = dict(zip(schema.names, schema.types, strict=True))
    elif backend == "pyarrow":
        _refuse_duplicates(native.column_names)
        dtypes = dict(zip(native.column_names, native.schema.types, strict=True))
    else:
        dtypes = dict(native.schema)
    arrow = native if isinstance(native, pa.Table) else None
    raws = [
        _read_arrow(name, arrow.column(i) if arrow is not None else native[name].to_arrow())
        for i, name in enumerate(dtypes)
    ]
    return Origin(backend, {name: name for name in dtypes}, dtypes), raws


def _backend(wrapped: Any) -> Backend:
    implementation = wrapped.implementation
    if implementation.is_polars():
        return "polars-lazy" if isinstance(wrapped, nw.LazyFrame) else "polars"
    if implementation.is_pandas():
        return "pandas"
    if implementation.is_pyarrow():
        return "pyarrow"
    return "duckdb" if implementation.is_duckdb() else "pyarrow"


def _open_dict(frame: Mapping[Any, Any]) -> tuple[Origin, list[Raw]]:
    lengths = Counter(len(values) for values in frame.values())
    if len(lengths) > 1:
        usual = lengths.most_common(1)[0][0]
        odd = [name for name, values in frame.items() if len(values) != usual]
        raise DataError(f"columns differ in length: {names(odd)} do not have {usual} rows")
    raws, dtypes = [], {}
    for name, values in frame.items():
        dtypes[str(name)] = values.dtype if isinstance(values, np.ndarray) else None
        raws.append(_read_objects(str(name), values))
    _refuse_duplicates([raw.name for raw in raws])
    return Origin("dict", {str(name): name for name in frame}, dtypes), raws


def _open_pandas(frame: Any) -> tuple[Origin, list[Raw]]:
    spelled = [str(name) for name in frame.columns]
    _refuse_duplicates(spelled)
    raws = []
    for i, name in enumerate(spelled):
        series = frame.iloc[:, i]
        values = series.to_numpy() if series.dtype == object else None
        raws.append(_read_objects(name, values) if values is not None else _read_pandas(name, series))
    dtypes = {name: frame.dtypes.iloc[i] for i, name in enumerate(spelled)}
    return Origin("pandas", dict(zip(spelled, frame.columns, strict=True)), dtypes, frame.index), raws


def _read_pandas(name: str, series: Any) -> Raw:
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype) and kind == "f":
        # A NumPy float column has no other way to say "empty" than NaN, so NaN is missing here.
        return _read_arrow(name, pa.array(series.to_numpy(), from_pandas=True))
    if hasattr(series, "cat"):
        categories = series.cat.categories
        objects = categories.to_numpy(dtype=object) if categories.dtype == object else categories.tolist()
        codes = series.cat.codes.to_numpy().astype(np.int64)
        return _coded(
            name, "category", codes, codes < 0, tuple(_scalar(v) for v in objects), series.cat.ordered
        )
    return _read_arrow(name, pa.array(series, from_pandas=not hasattr(series.array, "_mask")))


def _refuse_duplicates(spelled: Sequence[str]) -> None:
    twice = [name for name, times in Counter(spelled).items() if times > 1]
    if twice:
        raise DataError(
            f"column {names(twice)} appears more than once; rename the columns so that each name is used once"
        )


def _read_objects(name: str, values: Any) -> Raw:
    """Python objects: let Arrow type them if they are of one kind, otherwise keep each as it is."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return _read_arrow(name, pa.array(values, from_pandas=True))
    kinds = {type(value) for value in values}
    kinds -= {type(None)}
    one_kind = len(kinds) <= 1 or kinds <= {int, float}
    if one_kind and not (kinds & {list, dict, set, tuple}):
        try:
            from_pandas = isinstance(values, np.ndarray) and values.dtype != object
            return _read_arrow(name, pa.array(values, from_pandas=from_pandas))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass
    position: dict[tuple[str, Any], int] = {}
    try:
        codes = np.fromiter(
            (-1 if _is_gap(v) else position.setdefault(typed(_scalar(v)), len(position)) for v in values),
            dtype=np.int64,
            count=len(values),
        )
    except TypeError as error:
        raise DataError(
            f"column {name!r} holds lists or other nested values; turn each into its own column"
        ) from error
    levels = tuple(key[1] for key in position)
    storage: Storage = "text" if all(isinstance(v, str) for v in levels) else "mixed"
    return _sorted(_coded(name, storage if levels else "null", codes, codes < 0, levels, False))


def _is_gap(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float) and value != value)
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _scalar(value: Any) -> Any:
    """Plain Python value of a NumPy or pandas scalar."""
    if type(value).__name__ == "Timestamp":
        return value.to_pydatetime()
    return value.item() if isinstance(value, np.generic) else value


def _read_arrow(name: str, column: pa.Array | pa.ChunkedArray) -> Raw:
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
    raise DataError(
        f"column {name!r} holds {kind} values, which are not supported; turn it into text, numbers or dates"
    )


def text_raw(name: str, texts: pl.Series) -> Raw:
    """A column of text as codes over its sorted distinct values; a million different names take about a second.

    Examples
    --------
    >>> text_raw("a", pl.Series(["b", "a", None])).levels
    ('a', 'b')
    """
    distinct = texts.drop_nulls().unique().sort()
    gaps = texts.is_null().to_numpy() if texts.null_count() else None
    if not len(distinct):
        return Raw(name, "null" if len(texts) else "text", np.zeros(len(texts), np.uint8), _state(gaps), ())
    codes = texts.cast(pl.Enum(distinct)).to_physical().fill_null(0).to_numpy()
    return Raw(name, "text", compact(codes, len(distinct)), _state(gaps), tuple(distinct.to_list()))


def _polars_text(column: pa.Array) -> pl.Series:
    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made.cast(pl.String)


def _read_integers(name: str, column: pa.Array, gaps: AnyArray | None) -> Raw:
    if column.type == pa.uint64() and len(column) and (pc.max(column).as_py() or 0) >= 2**63:
        return _as_levels(name, column)
    data = _numpy(pc.fill_null(column.cast(pa.int64()), 0)).astype(np.int64)
    return Raw(name, "integer", data, _state(gaps))


def _as_levels(name: str, column: pa.Array) -> Raw:
    """Values that fit no number type here: kept exactly, as levels."""
    return _sorted(_read_dictionary(name, "mixed", column.dictionary_encode()))


def _read_dictionary(name: str, storage: Storage, array: pa.DictionaryArray) -> Raw:
    codes = _numpy(pc.fill_null(array.indices.cast(pa.int64()), -1))
    return _coded(name, storage, codes, codes < 0, tuple(array.dictionary.to_pylist()), array.type.ordered)


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
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


def _coded(
    name: str, storage: Storage, codes: AnyArray, gaps: AnyArray, levels: tuple[Any, ...], ordered: bool
) -> Raw:
    clean = np.where(gaps, 0, codes) if gaps.any() else codes
    return Raw(name, storage, compact(clean, len(levels)), _state(gaps), levels, bool(ordered))


def _sorted(raw: Raw) -> Raw:
    """Levels in a stable order of their own, so that codes do not depend on the order of the rows."""
    levels = raw.levels or ()
    order = sorted(range(len(levels)), key=lambda i: (type(levels[i]).__name__, levels[i]))
    rank = np.empty(len(levels), dtype=np.int64)
    rank[order] = np.arange(len(levels))
    data = compact(rank[raw.data], len(levels)) if len(levels) else raw.data
    return Raw(raw.name, raw.storage, data, raw.state, tuple(levels[i] for i in order), raw.ordered)
