"""Reading and writing files: one call each, the format by the ending of the name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError, OptionError
from dalenius.data.files.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from dalenius.data.files.csv import read_csv, write_csv
from dalenius.data.files.dialect import Dialect, sniff_csv
from dalenius.data.schema import Schema
from dalenius.data.table import Table

__all__ = ["Dialect", "read_csv", "read_table", "sniff_csv", "write_csv", "write_table"]

_READ: dict[str, Any] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), read_csv),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), read_arrow),
}
_WRITE: dict[str, Any] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), write_csv),
    **dict.fromkeys((".parquet", ".pq"), write_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), write_arrow),
}


def read_table(path: str | Path, schema: Schema | None = None, **options: Any) -> Table:
    """Read a data file into a `Table`; its ending says what it is."""
    return _chosen(_READ, path, "read")(Path(path), schema, **options)  # type: ignore[no-any-return]


def write_table(data: Any, path: str | Path, **options: Any) -> None:
    """Write a `Table` or any supported frame to a file; its ending says what it becomes."""
    writer = _chosen(_WRITE, path, "written")
    if Path(path).suffix.lower() in (".tsv", ".tab") and writer is write_csv:
        options.setdefault("dialect", Dialect(separator="\t"))
    writer(Table.from_frame(data), Path(path), **options)


def _chosen(known: dict[str, Any], path: str | Path, verb: str) -> Any:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise FileError(f"{path}: files ending in {ending!r} cannot be {verb}; supported: {', '.join(known)}")
    return known[ending]
