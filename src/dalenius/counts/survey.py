"""One look over a stream: the distinct values of every column with their counts, and how many rows there are.

A number with too many values to list (an income, a moment) is known by the values of a sample of rows instead, drawn by
the seed and the number of the row. What a table in memory would know of its columns is known after this, without rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from dalenius.core.errors import DataError, no_column
from dalenius.core.random import DEFAULT_SEED
from dalenius.counts.batches import Stream
from dalenius.counts.memory import thread_count
from dalenius.counts.pushdown import infer_distinct, typed
from dalenius.counts.source_pair import row_marks
from dalenius.counts.stream import Coder, Tally, TooManyCells
from dalenius.data.declared import encode_declared
from dalenius.data.encode import encode
from dalenius.data.infer import infer_from_raws
from dalenius.data.raw import Raw, read_arrow
from dalenius.data.schema import Column, Schema
from dalenius.data.vector import AnyArray, IntArray, Vector

MOST_FLOATS, MOST_VALUES = 1 << 16, 1 << 20
"""Distinct values up to which they are listed: of floating numbers, and of all others."""
SAMPLE = 1 << 18
"""Values of a column with more that are kept."""
MOST_CELLS = 1 << 26
"""Cells of one table that are kept."""

Encoder = Callable[[pa.Array], IntArray]


@dataclass(eq=False)
class Values:
    """What is known of a column: its entries, and how often each occurs.

    Attributes
    ----------
    vector, times
        Distinct entries in the order they were met, and their counts; or those of the sampled rows, once each.
    coder
        Gives a batch as positions in ``vector``; None where the entries are a sample.
    """

    vector: Vector
    times: IntArray
    coder: Coder | None
    stream: Stream

    @property
    def column(self) -> Column:
        """What the column is."""
        return self.vector.column

    def encoder(self, encode_vector: Callable[[Vector], IntArray], lookup: IntArray | None = None) -> Encoder:
        """How a batch of the column becomes codes: by a code of each distinct entry, or by encoding its rows."""
        coder = self.coder
        if coder is None:
            return lambda batch: encode_vector(self.read(batch)).astype(np.int32)
        known = (encode_vector(self.vector) if lookup is None else lookup).astype(np.int32)

        def look_up(batch: pa.Array) -> IntArray:
            codes = coder.codes(batch)
            if coder.size > len(known):
                raise DataError(
                    f"{self.stream.where}: column {self.column.name!r} has values it did not have a moment ago; "
                    "do not change a file while it is read"
                )
            return np.take(known, codes)

        return look_up

    def read(self, batch: pa.Array) -> Vector:
        """Rows of a batch."""
        return _encoded(_raw(self.column.name, batch, self.stream, self.column), self.column)


@dataclass(eq=False)
class Survey:
    """What is known of a stream after one look.

    Examples
    --------
    >>> from dalenius.counts.batches import ArrowStream
    >>> seen = survey(ArrowStream(pa.table({"sex": ["f", "m", "f"], "age": [31, 40, 31]})))
    >>> seen.rows, seen.values["sex"].vector.levels, seen.values["age"].times.tolist()
    (3, ('f', 'm'), [2, 1])
    """

    stream: Stream
    rows: int
    values: Mapping[str, Values]
    schema: Schema = field(default_factory=lambda: Schema(()))

    def tally(
        self, encoders: Mapping[str, Encoder], sizes: Mapping[str, int], tables: Sequence[tuple[str, ...]]
    ) -> dict[tuple[str, ...], tuple[list[IntArray], AnyArray]]:
        """Cells that occur of each table (codes column by column, and counts), in one pass over the rows."""
        held = {table: Tally(len(table), False) for table in tables}
        used = list(dict.fromkeys(name for table in tables for name in table))

        def one(table: tuple[str, ...], codes: Mapping[str, IntArray]) -> int:
            held[table].add([codes[name] for name in table], [max(sizes[name], 1) for name in table], None)
            return held[table].cells

        with ThreadPoolExecutor(thread_count()) as pool:
            for batch in self.stream.batches(used):
                codes = {name: encoders[name](batch.column(name)) for name in used}
                if sum(pool.map(lambda table: one(table, codes), tables)) > 2 * MOST_CELLS:  # noqa: B023
                    raise TooManyCells
        return {table: each.result() for table, each in held.items()}


def survey(
    stream: Stream,
    columns: Sequence[str] | None = None,
    *,
    schema: Schema | None = None,
    seed: int = DEFAULT_SEED,
) -> Survey:
    """Look over a stream once."""
    names = list(columns) if columns is not None else list(stream.schema.names)
    absent = [name for name in names if name not in stream.schema.names]
    if absent:
        raise DataError(no_column(absent, list(stream.schema.names)))
    coders: dict[str, Coder | None] = {
        name: Coder(name, stream.decimal, pa.types.is_dictionary(stream.schema.field(name).type))
        for name in names
    }
    single = {name: Tally(1, False) for name in names}
    sample = _Sample(SAMPLE, seed)
    rows = 0
    for batch in stream.batches(names):
        for name, coder in coders.items():
            if coder is None:
                continue
            single[name].add([coder.codes(batch.column(name))], [coder.capacity], None)
            if coder.size > _most(name, stream):
                coders[name] = None
                single.pop(name)
        sample.add(batch, rows)
        rows += batch.num_rows
    if not rows:
        raise DataError(f"{stream.where}: there are no rows")
    known = {} if schema is None else {column.name: column for column in schema}
    drawn = sample.result() if None in coders.values() else None
    values = {
        name: _listed(coder, single[name], known.get(name), stream)
        if coder is not None
        else _sampled(name, drawn, known.get(name), stream)
        for name, coder in coders.items()
    }
    surveyed = tuple(values[name].column for name in names)
    full = Schema(surveyed) if schema is None else schema.select(names).replace_columns(*surveyed)
    return Survey(stream, rows, values, full)


def _most(name: str, stream: Stream) -> int:
    kind = stream.schema.field(name).type
    return MOST_FLOATS if pa.types.is_floating(kind) else MOST_VALUES


def _listed(coder: Coder, single: Tally, column: Column | None, stream: Stream) -> Values:
    raw = coder.raw(column)
    codes, counts = single.result()
    times = np.zeros(len(raw.data), np.int64)
    times[codes[0]] = counts
    return Values(_encoded(raw, column or infer_distinct(raw, times)), times, coder, stream)


def _sampled(name: str, rows: pa.Table | None, column: Column | None, stream: Stream) -> Values:
    assert rows is not None
    held = rows.column(name).combine_chunks()
    kind = held.type.value_type if pa.types.is_dictionary(held.type) else held.type
    raw = _raw(name, held, stream, column)
    described = column or infer_from_raws([raw]).columns[0]
    vector = _encoded(raw, described)
    if not vector.is_number:
        raise DataError(
            f"column {name!r} ({kind}) has more than {MOST_VALUES:,} different values, too many to count; leave it out "
            "(columns), or give it the role identifier in a schema"
        )
    return Values(vector, np.ones(len(vector), np.int64), None, stream)


def _encoded(raw: Raw, column: Column) -> Vector:
    return encode(raw, column) if column.outside is None else encode_declared(raw, column)


def _raw(name: str, held: pa.Array, stream: Stream, column: Column | None) -> Raw:
    if stream.decimal is not None:
        return typed(name, pl.Series(held.cast(pa.string()), dtype=pl.String), stream.decimal, column)
    if pa.types.is_dictionary(held.type) and not pa.types.is_dictionary(stream.schema.field(name).type):
        held = held.cast(held.type.value_type)
    return read_arrow(name, held)


class _Sample:
    """Rows with the smallest marks, which depend on seed and row number alone, in the order of the rows."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.parts: list[pa.Table] = []
        self.marks: list[AnyArray] = []
        self.held, self.limit = 0, np.uint64(2**64 - 1)

    def add(self, batch: pa.RecordBatch, first: int) -> None:
        """Keep what is among the smallest so far."""
        marks = row_marks(np.arange(first, first + batch.num_rows, dtype=np.uint64), self.seed)
        chosen = np.flatnonzero(marks <= self.limit)
        if not len(chosen):
            return
        self.parts.append(pa.Table.from_batches([batch]).take(pa.array(chosen)))
        self.marks.append(marks[chosen])
        self.held += len(chosen)
        if self.held > 2 * self.size:
            self._shrink()

    def _shrink(self) -> None:
        every = np.concatenate(self.marks)
        if len(every) > self.size:
            self.limit = np.partition(every, self.size - 1)[self.size - 1]
        chosen = np.flatnonzero(every <= self.limit)
        whole = pa.concat_tables([part.unify_dictionaries() for part in self.parts]).take(pa.array(chosen))
        self.parts, self.marks, self.held = [whole.combine_chunks()], [every[chosen]], len(chosen)

    def result(self) -> pa.Table:
        """The sampled rows."""
        self._shrink()
        return self.parts[0].unify_dictionaries().combine_chunks()
