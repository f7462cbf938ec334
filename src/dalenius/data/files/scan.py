"""Files larger than memory: what they would need, a clear refusal, and DuckDB to work on them where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq

from dalenius.core.errors import FileError
from dalenius.data.files.access import damage_reported, existing

SHARE = 0.8
"""Part of the free memory that one table may take."""
GROWTH = {".csv": 8.0, ".tsv": 8.0, ".tab": 8.0, ".txt": 8.0, ".xlsx": 20.0}
"""Peak memory of reading as a multiple of the file size: measured (6.2 for a CSV of 100 MB, about 14 for Excel) and
rounded up; what the libraries themselves take once, about 50 MB, is not counted."""
OTHER_GROWTH = 12.0
"""SPSS, Stata and SAS took 4 to 9 times the file, compressed Arrow files 11 times."""
SCANNED = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq")


def memory_needed(path: str | Path) -> int:
    r"""Bytes that reading this file into a table takes at its peak, estimated from its size (Parquet: its footer).

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> memory_needed(file)
    32
    """
    path = existing(path)
    ending = path.suffix.lower()
    if ending in (".parquet", ".pq", ".geoparquet"):
        with damage_reported(path, "Parquet"):
            footer = pq.ParquetFile(path).metadata
            held = sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))
        return int(4 * held + 20 * footer.num_rows * footer.num_columns)
    return int(GROWTH.get(ending, OTHER_GROWTH) * path.stat().st_size)


def check_memory(path: str | Path, free: int | None = None) -> None:
    r"""Refuse a file that will not fit, before anything is read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> check_memory(file)
    """
    free = psutil.virtual_memory().available if free is None else free
    needed = memory_needed(path)
    if needed > SHARE * free:
        scanned = Path(path).suffix.lower() in SCANNED
        remedy = (
            "use scan_file to count or sample it where it lies, or"
            if scanned
            else "convert it to Parquet, or"
        )
        raise FileError(
            f"{path}: reading it takes about {needed / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; {remedy} read "
            "it on a larger machine (memory_check=False tries all the same)"
        )


def scan_file(path: str | Path, connection: Any = None) -> Any:
    r"""A DuckDB relation over a CSV or Parquet file; nothing is read until it is asked for.

    CSV columns are text here, because only a full read can tell a code from a number.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("a,b\n1,x\n2,y\n")
    >>> scan_file(file).aggregate("count(*) as rows").fetchall()
    [(2,)]
    """
    import duckdb  # noqa: PLC0415 (takes a while to load)

    from dalenius.data.files.dialect import sniff_csv  # noqa: PLC0415

    path = existing(path)
    database = connection if connection is not None else duckdb
    ending = path.suffix.lower()
    if ending not in SCANNED:
        raise FileError(f"{path}: only CSV and Parquet files can be scanned; convert it with write first")
    if ending in (".parquet", ".pq"):
        with damage_reported(path, "Parquet"):
            return database.read_parquet(str(path))
    dialect = sniff_csv(path)
    if dialect.encoding != "utf-8":
        raise FileError(f"{path}: {dialect.ground or dialect.encoding}; convert the file to UTF-8 to scan it")
    with damage_reported(path, "CSV"):
        return database.read_csv(
            str(path),
            header=True,
            sep=dialect.separator,
            quotechar=dialect.quote,
            escapechar=dialect.quote,
            all_varchar=True,
        )
