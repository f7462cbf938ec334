"""Parquet and Arrow files (Feather, IPC): types are kept as they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from dalenius.data.atomic import replacing
from dalenius.data.files.access import damage_reported, existing
from dalenius.data.frames import Origin, open_frame
from dalenius.data.schema import Schema
from dalenius.data.table import Table


def read_parquet(path: str | Path, schema: Schema | None = None) -> Table:
    """Read a Parquet file; the points of GeoParquet become two columns.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.parquet"
    >>> write_parquet(Table.from_frame({"a": [1, None]}), file)
    >>> read_parquet(file).to_frame("dict")
    {'a': [1, None]}
    """
    path = existing(path)
    with damage_reported(path, "Parquet"):
        arrow = pa.parquet.ParquetFile(path).read()
    if b"geo" in (arrow.schema.metadata or {}):
        from dalenius.data.files.geo import geo_table  # noqa: PLC0415 (it is made of what stands here)

        return geo_table(arrow, schema, str(path))
    return table_from_arrow(arrow, schema)


def read_arrow(path: str | Path, schema: Schema | None = None) -> Table:
    """Read an Arrow IPC or Feather file."""
    path = existing(path)
    with damage_reported(path, "Arrow or Feather"):
        arrow = pa.feather.read_table(path)
    return table_from_arrow(arrow, schema)


def table_from_arrow(arrow: pa.Table, schema: Schema | None = None) -> Table:
    """A table whose frame is Polars, with the dtypes the file had; ordered categories become an Enum."""
    _, raws = open_frame(arrow)
    polars: Any = pl.from_arrow(arrow.slice(0, 0))
    dtypes = dict(polars.schema)
    for raw in raws:
        if raw.ordered and raw.levels and all(isinstance(level, str) for level in raw.levels):
            known = dtypes[raw.name]
            dtypes[raw.name] = known if isinstance(known, pl.Enum) else pl.Enum([str(v) for v in raw.levels])
    return Table.from_raws(raws, Origin("polars", {name: name for name in dtypes}, dtypes), schema)


def arrow_from_table(table: Table) -> pa.Table:
    """The table in Arrow, with the dtypes of the frame or file it came from."""
    backend = table.origin.backend
    if backend == "pandas":
        return pa.Table.from_pandas(table.to_frame(), preserve_index=False).replace_schema_metadata()
    if backend in ("polars", "polars-lazy"):
        return table.to_frame("polars").to_arrow()
    return table.to_frame("pyarrow") if backend != "duckdb" else table.to_frame().to_arrow_table()


def write_parquet(table: Table, path: str | Path) -> None:
    """Write a Parquet file (Zstandard-compressed)."""
    arrow = arrow_from_table(table)
    with replacing(path) as temporary:
        pa.parquet.write_table(arrow, temporary, compression="zstd")


def write_arrow(table: Table, path: str | Path) -> None:
    """Write an Arrow IPC file, also called Feather version 2."""
    arrow = arrow_from_table(table)
    with replacing(path) as temporary:
        pa.feather.write_feather(arrow, str(temporary), compression="zstd")
