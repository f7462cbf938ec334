"""CSV files: every column is read as text first and typed by us, so that nothing changes behind the steward's back."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

from dalenius.core.errors import DataError, FileError
from dalenius.data.atomic import replacing
from dalenius.data.files.access import contents
from dalenius.data.files.dialect import Dialect, header_of, sniff_csv
from dalenius.data.files.encoding import MARKS
from dalenius.data.files.formulas import MARK, as_meant, as_text
from dalenius.data.files.texts import raw_from_text, text_from_vector
from dalenius.data.frames import Origin
from dalenius.data.schema import Kind, Schema
from dalenius.data.table import Table
from dalenius.data.vector import Vector

BLOCK = 1 << 23
SHORT_HEADER = 1 << 16
HEADER = 1 << 24
"""The first line is looked for in this many bytes."""


def read_csv(
    path: str | Path,
    schema: Schema | None = None,
    *,
    dialect: Dialect | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    missing_strings: Sequence[str] = ("",),
) -> Table:
    r"""Read a CSV file; ``sniff_csv(path)`` tells beforehand what will be assumed.

    Parameters
    ----------
    path
        The file. Its first line names the columns.
    schema
        What the columns are; inferred when not given.
    dialect
        How the file is written; guessed when not given. ``encoding`` and ``separator`` fix one part of the guess.
    missing_strings
        Cells that hold exactly this are missing. Only empty cells are by default: "NA" may be a country.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("zip,price\n01067,1.50\n80331,\n")
    >>> table = read_csv(file)
    >>> table.to_frame("dict")
    {'zip': ['01067', '80331'], 'price': [1.5, None]}
    """
    path = Path(path)
    data = contents(path)
    if dialect is None:
        dialect = sniff_csv(path, encoding=encoding, separator=separator)
    body = _as_utf8(data, dialect, path)
    _refuse_nul(body, path)
    header, offset = _header(body, dialect, path)
    columns = _read_columns(body, offset, header, dialect, missing_strings, path)
    marked = _count(body, MARK) > 0
    meant = as_meant(pl.Series(header)).to_list() if marked else header
    if len(set(meant)) == len(header):
        columns = dict(zip(meant, columns.values(), strict=True))
        header = meant
    raws = []
    for name in header:
        column = schema[name] if schema is not None and name in schema else None
        texts = _series(name, columns.pop(name))  # one column at a time is text twice over
        texts = as_meant(texts) if marked else texts
        if "" in missing_strings and not (column is not None and "" in (column.levels or ())):
            texts = texts.replace({"": None}) if texts.dtype == pl.String and (texts == "").any() else texts
        raws.append(raw_from_text(name, texts, dialect.decimal, column))
    table = Table.from_raws(raws, Origin("polars", {name: name for name in header}), schema)
    return replace(
        table, origin=replace(table.origin, dtypes={n: pl.String for n in header if _is_text(table[n])})
    )


def _header(body: memoryview, dialect: Dialect, path: Path) -> tuple[list[str], int]:
    """Column names and the bytes they take; looks far only when the first line is long or has an open quote."""
    line, end, _ = bytes(body[:SHORT_HEADER]).lstrip(b"\r\n").partition(b"\n")
    closed = end and line.count(dialect.quote.encode()) % 2 == 0
    start = bytes(body[: SHORT_HEADER if closed else HEADER]).decode("utf-8", errors="ignore")
    header, used = header_of(start, dialect, path)
    return header, len(start[:used].encode("utf-8"))


def _is_text(vector: Vector) -> bool:
    """Columns that come back as text even when they are empty."""
    if vector.column.kind is Kind.TEXT:  # its levels, often as many as rows, are text as they were read
        return all(isinstance(code, str) for code in vector.column.special)
    if vector.column.kind is Kind.CATEGORICAL:
        return all(isinstance(level, str) for level in (*vector.levels, *vector.column.special))
    return vector.column.kind is Kind.DATETIME and vector.column.format is not None


def _as_utf8(data: memoryview, dialect: Dialect, path: Path) -> memoryview:
    start = bytes(data[:4])
    mark = next((m for m, name in MARKS if start.startswith(m) and name == dialect.encoding), b"")
    body = data[len(mark) :]
    if dialect.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "ascii", "us-ascii"):
        return body
    try:
        return memoryview(bytes(body).decode(dialect.encoding).encode("utf-8"))
    except UnicodeDecodeError as error:
        _refuse_encoding(body, error.start, dialect.encoding, path)


def _refuse_encoding(body: memoryview, position: int, encoding: str, path: Path) -> NoReturn:
    line = bytes(body[:position]).count(b"\n") + 1
    raise FileError(
        f"{path}: line {line:,} is not valid {encoding}; give the encoding the file really has"
    ) from None


def _refuse_nul(body: memoryview, path: Path) -> None:
    numbers = np.frombuffer(body, np.uint8)
    for start in range(0, len(numbers), HEADER):
        chunk = numbers[start : start + HEADER]
        if len(chunk) and chunk.min() == 0:
            where = start + int(np.argmin(chunk))
            line = int(np.count_nonzero(numbers[:where] == 10)) + 1
            wide = np.count_nonzero(numbers[:1000] == 0) > len(numbers[:1000]) / 4
            remedy = (
                "it looks like UTF-16: give encoding='utf-16-le'"
                if wide
                else "export the file again as plain text"
            )
            raise FileError(f"{path}: line {line:,} holds a NUL byte, which text files do not have; {remedy}")


def _read_columns(
    body: memoryview,
    offset: int,
    header: list[str],
    dialect: Dialect,
    missing_strings: Sequence[str],
    path: Path,
) -> dict[str, pa.ChunkedArray]:
    rest = body[offset:]
    blank = len(header) > 1 and not bytes(rest[:1024]).strip(b"\r\n") and not bytes(rest).strip(b"\r\n")
    if blank or not len(rest):
        return {name: pa.chunked_array([], pa.string()) for name in header}
    quotes = _count(rest, dialect.quote)
    if quotes % 2:
        _refuse_open_quote(body, dialect, path)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(rest)),
            arrow_csv.ReadOptions(
                column_names=header, block_size=BLOCK if quotes == 0 else max(BLOCK, len(rest) // 8)
            ),
            arrow_csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=dialect.quote,
                newlines_in_values=quotes > 0,
                ignore_empty_lines=len(header) > 1,
            ),
            arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in header},
                null_values=list(missing_strings),
                strings_can_be_null=True,
                quoted_strings_can_be_null=tuple(missing_strings) != ("",),
            ),
        )
    except pa.ArrowInvalid:
        _explain(body, header, dialect, path)
    return {name: table.column(i) for i, name in enumerate(header)}


def _series(name: str, column: pa.ChunkedArray) -> pl.Series:
    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made.alias(name)


def _count(body: memoryview, character: str) -> int:
    numbers = np.frombuffer(body, np.uint8)
    code = character.encode("utf-8")[0]
    return sum(int(np.count_nonzero(numbers[i : i + HEADER] == code)) for i in range(0, len(numbers), HEADER))


def _records(body: memoryview, dialect: Dialect, strict: bool = False) -> Any:
    text = io.TextIOWrapper(io.BytesIO(bytes(body)), encoding="utf-8", errors="replace", newline="")
    return csv.reader(text, delimiter=dialect.separator, quotechar=dialect.quote, strict=strict)


def _refuse_open_quote(body: memoryview, dialect: Dialect, path: Path) -> None:
    """An odd number of quotes: harmless inside a field (5" pipe), but an open one swallows the rest of the file."""
    csv.field_size_limit(max(csv.field_size_limit(), len(body) + 1))
    reader = _records(body, dialect)
    start = 0
    last = start
    for _ in reader:
        start, last = last, reader.line_num
    if last - start > 1 and not bytes(body).rstrip(b"\r\n").endswith(dialect.quote.encode()):
        raise FileError(
            f"{path}: a quote opened on line {start + 1:,} is never closed; close it, or double a quote that is part "
            "of the text"
        )


def _explain(body: memoryview, header: list[str], dialect: Dialect, path: Path) -> NoReturn:
    """Find the line on which reading failed; only after a failure, because it goes through the file line by line."""
    try:
        bytes(body).decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse_encoding(body, error.start, dialect.encoding, path)
    csv.field_size_limit(max(csv.field_size_limit(), len(body) + 1))
    reader = _records(body, dialect)
    line, width = 0, len(header)
    for record in reader:
        start, line = line + 1, reader.line_num
        if record and len(record) != width:
            remedy = (
                "quote fields that hold the separator"
                if len(record) > width
                else "add the fields that are missing"
            )
            raise FileError(
                f"{path}: line {start:,} has {len(record)} fields where {width} are expected; {remedy}"
            ) from None
    raise FileError(f"{path}: cannot be read as {dialect}; check encoding and separator") from None


def write_csv(
    table: Table, path: str | Path, dialect: Dialect | None = None, *, formulas: bool = False
) -> None:
    r"""Write a table as CSV: decimals and date formats by the schema, special codes as they came, quotes where needed.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless ``formulas`` lets it pass;
    `read_csv` takes it off again.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_csv(Table.from_frame({"a": [1.25, 3.0]}), file, Dialect(separator=";", decimal=","))
    >>> file.read_text()
    'a\n1,25\n3,00\n'
    >>> write_csv(Table.from_frame({"a": ["=1+1", "x"], "b": [-1, -2]}), file)
    >>> file.read_text()
    "a,b\n'=1+1,-1\nx,-2\n"
    """
    if not table.names:
        raise DataError(f"{path}: a table without columns cannot be written as CSV; use Parquet")
    dialect = dialect or Dialect()
    zoned = {name for name, dtype in table.origin.dtypes.items() if _has_zone(dtype)}
    columns = [
        text_from_vector(vector, dialect.decimal, name in zoned, str if formulas else as_text)
        for name, vector in table.vectors.items()
    ]
    if not formulas:
        columns = [column.alias(as_text(column.name)) for column in columns]
    if len(columns) == 1:
        columns = [columns[0].fill_null("")]  # written as "", since many readers skip an empty line
    frame = pl.DataFrame(columns)
    mark = next((m for m, name in MARKS if name == dialect.encoding), b"") if dialect.mark else b""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(mark)
        target: Any = stream if dialect.encoding == "utf-8" else io.BytesIO()
        frame.write_csv(
            target, separator=dialect.separator, quote_char=dialect.quote, line_terminator=dialect.newline
        )
        if dialect.encoding != "utf-8":
            stream.write(_recoded(target.getvalue(), dialect.encoding, Path(path)))


def _recoded(data: bytes, encoding: str, path: Path) -> bytes:
    try:
        return data.decode("utf-8").encode(encoding)
    except UnicodeEncodeError as error:
        line = data.decode("utf-8").count("\n", 0, error.start) + 1
        raise FileError(
            f"{path}: line {line:,} has a character that {encoding} cannot express; write the file as UTF-8"
        ) from None


def _has_zone(dtype: Any) -> bool:
    inner = getattr(dtype, "pyarrow_dtype", dtype)
    return bool(getattr(inner, "time_zone", None) or getattr(inner, "tz", None))
