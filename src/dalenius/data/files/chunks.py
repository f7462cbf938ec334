"""Files written a part of the rows at a time: Parquet, CSV and Arrow. The file appears when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dalenius.core.errors import FileError
from dalenius.data.atomic import replacing
from dalenius.data.files.columnar import arrow_from_table
from dalenius.data.files.csv import write_csv
from dalenius.data.files.dialect import Dialect
from dalenius.data.table import Table

Write = Callable[[Table], None]


@contextmanager
def write_in_chunks(path: str | Path) -> Iterator[Write]:
    """A function that adds rows to a new file, which takes the place of ``path`` when the block ends.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> with write_in_chunks(file) as add:
    ...     add(Table.from_frame({"a": [1, 2]}))
    ...     add(Table.from_frame({"a": [3]}))
    >>> file.read_text().split()
    ['a', '1', '2', '3']
    """
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise FileError(
            f"{path}: files ending in {ending!r} are not written in parts; use {', '.join(WRITERS)}"
        )
    with replacing(path) as temporary, WRITERS[ending](temporary) as add:
        yield add


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    with _arrow_batches(
        path, lambda schema: pa.parquet.ParquetWriter(path, schema, compression="zstd")
    ) as add:
        yield add


@contextmanager
def _feather(path: Path) -> Iterator[Write]:
    options = pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
    with _arrow_batches(path, lambda schema: pa.ipc.new_file(str(path), schema, options=options)) as add:
        yield add


@contextmanager
def _arrow_batches(path: Path, opened: Callable[[pa.Schema], Any]) -> Iterator[Write]:
    writer: Any = None
    schema: pa.Schema | None = None

    def add(table: Table) -> None:
        nonlocal writer, schema
        arrow = arrow_from_table(table)
        if writer is None:
            schema = arrow.schema
            writer = opened(schema)
        writer.write_table(arrow if arrow.schema == schema else arrow.cast(schema))

    try:
        yield add
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def _csv(path: Path, dialect: Dialect | None = None) -> Iterator[Write]:
    part = path.with_name(f"{path.name}.part")
    heading: int | None = None

    def add(table: Table) -> None:
        nonlocal heading
        if heading is None:
            write_csv(table.take(np.zeros(0, np.int64)), part, dialect)
            heading = part.stat().st_size
        write_csv(table, part, dialect)
        with part.open("rb") as source, path.open("ab") as target:
            source.seek(heading if path.stat().st_size else 0)
            while block := source.read(1 << 22):
                target.write(block)

    try:
        yield add
    finally:
        part.unlink(missing_ok=True)


def _tsv(path: Path) -> Any:
    return _csv(path, Dialect(separator="\t"))


WRITERS: dict[str, Any] = {
    ".parquet": _parquet, ".pq": _parquet, ".csv": _csv, ".tsv": _tsv, ".tab": _tsv, ".arrow": _feather,
    ".feather": _feather,
}  # fmt: skip
