"""Streams of record batches: Parquet by row groups, CSV, Arrow and lazy Polars frames, a part of the rows at a time."""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from dalenius.core.errors import DataError, FileError
from dalenius.data.files.dialect import Dialect, sniff_csv

ROWS = 1 << 17
"""Rows of a batch: its codes stay in the cache while one table after the other is counted."""
PARQUET, CSV, ARROW = (".parquet", ".pq"), (".csv", ".tsv", ".tab", ".txt"), (".arrow", ".feather", ".ipc")
BLOCK = 1 << 23
"""Bytes of a CSV file that are read at a time."""
TEXT = pa.dictionary(pa.int32(), pa.string())


class Stream(Protocol):
    """Rows that come in batches, from the beginning whenever they are asked for."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types as they are stored."""

    @property
    def decimal(self) -> str | None:
        """Decimal mark when every value comes as text, to be typed afterwards; otherwise None."""

    @property
    def where(self) -> str:
        """What messages call the source."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""


@dataclass(eq=False)
class ParquetStream:
    """One Parquet file, or several with the same columns."""

    paths: tuple[str, ...]
    rows: int = ROWS
    decimal: str | None = None

    @property
    def where(self) -> str:
        """What messages call the source."""
        return self.paths[0]

    @property
    def pattern(self) -> Any:
        """What DuckDB opens."""
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types as they are stored."""
        with _opening(self.paths[0]):
            return _parquet(self.paths[0]).schema_arrow

    @property
    def count(self) -> int:
        """Rows of all files, without reading them."""
        total = 0
        for path in self.paths:
            with _opening(path):
                total += int(_parquet(path).metadata.num_rows)
        return total

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order; text keeps the dictionaries it has in the file."""
        first: pa.Schema | None = None
        for path in self.paths:
            with _opening(path):
                kinds = _parquet(path).schema_arrow
                text = [name for name in columns if name in kinds.names and _is_text(kinds.field(name).type)]
                file = _parquet(path, text)
            first = first or kinds
            _refuse_changes(path, first, kinds, columns)
            row = 0
            for group in range(file.num_row_groups):
                with _reading(path, row, f"row group {group + 1} of {file.num_row_groups}"):
                    for batch in file.iter_batches(self.rows, row_groups=[group], columns=list(columns)):
                        yield batch
                        row += batch.num_rows


class _BadRow:
    """Remembers which row of a CSV file has too many or too few columns."""

    number: int | None = None

    def note(self, row: Any) -> str:
        """Called by Arrow; stop."""
        self.number = row.number
        return "error"


@dataclass(eq=False)
class CsvStream:
    """A CSV file, all of it as text."""

    path: str
    rows: int = ROWS

    @property
    def where(self) -> str:
        """What messages call the source."""
        return self.path

    @property
    def pattern(self) -> str:
        """What DuckDB opens."""
        return self.path

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written."""
        return sniff_csv(self.path)

    @property
    def decimal(self) -> str | None:
        """Decimal mark: every value comes as text."""
        return self.dialect.decimal

    @cached_property
    def schema(self) -> pa.Schema:
        """Names, all of them text."""
        with (
            _reading(self.path, 0, "the first line"),
            open(self.path, encoding=self.dialect.encoding) as file,
        ):
            marks = self.dialect
            names = next(csv.reader(file, delimiter=marks.separator, quotechar=marks.quote), [])
        return pa.schema([(name.removeprefix("\ufeff"), pa.string()) for name in names])

    @property
    def guess(self) -> int:
        """About how many rows there are, by the length of the first lines."""
        with open(self.path, "rb") as file:
            head = file.read(1 << 20)
        return round(Path(self.path).stat().st_size / max(len(head), 1) * max(head.count(b"\n"), 1))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""
        row, bad = 0, _BadRow()
        with _reading(self.path, row, "the first lines", bad):
            reader = self._open(columns, bad)
        while True:
            with _reading(self.path, row, "a line with too many or too few columns", bad):
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
            for begin in range(0, batch.num_rows, self.rows):
                yield batch.slice(begin, self.rows)
            row += batch.num_rows

    def _open(self, columns: Sequence[str], bad: _BadRow) -> Any:
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 (few calls read CSV in a stream)

        dialect = self.dialect
        parse = arrow_csv.ParseOptions(
            invalid_row_handler=bad.note,
            delimiter=dialect.separator,
            quote_char=dialect.quote,
            double_quote=True,
            newlines_in_values=True,
            ignore_empty_lines=True,
        )
        read = arrow_csv.ReadOptions(encoding=dialect.encoding, block_size=BLOCK, use_threads=False)
        kinds = dict.fromkeys(columns, TEXT)
        convert = arrow_csv.ConvertOptions(
            column_types=kinds, include_columns=list(columns) or None, strings_can_be_null=False,
            null_values=[],
        )  # fmt: skip
        return arrow_csv.open_csv(self.path, read_options=read, parse_options=parse, convert_options=convert)


@dataclass(eq=False)
class ArrowStream:
    """An Arrow table, a dataset (as of Arrow files), or a reader of batches, which can be read once."""

    source: Any
    rows: int = ROWS
    decimal: str | None = None
    where: str = "the Arrow stream"

    @property
    def schema(self) -> pa.Schema:
        """Names and types as they are stored."""
        return self.source.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""
        with _reading(self.where, 0, "a batch"):
            if isinstance(self.source, pa.Table):
                wanted = self.source.select(list(columns)).to_batches(self.rows)
            elif hasattr(self.source, "to_batches"):
                wanted = self.source.to_batches(columns=list(columns), batch_size=self.rows)
            else:
                wanted = (batch.select(list(columns)) for batch in self.source)
            for batch in wanted:
                for begin in range(0, batch.num_rows, self.rows):
                    yield batch.slice(begin, self.rows)


@dataclass(eq=False)
class PolarsStream:
    """A lazy Polars frame, run by Polars' streaming engine."""

    frame: pl.LazyFrame
    rows: int = ROWS
    decimal: str | None = None
    where: str = "the lazy frame"

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types as they are stored."""
        empty = self.frame.collect_schema().to_frame()
        return empty.to_arrow(compat_level=pl.CompatLevel.oldest()).schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""
        batches = self.frame.select(list(columns)).collect_batches(chunk_size=self.rows)
        for part in batches:
            arrow = part.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
            yield from arrow.to_batches()


@dataclass(eq=False)
class Passed:
    """A stream that is handed on: what is read changes, what is told about the source does not."""

    stream: Stream

    @property
    def schema(self) -> pa.Schema:
        """Names and types as they are stored."""
        return self.stream.schema

    @property
    def decimal(self) -> str | None:
        """Decimal mark when every value comes as text."""
        return self.stream.decimal

    @property
    def where(self) -> str:
        """What messages call the source."""
        return self.stream.where


@dataclass(eq=False)
class WatchedStream(Passed):
    """A stream that tells how many of its rows have gone by.

    Examples
    --------
    >>> seen = WatchedStream(ArrowStream(pa.table({"a": [1, 2, 3]}), rows=2), print)
    >>> sum(batch.num_rows for batch in seen.batches(["a"]))
    2 rows read
    3 rows read
    3
    """

    tell: Callable[[str], None]
    what: str = ""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""
        all_rows = f" of {self.stream.count:,}" if isinstance(self.stream, ParquetStream) else ""
        rows = 0
        for batch in self.stream.batches(columns):
            yield batch
            rows += batch.num_rows
            self.tell(f"{self.what}{rows:,}{all_rows} rows read")


LOOK = 100_000
"""Rows that are looked at where a forecast is asked for."""


def first_rows(stream: Stream, columns: Sequence[str]) -> tuple[int, pa.Table]:
    """About how many rows there are, and the first of them: what a forecast may look at.

    Examples
    --------
    >>> first_rows(ArrowStream(pa.table({"a": [1, 2, 3]})), ["a"])[0]
    3
    """
    held: list[pa.RecordBatch] = []
    rows, whole = 0, True
    for batch in stream.batches(columns):
        if rows >= LOOK:
            whole = False
            break
        held.append(batch)
        rows += batch.num_rows
    table = pa.Table.from_batches(held) if held else stream.schema.empty_table().select(list(columns))
    if whole:
        return rows, table
    if isinstance(stream, ParquetStream):
        return stream.count, table
    if isinstance(stream, CsvStream):
        return stream.guess, table
    if isinstance(stream, ArrowStream) and hasattr(stream.source, "count_rows"):
        return int(stream.source.count_rows()), table
    return int(getattr(stream.source, "num_rows", rows)) if isinstance(stream, ArrowStream) else rows, table


def open_stream(path: str | Path) -> Stream:
    """Open a Parquet, CSV or Arrow file as a stream; a pattern such as ``part-*.parquet`` names several.

    Examples
    --------
    >>> open_stream("nowhere.parquet")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere.parquet: no such file; check the name and the folder
    """
    spelled = str(path)
    paths = tuple([spelled] if Path(spelled).exists() else sorted(glob.glob(spelled)))
    if not paths:
        raise FileError(f"{spelled}: no such file; check the name and the folder")
    ending = spelled.lower()
    if ending.endswith(PARQUET):
        return ParquetStream(paths)
    if ending.endswith(CSV) and len(paths) == 1:
        return CsvStream(paths[0])
    if ending.endswith(ARROW):
        from pyarrow import dataset  # noqa: PLC0415 (few calls read Arrow files)

        with _opening(spelled):
            return ArrowStream(dataset.dataset(list(paths), format="feather"), where=spelled)
    raise FileError(
        f"{spelled}: only Parquet, CSV and Arrow files are read as streams; read the file and use the table"
    )


def _parquet(path: str, text: Sequence[str] = ()) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 (loads slowly)

    return parquet.ParquetFile(path, read_dictionary=list(text) or None)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _refuse_changes(path: str, first: pa.Schema, now: pa.Schema, columns: Sequence[str]) -> None:
    faults = [
        f"column {name!r} is {'not there' if name not in now.names else now.field(name).type}, "
        f"and {first.field(name).type} in the first file"
        for name in columns
        if name not in now.names or now.field(name).type != first.field(name).type
    ]
    if faults:
        raise FileError(f"{path}: {'; '.join(faults)}; give all files the same types")


@contextmanager
def _opening(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"{path}: it cannot be opened ({type(error).__name__}); is the file whole?") from None


@contextmanager
def _reading(path: str, row: int, what: str, bad: _BadRow | None = None) -> Iterator[None]:
    """Turn Arrow's errors into ours; its own words may quote values of the file."""
    try:
        yield
    except pa.ArrowMemoryError:
        raise DataError(f"{path}: reading it needs more memory than there is; read fewer columns") from None
    except (OSError, pa.ArrowException, UnicodeError) as error:
        known = None if bad is None else bad.number
        at = (
            f"row {known:,} (the heading is row 1) has too many or too few columns and"
            if known
            else f"after row {row:,}, {what}"
        )
        raise FileError(
            f"{path}: {at} cannot be read ({type(error).__name__}); repair the file or leave the row out"
        ) from None
