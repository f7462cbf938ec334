"""Files from outside: refused before they are read when they are built to swell."""

from __future__ import annotations

import zipfile
from pathlib import Path

from dalenius.core.errors import DataError

MOST_COLUMNS = 2_000
LONGEST_LINE = 1_000_000
SWELL = 50
"""How many times larger than its file a compressed table may become."""


def inspect(path: Path, limit: int) -> None:
    r"""Raise for files that would swell beyond reason: endless lines, thousands of columns, compression bombs.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "bomb.csv"
    >>> _ = path.write_text(",".join("x" * 3000) + "\n")
    >>> inspect(path, 10**9)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: the file has more than 2,000 columns; the page does not read such files
    """
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv", ".txt"):
        _text(path)
    elif ending == ".xlsx":
        _zip(path, limit)
    elif ending in (".parquet", ".geoparquet"):
        _parquet(path, limit)


def _text(path: Path) -> None:
    with path.open("rb") as stream:
        first = stream.readline(LONGEST_LINE + 1)
        longest = len(first)
        if max(first.count(mark) for mark in (b",", b";", b"\t", b"|")) >= MOST_COLUMNS:
            raise DataError(
                f"the file has more than {MOST_COLUMNS:,} columns; the page does not read such files"
            )
        rest = 0
        while block := stream.read(1 << 20):
            parts = block.split(b"\n")
            longest = max(longest, rest + len(parts[0]), *(len(part) for part in parts[1:]))
            rest = len(parts[-1]) + (rest if len(parts) == 1 else 0)
    if longest > LONGEST_LINE:
        raise DataError(
            f"a line of the file is longer than {LONGEST_LINE:,} bytes; the page does not read such files"
        )


def _zip(path: Path, limit: int) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
    except zipfile.BadZipFile:
        raise DataError("the file is not a workbook") from None
    _swell(size, path, limit)


def _parquet(path: Path, limit: int) -> None:
    import pyarrow as pa  # noqa: PLC0415 (read where needed)
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        found = pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        raise DataError("the file is not a Parquet file") from None
    if found.num_columns > MOST_COLUMNS:
        raise DataError(f"the file has more than {MOST_COLUMNS:,} columns; the page does not read such files")
    # Eight bytes a cell: run-length coding can hide a billion equal values in a few kilobytes.
    _swell(8 * found.num_rows * found.num_columns, path, limit)
    groups = [found.row_group(g) for g in range(found.num_row_groups)]
    _swell(sum(g.total_byte_size for g in groups), path, limit)
    try:
        _swell(_text_bytes(path, limit), path, limit)
    except (pa.ArrowException, OSError, MemoryError):
        raise DataError("the file is a damaged Parquet file") from None


def _text_bytes(path: Path, limit: int) -> int:
    """Bytes of all texts once each is written out; a dictionary can name one long text a million times.

    Texts are read as codes into their dictionary, so looking costs no more memory than the file.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    kinds = pq.read_schema(path)
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_dictionary)
    texts = [field.name for field in kinds if any(test(field.type) for test in is_text)]
    total = 0
    with pq.ParquetFile(path, read_dictionary=texts) as held:
        for name in texts:
            for batch in held.iter_batches(batch_size=1 << 16, columns=[name]):
                column = batch.column(0)
                lengths = pc.binary_length(column.dictionary)
                total += pc.sum(lengths.take(column.indices.drop_null())).as_py() or 0
                if total > SWELL * limit:
                    return total
    return total


def _swell(size: int, path: Path, limit: int) -> None:
    if size > limit and size > SWELL * path.stat().st_size:
        raise DataError("the file would become far larger than it is; the page does not read such files")
