"""Writing SPSS, Stata and SAS transport files with labels and missing codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, FileError, names
from dalenius.data.atomic import replacing
from dalenius.data.files.plainframe import plain_frame
from dalenius.data.files.statistical import pyreadstat
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import SPECIAL

LONGEST_NAME = {".sav": 64, ".zsav": 64, ".dta": 32, ".xpt": 32}
LONGEST_TEXT = 32_767
"""Bytes of a text in SPSS and SAS; a longer one would damage the file without a word."""
LARGEST_XPT = 7.2e75
"""Numbers from here on would become infinite in the number format of SAS transport files."""
_FORMATS = {".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata", ".xpt": "SAS transport"}


def write_statistical(table: Table, path: str | Path) -> None:
    """Write SPSS (.sav, .zsav), Stata (.dta) or SAS transport (.xpt, version 8).

    Labels of the schema go into the file (SAS transport keeps column labels only); missing and not-applicable codes
    become user-defined missing values in SPSS and Stata.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.dta"
    >>> write_statistical(Table.from_frame({"age": [31, 64]}), file)
    >>> file.exists()
    True
    """
    path = Path(path)
    ending = path.suffix.lower()
    library = pyreadstat()
    _refuse_names(table, path, ending)
    frame = plain_frame(table, str(path), _FORMATS[ending])
    _refuse_values(frame, path, ending)
    frame = frame.with_columns(pl.col(pl.Date).cast(pl.Date), pl.col(pl.String).fill_null(""))
    options: dict[str, Any] = {"column_labels": {c.name: c.label for c in table.schema if c.label}}
    if ending != ".xpt":
        options["file_label"] = table.schema.title[:80]
        options["variable_value_labels"] = _value_labels(table, frame, ending)
    if ending in (".sav", ".zsav"):
        options |= _spss(table, frame, path, ending)
    data: Any = frame
    if ending == ".dta":
        data, options["missing_user_values"] = _stata_letters(table, frame)
    writers = {".dta": library.write_dta, ".xpt": library.write_xport}
    with replacing(path) as temporary:
        _write(writers.get(ending, library.write_sav), data, temporary, path, options)


def _write(
    writer: Callable[..., None], data: Any, temporary: Path, path: Path, options: dict[str, Any]
) -> None:
    try:
        writer(data, str(temporary), **options)
    except OSError:
        raise
    except Exception as error:  # the library raises errors of its own kind, some of which quote cells
        raise FileError(
            f"{path}: the table does not fit this format ({type(error).__name__}); shorten texts and names, or write "
            "CSV or Parquet"
        ) from None


def _refuse_names(table: Table, path: Path, ending: str) -> None:
    if not table.names:
        raise DataError(
            f"{path}: a table without columns cannot be written as {_FORMATS[ending]}; use Parquet"
        )
    longest = LONGEST_NAME[ending]
    bad = [n for n in table.names if not re.fullmatch(r"[^\W\d]\w*", n) or len(n.encode("utf-8")) > longest]
    folded = [name.lower() for name in table.names]
    twice = [n for n in table.names if ending != ".dta" and folded.count(n.lower()) > 1]
    if bad:
        raise FileError(
            f"{path}: column {names(bad)} cannot be a {_FORMATS[ending]} name (letters, digits and _, a letter first, "
            f"at most {longest} bytes); rename it"
        )
    if twice:
        raise FileError(
            f"{path}: column {names(twice)} differ only in capitals, which this format ignores; rename them"
        )


def _refuse_values(frame: pl.DataFrame, path: Path, ending: str) -> None:
    """Refuse by name what the format would change without a word."""
    texts = [s.name for s in frame.iter_columns() if s.dtype == pl.String]
    long = [n for n in texts if ending != ".dta" and (frame[n].str.len_bytes() > LONGEST_TEXT).any()]
    if long:
        raise FileError(
            f"{path}: column {names(long)} has texts beyond {LONGEST_TEXT:,} bytes, which {_FORMATS[ending]} cannot "
            "express; write CSV or Parquet"
        )
    numbers = [s for s in frame.iter_columns() if ending == ".xpt" and s.dtype == pl.Float64]
    large = [s.name for s in numbers if bool((s.abs() >= LARGEST_XPT).any())]
    if large:
        raise FileError(
            f"{path}: column {names(large)} has numbers beyond 7.2e75, which SAS transport cannot express; use Parquet"
        )


def _value_labels(table: Table, frame: pl.DataFrame, ending: str) -> dict[str, dict[Any, str]]:
    result: dict[str, dict[Any, str]] = {}
    for column in table.schema:
        numeric = frame[column.name].dtype.is_numeric()
        fitting = {
            key: label
            for key, label in column.value_labels.items()
            if isinstance(key, (int, float)) == numeric and not (ending == ".dta" and isinstance(key, float))
        }
        if fitting and (numeric or ending != ".dta"):
            result[column.name] = fitting
    return result


def _spss(table: Table, frame: pl.DataFrame, path: Path, ending: str) -> dict[str, Any]:
    ranges: dict[str, Any] = {}
    for column in table.schema:
        numeric = frame[column.name].dtype.is_numeric()
        codes = [code for code in column.special if isinstance(code, str) != numeric]
        if codes:
            ranges[column.name] = _missing_range(table, column, codes, path)
    measures = {Kind.ORDERED: "ordinal", Kind.INTEGER: "scale", Kind.CONTINUOUS: "scale", Kind.POINT: "scale"}
    return {
        "missing_ranges": ranges,
        "variable_measure": {c.name: measures.get(c.kind, "nominal") for c in table.schema},
        "variable_format": {
            c.name: f"F16.{c.decimals or 0}"
            for c in table.schema
            if c.kind in (Kind.CONTINUOUS, Kind.INTEGER) and frame[c.name].dtype.is_numeric()
        },
        "compress": ending == ".zsav",
    }


def _missing_range(table: Table, column: Column, codes: list[Any], path: Path) -> list[Any]:
    """SPSS holds three codes, or one range that must not cover an ordinary value."""
    if len(codes) <= 3:
        return codes
    if not any(isinstance(code, str) for code in codes):
        vector = table[column.name]
        held = (
            vector.values
            if vector.is_number
            else np.array([v for v in vector.levels if not isinstance(v, str)])
        )
        if not np.any((held >= min(codes)) & (held <= max(codes))):
            return [{"lo": min(codes), "hi": max(codes)}]
    raise FileError(
        f"{path}: column {column.name!r} has {len(codes)} missing codes; SPSS holds three, or one range without "
        "ordinary values: merge some codes"
    )


def _stata_letters(table: Table, frame: pl.DataFrame) -> tuple[Any, dict[str, list[str]]]:
    """Stata's own missing codes are the letters a to z among numbers."""
    letters = {
        column.name: [str(code) for code in column.special if re.fullmatch("[a-z]", str(code))]
        for column in table.schema
        if frame[column.name].dtype.is_numeric()
    }
    letters = {name: codes for name, codes in letters.items() if codes}
    if not letters:
        return frame, {}
    pandas = frame.to_pandas()
    for name in letters:
        cells = frame[name].to_numpy().astype(object)
        vector = table[name]
        for j, code in enumerate(vector.column.special):
            if vector.state is not None:
                cells[vector.state == SPECIAL + j] = code
        pandas[name] = cells
    return pandas, letters
