"""Columns of any frame as codes, numbers and units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.core.errors import DataError, no_column
from dalenius.core.errors import names as listed
from dalenius.outputs.query import Codes, Dimension, Floats
from dalenius.outputs.wraps.traced import bare


def column(frame: Any, name: Any) -> Any:
    """One column of a pandas or Polars frame, or of a mapping; faults are told with a remedy."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.select(pl.col(str(name))).collect()
    there = [
        str(c)
        for c in (frame.keys() if hasattr(frame, "keys") and not hasattr(frame, "columns") else frame.columns)
    ]
    wanted = str(name)
    twice = [n for n, times in Counter(there).items() if times > 1 and n == wanted]
    if twice:
        raise DataError(
            f"column {listed(twice)} appears more than once; rename the columns so that each name is used once"
        )
    if wanted not in there:
        raise DataError(no_column([wanted], there))
    return frame[name]


def rows_of(frame: Any) -> int:
    """Number of rows of a frame."""
    if isinstance(frame, pl.LazyFrame):
        return int(frame.select(pl.len()).collect().item())
    return len(frame) if not isinstance(frame, dict) else len(next(iter(frame.values()), ()))


def dimension(series: Any, name: str, keep_missing: bool = False) -> Dimension:
    """A column as codes over its categories, in their order; missing is -1, or a category of its own.

    Examples
    --------
    >>> d = dimension(pd.Series(["b", "a", None]), "x")
    >>> d.labels, d.codes.tolist()
    (('a', 'b'), [1, 0, -1])
    """
    series = bare(series)
    codes, labels = _polars_codes(series) if isinstance(series, pl.Series) else _pandas_codes(series)
    order = True if _has_order(series) else None
    if keep_missing and len(codes) and int(codes.min()) < 0:
        codes = np.where(codes < 0, len(labels), codes.astype(np.int32)).astype(np.int32)
        labels, order = (*labels, "missing" if "missing" not in labels else "no value"), None
    return Dimension(name, codes, labels, order)


def _has_order(series: Any) -> bool:
    """Whether the categories of a column were put into an order."""
    if isinstance(series, pl.Series):
        return series.dtype == pl.Enum
    kind = getattr(series, "dtype", None)
    return isinstance(kind, pd.CategoricalDtype) and bool(kind.ordered)


def _pandas_codes(series: Any) -> tuple[Codes, tuple[Any, ...]]:
    series = series if isinstance(series, pd.Series | pd.Index) else pd.Series(np.asarray(series))
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = np.asarray(series.cat.codes)
        return _occurring(codes, tuple(series.cat.categories))
    try:
        found, levels = pd.factorize(series, sort=True)
    except TypeError:  # categories of mixed types have no order
        found, levels = pd.factorize(series)
    return found.astype(_narrow(len(levels))), tuple(levels.tolist())


def _narrow(labels: int) -> Any:
    """The smallest type for codes of so many labels: a desk keeps those of all its outputs."""
    return np.int8 if labels < 2**7 else np.int16 if labels < 2**15 else np.int32


def _polars_codes(series: pl.Series) -> tuple[Codes, tuple[Any, ...]]:
    if series.dtype in (pl.Categorical, pl.Enum):
        held = series.unique().drop_nulls()
        labels, codes = held.cast(pl.String).to_list(), held.to_physical().to_numpy().astype(np.int64)
        order = np.argsort(codes if series.dtype == pl.Enum else np.array(labels, object), kind="stable")
        places = np.full(int(codes.max(initial=-1)) + 2, -1, _narrow(len(labels)))
        places[codes[order]] = np.arange(len(labels))
        raw = series.to_physical()
        raw = raw.fill_null(len(places) - 1) if raw.null_count() else raw
        return places[raw.to_numpy()], tuple(labels[i] for i in order)
    levels = series.drop_nulls().unique().sort()
    table = pl.DataFrame({"k": levels, "i": np.arange(len(levels), dtype=_narrow(len(levels)))})
    joined = pl.DataFrame({"k": series}).join(table, on="k", how="left", maintain_order="left")
    return joined["i"].fill_null(-1).to_numpy(), tuple(levels.to_list())


def _occurring(codes: Codes, labels: tuple[Any, ...]) -> tuple[Codes, tuple[Any, ...]]:
    """Codes over the labels that occur."""
    held = np.bincount(codes.astype(np.int64) + 1, minlength=len(labels) + 1)[1:] > 0
    if held.all():
        return codes, labels
    return _renumbered(codes, np.cumsum(held) - 1), tuple(v for v, h in zip(labels, held, strict=True) if h)


def _renumbered(codes: Codes, places: Any) -> Codes:
    full = np.append(places, -1).astype(np.int32)
    return np.asarray(full[codes])


def numbers(series: Any, name: str) -> Floats:
    """A column as numbers, NaN where missing; infinite values and texts are refused.

    Examples
    --------
    >>> numbers(pd.Series([1, None, 3]), "x").tolist()
    [1.0, nan, 3.0]
    """
    try:
        if isinstance(series, pl.Series):
            found = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        else:
            found = pd.to_numeric(pd.Series(bare(series)), errors="raise").to_numpy(
                np.float64, na_value=np.nan
            )
    except (ValueError, TypeError, pl.exceptions.PolarsError):
        raise DataError(
            f"column {name!r} holds values that are not numbers; choose a column of numbers"
        ) from None
    if np.isinf(found).any():
        raise DataError(f"column {name!r} holds infinite values; make them missing, or leave these rows out")
    return np.ascontiguousarray(found)


def units(series: Any) -> tuple[Codes, Sequence[Any]]:
    """Number of the unit of each row, and the units' own names by number; a row without a name is its own unit.

    Examples
    --------
    >>> codes, ids = units(pd.Series(["b", "a", "b", None]))
    >>> codes.tolist(), list(ids)[:2]
    ([1, 0, 1, 2], ['a', 'b'])
    """
    series = bare(series)
    whole = _whole(series)
    if whole is not None and len(whole):
        low, high = int(whole.min()), int(whole.max())
        if high - low <= 4 * len(whole) + 1000:
            return np.subtract(whole, low, dtype=np.int32, casting="unsafe"), range(low, high + 1)
    found = dimension(series, "unit")
    codes = np.asarray(found.codes, np.int32)
    gaps = np.flatnonzero(codes < 0)
    if not len(gaps):
        return codes, found.labels
    codes = codes.copy()
    codes[gaps] = len(found.labels) + np.arange(len(gaps))
    return codes, [*found.labels, *(f"\x00row {i}" for i in gaps.tolist())]


def _whole(series: Any) -> Any:
    """Whole numbers without gaps as an array, or None."""
    if isinstance(series, pl.Series):
        return series.to_numpy() if series.dtype.is_integer() and not series.null_count() else None
    values = np.asarray(series) if getattr(getattr(series, "dtype", None), "kind", "O") in "iu" else None
    return values if values is not None and values.dtype.kind in "iu" else None
