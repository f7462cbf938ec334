"""Databases in and out: a folder of files, a workbook, a DuckDB or SQLite file.

A folder holds one file a table, ``database.yaml`` (columns, keys, links) where somebody wrote one, and, where it was
written here, ``schema.sql``. Nothing is half-written: a folder is made beside the target and takes its place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DaleniusError, FileError, names
from dalenius.data.atomic import push, replacing, replacing_folder, write_text
from dalenius.data.files import can_write, read, write
from dalenius.data.files.access import damage_reported, existing
from dalenius.data.files.excel import excel_sheets, write_sheets
from dalenius.data.files.plainframe import plain_frame
from dalenius.data.files.scan import check_memory
from dalenius.data.relations import Database, Orphans
from dalenius.data.relations_yaml import Relations, read_relations
from dalenius.data.schema import Schema
from dalenius.data.table import Table

DESCRIPTION, DDL = "database.yaml", "schema.sql"
DUCKDB, SQLITE = (".duckdb", ".ddb"), (".sqlite", ".sqlite3", ".db")
BOOKS = (".xlsx", ".xls", ".xlsb", ".ods")
TYPES: Mapping[Any, str] = {
    pl.Int64: "BIGINT", pl.Float64: "DOUBLE", pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.String: "VARCHAR",
}  # fmt: skip


def is_database(path: str | Path) -> bool:
    """Whether a path holds several tables: a folder, or the file of a database.

    Examples
    --------
    >>> is_database("people.csv"), is_database("clinic.duckdb")
    (False, True)
    """
    return Path(path).is_dir() or Path(path).suffix.lower() in (*DUCKDB, *SQLITE)


def read_database(
    path: str | Path, schema: str | Path | None = None, *, orphans: Orphans | None = None
) -> Database:
    """Read all tables of a folder, workbook, DuckDB or SQLite file, with the keys and links that are known of them.

    Parameters
    ----------
    schema
        YAML file that says what columns, keys and links are; default: ``database.yaml`` in the folder. Without one they
        are guessed.
    orphans
        "drop" or "keep" rows whose parent is not there; default: as the YAML file says, an error without one.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write({"home_id": [1, 2], "area": ["n", "s"]}, folder / "homes.csv")
    >>> write({"home_id": [1, 1, 2], "age": [40, 9, 70]}, folder / "people.csv")
    >>> print(read_database(folder))
    homes: 2 rows, key home_id
    people: 3 rows
    people.home_id -> homes.home_id (1-n)
    """
    place = existing_place(path)
    beside = place / DESCRIPTION if place.is_dir() else place.with_suffix(".yaml")
    source = schema if schema is not None else (beside if beside.is_file() else None)
    known = None if source is None else read_relations(source)
    tables, endings = _tables(place, known)
    if not tables:
        raise FileError(f"{path}: there is no table in it that can be read")
    if known is None:
        base = Database.of(tables, orphans=orphans or "error")
    else:
        _refuse_unknown(path, tables, known)
        base = Database.of(
            tables,
            known.keys,
            known.links,
            order=known.order,
            rules=known.rules,
            orphans=orphans or known.orphans,
        )
    return base.with_tables(base.tables, endings=endings)


def existing_place(path: str | Path) -> Path:
    """The path, if there is a file or folder."""
    return Path(path) if Path(path).is_dir() else existing(path)


def _refuse_unknown(path: str | Path, tables: Mapping[str, Table], known: Relations) -> None:
    absent = [name for name in known.schemas if name not in tables]
    extra = [name for name in tables if name not in known.schemas]
    wrong = [f"table {names(absent)} of the description is not there"] if absent else []
    wrong += (
        [f"table {names(extra)} is not in the description; add it, or take the file out"] if extra else []
    )
    if wrong:
        raise FileError.from_faults(str(path), wrong)


def _tables(place: Path, known: Relations | None) -> tuple[dict[str, Table], dict[str, str]]:
    """Tables by name; every table that does not follow its schema is told of at once."""
    ending = place.suffix.lower()
    if place.is_dir():
        files = sorted(
            f for f in place.iterdir() if f.is_file() and can_write(f) and not f.name.startswith(".")
        )
        twice = [f.stem for f in files if sum(o.stem == f.stem for o in files) > 1]
        if twice:
            raise FileError(
                f"{place}: several files are called {names(sorted(set(twice)))}; keep one of each"
            )
        readers: dict[str, Any] = {f.stem: lambda schema, f=f: read(f, schema) for f in files}
        endings = {f.stem: f.suffix.lower() for f in files}
    elif ending in BOOKS:
        sheets = excel_sheets(place)
        readers = {sheet: lambda schema, sheet=sheet: read(place, schema, sheet=sheet) for sheet in sheets}
        endings = {}
    elif ending in (*DUCKDB, *SQLITE):
        kind = "duckdb" if ending in DUCKDB else "sqlite"
        check_memory(place)
        listed = _duckdb_tables(place) if kind == "duckdb" else _sqlite_tables(place)
        readers = {name: lambda schema, name=name: read(f"{kind}:{place}#{name}", schema) for name in listed}
        endings = {}
    else:
        raise FileError(
            f"{place}: several tables are read from a folder, a workbook, a DuckDB or a SQLite file"
        )
    tables, wrong = {}, []
    for name, reader in readers.items():
        try:
            tables[name] = reader(_schema(known, name))
        except DaleniusError as error:
            wrong += [f"table {name!r}: {fault}" for fault in error.faults]
    if wrong:
        raise FileError.from_faults(str(place), wrong)
    return tables, endings


def _schema(known: Relations | None, name: str) -> Schema | None:
    return None if known is None else known.schemas.get(name)


def _duckdb_tables(place: Path) -> list[str]:
    import duckdb  # noqa: PLC0415 (slow to import)

    with damage_reported(place, "a DuckDB file"), duckdb.connect(str(place), read_only=True) as base:
        return [row[0] for row in base.sql("show tables").fetchall()]


def _sqlite_tables(place: Path) -> list[str]:
    reading = f"{place.resolve().as_uri()}?mode=ro"
    asked = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
    with damage_reported(place, "a SQLite file"), closing(sqlite3.connect(reading, uri=True)) as base:
        return [row[0] for row in base.execute(asked)]


def write_database(base: Database, path: str | Path) -> None:
    """Write all tables: as a folder (with the YAML and the DDL), a workbook, a DuckDB or a SQLite file.

    A folder that is there already is replaced only if it is empty or was written here.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "out"
    >>> write_database(Database.of({"homes": {"id": [1]}, "people": {"home_id": [1, 1]}}), folder)
    >>> sorted(file.name for file in folder.iterdir())
    ['database.yaml', 'homes.csv', 'people.csv', 'schema.sql']
    """
    target, ending = Path(path), Path(path).suffix.lower()
    if ending in DUCKDB:
        _write_duckdb(base, target)
    elif ending in SQLITE:
        _write_sqlite(base, target)
    elif ending == ".xlsx":
        write_sheets({name: base[name] for name in base.tables}, target)
    elif ending and not target.is_dir() and can_write(target):
        raise FileError(
            f"{path}: a single file holds one table; name a folder, or a .xlsx, .duckdb or .sqlite file"
        )
    else:
        check_folder(target)
        with replacing_folder(target) as temporary:
            for name, table in base.tables.items():
                file = temporary / f"{name}{_ending(base, name)}"
                write(table, file)
                push(file)
            base.to_yaml(temporary / DESCRIPTION)
            write_text(temporary / DDL, ddl(base))


def _ending(base: Database, name: str) -> str:
    ending = base.endings.get(name, ".csv")
    return ending if can_write(f"a{ending}") else ".csv"


def check_folder(target: Path) -> None:
    """Refuse a folder that holds somebody's files, before any work goes into it.

    Examples
    --------
    >>> check_folder(Path("not-there-yet"))
    """
    if target.is_file():
        raise FileError(f"{target}: is a file; name a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / DDL).is_file():
        raise FileError(f"{target}: the folder is not empty and was not written here; choose another")


def ddl(base: Database) -> str:
    """The statements that make the empty tables, with their keys and links, in standard SQL.

    Examples
    --------
    >>> print(ddl(Database.of({"homes": {"id": [1]}, "people": {"home_id": [1, 1]}})))
    CREATE TABLE "homes" (
      "id" BIGINT PRIMARY KEY
    );
    CREATE TABLE "people" (
      "home_id" BIGINT REFERENCES "homes" ("id")
    );
    """
    return "\n".join(_create(base, name) for name in base.sequence) + "\n"


def _create(base: Database, name: str, frame: pl.DataFrame | None = None, own: bool = True) -> str:
    shown = plain_frame(base[name], name, "SQL") if frame is None else frame
    lines = []
    for column in shown.columns:
        kind = TYPES.get(shown.schema[column].base_type(), "TIMESTAMP")
        text = f"  {_quoted(column)} {kind}"
        text += " PRIMARY KEY" if base.keys.get(name) == column else ""
        for link in base.links:
            whole = base.keys.get(link.parent) == link.parent_key
            ends = link.child == name and link.child_key == column and (own or not link.own)
            if ends and whole and not _loose(base, link):
                text += f" REFERENCES {_quoted(link.parent)} ({_quoted(link.parent_key)})"
        lines.append(text)
    return f"CREATE TABLE {_quoted(name)} (\n" + ",\n".join(lines) + "\n);"


def _loose(base: Database, link: Any) -> bool:
    """Whether some rows name a parent that is not there (orphans that were kept)."""
    return bool(((base.places(link) < 0) & base[link.child][link.child_key].present).any())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _write_duckdb(base: Database, target: Path) -> None:
    import duckdb  # noqa: PLC0415 (slow to import)

    with replacing(target) as temporary:
        temporary.unlink()
        with duckdb.connect(str(temporary)) as held:
            for name in base.sequence:
                frame = plain_frame(base[name], name, "SQL")
                # DuckDB checks rows one by one: a row that names a later one of its own table would be refused
                held.execute(_create(base, name, frame, own=False))
                held.register("arriving", frame.to_arrow())
                held.execute(f"insert into {_quoted(name)} select * from arriving")
                held.unregister("arriving")


def _write_sqlite(base: Database, target: Path) -> None:
    with replacing(target) as temporary, closing(sqlite3.connect(temporary)) as held:
        for name in base.sequence:
            frame = plain_frame(base[name], name, "SQL").with_columns(
                pl.col(pl.Date, pl.Datetime).cast(pl.String)
            )
            held.execute(_create(base, name, frame))
            marks = ", ".join("?" * frame.width)
            held.executemany(f"insert into {_quoted(name)} values ({marks})", frame.iter_rows())
        held.commit()
