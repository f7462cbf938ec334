"""`SourcePair`: a pair of files that are larger than memory.

Figures that are made of counts are made of the counts of all rows, which stream by. Figures that read rows get an
ordinary `Pair` of a sample from each file, drawn by the seed and the number of the row alone (of the unit, where the
schema names one), and their result says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from dalenius.core.errors import DataError
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.batches import Stream
from dalenius.counts.counts import Counts
from dalenius.counts.kept import KeptCounts
from dalenius.counts.memory import tally
from dalenius.counts.pair import Pair, PairCounts
from dalenius.counts.pushdown import typed
from dalenius.counts.stream import count_stream
from dalenius.data.encode import encode, level_key
from dalenius.data.grouping import Grouping
from dalenius.data.infer import infer_from_raws
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.data.vector import AnyArray

SAMPLE = 50_000
"""Rows of each file that are read for figures of rows."""
WIDE = 40
"""Columns up to which all pairs are counted in one pass."""


class Described:
    """What is known of a file without its rows: how many there are, and what each column is."""

    def __init__(self, rows: int, sample: Table) -> None:
        self.rows = rows
        self.names = list(sample.names)
        self._columns = {name: sample[name].column for name in sample.names}

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def column(self, name: str) -> Column:
        """The description of one column."""
        return self._columns[name]


class SourcePair(Pair):
    """Original and protected file as streams.

    Examples
    --------
    >>> from dalenius.counts.batches import ArrowStream
    >>> people = ArrowStream(pa.table({"sex": ["f", "m", "f"], "age": [31, 40, 31]}))
    >>> pair = SourcePair(people, people)
    >>> pair.counts(["sex"]).original.counts.tolist(), pair.original.rows
    ([2, 1], 3)
    """

    def __init__(
        self,
        original: Stream,
        protected: Stream,
        holdout: Stream | None = None,
        *,
        schema: Schema | None = None,
        keys: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
        grouping: Grouping | None = None,
        threshold: int = THRESHOLD,
        sample: int = SAMPLE,
        seed: int = DEFAULT_SEED,
        keep: str | Path | None = None,
    ) -> None:
        self.kept = None if keep is None else KeptCounts(Path(keep))
        unit = None if schema is None else owner_column(schema)
        first = _sample(original, sample, seed, unit, {} if schema is None else dict(_by_name(schema)))
        known = _by_name(first[0].schema if isinstance(first[0], Table) else (schema or ()))
        loose = {name: _loose(column) for name, column in known}
        others = [
            _sample(each, sample, seed, None, loose) for each in (protected, holdout) if each is not None
        ]
        drawn = [first, *others]
        self.sample = Pair(
            *(frame for frame, _ in drawn), schema=None if isinstance(first[0], Table) else schema,
            keys=keys, targets=targets, grouping=grouping,
            threshold=threshold,
        )  # fmt: skip
        rows = [count for _, count in drawn]
        self.told = _told(rows, sample)
        self.sample.sampled = bool(self.told)
        self.__dict__ |= {  # all that needs no rows is the sample's
            name: getattr(self.sample, name)
            for name in (
                "unshared",
                "notes",
                "schema",
                "keys",
                "targets",
                "threshold",
                "units",
                "holdout_units",
                "lens",
                "designs",
            )
        }
        self._streams = (original, protected)
        self.original = Described(rows[0], self.sample.original)  # type: ignore[assignment]
        self.protected = Described(rows[1], self.sample.protected)  # type: ignore[assignment]
        self.holdout = None
        self._grouping = self.sample.grouping
        self._counts: dict[tuple[tuple[str, ...], bool], PairCounts] = {}

    streams = True

    @property
    def columns(self) -> list[str]:
        """Columns that measures compare."""
        return self.sample.columns

    @property
    def grouping(self) -> Grouping:
        """How numbers are grouped: by the sample of the original."""
        return self.sample.grouping

    def for_rows(self) -> tuple[Pair, str]:
        """The pair of samples, and a sentence that says so."""
        return self.sample, self.told

    def counts(self, columns: Sequence[str], grouped: bool = True) -> PairCounts:
        """The contingency table of some columns in each file, counted once."""
        wanted = tuple(columns)
        return self.count_many([wanted], grouped)[wanted]

    def count_many(
        self, tables: Iterable[Sequence[str]], grouped: bool = True
    ) -> dict[tuple[str, ...], PairCounts]:
        """Many contingency tables in one pass over each file."""
        wanted = [tuple(columns) for columns in tables]
        new = [columns for columns in wanted if not self._derived(columns, grouped)]
        if new:
            self._count(list(dict.fromkeys([*map(self._in_order, new), *self._pairs(grouped)])), grouped)
            for columns in new:
                self._derived(columns, grouped)
        return {columns: self._counts[columns, grouped] for columns in wanted}

    def _in_order(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns of a table in the order of the file, so that each table is counted once."""
        return tuple(sorted(columns, key=self.sample.original.names.index))

    def _pairs(self, grouped: bool) -> list[tuple[str, ...]]:
        """All tables of two columns, which most figures need: the first time they are counted on the way."""
        every = combinations(self.columns, 2) if grouped and len(self.columns) <= WIDE else ()
        return [pair for pair in map(self._in_order, every) if (pair, grouped) not in self._counts]

    def _derived(self, columns: tuple[str, ...], grouped: bool) -> bool:
        """Whether a table is there, or follows from one that is."""
        if (columns, grouped) in self._counts:
            return True
        for known, kept in self._counts:
            if kept == grouped and len(known) <= 2 and set(columns) <= set(known):
                held = self._counts[known, grouped]
                self._counts[columns, grouped] = PairCounts(
                    held.original.margin(columns), held.protected.margin(columns), None
                )
                return True
        return False

    def _count(self, tables: Sequence[tuple[str, ...]], grouped: bool) -> None:
        used = list(dict.fromkeys(name for columns in tables for name in columns))
        sides = (self.sample.original, self.sample.protected)
        count = count_stream if self.kept is None else self.kept.count
        counted = [
            count(
                stream,
                tables,
                schema=Schema(tuple(_loose(table[name].column) for name in used)),
                grouping=self.grouping if grouped else None,
            )
            for stream, table in zip(self._streams, sides, strict=True)
        ]
        for columns in tables:
            both = on_one_domain(*(side[columns] for side in counted))
            self._counts[columns, grouped] = PairCounts(both[0], both[1], None)


def on_one_domain(first: Counts, *others: Counts) -> list[Counts]:
    """The same tables over the labels of all: the first one's in its order, then what only others have.

    Examples
    --------
    >>> a = Counts.from_cells([[0], [1]], [3, 5], ["x"], [["f", "m"]])
    >>> b = Counts.from_cells([[0], [1]], [1, 2], ["x"], [["m", "d"]])
    >>> [each.dense().tolist() for each in on_one_domain(a, b)]
    [[3, 5, 0], [0, 1, 2]]
    """
    every = [first, *others]
    codes: list[list[AnyArray]] = [[] for _ in every]
    labels = []
    for place in range(len(first.columns)):
        position: dict[Any, int] = {}
        merged: list[Any] = []
        for counts, own in zip(every, codes, strict=True):
            moved = np.zeros(max(len(counts.labels[place]), 1), np.int64)
            for i, label in enumerate(counts.labels[place]):
                key = level_key(label)
                if key not in position:
                    position[key] = len(merged)
                    merged.append(label)
                moved[i] = position[key]
            own.append(moved[counts.cells[:, place]])
        labels.append(merged)
    sizes = [len(each) for each in labels]
    made = []
    for counts, own in zip(every, codes, strict=True):
        keys, sums = tally(own, sizes, len(counts.counts), counts.counts)
        made.append(Counts(first.columns, tuple(labels), keys, sums))
    return made


def _loose(column: Column) -> Column:
    """A column whose levels are those of all rows, not only of the sample."""
    kind = Kind.CATEGORICAL if column.kind is Kind.ORDERED else column.kind
    return replace(column, kind=kind, levels=None, bounds=None)


def _told(rows: Sequence[int], sample: int) -> str:
    if max(rows) <= sample:
        return ""
    return (
        f"This figure reads rows: it rests on a sample of {min(rows[0], sample):,} of {rows[0]:,} original and "
        f"{min(rows[1], sample):,} of {rows[1]:,} protected records."
    )


def _by_name(columns: Iterable[Column]) -> Iterable[tuple[str, Column]]:
    return ((column.name, column) for column in columns)


def _sample(
    stream: Stream, size: int, seed: int, unit: str | None, known: Mapping[str, Column]
) -> tuple[Any, int]:
    """Rows with the smallest marks, which depend on seed and row number (or unit) alone, and the number of all rows."""
    names = list(stream.schema.names)
    kept: list[pa.Table] = []
    marks: list[AnyArray] = []
    rows, held, limit = 0, 0, np.uint64(2**64 - 1)
    for batch in stream.batches(names):
        if unit is not None and unit in names:
            held_by = batch.column(unit)
            plain = held_by.cast(held_by.type.value_type) if pa.types.is_dictionary(held_by.type) else held_by
            mark = pl.Series(plain).hash(seed).to_numpy()
        else:
            mark = row_marks(np.arange(rows, rows + batch.num_rows, dtype=np.uint64), seed)
        rows += batch.num_rows
        chosen = np.flatnonzero(mark <= limit)
        if len(chosen):
            kept.append(pa.Table.from_batches([batch]).take(pa.array(chosen)))
            marks.append(mark[chosen])
            held += len(chosen)
        if held > 2 * size + 1000:
            kept, marks, limit = _smallest(kept, marks, size)
            held = len(marks[0])
    if not rows:
        raise DataError(f"{stream.where}: there are no rows")
    kept, marks, _ = _smallest(kept, marks, size)
    return as_frame(kept[0], stream, known), rows


def _smallest(
    kept: Sequence[pa.Table], marks: Sequence[AnyArray], size: int
) -> tuple[list[pa.Table], list[AnyArray], np.uint64]:
    every = np.concatenate(marks)
    limit = np.partition(every, size - 1)[size - 1] if len(every) > size else np.uint64(2**64 - 1)
    chosen = np.flatnonzero(every <= limit)
    whole = pa.concat_tables([table.unify_dictionaries() for table in kept]).take(pa.array(chosen))
    return [whole], [every[chosen]], np.uint64(limit)


def row_marks(numbers: AnyArray, seed: int) -> AnyArray:
    """Well-mixed numbers from row numbers (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = numbers + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % 2**64)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def as_frame(rows: pa.Table, stream: Stream, known: Mapping[str, Column]) -> Any:
    """Rows as a frame, or as a table where text has to be typed by our own rules."""
    if stream.decimal is None:
        stored = stream.schema
        plain = [
            column.cast(column.type.value_type)
            if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(stored.field(name).type)
            else column
            for name, column in zip(rows.column_names, rows.columns, strict=True)
        ]
        return pa.table(plain, rows.column_names)
    texts = {
        name: pl.Series(rows.column(name).cast(pa.string()), dtype=pl.String) for name in rows.column_names
    }
    raws = [typed(name, text, stream.decimal, known.get(name)) for name, text in texts.items()]
    guessed = infer_from_raws(raws)
    columns = [known.get(raw.name, guessed[raw.name]) for raw in raws]
    vectors = [encode(raw, column) for raw, column in zip(raws, columns, strict=True)]
    return Table.from_vectors(vectors, rows.num_rows)
