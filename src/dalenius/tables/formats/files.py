"""Writing and reading published tables; the ending of the file name decides the format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.parquet as pq

from dalenius.core.errors import DataError, FileError, MissingExtraError
from dalenius.data.atomic import replacing
from dalenius.data.files.access import damage_reported, existing
from dalenius.tables.formats import jsonstat, sdmx, xlsx
from dalenius.tables.formats.csvtext import read_text, write_text
from dalenius.tables.formats.tablefile import TableFile

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression

ABOUT = b"dalenius table"


def write_table_file(
    result: Suppression | TableFile, path: str | Path, *, force: bool = False, internal: bool = False
) -> Path:
    """Write a protected table in the format of its ending: csv, xlsx, parquet, json (JSON-stat), sdmx.csv, rds, rda.

    A table whose audit fails is not written unless ``force``; it is then marked in every format. ``internal`` tells
    primary from secondary cells, for the office's own use.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> path = write_table_file(result, Path(tempfile.mkdtemp()) / "t.csv")
    >>> path.read_text().splitlines()
    ['a,freq,flag', 'Total,17,', 'x,,c', 'y,,c', 'z,9,']
    """
    target = Path(path)
    writer = WRITERS[format_of(target)]
    table = result if isinstance(result, TableFile) else TableFile.of(result, force=force, internal=internal)
    with replacing(target) as temporary:
        writer(table, temporary)
    return target


def read_table_file(path: str | Path) -> TableFile:
    r"""Read what `write_table_file` wrote, or a file of the same format from elsewhere.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = file.write_text("a,freq,flag\nTotal,17,\nx,,c\ny,,c\nz,9,\n")
    >>> read_table_file(file).suppressed.tolist()
    [False, True, True, False]
    """
    source = Path(path)
    reader = READERS[format_of(source)]
    with damage_reported(existing(source), "a table of this format"):
        try:
            return reader(source)
        except DataError as error:
            raise FileError(f"{source.name}: {error}") from error


def format_of(path: Path) -> str:
    """The format a file name asks for.

    Examples
    --------
    >>> format_of(Path("t.sdmx.csv")), format_of(Path("T.XLSX"))
    ('sdmx.csv', 'xlsx')
    """
    name = path.name.lower()
    hit = next(
        (ending for ending in sorted(WRITERS, key=len, reverse=True) if name.endswith(f".{ending}")), None
    )
    if hit is None:
        raise FileError(
            f"{path.name}: tables are written as {', '.join(f'.{ending}' for ending in WRITERS)}; "
            "give one of these endings"
        )
    return hit


def _write_csv(table: TableFile, path: Path) -> None:
    write_text(table.frame(text=True).with_columns(pl.col("^flag_*$").replace("", None)), path)


def _read_csv(path: Path) -> TableFile:
    return TableFile.from_frame(read_text(path))


def _write_parquet(table: TableFile, path: Path) -> None:
    data = table.frame().to_arrow()
    pq.write_table(
        data.replace_schema_metadata({**(data.schema.metadata or {}), ABOUT: table.about().encode()}), path
    )


def _read_parquet(path: Path) -> TableFile:
    data = pq.read_table(path)
    about = (data.schema.metadata or {}).get(ABOUT)
    frame = pl.from_arrow(data)
    assert isinstance(frame, pl.DataFrame)
    return TableFile.from_frame(frame, None if about is None else about.decode())


def _pyreadr() -> Any:
    try:
        import pyreadr  # noqa: PLC0415 (only files of R need it)
    except ImportError as error:
        raise MissingExtraError("pyreadr", "files", "read and write files of R") from error
    return pyreadr


def _write_r(table: TableFile, path: Path) -> None:
    r = _pyreadr()
    frame = table.frame().to_pandas()
    if path.suffix.lower() == ".rds":
        r.write_rds(str(path), frame)
    else:
        r.write_rdata(str(path), frame, df_name="protected")


def _read_r(path: Path) -> TableFile:
    frames = _pyreadr().read_r(str(path))
    buffer = io.StringIO(next(iter(frames.values())).to_csv(index=False))
    return TableFile.from_frame(pl.read_csv(buffer, infer_schema=False))


def _write_json(table: TableFile, path: Path) -> None:
    path.write_text(json.dumps(jsonstat.dataset(table), ensure_ascii=False, indent=1), encoding="utf-8")


def _read_json(path: Path) -> TableFile:
    return jsonstat.table_of(json.loads(path.read_text(encoding="utf-8")))


Writer = Callable[[TableFile, Path], None]
Reader = Callable[[Path], TableFile]

WRITERS: dict[str, Writer] = {
    "csv": _write_csv, "xlsx": xlsx.write, "parquet": _write_parquet, "json": _write_json, "sdmx.csv": sdmx.write,
    "rds": _write_r, "rda": _write_r,
}  # fmt: skip
READERS: dict[str, Reader] = {
    "csv": _read_csv, "xlsx": xlsx.read, "parquet": _read_parquet, "json": _read_json, "sdmx.csv": sdmx.read,
    "rds": _read_r, "rda": _read_r,
}  # fmt: skip
"""Ending → how the format is written and read."""
