"""CSV files: what a cell is, its text decides, so that nothing changes behind the steward's back."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, FileError
from dalenius.data.atomic import replacing
from dalenius.data.files.access import contents
from dalenius.data.files.cells import Cells, Census, NotRecords, Numbers, Texts, census
from dalenius.data.files.dialect import Dialect, header_of, sniff_csv
from dalenius.data.files.encoding import MARKS
from dalenius.data.files.first_line import refuse_record
from dalenius.data.files.formulas import as_meant, as_text, as_texts
from dalenius.data.files.gaps import gap_words, without, words_for_gaps
from dalenius.data.files.plain import plain_numbers
from dalenius.data.files.texts import raw_from_text, text_from_vector, ungrouped
from dalenius.data.frames import Origin, Raw
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.vector import Vector

SHORT_HEADER = 1 << 16
HEADER = 1 << 24
"""The first line is looked for in this many bytes."""
MOST_PLACES = 15
"""More decimals than these are not what somebody wrote, but what a program printed."""


def read_csv(
    path: str | Path,
    schema: Schema | None = None,
    *,
    dialect: Dialect | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    missing_strings: Sequence[str] | None = None,
) -> Table:
    r"""Read a CSV file; ``sniff_csv(path)`` tells beforehand what will be assumed.

    Parameters
    ----------
    path
        The file. Its first line names the columns.
    schema
        What the columns are; inferred when not given.
    dialect
        How the file is written; guessed when not given. ``encoding``, ``separator``, ``decimal`` and ``thousands`` fix
        one part of the guess.
    missing_strings
        Cells that hold exactly this are missing. By default empty cells, and words such as R's NA in a file where they
        stand among numbers (see `dalenius.data.files.gaps`); ``("",)`` takes empty cells only.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("zip,price\n01067,1.50\n80331,\n")
    >>> table = read_csv(file)
    >>> table.to_frame("dict")
    {'zip': ['01067', '80331'], 'price': [1.5, None]}
    """
    if dialect is None:
        dialect = sniff_csv(
            path, encoding=encoding, separator=separator, decimal=decimal, thousands=thousands
        )
    return open_csv(path, dialect, schema, missing_strings)[0]


def open_csv(
    path: str | Path, dialect: Dialect, schema: Schema | None = None, missing_strings: Sequence[str] | None = None
) -> tuple[Table, Dialect, int]:  # fmt: skip
    """The table, the dialect with what was found about its gaps and thousands, and how many columns hold such gaps."""
    path = Path(path)
    body = _as_utf8(contents(path), dialect, path)
    signs = census(body, dialect.quote)
    if signs.nul:
        _refuse_nul(body, path)
    header, offset = _header(body, dialect, path)
    if signs.quotes % 2:
        _refuse_open_quote(body, dialect, path)
    names = _meant(header) if signs.marks else header
    wanted = dialect, schema, missing_strings
    try:
        reader = _columns(body[offset:], signs, header, names, path, *wanted)
    except NotRecords:
        even = (
            _evened(body[offset:], dialect, len(header)) if schema is not None and schema.read_blind else None
        )
        if even is None:
            _explain(body, header, dialect, path)
        reader = _columns(even, census(even, dialect.quote), header, names, path, *wanted)
    raws = reader.finished()
    table = Table.from_raws(raws, Origin("polars", {name: name for name in names}), schema)
    dtypes = {n: pl.String for n in names if _is_text(table[n])}
    gap = next((word for word in (*reader.empty, *reader.words) if word), "")
    told = replace(dialect, missing=gap, grouped=tuple(reader.grouped))
    return replace(table, origin=replace(table.origin, dtypes=dtypes)), told, reader.gaps


def _meant(header: list[str]) -> list[str]:
    """Names without the mark that keeps a spreadsheet from running them; two that it alone tells apart keep it."""
    meant = as_meant(pl.Series(header)).to_list()
    return meant if len(set(meant)) == len(header) else header


class _Columns:
    """The columns of a file while they are typed one after the other."""

    def __init__(
        self, dialect: Dialect, schema: Schema | None, missing_strings: Sequence[str] | None
    ) -> None:
        self.dialect, self.schema, self.guess = dialect, schema, missing_strings is None
        self.empty = ("",) if missing_strings is None else tuple(missing_strings)
        self.raws: list[Raw] = []
        self.grouped: list[str] = []
        self.words: list[str] = []
        self.gaps = 0

    def column(self, name: str) -> Column | None:
        return self.schema[name] if self.schema is not None and name in self.schema else None

    def numbers(self, names: Sequence[str]) -> list[bool]:
        """Columns that may be read as numbers at once: nothing is declared that has to be looked for in their text."""
        if not self.guess and any(sign.isdigit() for word in self.empty for sign in word):
            return [False] * len(names)  # -9 stands for a gap: a number is looked at as it is written
        columns = map(self.column, names)
        return [c is None or (c.kind in (Kind.INTEGER, Kind.CONTINUOUS) and not c.special) for c in columns]

    def gap_words(self, texts: pl.Series) -> list[str]:
        """Words among these that stand for a gap where all others are numbers."""
        return words_for_gaps(texts) if self.guess else [word for word in self.empty if word]

    def take(self, name: str, column: Texts | Numbers, marked: bool) -> None:
        """Type a column, and note the words for gaps among its numbers."""
        if isinstance(column, Numbers):
            self._note(column.words if self.guess else ())
            whole = column.data.dtype == np.int64
            places = column.places if 0 < column.places <= MOST_PLACES else None
            self.raws.append(
                Raw(name, "integer" if whole else "float", column.data, column.gaps, decimals=places)
            )
            return
        declared = self.column(name)
        texts, rows = column.with_gap()
        texts = as_meant(texts) if marked else texts
        gone = [w for w in self.empty if w or not (declared is not None and "" in (declared.levels or ()))]
        if gone and texts.is_in(gone).any():
            texts = texts.replace(dict.fromkeys(gone))
        raw = self._typed(name, texts, declared)
        words = gap_words(raw, declared) if self.guess and raw.storage in ("text", "mixed") else ()
        if words:
            self._note(words)
            raw = self._typed(name, texts.replace(dict.fromkeys(words)), declared)
        self.raws.append(raw if rows is None else raw.take(rows))

    def _note(self, words: Sequence[str]) -> None:
        self.words += [word for word in words if word not in self.words]
        self.gaps += bool(words)

    def _typed(self, name: str, texts: pl.Series, column: Column | None) -> Raw:
        thousands = self.dialect.thousands
        if thousands and (column is None or column.kind.is_number):
            plain = ungrouped(texts, self.dialect.decimal, thousands)
            if plain is not None:
                self.grouped = [*self.grouped, name] if name not in self.grouped else self.grouped
                texts = plain
        return raw_from_text(name, texts, self.dialect.decimal, column)

    def finished(self) -> list[Raw]:
        """All columns, with the words for gaps taken out of those of text too."""
        if not self.words:
            return self.raws
        words = tuple(self.words)
        made = [without(raw, words, self.column(raw.name)) for raw in self.raws]
        self.gaps += sum(after is not before for after, before in zip(made, self.raws, strict=True))
        return made


def _columns(
    body: memoryview, signs: Census, header: list[str], names: list[str], path: Path, dialect: Dialect,
    schema: Schema | None, missing_strings: Sequence[str] | None,
) -> _Columns:  # fmt: skip
    """The columns of the records under the first line."""
    reader = _Columns(dialect, schema, missing_strings)
    cells = Cells(body, dialect, signs.lines, len(header), "" in reader.empty)
    if schema is None or any(n not in schema for n in header):  # a schema that has them says they are names
        refuse_record(header, dict(zip(header, cells.first(), strict=True)), path)
    for name, column in zip(names, cells.columns(reader.numbers(names), reader.gap_words), strict=True):
        reader.take(name, column, marked=signs.marks > 0)
    return reader


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


def _evened(body: memoryview, dialect: Dialect, width: int) -> memoryview | None:
    """Records of one width where some are shorter or longer; None where all are as they should be."""
    csv.field_size_limit(max(csv.field_size_limit(), len(body) + 1))
    records = [record for record in _records(body, dialect) if record]
    if all(len(record) == width for record in records):
        return None
    text = io.StringIO()
    writer = csv.writer(text, delimiter=dialect.separator, quotechar=dialect.quote, lineterminator="\n")
    writer.writerows(record[:width] + [""] * (width - len(record)) for record in records)
    return memoryview(text.getvalue().encode("utf-8"))


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
    written = None if formulas else as_texts
    columns = []
    for name, vector in table.vectors.items():
        thousands = dialect.thousands if name in dialect.grouped else ""
        whole = vector.column.kind is Kind.INTEGER
        plain = plain_numbers(vector) if not thousands and (whole or dialect.decimal == ".") else None
        columns.append(
            text_from_vector(vector, dialect.decimal, name in zoned, written, thousands)
            if plain is None
            else plain
        )
    if not formulas:
        columns = [column.alias(as_text(column.name)) for column in columns]
    if len(columns) == 1:
        # Written as "", since many readers skip an empty line.
        columns = [columns[0].cast(pl.String).fill_null(dialect.missing)]
    frame = pl.DataFrame(columns)
    mark = next((m for m, name in MARKS if name == dialect.encoding), b"") if dialect.mark else b""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(mark)
        target: Any = stream if dialect.encoding == "utf-8" else io.BytesIO()
        frame.write_csv(
            target, separator=dialect.separator, quote_char=dialect.quote, line_terminator=dialect.newline,
            null_value=dialect.missing,
        )  # fmt: skip
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
