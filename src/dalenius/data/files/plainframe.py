"""A table as a plain Polars frame, for formats that know only text, numbers, dates and truth values."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.errors import FileError, names
from dalenius.data.decode import moments, polars_series
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import NAN, Vector

EXACT = 2**53
"""Whole numbers up to here are exact in a format whose only number is the double."""


def plain_frame(table: Table, where: str, what: str) -> pl.DataFrame:
    """Text, Float64, Int64, Boolean, Date and Datetime only; `FileError` for what ``what`` cannot express.

    NaN becomes an empty cell; infinite numbers and whole numbers beyond 2^53 are refused, since they would change
    without a word.
    """
    columns = [_plain_series(name, vector) for name, vector in table.vectors.items()]
    endless = [s.name for s in columns if s.dtype == pl.Float64 and s.is_infinite().any()]
    long = [
        s.name for s in columns if s.dtype == pl.Int64 and bool((s.cast(pl.Float64).abs() >= EXACT).any())
    ]
    if endless:
        raise FileError(
            f"{where}: column {names(endless)} has infinite values, which {what} cannot express; use Parquet"
        )
    if long:
        raise FileError(
            f"{where}: column {names(long)} has whole numbers beyond 2^53, which {what} cannot express exactly; "
            "turn the column into text, or use Parquet"
        )
    return pl.DataFrame(columns)


def _plain_series(name: str, vector: Vector) -> pl.Series:
    if vector.column.kind is Kind.DATETIME:
        dates = moments(vector) if vector.column.format is None else None
        if dates is None:
            return polars_series(name, vector, pl.String)
        data, gaps, unit = dates
        series = (
            pl.Series(name, data).cast(pl.Datetime("ns" if unit == "ns" else "us")).cast(pl.Datetime("us"))
        )
        series = series.set(pl.Series(gaps), None)
        whole_days = bool(np.all(data[~gaps] % (86_400_000_000 * (1000 if unit == "ns" else 1)) == 0))
        return series.cast(pl.Date) if whole_days else series
    series = polars_series(name, vector, None)
    if vector.state is not None and (vector.state == NAN).any() and series.dtype == pl.Float64:
        series = series.fill_nan(None)
    if series.dtype == pl.Float64 and vector.column.kind is Kind.INTEGER:
        series = series.cast(pl.Int64)
    if series.dtype in (pl.Float64, pl.Int64, pl.Boolean, pl.String, pl.Date):
        return series
    if series.dtype.is_numeric():
        return series.cast(pl.Float64)
    return series if isinstance(series.dtype, pl.Datetime) else series.cast(pl.String)
