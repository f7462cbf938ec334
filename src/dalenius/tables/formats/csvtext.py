"""CSV files of tables: all columns as text, and no code that a spreadsheet would run as a formula."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from dalenius.data import Table
from dalenius.data.files.csv import write_csv
from dalenius.data.files.formulas import as_meant


def write_text(frame: pl.DataFrame, path: Path) -> None:
    """Write the columns as they read; text that looks like a formula is marked as text."""
    write_csv(Table.from_frame(frame.with_columns(pl.all().cast(pl.String))), path)


def read_text(path: Path) -> pl.DataFrame:
    """Read all columns as text, without those marks."""
    frame = pl.read_csv(path, infer_schema=False)
    return frame.select(as_meant(frame[name]).alias(new) for name, new in _headings(frame).items())


def _headings(frame: pl.DataFrame) -> dict[str, str]:
    return dict(
        zip(frame.columns, as_meant(pl.Series(frame.columns, dtype=pl.String)).to_list(), strict=True)
    )
