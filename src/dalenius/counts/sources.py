"""Sources that group and count by themselves: DuckDB, and any lazy frame that Narwhals knows (Polars, Spark).

Only distinct combinations and their counts come back into memory, never the rows.
"""

from __future__ import annotations

import glob
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import polars as pl

from dalenius.core.errors import DataError, FileError, OptionError
from dalenius.data.files.dialect import sniff_csv

COUNT, WEIGHT, BAD, SET = "__count", "__weight", "__bad_weights", "__grouping_set"
"""Columns of a grouped result next to the caller's own."""
SETS_PER_QUERY = 64
"""Tables asked for in one query: each keeps a hash table of its own while the rows stream by."""
CELLS_PER_QUERY = 1 << 20
"""Rows that the joint result of several tables may have: it is wide, since it has the columns of all of them."""
NUMERIC = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
)
"""Beginnings of the names of DuckDB's number types."""
PARQUET, CSV = (".parquet", ".pq"), (".csv", ".tsv", ".tab", ".txt")
ENCODINGS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "ascii": "utf-8",
    "utf-16": "utf-16",
    "latin-1": "latin-1",
}
"""What DuckDB reads by itself, by the name Python gives it."""


class Source(Protocol):
    """What an engine must be able to do."""

    @property
    def decimal(self) -> str | None:
        """Decimal mark when every value comes back as text, to be typed afterwards; otherwise None."""

    @property
    def names(self) -> list[str]:
        """Column names in order."""

    def group(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        """Group by each table in turn: its columns, ``COUNT`` and, with weights, ``WEIGHT`` and ``BAD``.

        ``BAD`` is the number of rows whose weight cannot be used.
        """


class DuckSource:
    """A DuckDB relation, grouped inside DuckDB; small tables share one scan (GROUPING SETS)."""

    def __init__(self, relation: Any, where: str = "the DuckDB relation", decimal: str | None = None) -> None:
        self.relation = relation
        self.where = where
        self.decimal = decimal

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self.relation.columns)

    def group(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        """See `Source`."""
        for batch in self._batches(tables):
            yield from self._query(batch, weights)

    def _batches(self, tables: Sequence[tuple[str, ...]]) -> Iterator[Sequence[tuple[str, ...]]]:
        """Put tables together while their joint result stays small; a large one has a query of its own."""
        if len(tables) == 1:
            yield tables
            return
        used = list(dict.fromkeys(name for table in tables for name in table))
        wanted = ", ".join(["count(*)", *(f"approx_count_distinct({quoted(name)})" for name in used)])
        with self._safely():
            rows, *sizes = self.relation.aggregate(wanted).fetchall()[0]
        levels = {name: size + 2 for name, size in zip(used, sizes, strict=True)}
        begin, held = 0, 0
        for i, table in enumerate(tables):
            cells = min(rows, math.prod(levels[name] for name in table))
            if i > begin and (held + cells > CELLS_PER_QUERY or i - begin == SETS_PER_QUERY):
                yield tables[begin:i]
                begin, held = i, 0
            held += cells
        yield tables[begin:]

    def _query(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        used = list(dict.fromkeys(name for table in tables for name in table))
        which = " || ".join(f"grouping({quoted(name)})::VARCHAR" for name in used)
        measures = [f"count(*) AS {COUNT}"] + ([f"{which} AS {SET}"] if len(tables) > 1 else [])
        if weights is not None:
            weight = self._weight(weights)
            usable = f"coalesce(isfinite({weight}) AND {weight} >= 0, false)"
            measures += [f"sum({weight}) AS {WEIGHT}", f"count(*) FILTER (NOT {usable}) AS {BAD}"]
        sets = ", ".join(f"({', '.join(map(quoted, table))})" for table in tables)
        with self._safely():
            relation = self.relation.aggregate(
                ", ".join([*map(quoted, used), *measures]), f"GROUPING SETS ({sets})"
            )
            result = pl.DataFrame(relation.to_arrow_table())
        if len(tables) == 1:
            yield result
            return
        parts = result.partition_by(SET, as_dict=True, include_key=False)
        for table in tables:
            key = "".join("0" if name in table else "1" for name in used)
            part = parts.get((key,), result.drop(SET).clear())
            yield part.drop([name for name in used if name not in table])

    def _weight(self, name: str) -> str:
        """Spell a weight as a number in SQL; NULL where text is none."""
        held = str(self.relation.types[self.names.index(name)])
        if self.decimal is not None:
            return f"try_cast(replace({quoted(name)}, '{self.decimal}', '.') AS DOUBLE)"
        if not held.startswith(NUMERIC):
            raise DataError(f"column {name!r} holds {held}; weights must be numbers")
        return f"CAST({quoted(name)} AS DOUBLE)"

    @contextmanager
    def _safely(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours; its own words may quote values of the file."""
        import duckdb  # noqa: PLC0415

        try:
            yield
        except duckdb.OutOfMemoryException:
            raise DataError(
                f"{self.where}: counting needs more memory than the limit; raise it or count fewer columns"
            ) from None
        except duckdb.IOException:
            raise DataError(
                f"{self.where}: it cannot be read to the end, or the disk is full; check the file, and make room in "
                f"{tempfile.gettempdir()} (or set TMPDIR)"
            ) from None
        except duckdb.Error as error:
            raise DataError(
                f"{self.where}: DuckDB cannot count it ({type(error).__name__}); check that it is whole and "
                "that every row has the same columns"
            ) from None


class LazySource:
    """A lazy frame of any engine that Narwhals knows; one grouped query per table."""

    decimal: str | None = None

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.schema = frame.collect_schema()

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self.schema.names())

    def group(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        """See `Source`."""
        frame, measures = self.frame, [nw.len().alias(COUNT)]
        if weights is not None:
            if not self.schema[weights].is_numeric():
                raise DataError(f"column {weights!r} holds {self.schema[weights]}; weights must be numbers")
            weight = nw.col(weights).cast(nw.Float64)
            usable = (weight.is_finite() & (weight >= 0)).fill_null(False)
            frame = frame.with_columns(weight.alias(WEIGHT), (~usable).cast(nw.Int64).alias(BAD))
            measures += [nw.col(WEIGHT).sum(), nw.col(BAD).sum()]
        queries = [frame.group_by(list(table)).agg(*measures) for table in tables]
        if frame.implementation.is_polars():
            # Together, so that Polars reads what the queries share once.
            for begin in range(0, len(queries), SETS_PER_QUERY):
                yield from pl.collect_all(
                    [query.to_native() for query in queries[begin : begin + SETS_PER_QUERY]]
                )
            return
        for query in queries:
            yield query.collect("pyarrow").to_native()


@contextmanager
def open_file(path: str | Path, memory_limit: str | None) -> Iterator[DuckSource]:
    """Open a Parquet or CSV file in a DuckDB of its own, which spills to a temporary folder."""
    import duckdb  # noqa: PLC0415

    spelled = str(path)
    if not Path(spelled).exists() and not glob.glob(spelled):
        raise FileError(f"{spelled}: no such file; check the name and the folder")
    lower = spelled.lower()
    if not lower.endswith(PARQUET + CSV):
        raise FileError(
            f"{spelled}: only Parquet and CSV files are counted on disk; read the file and count the table"
        )
    with tempfile.TemporaryDirectory(prefix="dalenius-") as spill, duckdb.connect() as connection:
        connection.execute("SET temp_directory = ?", [spill])
        if memory_limit is not None:
            try:
                connection.execute("SET memory_limit = ?", [memory_limit])
            except duckdb.Error:
                raise OptionError(
                    f"memory_limit {memory_limit!r} is not a size; write for example '512MB'"
                ) from None
        try:
            opened = (_open_parquet if lower.endswith(PARQUET) else _open_csv)(connection, spelled)
        except duckdb.Error as error:
            raise FileError(
                f"{spelled}: DuckDB cannot open it ({type(error).__name__}); is the file whole?"
            ) from None
        yield opened


def _open_parquet(connection: Any, path: str) -> DuckSource:
    return DuckSource(connection.read_parquet(path), path)


def _open_csv(connection: Any, path: str) -> DuckSource:
    """Read all as text: what is a number is decided later, by the rules `read_csv` has."""
    dialect = sniff_csv(path)
    encoding = ENCODINGS.get(dialect.encoding.lower().replace("_", "-"))
    if encoding is None:
        raise FileError(
            f"{path}: text in {dialect.encoding} is not counted on disk; save the file as UTF-8, or read it "
            "and count the table"
        )
    relation = connection.read_csv(
        path,
        all_varchar=True,
        header=True,
        delimiter=dialect.separator,
        quotechar=dialect.quote,
        escapechar=dialect.quote,
        encoding=encoding,
    )
    return DuckSource(relation, path, dialect.decimal)


def quoted(name: str) -> str:
    """Spell a column name as SQL does."""
    return '"' + name.replace('"', '""') + '"'
