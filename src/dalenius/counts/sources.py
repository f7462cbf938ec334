"""Sources that group and count by themselves: DuckDB for files, any lazy frame that Narwhals knows (Polars, Spark, …).

Only distinct combinations and their counts come back into memory, never the rows.
"""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import polars as pl

from dalenius.core.errors import DataError, FileError, OptionError

COUNT, WEIGHT, BAD, SET = "__count", "__weight", "__bad_weights", "__grouping_set"
"""Columns of a grouped result next to the caller's own."""
SETS_PER_QUERY = 64
"""Tables asked for in one query: each keeps a hash table of its own while the rows stream by."""
PARQUET, CSV = (".parquet", ".pq"), (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz")


class Source(Protocol):
    """What an engine must be able to do."""

    text_only: bool
    """Whether every value comes back as text and is typed afterwards."""

    @property
    def names(self) -> list[str]:
        """Column names in order."""

    def group(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        """Group by each table in turn: its columns, ``COUNT`` and, with weights, ``WEIGHT`` and ``BAD``.

        ``BAD`` is the number of rows whose weight cannot be used.
        """


class DuckSource:
    """A DuckDB relation, grouped inside DuckDB; all tables of a query share one scan (GROUPING SETS)."""

    def __init__(self, relation: Any, where: str = "the DuckDB relation", text_only: bool = False) -> None:
        self.relation = relation
        self.where = where
        self.text_only = text_only

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self.relation.columns)

    def group(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        """See `Source`."""
        for begin in range(0, len(tables), SETS_PER_QUERY):
            yield from self._query(tables[begin : begin + SETS_PER_QUERY], weights)

    def _query(self, tables: Sequence[tuple[str, ...]], weights: str | None) -> Iterator[Any]:
        used = list(dict.fromkeys(name for table in tables for name in table))
        which = " || ".join(f"grouping({quoted(name)})::VARCHAR" for name in used)
        measures = [f"{which} AS {SET}", f"count(*) AS {COUNT}"]
        if weights is not None:
            weight = f"try_cast({quoted(weights)} AS DOUBLE)"
            usable = f"coalesce(isfinite({weight}) AND {weight} >= 0, false)"
            measures += [f"sum({weight}) AS {WEIGHT}", f"count(*) FILTER (NOT {usable}) AS {BAD}"]
        sets = ", ".join(f"({', '.join(map(quoted, table))})" for table in tables)
        with self._safely():
            relation = self.relation.aggregate(
                ", ".join([*map(quoted, used), *measures]), f"GROUPING SETS ({sets})"
            )
            result = pl.DataFrame(relation.to_arrow_table())
        parts = result.partition_by(SET, as_dict=True, include_key=False)
        for table in tables:
            key = "".join("0" if name in table else "1" for name in used)
            part = parts.get((key,), result.drop(SET).clear())
            yield part.drop([name for name in used if name not in table])

    @contextmanager
    def _safely(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours; its own words may quote values of the file."""
        import duckdb  # noqa: PLC0415

        try:
            yield
        except duckdb.OutOfMemoryException:
            raise DataError(
                f"{self.where}: counting needs more memory than the limit; raise the limit or count fewer columns"
            ) from None
        except duckdb.Error as error:
            raise DataError(
                f"{self.where}: DuckDB cannot count it ({type(error).__name__}); check that it is whole and that "
                "every row has the same columns"
            ) from None


class LazySource:
    """A lazy frame of any engine that Narwhals knows; one grouped query per table."""

    text_only = False

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
    """Open a Parquet or CSV file in a DuckDB of its own, which spills to a temporary folder beyond its limit."""
    import duckdb  # noqa: PLC0415

    spelled = str(path)
    if not Path(spelled).exists() and not glob.glob(spelled):
        raise FileError(f"{spelled}: no such file")
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
            if lower.endswith(PARQUET):
                relation = connection.read_parquet(spelled)
            else:
                relation = connection.read_csv(spelled, all_varchar=True, header=True)
        except duckdb.Error as error:
            raise FileError(
                f"{spelled}: DuckDB cannot open it ({type(error).__name__}); is the file whole?"
            ) from None
        yield DuckSource(relation, spelled, lower.endswith(CSV))


def quoted(name: str) -> str:
    """Spell a column name as SQL does."""
    return '"' + name.replace('"', '""') + '"'
