"""Tables of databases, by an address where a file name is taken.

``duckdb:FILE#TABLE``, ``sqlite:FILE#TABLE`` or ``postgres://USER:PASSWORD@HOST/DATABASE#TABLE``.
A database is only ever read. An address may hold a password; messages show it without.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data.files.access import existing
from dalenius.data.schema import Schema
from dalenius.data.table import Table

FORM = re.compile(r"(duckdb|sqlite|postgres|postgresql):(.+)", re.S)


@dataclass(frozen=True, repr=False)
class Address:
    """A table of a database.

    Examples
    --------
    >>> address = Address.of("postgres://ann:secret@db.example/census#people")
    >>> address.table, str(address)
    ('people', 'postgres://db.example/census#people')
    """

    kind: str
    place: str
    table: str

    @classmethod
    def of(cls, text: str | Path) -> Address:
        """Take an address apart; one without a table is refused."""
        parts = FORM.fullmatch(str(text))
        if parts is None:
            raise FileError("no address of a database; write for example sqlite:people.db#people")
        kind, (place, mark, table) = parts[1], parts[2].rpartition("#")
        if not mark or not place or not table:
            raise FileError(f"{kind}: the address names no table; write {kind}:DATABASE#TABLE")
        if kind.startswith("postgres"):  # a path has at most one slash in a row
            return cls("postgres", re.sub(r"^/+", "", place), table)
        return cls(kind, place, table)

    def __str__(self) -> str:
        if self.kind != "postgres":
            return f"{self.kind}:{self.place}#{self.table}"
        return f"postgres://{self.place.rpartition('@')[2].partition('?')[0]}#{self.table}"

    __repr__ = __str__


def is_address(path: str | Path) -> bool:
    """Whether a name is the address of a table in a database, not of a file.

    Examples
    --------
    >>> is_address("sqlite:people.db#people"), is_address("people.csv")
    (True, False)
    """
    return FORM.fullmatch(str(path)) is not None


def read_sql(path: str | Path, schema: Schema | None = None) -> Table:
    """Read a table of a database, as a Polars frame like other files: a date stays a date.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.db"
    >>> with closing(sqlite3.connect(file)) as base:
    ...     _ = base.execute("create table people (sex text, age integer)")
    ...     _ = base.execute("insert into people values ('f', 31), ('m', null)")
    ...     base.commit()
    >>> read_sql(f"sqlite:{file}#people").to_frame("dict")
    {'sex': ['f', 'm'], 'age': [31, None]}
    """
    address = Address.of(path)
    with _safely(address):
        frame = {"duckdb": _duckdb, "sqlite": _sqlite, "postgres": _postgres}[address.kind](address)
    return Table.from_frame(frame, schema)


def _query(table: str) -> str:
    """All of a table, its name (and that of its schema, before a point) quoted."""
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
    return f"select * from {quoted}"


def _duckdb(address: Address) -> Any:
    import duckdb  # noqa: PLC0415 (slow to import)

    with duckdb.connect(str(existing(address.place)), read_only=True) as base:
        return _frame(base.sql(_query(address.table)).to_arrow_table())


def _frame(table: Any) -> Any:
    """An Arrow table as a Polars frame; what PostgreSQL calls numeric comes as text and becomes a number."""
    for place, column in enumerate(table.schema):
        if getattr(column.type, "type_name", None) == "numeric":
            numbers = table.column(place).cast(column.type.storage_type).cast("float64")
            table = table.set_column(place, column.name, numbers)
    try:
        return pl.from_arrow(table)
    except pl.exceptions.PolarsError:
        return table  # a type that Polars does not have: the border names the column


def _sqlite(address: Address) -> Any:
    place = existing(address.place).resolve().as_uri()
    with closing(sqlite3.connect(f"{place}?mode=ro", uri=True)) as base:
        return pl.read_database(_query(address.table), base, infer_schema_length=None)


def _postgres(address: Address) -> Any:
    try:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415
    except ImportError:
        raise FileError(
            f"{address}: PostgreSQL is read through ADBC, which is not installed; pip install 'dalenius[sql]'"
        ) from None
    with dbapi.connect(f"postgresql://{address.place}") as base, base.cursor() as cursor:
        cursor.execute("set transaction read only")
        cursor.execute(_query(address.table))
        return _frame(cursor.fetch_arrow_table())


@contextmanager
def _safely(address: Address) -> Iterator[None]:
    """Turn a library's error into ours: its own words may hold the password, or values."""
    try:
        yield
    except DaleniusError:
        raise
    except Exception as error:
        raise FileError(
            f"{address}: the table cannot be read ({type(error).__name__}); check the database, the table's name "
            "and your rights"
        ) from None
