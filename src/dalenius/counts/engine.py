"""`count`: one way to ask for a contingency table, whatever holds the rows.

In memory the rows are encoded and counted by Numba; a file or a lazy Polars frame streams by in batches of rows;
a DuckDB relation or another lazy frame groups by itself, and only distinct combinations come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.batches import ArrowStream, CsvStream, ParquetStream, PolarsStream, open_stream
from dalenius.counts.counts import Counts
from dalenius.counts.memory import check_weights, count_codes_many
from dalenius.counts.pushdown import as_categories, count_pushed
from dalenius.counts.sources import DuckSource, LazySource, open_file
from dalenius.counts.spark import SparkSource, is_spark
from dalenius.counts.stream import TooManyCells, count_stream
from dalenius.data.files import is_address, read
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector

STREAMS = (ParquetStream, CsvStream, ArrowStream, PolarsStream)


def count(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    schema: Schema | None = None,
    grouping: Grouping | None = None,
    weights: str | None = None,
    memory_limit: str | None = None,
) -> Counts:
    """Contingency table of some columns.

    Parameters
    ----------
    source
        A `Table`; a pandas, Polars or Arrow frame or a dict of columns; a DuckDB relation; a lazy frame
        (Polars, Spark and others that Narwhals knows); an Arrow reader of batches; or the path of a Parquet, CSV
        or Arrow file, which may be larger than memory.
    columns
        Columns to cross, in this order; all but the weights when left out.
    schema
        Kinds, levels and special codes of the columns; inferred when left out.
    grouping
        Numbers it covers are counted by group instead of by value.
    weights
        Column to add up instead of counting rows.
    memory_limit
        For files: let DuckDB count, with so much memory before it spills to a temporary folder, such as "512MB".

    Examples
    --------
    >>> people = {"sex": ["f", "m", "f", None], "adult": [True, True, False, True], "w": [1.5, 1.0, 2.0, 3.0]}
    >>> count(people, ["sex", "adult"])
    Counts(sex × adult: 4 of 6 cells, total 4)
    >>> count(people, ["sex"], weights="w").to_frame().rows()
    [('f', 3.5), ('m', 1.0), (None, 3.0)]
    """
    with _opened(source, memory_limit) as held:
        wanted = _wanted(held, columns, weights)
        return _count_many(held, [wanted], schema=schema, grouping=grouping, weights=weights)[wanted]


def count_all(
    source: Any,
    order: int = 2,
    columns: Sequence[str] | None = None,
    *,
    schema: Schema | None = None,
    grouping: Grouping | None = None,
    weights: str | None = None,
    memory_limit: str | None = None,
) -> dict[tuple[str, ...], Counts]:
    """All tables that cross ``order`` of the columns; arguments as in `count`.

    Examples
    --------
    >>> tables = count_all({"a": [1, 1], "b": [0, 1], "c": [1, 0]}, order=2)
    >>> list(tables)
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    with _opened(source, memory_limit) as held:
        wanted = _wanted(held, columns, weights)
        if not 1 <= order <= len(wanted):
            raise OptionError(
                f"order {order} is not possible with {len(wanted)} columns; use 1 to {len(wanted)}"
            )
        tables = list(combinations(wanted, order))
        return _count_many(held, tables, schema=schema, grouping=grouping, weights=weights)


@contextmanager
def _opened(source: Any, memory_limit: str | None) -> Iterator[Any]:
    """Open a source that groups by itself; a table or frame is passed on, to be encoded in memory."""
    if isinstance(source, (str, Path)) and is_address(source):
        yield read(source)
        return
    if isinstance(source, (str, Path)):
        with _file(source, memory_limit) as file:
            yield file
        return
    if memory_limit is not None:
        raise OptionError(
            "memory_limit is for files; set the limit of a DuckDB connection or cluster where it is made"
        )
    if is_spark(source):
        yield SparkSource(source)
        return
    wrapped = nw.from_native(source, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        held = wrapped.to_native()
        if wrapped.implementation.is_polars():
            yield PolarsStream(held)
        else:
            yield DuckSource(held) if wrapped.implementation.is_duckdb() else LazySource(wrapped)
    elif isinstance(source, pa.RecordBatchReader):
        yield ArrowStream(source)
    else:
        yield source


@contextmanager
def _file(path: str | Path, memory_limit: str | None) -> Iterator[Any]:
    """Open a file as a stream or, where memory is limited, in DuckDB, which spills to the disk."""
    if memory_limit is None:
        yield open_stream(path)
        return
    with open_file(path, memory_limit) as file:
        yield file


def _wanted(held: Any, columns: Sequence[str] | None, weights: str | None) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise OptionError(f"columns must be a list of names; write [{columns!r}]")
    chosen = (
        tuple(columns) if columns is not None else tuple(name for name in _names(held) if name != weights)
    )
    twice = [name for name in chosen if chosen.count(name) > 1]
    if twice:
        raise OptionError(f"column {twice[0]!r} is asked for twice; name each column once")
    if not chosen:
        raise OptionError("no columns to count; name at least one")
    return chosen


def _names(held: Any) -> list[str]:
    if isinstance(held, Mapping):
        return [str(name) for name in held]
    if isinstance(held, STREAMS):
        return list(held.schema.names)
    if isinstance(held, (Table, DuckSource, LazySource, SparkSource)):
        return held.names
    wrapped = nw.from_native(held, pass_through=True)
    if isinstance(wrapped, nw.DataFrame):
        return [str(name) for name in wrapped.columns]
    return Table.from_frame(held).names


def _count_many(
    held: Any,
    tables: Sequence[tuple[str, ...]],
    *,
    schema: Schema | None,
    grouping: Grouping | None,
    weights: str | None,
) -> dict[tuple[str, ...], Counts]:
    if isinstance(held, STREAMS):
        return _count_stream(held, tables, schema=schema, grouping=grouping, weights=weights)
    if isinstance(held, (DuckSource, LazySource, SparkSource)):
        return count_pushed(held, tables, schema=schema, grouping=grouping, weights=weights)
    used = list(dict.fromkeys(name for table in tables for name in table))
    needed = used if weights is None or weights in used else [*used, weights]
    table = _encoded(held, needed, schema)
    values = None if weights is None else check_weights(_numbers(table[weights]), table.rows, weights)
    categories = {name: as_categories(table[name], grouping) for name in used}
    return count_codes_many(categories, tables, values)


def _count_stream(held: Any, tables: Sequence[tuple[str, ...]], **how: Any) -> dict[tuple[str, ...], Counts]:
    """Count in one pass; a file whose tables have more cells than memory is counted by DuckDB instead."""
    try:
        return count_stream(held, tables, **how)
    except TooManyCells:
        if not isinstance(held, (ParquetStream, CsvStream)):
            raise DataError(
                f"{held.where}: the tables have more cells than fit in memory; count fewer columns, group "
                "numbers, or write a Parquet file and count that"
            ) from None
    with open_file(held.pattern, None) as file:
        return count_pushed(file, tables, **how)


def _encoded(held: Any, needed: list[str], schema: Schema | None) -> Table:
    """Encode the needed columns; others are dropped before, where the frame can."""
    if isinstance(held, Table) and schema is None:
        return held
    frame = held.to_frame() if isinstance(held, Table) else held
    if isinstance(frame, Mapping) and set(needed) <= set(frame):
        frame = {name: frame[name] for name in needed}
    wrapped = nw.from_native(frame, pass_through=True)
    if isinstance(wrapped, nw.DataFrame) and set(needed) <= set(wrapped.columns):
        frame = wrapped.select(needed).to_native()
    return Table.from_frame(frame, None if schema is None else schema.select(needed))


def _numbers(vector: Vector) -> AnyArray:
    """Weights as floats, NaN where there is none; few distinct weights may have been taken for categories."""
    if vector.is_number:
        return vector.floats()
    levels = [*vector.levels, 0]
    if not all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in levels):
        raise DataError(f"column {vector.column.name!r} is {vector.column.kind}; weights must be numbers")
    values = np.array(levels, dtype=np.float64)[vector.data]
    values[~vector.present] = np.nan
    return values
