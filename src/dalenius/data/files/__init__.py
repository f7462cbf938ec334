"""Reading and writing files: one call each, the format by the ending of the name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalenius.core import plugins
from dalenius.core.errors import FileError, OptionError
from dalenius.data.files.access import existing
from dalenius.data.files.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from dalenius.data.files.csv import read_csv, write_csv
from dalenius.data.files.dialect import Dialect, sniff_csv
from dalenius.data.files.excel import excel_sheets, read_excel, write_excel
from dalenius.data.files.scan import check_memory, memory_needed, scan_file
from dalenius.data.files.statistical import read_statistical
from dalenius.data.files.statistical_write import write_statistical
from dalenius.data.schema import Schema
from dalenius.data.table import Table

__all__ = [
    "Dialect",
    "check_memory",
    "excel_sheets",
    "memory_needed",
    "read",
    "read_csv",
    "scan_file",
    "sniff_csv",
    "write",
    "write_csv",
]

_TEXT = (".csv", ".tsv", ".tab", ".txt")
_READ: dict[str, Any] = {
    **dict.fromkeys(_TEXT, read_csv),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), read_arrow),
    **dict.fromkeys((".xlsx", ".xls", ".xlsb", ".ods"), read_excel),
    **dict.fromkeys((".sav", ".zsav", ".dta", ".xpt", ".sas7bdat"), read_statistical),
}
_WRITE: dict[str, Any] = {
    **dict.fromkeys(_TEXT, write_csv),
    **dict.fromkeys((".parquet", ".pq"), write_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), write_arrow),
    ".xlsx": write_excel,
    **dict.fromkeys((".sav", ".zsav", ".dta", ".xpt"), write_statistical),
}


def read(
    path: str | Path, schema: Schema | None = None, *, memory_check: bool = True, **options: Any
) -> Table:
    """Read a data file into a `Table`; its ending says what it is.

    Parameters
    ----------
    path
        CSV (.csv, .tsv, .txt), Parquet, Feather or Arrow, Excel, SPSS, Stata or SAS.
    schema
        What the columns are. Without it kinds are inferred, and what the file itself says (labels, missing codes) is
        used. With it, every column that does not follow it is reported at once.
    memory_check
        Refuse a file that will not fit into memory before reading it.
    options
        CSV: ``dialect``, ``encoding``, ``separator``, ``missing_strings``; Excel: ``sheet``; SPSS, Stata and SAS:
        ``encoding``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.csv"
    >>> write({"zip": ["01067", "80331"], "age": [31, None]}, file)
    >>> read(file).to_frame("dict")
    {'zip': ['01067', '80331'], 'age': [31, None]}
    """
    reader = _chosen(_READ | _further_readers(path), path, "read")
    if memory_check:
        check_memory(existing(path))
    table: Table = _called(reader, Path(path), schema, **options)
    return table


def write(data: Any, path: str | Path, **options: Any) -> None:
    """Write a `Table` or any supported frame to a file; its ending says what it becomes.

    Nothing is half-written: the file appears when it is complete, and an older one stays until then.

    Parameters
    ----------
    data
        A `Table`, or a pandas, Polars, Arrow or DuckDB frame, or a dict of columns.
    path
        Where to; .csv, .tsv, .txt, .parquet, .feather, .arrow, .xlsx, .sav, .zsav, .dta or .xpt.
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
    writer = _chosen(_WRITE, path, "written")
    if Path(path).is_dir():
        raise FileError(f"{path}: is a folder; name a file in it")
    if writer is write_csv and Path(path).suffix.lower() in (".tsv", ".tab"):
        options.setdefault("dialect", Dialect(separator="\t"))
    _called(writer, Table.from_frame(data), Path(path), **options)


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
    known = set(function.__kwdefaults__ or ()) | ({"dialect"} if function is write_csv else set())
    unknown = [name for name in options if name not in known]
    if unknown:
        has = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise OptionError(f"option {', '.join(map(repr, unknown))} is not for this type of file; {has}")
    return function(*arguments, **options)


def _chosen(known: dict[str, Any], path: str | Path, verb: str) -> Any:
    ending = Path(path).suffix.lower()
    if ending not in known:
        what = f"files ending in {ending!r}" if ending else "files without an ending"
        raise FileError(f"{path}: {what} cannot be {verb}; supported: {', '.join(known)}")
    return known[ending]
