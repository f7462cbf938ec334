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

from dalenius.core.errors import DataError, names
from dalenius.data.objects import Objects, read_objects
from dalenius.data.raw import Raw, arrow_from, coded, read_arrow, scalar, text_raw

__all__ = ["Backend", "Objects", "Origin", "Raw", "open_frame", "text_raw"]

Backend = Literal["polars", "polars-lazy", "pandas", "pyarrow", "duckdb", "dict"]


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
    columns: Any = None
    """The column index of a pandas frame, which may have a name or several levels."""
    objects: Mapping[str, Objects] = field(default_factory=dict)
    left: bool = False
    """Whether the table came through the exit (`data.exit.leave`) in this very run: its texts are made up."""


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
    except nw.exceptions.DuplicateError:
        _refuse_duplicates([str(name) for name in getattr(frame, "columns", ())])
        raise
    except TypeError as error:
        raise DataError(
            f"cannot read a {type(frame).__name__} as a table; give a pandas, Polars, Arrow or DuckDB frame, a dict of "
            "columns, or a file"
        ) from error
    backend = _backend(wrapped)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect("polars" if backend == "polars-lazy" else "pyarrow")
    if backend == "pandas":
        return _open_pandas(wrapped.to_native())
    if backend in ("polars", "polars-lazy"):
        frame = wrapped.to_native()
        dtypes: dict[str, Any] = dict(frame.schema)
        raws = [read_arrow(name, _polars_arrow(frame[name])) for name in dtypes]
    else:
        arrow = wrapped.to_arrow()
        _refuse_duplicates(arrow.column_names)
        dtypes = dict(zip(arrow.column_names, arrow.schema.types, strict=True))
        raws = [read_arrow(name, arrow.column(i)) for i, name in enumerate(dtypes)]
    return Origin(backend, {name: name for name in dtypes}, dtypes), raws


def _polars_arrow(series: Any) -> Any:
    """A column as Arrow, which knows no whole numbers of 128 bits."""
    if str(series.dtype) in ("Int128", "UInt128"):
        raise DataError(
            f"column {series.name!r} holds {series.dtype} values, which are not supported; turn it into text or "
            "into numbers of 64 bits"
        )
    return series.alias("").to_arrow()


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
    raws, dtypes, objects = [], {}, {}
    for key, values in frame.items():
        name = str(key)
        dtypes[name] = values.dtype if isinstance(values, np.ndarray) else None
        if dtypes[name] in (None, object):
            raw, objects[name] = read_objects(name, values)
        else:
            raw = read_arrow(name, arrow_from(name, values))
        raws.append(raw)
    _refuse_duplicates([raw.name for raw in raws])
    return Origin("dict", {str(name): name for name in frame}, dtypes, objects=objects), raws


def _open_pandas(frame: Any) -> tuple[Origin, list[Raw]]:
    spelled = [str(name) for name in frame.columns]
    _refuse_duplicates(spelled)
    raws, objects = [], {}
    for i, name in enumerate(spelled):
        series = frame.iloc[:, i]
        if series.dtype == object:
            raw, objects[name] = read_objects(name, series.to_numpy())
        else:
            raw = _read_pandas(name, series)
        raws.append(raw)
    dtypes = {name: frame.dtypes.iloc[i] for i, name in enumerate(spelled)}
    named = dict(zip(spelled, frame.columns, strict=True))
    return Origin("pandas", named, dtypes, frame.index, frame.columns, objects), raws


def _read_pandas(name: str, series: Any) -> Raw:
    if hasattr(series, "cat"):
        codes = series.cat.codes.to_numpy().astype(np.int64)
        levels = tuple(scalar(value) for value in series.cat.categories)
        return coded(name, "category", codes, codes < 0, levels, series.cat.ordered)
    if isinstance(series.dtype, np.dtype) and series.dtype.kind == "f":
        # A NumPy float column has no other way to say "empty" than NaN, so NaN is missing here.
        return read_arrow(name, arrow_from(name, series.to_numpy()))
    masked = hasattr(series.array, "_mask") or hasattr(series.dtype, "pyarrow_dtype")
    return read_arrow(name, arrow_from(name, series, from_pandas=not masked))


def _refuse_duplicates(spelled: Sequence[str]) -> None:
    twice = [name for name, times in Counter(spelled).items() if times > 1]
    if twice:
        raise DataError(
            f"column {names(twice)} appears more than once; rename the columns so that each name is used once"
        )
