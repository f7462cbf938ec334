"""Reading and writing files: one call each, the format by the ending of the name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.core import plugins
from dalenius.core.errors import FileError, OptionError, counted, names
from dalenius.data.files.access import existing
from dalenius.data.files.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from dalenius.data.files.csv import open_csv, read_csv, write_csv
from dalenius.data.files.dialect import Dialect, sniff_csv
from dalenius.data.files.excel import excel_sheets, read_excel, write_excel
from dalenius.data.files.geo import read_geojson, write_geojson, write_geoparquet
from dalenius.data.files.r_objects import read_r
from dalenius.data.files.scan import check_memory, memory_needed, scan_file
from dalenius.data.files.sql import Address, is_address, read_sql
from dalenius.data.files.statistical import read_statistical
from dalenius.data.files.statistical_write import write_statistical
from dalenius.data.schema import Schema
from dalenius.data.table import Table

__all__ = [
    "READING",
    "Address",
    "Dialect",
    "Opened",
    "can_write",
    "check_memory",
    "check_target",
    "excel_sheets",
    "is_address",
    "memory_needed",
    "open_file",
    "read",
    "read_csv",
    "scan_file",
    "sniff_csv",
    "takes",
    "write",
    "write_csv",
]

READING = ("missing_strings", "sheet", "separator", "decimal", "thousands", "encoding")
"""Options of `read` that say how a file is written, where that is not to be guessed."""
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_READ: dict[str, Any] = {
    **dict.fromkeys(_TEXT, read_csv),
    **dict.fromkeys((".parquet", ".pq", ".geoparquet"), read_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), read_arrow),
    **dict.fromkeys((".xlsx", ".xls", ".xlsb", ".ods"), read_excel),
    **dict.fromkeys((".sav", ".zsav", ".dta", ".xpt", ".sas7bdat"), read_statistical),
    **dict.fromkeys((".rds", ".rda", ".rdata"), read_r),
    ".geojson": read_geojson,
}
_WRITE: dict[str, Any] = {
    **dict.fromkeys(_TEXT, write_csv),
    **dict.fromkeys((".parquet", ".pq"), write_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), write_arrow),
    ".xlsx": write_excel,
    **dict.fromkeys((".sav", ".zsav", ".dta", ".xpt"), write_statistical),
    ".geojson": write_geojson,
    ".geoparquet": write_geoparquet,
}


def read(
    path: str | Path, schema: Schema | None = None, *, memory_check: bool = True, **options: Any
) -> Table:
    """Read a data file into a `Table`; its ending says what it is.

    Parameters
    ----------
    path
        CSV (.csv, .tsv, .txt), Parquet, Feather or Arrow, Excel, OpenDocument, SPSS, Stata, SAS, R (.rds, .rda),
        GeoJSON or GeoParquet; or the address of a table in a database, such as ``sqlite:people.db#people`` (see
        `dalenius.data.files.sql`).
    schema
        What the columns are. Without it kinds are inferred, and what the file itself says (labels, missing codes) is
        used. With it, every column that does not follow it is reported at once.
    memory_check
        Refuse a file that will not fit into memory before reading it.
    options
        CSV: ``dialect``, ``encoding``, ``separator``, ``decimal``, ``thousands``, ``missing_strings``; Excel:
        ``sheet``, ``missing_strings``; SPSS, Stata and SAS: ``encoding``. What is
        not given is guessed; `open_file` tells the guesses.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.csv"
    >>> write({"zip": ["01067", "80331"], "age": [31, None]}, file)
    >>> read(file).to_frame("dict")
    {'zip': ['01067', '80331'], 'age': [31, None]}
    """
    if is_address(path):
        held: Table = _called(read_sql, path, schema, **options)
        return held
    reader = _chosen(_READ | _further_readers(path), path, "read")
    if memory_check:
        check_memory(existing(path))
    table: Table = _called(reader, Path(path), schema, **options)
    return table


@dataclass(frozen=True)
class Opened:
    """A table, what was guessed about its file, and how to write another file like it.

    Attributes
    ----------
    told
        What was guessed, one line each.
    writing
        Options of `write` that keep separator, signs, encoding, gaps and sheet.
    """

    table: Table
    told: tuple[str, ...] = ()
    writing: Mapping[str, Any] = field(default_factory=dict)


def open_file(path: str | Path, schema: Schema | None = None, **options: Any) -> Opened:
    r"""Read a file as `read` does, and say what was guessed.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pay.csv"
    >>> _ = file.write_text("sex;pay\nf;3.535,34\nm;NA\n")
    >>> opened = open_file(file)
    >>> opened.told
    ('semicolon-separated, decimal comma, point between thousands, UTF-8', "'NA' read as missing in 1 column")
    >>> write(opened.table, file, **opened.writing)
    >>> file.read_text()
    'sex;pay\nf;3.535,34\nm;NA\n'
    """
    if is_address(path):
        return Opened(read(path, schema, **options))
    path = Path(path)
    ending = path.suffix.lower()
    if ending in _TEXT:
        check_memory(existing(path))
        _refuse_unknown(read_csv, options)
        missing = options.pop("missing_strings", None)
        dialect = options.pop("dialect", None) or sniff_csv(path, **options)
        table, dialect, gaps = open_csv(path, dialect, schema, missing)
        words = f"{dialect.missing!r} read as missing in {counted(gaps, 'column')}"
        return Opened(table, (str(dialect), *([words] if gaps else ())), {"dialect": dialect})
    table = read(path, schema, **options)
    if _READ.get(ending) is not read_excel:
        return Opened(table)
    sheets = excel_sheets(path)
    wanted = options.get("sheet") or 1
    sheet = sheets[wanted - 1] if isinstance(wanted, int) else wanted
    rest = [name for name in sheets if name != sheet]
    told = f"sheet {sheet!r} read; there {'is' if len(rest) == 1 else 'are'} also {names(rest)}"
    return Opened(table, (told,) if rest else (), {"sheet": sheet})


def write(data: Any, path: str | Path, **options: Any) -> None:
    """Write a `Table` or any supported frame to a file; its ending says what it becomes.

    Nothing is half-written: the file appears when it is complete, and an older one stays until then.

    Parameters
    ----------
    data
        A `Table`, or a pandas, Polars, Arrow or DuckDB frame, or a dict of columns.
    path
        Where to; .csv, .tsv, .txt, .parquet, .feather, .arrow, .xlsx, .sav, .zsav, .dta, .xpt, .geojson or .geoparquet.
    options
        CSV: ``dialect``, ``formulas`` (text that a spreadsheet would run as a formula is marked as text unless this
        is True); Excel: ``sheet``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.parquet"
    >>> write({"age": [31, None]}, file)
    >>> read(file).rows
    2
    """
    writer = check_target(path)
    if writer is write_csv and Path(path).suffix.lower() in (".tsv", ".tab"):
        options.setdefault("dialect", Dialect(separator="\t"))
    _called(writer, Table.from_frame(data), Path(path), **options)


def can_write(path: str | Path) -> bool:
    """Whether files of this ending can be written.

    Examples
    --------
    >>> can_write("people.csv"), can_write("people.sas7bdat")
    (True, False)
    """
    return Path(path).suffix.lower() in _WRITE


def check_target(path: str | Path) -> Any:
    """Refuse a file that could not be written, before any work (or privacy budget) goes into it.

    Examples
    --------
    >>> check_target("people.doc")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: people.doc: files ending in '.doc' cannot be written; supported: .csv, ...
    """
    writer = _chosen(_WRITE, path, "written")
    if Path(path).is_dir():
        raise FileError(f"{path}: is a folder; name a file in it")
    if not Path(path).absolute().parent.is_dir():
        raise FileError(f"{path}: the folder to write it to is not there")
    return writer


def _further_readers(path: str | Path) -> dict[str, Any]:
    """The reader another package offers for this ending, if we have none: a function of a path that gives a frame."""
    ending = Path(path).suffix.lower()
    if ending in _READ:
        return {}
    offered = [entry for entry in plugins.offered("readers") if f".{entry.name}" == ending]
    reader = plugins.load(offered[0]) if offered else None
    return {} if reader is None else {ending: _framed(reader)}


def _framed(reader: Any) -> Any:
    def read_frame(path: Path, schema: Schema | None = None) -> Table:
        return Table.from_frame(reader(path), schema)

    return read_frame


def _called(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a reader or writer; an option it does not have is the caller's mistake, said in one line."""
    _refuse_unknown(function, options)
    return function(*arguments, **options)


def takes(path: str | Path) -> set[str]:
    """Options that the reader of this file has.

    Examples
    --------
    >>> sorted(takes("people.xlsx"))
    ['missing_strings', 'sheet']
    """
    return set(getattr(_READ.get(Path(path).suffix.lower()), "__kwdefaults__", None) or ())


def _refuse_unknown(function: Any, options: Mapping[str, Any]) -> None:
    known = set(function.__kwdefaults__ or ()) | ({"dialect"} if function is write_csv else set())
    unknown = [name for name in options if name not in known]
    if unknown:
        has = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise OptionError(f"option {', '.join(map(repr, unknown))} is not for this type of file; {has}")


def _chosen(known: dict[str, Any], path: str | Path, verb: str) -> Any:
    ending = Path(path).suffix.lower()
    if ending not in known:
        what = f"files ending in {ending!r}" if ending else "files without an ending"
        raise FileError(f"{path}: {what} cannot be {verb}; supported: {', '.join(known)}")
    return known[ending]
