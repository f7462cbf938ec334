"""Counting rows that stream by: files larger than memory, in the memory that their tables take.

Each column is coded by one dictionary that grows while batches come; tables are tallied in its codes. What a code means
(a number, a level, a gap, a group of numbers) is decided at the end, from the distinct values alone, by the same rules
as for a table in memory, so that the counts are the same, whatever the batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from dalenius.core.errors import DataError, no_column
from dalenius.counts import _kernels
from dalenius.counts.batches import Stream
from dalenius.counts.counts import Counts
from dalenius.counts.keys import fill, product, unravel
from dalenius.counts.memory import refuse_bad_weights, tally, thread_count
from dalenius.counts.pushdown import add_equal_cells, as_categories, infer_distinct, typed
from dalenius.data.encode import encode
from dalenius.data.grouping import Grouping
from dalenius.data.raw import Raw, read_arrow
from dalenius.data.schema import Column, Schema
from dalenius.data.vector import AnyArray, Categories, IntArray

DENSE = 1 << 22
"""Cells up to which a table is counted in a full array."""
MOST = 1 << 27
"""Cells of all tables together that are kept; beyond that DuckDB, which uses the disk, should count."""
SPAN = 1 << 16
"""Whole numbers that lie so close are looked up, not searched."""
LIMIT = 1 << 31
"""Rows after which the 32-bit cells of a table are emptied into wider ones."""


class TooManyCells(Exception):
    """The tables do not fit in memory."""


def count_stream(
    stream: Stream,
    tables: Sequence[tuple[str, ...]],
    *,
    schema: Schema | None = None,
    grouping: Grouping | None = None,
    weights: str | None = None,
) -> dict[tuple[str, ...], Counts]:
    """Tables of a stream, in one pass.

    Examples
    --------
    >>> from dalenius.counts.batches import ArrowStream
    >>> people = pa.table({"sex": ["f", "m", "f"], "age": [3, 4, 3]})
    >>> count_stream(ArrowStream(people), [("sex", "age")])["sex", "age"]
    Counts(sex × age: 2 of 4 cells, total 3)
    """
    wanted = list(dict.fromkeys(name for table in tables for name in table))
    known = list(stream.schema.names)
    absent = [name for name in (*wanted, *([weights] if weights else [])) if name not in known]
    if absent:
        raise DataError(no_column(absent, known))
    described = {column.name: column for column in schema or () if column.name in wanted}
    coders = {name: _coder(name, described.get(name), grouping, stream) for name in wanted}
    held = {table: Tally(len(table), weights is not None) for table in tables}
    single = {name: Tally(1, False) for name in wanted}
    bad = 0
    needed = wanted if weights is None or weights in wanted else [*wanted, weights]
    with ThreadPoolExecutor(thread_count()) as pool:
        for batch in stream.batches(needed):
            codes = {name: coder.codes(batch.column(name)) for name, coder in coders.items()}
            values = None if weights is None else _weights(weights, batch.column(weights), stream)
            if values is not None:
                usable = np.isfinite(values) & (values >= 0)
                bad += int(len(values) - np.count_nonzero(usable))
                values = np.where(usable, values, 0.0)
            _add(pool, held, single, codes, {n: c.capacity for n, c in coders.items()}, values)
    if weights is not None:
        refuse_bad_weights(bad, weights)
    categories = {
        name: coder.meaning(described.get(name), grouping, single[name]) for name, coder in coders.items()
    }
    return {table: _counts(table, each, categories) for table, each in held.items()}


def _add(
    pool: ThreadPoolExecutor,
    held: Mapping[tuple[str, ...], Tally],
    single: Mapping[str, Tally],
    codes: Mapping[str, IntArray],
    sizes: Mapping[str, int],
    weights: AnyArray | None,
) -> None:
    """Add one batch to all tables, each by one thread."""
    for name, each in single.items():
        each.add([codes[name]], [sizes[name]], None)

    def one(table: tuple[str, ...]) -> int:
        held[table].add([codes[name] for name in table], [sizes[name] for name in table], weights)
        return held[table].cells

    if sum(pool.map(one, held)) > MOST:
        raise TooManyCells


def _counts(table: tuple[str, ...], held: Tally, categories: Mapping[str, Categories]) -> Counts:
    codes, counts = held.result()
    named = [
        Categories(categories[name].codes[own], categories[name].labels)
        for name, own in zip(table, codes, strict=True)
    ]
    return add_equal_cells(table, named, counts)


class Tally:
    """Counts (or sums of weights) of one table in codes whose number grows."""

    def __init__(self, columns: int, weighted: bool) -> None:
        self.sizes = [1] * columns
        self.weighted = weighted
        self.rows = 0
        self.narrow: AnyArray | None = np.zeros(1, np.uint32)
        self.wide: AnyArray = np.zeros(1, np.float64 if weighted else np.int64)
        self.loose: list[tuple[list[IntArray], AnyArray]] = []
        self.waiting = 0

    @property
    def cells(self) -> int:
        """Cells that are kept."""
        return len(self.wide) if self.narrow is not None else self.waiting

    def add(self, codes: Sequence[IntArray], sizes: Sequence[int], weights: AnyArray | None) -> None:
        """Add the rows of a batch."""
        if list(sizes) != self.sizes:
            self._grow(list(sizes))
        if self.narrow is None:
            self._add_loose(codes, weights)
            return
        self.rows += len(codes[0])
        if self.rows >= LIMIT:
            self._empty()
        if weights is None and len(codes) == 2:
            _kernels.tally_pair(codes[0], codes[1], self.sizes[1], self.narrow)
            return
        keys = codes[0].view(np.uint32) if len(codes) == 1 else np.empty(len(codes[0]), np.uint32)
        if len(codes) > 1:
            fill(keys, codes, self.sizes, 0)
        if weights is None:
            _kernels.tally(keys, self.narrow)
        else:
            _kernels.tally_weights(keys, weights, self.narrow, self.wide)

    def _grow(self, sizes: list[int]) -> None:
        if self.narrow is None:
            self.sizes = sizes
            return
        self._empty()
        if product(sizes) > DENSE:
            cells, counts = self._occupied()
            self.loose, self.waiting, self.narrow = [(cells, counts)], len(counts), None
            self.sizes = sizes
            return
        grown = np.zeros(sizes, self.wide.dtype)
        grown[tuple(slice(size) for size in self.sizes)] = self.wide.reshape(self.sizes)
        rows = np.zeros(sizes, np.uint32)
        if self.weighted:  # which cells are occupied: a weight may be 0
            rows[tuple(slice(size) for size in self.sizes)] = self.narrow.reshape(self.sizes)
        self.wide, self.narrow, self.sizes = grown.ravel(), rows.ravel(), sizes

    def _empty(self) -> None:
        """Move counts to wider cells; with weights the narrow ones only say which cells are occupied."""
        assert self.narrow is not None
        if self.weighted:
            np.minimum(self.narrow, 1, out=self.narrow)
        else:
            self.wide += self.narrow
            self.narrow[:] = 0
        self.rows = 0

    def _add_loose(self, codes: Sequence[IntArray], weights: AnyArray | None) -> None:
        keys, counts = tally(codes, self.sizes, len(codes[0]), weights)
        self.loose.append(([unravel(keys, self.sizes, i) for i in range(len(codes))], counts))
        self.waiting += len(counts)
        if self.waiting > 2 * len(self.loose[0][1]) + DENSE:
            cells, total = self._occupied()
            self.loose, self.waiting = [(cells, total)], len(total)

    def _occupied(self) -> tuple[list[IntArray], AnyArray]:
        if self.narrow is not None:
            cells = np.flatnonzero(self.narrow if self.weighted else self.wide)
            return [unravel(cells, self.sizes, i) for i in range(len(self.sizes))], self.wide[cells]
        codes = [np.concatenate([part[0][i] for part in self.loose]) for i in range(len(self.sizes))]
        keys, counts = tally(
            codes, self.sizes, len(codes[0]), np.concatenate([part[1] for part in self.loose])
        )
        return [unravel(keys, self.sizes, i) for i in range(len(self.sizes))], counts

    def result(self) -> tuple[list[IntArray], AnyArray]:
        """Codes of the cells that occur, column by column, and their counts."""
        if self.narrow is not None:
            self._empty()
        return self._occupied()


def _coder(name: str, column: Column | None, grouping: Grouping | None, stream: Stream) -> Coder:
    if column is not None and grouping is not None and name in grouping:
        return GroupCoder(name, stream.decimal, column, grouping)
    return Coder(name, stream.decimal, pa.types.is_dictionary(stream.schema.field(name).type))


class Coder:
    """Codes of one column by its distinct values."""

    def __init__(self, name: str, decimal: str | None, declared: bool = False) -> None:
        self.name = name
        self.decimal = decimal
        self.declared = (
            declared  # a dictionary by its type: its levels are all levels, also those without a row
        )
        self.ordered = False
        self.values: pa.Array | None = None
        self.lowest, self.table = 0, np.zeros(0, np.int32)

    @property
    def size(self) -> int:
        """Distinct values so far."""
        return 0 if self.values is None else len(self.values)

    @property
    def capacity(self) -> int:
        """Room for codes: the next power of two, so that tables grow seldom."""
        return 1 << max(self.size - 1, 0).bit_length()

    def codes(self, column: pa.Array) -> IntArray:
        """Codes of a batch."""
        if pa.types.is_dictionary(column.type):
            self.ordered = column.type.ordered
            return self._by_dictionary(column)
        if column.type == pa.string_view():
            column = column.cast(pa.large_string())
        if pa.types.is_integer(column.type) and column.type != pa.uint64() and not column.null_count:
            known = self._looked_up(column)
            if known is not None:
                return known
        try:
            return self._by_dictionary(column.dictionary_encode(null_encoding="encode"))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise DataError(
                f"column {self.name!r} holds {column.type} values, which are not supported; turn it into "
                "text, numbers or dates"
            ) from None

    def _by_dictionary(self, column: pa.DictionaryArray) -> IntArray:
        dictionary, indices = column.dictionary, column.indices
        places = np.zeros(len(dictionary) + 1, np.int32)
        places[:-1] = self._places(dictionary)
        if indices.null_count:
            places[-1] = self._places(pa.nulls(1, dictionary.type))[0]
            indices = pc.fill_null(indices.cast(pa.int32()), len(dictionary))
        return np.take(places, indices.to_numpy(zero_copy_only=False))

    def _places(self, values: pa.Array) -> IntArray:
        """Codes of distinct values; what is new is added."""
        if self.values is None:
            self.values = values.slice(0, 0)
        places = pc.index_in(values, value_set=self.values)
        if places.null_count:
            self.values = pa.concat_arrays([self.values, values.filter(places.is_null())])
            places = pc.index_in(values, value_set=self.values)
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int32)

    def _looked_up(self, column: pa.Array) -> IntArray | None:
        """Codes of whole numbers that lie close together; None when they do not."""
        numbers = column.to_numpy(zero_copy_only=False)
        if not len(numbers):
            return np.zeros(0, np.int32)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low >= SPAN:
            return None
        if not self.lowest <= low <= high < self.lowest + len(self.table):
            if len(self.table):
                low, high = min(low, self.lowest), max(high, self.lowest + len(self.table) - 1)
            if high - low >= SPAN:
                return None
            wider = np.full(high - low + 1, -1, np.int32)
            if len(self.table):
                begin = self.lowest - low
                wider[begin : begin + len(self.table)] = self.table
            self.lowest, self.table = low, wider
        at = numbers.astype(np.int64) - self.lowest if self.lowest else numbers
        codes = np.take(self.table, at)
        if codes.min() < 0:
            new = np.unique(numbers[codes < 0])
            self.table[new.astype(np.int64) - self.lowest] = self._places(pa.array(new, column.type))
            codes = np.take(self.table, at)
        return codes

    def raw(self, column: Column | None) -> Raw:
        """The distinct values as a column of their own."""
        values = self.values if self.values is not None else pa.nulls(0)
        if self.decimal is not None:
            return typed(
                self.name, pl.Series(values.cast(pa.string()), dtype=pl.String), self.decimal, column
            )
        if self.declared:
            places = pa.array(np.arange(len(values), dtype=np.int32))
            made = pa.DictionaryArray.from_arrays(places, values, ordered=self.ordered)
            return read_arrow(self.name, made)
        return read_arrow(self.name, values)

    def meaning(self, column: Column | None, grouping: Grouping | None, single: Tally) -> Categories:
        """What each code stands for."""
        raw = self.raw(column)
        if column is None:
            codes, counts = single.result()
            times = np.zeros(len(raw.data), np.int64)
            times[codes[0]] = counts
            column = infer_distinct(raw, times)
        return as_categories(encode(raw, column), grouping)


class GroupCoder(Coder):
    """Codes of a number by its group; one value of each group, special code and gap is kept to stand for it."""

    def __init__(self, name: str, decimal: str | None, column: Column, grouping: Grouping) -> None:
        super().__init__(name, decimal)
        self.column = column
        self.grouping = grouping
        self.known: dict[Any, int] = {}

    def codes(self, column: pa.Array) -> IntArray:
        """Codes of a batch."""
        if self.decimal is not None:
            column = column.cast(pa.string())
            raw = typed(self.name, pl.Series(column, dtype=pl.String), self.decimal, self.column)
        else:
            raw = read_arrow(self.name, column)
        groups = as_categories(encode(raw, self.column), self.grouping)
        places = np.zeros(max(len(groups.labels), 1), np.int32)
        present, first = np.unique(groups.codes, return_index=True)
        for code, row in zip(present.tolist(), first.tolist(), strict=True):
            label = groups.labels[code]
            if label not in self.known:
                self.known[label] = len(self.known)
                value = column.slice(row, 1)
                self.values = value if self.values is None else pa.concat_arrays([self.values, value])
            places[code] = self.known[label]
        return np.take(places, groups.codes)


def _weights(name: str, column: pa.Array, stream: Stream) -> AnyArray:
    """Weights as floats, NaN where there is none."""
    if stream.decimal is not None:
        texts = pl.Series(column.cast(pa.string()), dtype=pl.String).str.replace(
            stream.decimal, ".", literal=True
        )
        return texts.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"column {name!r} holds {kind}; weights must be numbers")
    return np.asarray(pc.fill_null(column.cast(pa.float64()), float("nan")).to_numpy(zero_copy_only=False))
