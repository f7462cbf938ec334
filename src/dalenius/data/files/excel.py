"""Excel workbooks: read through fastexcel, written through xlsxwriter."""

from __future__ import annotations

import datetime as dt
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DataError, FileError, MissingExtraError, OptionError, names
from dalenius.data.atomic import replacing
from dalenius.data.files.access import damage_reported, existing
from dalenius.data.files.dialect import nameless
from dalenius.data.files.first_line import LOOKED_AT, looks_like_value, refuse_record
from dalenius.data.files.gaps import gap_words
from dalenius.data.files.plainframe import plain_frame
from dalenius.data.files.texts import raw_from_text
from dalenius.data.frames import Origin, open_frame, text_raw
from dalenius.data.schema import Schema
from dalenius.data.table import Table

MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_575, 16_384, 32_767


def excel_sheets(path: str | Path) -> list[str]:
    """Names of the sheets of a workbook, in order.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.xlsx"
    >>> write_excel(Table.from_frame({"a": [1, 2]}), file, sheet="people")
    >>> excel_sheets(file)
    ['people']
    """
    return list(_open(existing(path)).sheet_names)


def excel_cells(path: str | Path, sheet: str) -> list[list[str | None]]:
    """Every cell of a sheet as text, by rows from the first; no row names the columns.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.xlsx"
    >>> write_excel(Table.from_frame({"a": [1, None], "b": ["01", "02"]}), file)
    >>> excel_cells(file, "data")
    [['a', 'b'], ['1', '01'], [None, '02']]
    """
    with damage_reported(Path(path), "an Excel workbook"), _Quiet():
        frame = (
            _open(existing(path)).load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string").to_polars()
        )
    return [list(row) for row in frame.iter_rows()]


def read_excel(
    path: str | Path, schema: Schema | None = None, *, sheet: str | int | None = None,
    missing_strings: Sequence[str] | None = None,
) -> Table:  # fmt: skip
    """Read one sheet of a workbook: the first, unless ``sheet`` names another (or gives its position from 1).

    Cells that hold one of ``missing_strings`` are missing; by default those with a word such as NA among numbers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.xlsx"
    >>> write_excel(Table.from_frame({"a": [1, None], "b": ["01", "02"]}), file)
    >>> read_excel(file).to_frame("dict")
    {'a': [1, None], 'b': ['01', '02']}
    """
    path = existing(path)
    book = _open(path)
    number = _sheet_number(path, list(book.sheet_names), sheet)
    header = _header(path, book, number)
    with damage_reported(path, "an Excel workbook"), _Quiet():
        frame = book.load_sheet(
            number, schema_sample_rows=None, column_names=header, header_row=None, skip_rows=1
        ).to_polars()
    if schema is None or any(name not in schema for name in header):
        some = frame.head(LOOKED_AT)
        refuse_record(header, {name: some[name].cast(pl.String, strict=False) for name in header}, path)
    return _typed(frame, schema, missing_strings)


class _Quiet:
    """A column without any cell makes fastexcel warn in its log that it takes it for text, which is right here."""

    def __enter__(self) -> None:
        self.before = logging.root.manager.disable
        logging.disable(logging.WARNING)

    def __exit__(self, *_: object) -> None:
        logging.disable(self.before)


def _typed(frame: pl.DataFrame, schema: Schema | None, missing: Sequence[str] | None) -> Table:
    frame = _with_gaps(frame, schema, missing)
    _, raws = open_frame(frame)
    if schema is not None:
        # Numbers that somebody typed in as text are read as the schema says.
        raws = [
            raw_from_text(raw.name, frame[raw.name], column=schema[raw.name])
            if frame[raw.name].dtype == pl.String and raw.name in schema
            else raw
            for raw in raws
        ]
    # Excel has one number type, so that 3 is stored as 3.0: the kind decides whether it comes back whole.
    dtypes = {name: dtype for name, dtype in frame.schema.items() if not dtype.is_float()}
    return Table.from_raws(raws, Origin("polars", {name: name for name in frame.columns}, dtypes), schema)


def _with_gaps(frame: pl.DataFrame, schema: Schema | None, missing: Sequence[str] | None) -> pl.DataFrame:
    """The sheet without words for "missing"; a column that only they made text is one of numbers again."""
    columns = []
    for series in frame.iter_columns():
        if series.dtype != pl.String:
            columns.append(series)
            continue
        column = schema[series.name] if schema is not None and series.name in schema else None
        words = gap_words(text_raw(series.name, series), column) if missing is None else tuple(missing)
        filled = series.replace(dict.fromkeys(words)) if words else series
        numbers = filled.cast(pl.Float64, strict=False) if words else filled
        whole = words and filled.null_count() < len(filled) and numbers.null_count() == filled.null_count()
        columns.append(numbers if whole and _plain(filled) else filled)
    return pl.DataFrame(columns)


def _plain(texts: pl.Series) -> bool:
    """Whether no number has a leading zero, which makes it a code."""
    return not texts.str.contains(r"^[+-]?0[0-9]").any()


def _open(path: Path) -> Any:
    try:
        import fastexcel  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("fastexcel", "files", "read Excel files") from None
    with damage_reported(path, "an Excel workbook"):
        return fastexcel.read_excel(path)


def _sheet_number(path: Path, sheets: list[str], wanted: str | int | None) -> int:
    if wanted is None:
        return 0
    if isinstance(wanted, int):
        if not 1 <= wanted <= len(sheets):
            raise OptionError(f"{path}: there is no sheet {wanted}; the workbook has {len(sheets)}")
        return wanted - 1
    if wanted not in sheets:
        raise OptionError(f"{path}: there is no sheet {wanted!r}; there are {names(sheets)}")
    return sheets.index(wanted)


def _header(path: Path, book: Any, number: int) -> list[str]:
    with damage_reported(path, "an Excel workbook"), _Quiet():
        first = book.load_sheet(number, header_row=None, n_rows=1, dtypes="string").to_polars()
    if not first.height or not first.width:
        raise FileError(f"{path}: the sheet is empty; its first row must name the columns")
    header = [None if cell is None else str(cell) for cell in first.row(0)]
    empty = [str(i) for i, name in enumerate(header, 1) if name is None or not name.strip()]
    twice = [name for name, times in Counter(header).items() if times > 1 and name]
    if empty or twice:
        faults = [f"{nameless(empty)} in the first row"] if empty else []
        shown = "of a column" if any(looks_like_value(str(name)) for name in twice) else names(twice)
        faults += [f"column name {shown} appears more than once"] if twice else []
        remedy = "give each column a name of its own in the first row, without a title above it"
        raise FileError(f"{path}: {'; '.join(faults)}; {remedy}")
    return [str(name) for name in header]


def write_excel(table: Table, path: str | Path, *, sheet: str = "data") -> None:
    """Write a table as one sheet; text is never taken for a formula."""
    write_sheets({sheet: table}, path)


def write_sheets(tables: Mapping[str, Table], path: str | Path) -> None:
    """Write tables as the sheets of one workbook."""
    try:
        import xlsxwriter  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("xlsxwriter", "files", "write Excel files") from None
    frames = {sheet: _fitting(table, path) for sheet, table in tables.items()}
    options = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    with replacing(path) as temporary:
        book = xlsxwriter.Workbook(str(temporary), options)
        book.set_properties({"created": dt.datetime(2000, 1, 1)})  # the same data give the same bytes
        for sheet, frame in frames.items():
            places: dict[Any, Any] = {
                s.name: _places(tables[sheet], s.name) for s in frame if s.dtype == pl.Float64
            }
            frame.write_excel(
                book, sheet, column_formats=places, dtype_formats={pl.Int64: "0"}, autofilter=False
            )
        book.close()


def _fitting(table: Table, path: str | Path) -> pl.DataFrame:
    if not table.names:
        raise DataError(f"{path}: a table without columns cannot be written as Excel; use Parquet")
    if table.rows > MOST_ROWS or len(table.names) > MOST_COLUMNS:
        raise FileError(
            f"{path}: {table.rows:,} rows and {len(table.names):,} columns do not fit into an Excel sheet "
            f"({MOST_ROWS:,} by {MOST_COLUMNS:,}); write CSV or Parquet"
        )
    frame = plain_frame(table, str(path), "Excel")
    early = [s.name for s in frame if s.dtype.is_temporal() and bool((s.dt.year() < 1900).any())]
    long = [s.name for s in frame if s.dtype == pl.String and bool((s.str.len_chars() > LONGEST_TEXT).any())]
    if early:
        raise FileError(
            f"{path}: column {names(early)} has dates before 1900, which Excel cannot express; write CSV"
        )
    if long:
        raise FileError(
            f"{path}: column {names(long)} has texts beyond {LONGEST_TEXT:,} characters; write CSV"
        )
    return frame


def _places(table: Table, name: str) -> str:
    decimals = table.schema[name].decimals
    return "General" if not decimals else "0." + "0" * decimals
