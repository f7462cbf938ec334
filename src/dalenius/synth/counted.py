"""`StreamTable`: what a method that needs counts alone may know of a file that is larger than memory.

The exit stands here too: what no method may learn (levels, texts and numbers that few records hold) is taken out of the
list of distinct entries, by the same rules as out of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, generator
from dalenius.counts.junction import Clique
from dalenius.counts.stream import TooManyCells
from dalenius.counts.survey import Encoder, Survey, Values
from dalenius.data.exit import guard, leaving, stays
from dalenius.data.files.columnar import table_from_arrow
from dalenius.data.frames import Origin
from dalenius.data.rare import without_rare_numbers
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray, Vector

SHOWN_ROWS = 200_000
"""Rows that stand for all where a rare level borrows that of another row."""


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """Entries of one column with their counts.

    Examples
    --------
    >>> ages = Table.from_frame({"age": [31, None, 64]})["age"]
    >>> Counted(ages, np.array([5, 2, 1])).present_times.tolist()
    [5, 1]
    """

    vector: Vector
    times: IntArray

    @property
    def present_times(self) -> IntArray:
        """Counts of the entries that are ordinary values."""
        return self.times if self.vector.state is None else self.times[self.vector.present]


@dataclass(eq=False, repr=False)
class StreamTable:
    """A file that streams by, in place of a `Table`: columns are known by their entries, rows by their number."""

    survey: Survey
    seed: Seed
    notes: list[str]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.survey.rows

    @cached_property
    def names(self) -> list[str]:
        """Columns that may be synthesized."""
        schema = self.survey.schema
        return [c.name for c in schema if not stays(c)]

    @cached_property
    def schema(self) -> Schema:
        """Their description."""
        return replace(self.survey.schema.select(self.names), title="")

    @cached_property
    def empty(self) -> Table:
        """A table with the columns and without rows."""
        nothing = np.zeros(0, np.int64)
        vectors = [self.survey.values[name].vector.take(nothing) for name in self.names]
        return Table.from_vectors(vectors, 0, self._origin, self.schema)

    @property
    def _origin(self) -> Origin:
        stream = self.survey.stream
        if stream.decimal is not None:
            return Origin()
        wanted = pa.schema([stream.schema.field(name) for name in self.names])
        return table_from_arrow(wanted.empty_table()).origin

    def origin(self, columns: Sequence[Counted]) -> Origin:
        """Types of the file, without categories that these columns do not have."""
        return leaving(self._origin, {each.vector.column.name: each.vector for each in columns})

    def schema_of(self, columns: Sequence[Counted]) -> Schema:
        """The schema with the columns as they may leave."""
        return self.schema.replace_columns(*(each.vector.column for each in columns))

    def guarded(self, *, budget: bool = False, numbers_alone: bool = False) -> list[Counted]:
        """Entries of every column that a method may learn from, with their counts; see `guard`."""
        return [self._guarded(name, budget, numbers_alone).counted for name in self.names]

    def _guarded(self, name: str, budget: bool, numbers_alone: bool) -> _Kept:
        key = (name, budget, numbers_alone)
        if key not in self._known:
            self._known[key] = self._guard(name, budget, numbers_alone)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[str, bool, bool], _Kept]:
        return {}

    def _guard(self, name: str, budget: bool, numbers_alone: bool) -> _Kept:
        values, least = self.survey.values[name], self.schema.min_units
        repeats = _repeats(values, least)
        which = np.repeat(np.arange(len(repeats)), repeats)
        first = np.cumsum(repeats) - repeats
        alone = Table.from_vectors([values.vector.take(which)], len(which), schema=self.schema.select([name]))
        if numbers_alone:
            vector = alone[name]
            if vector.is_number:
                vector = without_rare_numbers(vector, alone.units, least, generator(0, name))
        else:
            held = guard(alone, seed=self.seed, budget=budget)
            vector = held.table[name]
            self.notes.extend(note for note in held.notes if note not in self.notes)
        weights = np.ones(len(which), np.int64)
        fewer = np.flatnonzero((repeats < values.times) & (repeats > 0))
        weights[np.isin(which, fewer)] = 0
        weights[first[fewer]] = values.times[fewer]
        kept = weights > 0
        occurring = np.where(repeats > 0, first, 0)
        return _Kept(Counted(vector.take(kept).tidy(), weights[kept]), vector.take(occurring))

    def encoders(
        self, encode: Mapping[str, Callable[[Vector], IntArray]], *, budget: bool = False
    ) -> dict[str, Encoder]:
        """How the rows of each column become codes, rare entries as those that stand for them."""
        made = {}
        for name, how in encode.items():
            values = self.survey.values[name]
            known = None
            if values.coder is not None:
                known = how(self._guarded(name, budget, False).each)
            made[name] = values.encoder(how, known)
        return made

    def counter(
        self, names: Sequence[str], encoders: Mapping[str, Encoder], sizes: Sequence[int]
    ) -> Callable[[Sequence[Clique]], dict[Clique, tuple[list[IntArray], AnyArray]]]:
        """A function that counts tables, named by positions of columns, in one pass over the rows."""
        wide = dict(zip(names, sizes, strict=True))

        def count(margins: Sequence[Clique]) -> dict[Clique, tuple[list[IntArray], AnyArray]]:
            tables = {margin: tuple(names[v] for v in margin) for margin in margins}
            try:
                counted = self.survey.tally(encoders, wide, list(tables.values()))
            except TooManyCells:
                raise DataError(
                    f"{self.survey.stream.where}: the tables have more cells than fit in memory; use fewer columns or "
                    "groups"
                ) from None
            return {margin: counted[table] for margin, table in tables.items()}

        return count


@dataclass(frozen=True, eq=False, repr=False)
class _Kept:
    """A guarded column: its entries with counts, and what each distinct entry of the file became."""

    counted: Counted
    each: Vector


def _repeats(values: Values, least: int) -> IntArray:
    """How often each entry is shown to the exit.

    Of a number it only matters whether enough hold it; where levels are rare, others are borrowed by their shares.
    """
    times = values.times
    if values.vector.is_number:
        return np.minimum(times, least)
    share = SHOWN_ROWS / max(int(times.sum()), 1)
    return (
        times
        if share >= 1
        else np.where(times < least, times, np.maximum((times * share).astype(np.int64), least))
    )
