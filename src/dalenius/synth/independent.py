"""`independent`: each column drawn alone. Safe-looking and useless for relations: the lower reference for utility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import Vector, states
from dalenius.synth._store import stored
from dalenius.synth.base import Model, Synthesizer, register
from dalenius.synth.counted import Counted, StreamTable


@stored
@dataclass(frozen=True, repr=False)
class _Margin:
    """Distinct entries of one column and how often each occurs."""

    entries: Vector
    times: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def counted(cls, held: Counted) -> _Margin:
        """The same from entries that are listed with their counts."""
        both = np.rec.fromarrays([states(held.vector), held.vector.data])
        _, first, place = np.unique(both, return_index=True, return_inverse=True)
        times = np.bincount(place, held.times, len(first)).astype(np.int64)
        return cls(held.vector.take(first[times > 0]).tidy(), times[times > 0])

    @classmethod
    def of(cls, vector: Vector) -> _Margin:
        if vector.state is None:
            _, first, times = np.unique(vector.data, return_index=True, return_counts=True)
        else:
            both = np.rec.fromarrays([vector.state, vector.data])
            _, first, times = np.unique(both, return_index=True, return_counts=True)
        return cls(vector.take(first), times.astype(np.int64))

    def draw(self, rows: int, rng: np.random.Generator) -> Vector:
        if rows == 0:
            return self.entries.take(np.zeros(0, np.int64))
        ends = np.cumsum(self.times)
        return self.entries.take(np.searchsorted(ends, rng.integers(0, ends[-1], rows), side="right")).tidy()


class IndependentModel(Model):
    """The distribution of each column."""

    method = "independent"
    keeps = ("margins",)
    contents = "every distinct value of each column with its count; no relation between columns"

    def __init__(self, schema: Schema, rows: int, margins: list[_Margin], table: Table | None = None) -> None:
        super().__init__(schema, rows, table.origin if table is not None else None)
        self.margins = margins

    def _draw(self, rows: int, seed: Seed) -> Table:
        vectors = [m.draw(rows, generator(seed, m.entries.column.name)) for m in self.margins]
        return Table.from_vectors(vectors, rows, self.origin, self.schema)


@register
@dataclass(frozen=True)
class Independent(Synthesizer):
    """Draw each column alone from its own distribution.

    Shows what is left when all relations are gone. Values still come from the data: a rare value of one column can
    point at a person all the same.

    Examples
    --------
    >>> table = Table.from_frame({"a": [1, 2, 3], "b": ["x", None, "x"]})
    >>> Independent().fit(table).sample(2, seed=0).names
    ['a', 'b']
    """

    info = MethodInfo(
        name="independent",
        title="Independent columns",
        meaning="Each column drawn alone: right margins, no relations. The lower reference for utility.",
        guarantee="none: relations are gone, but single rare values come from the data",
        plain="The program mixes the answers to each question among all people, so that nothing goes together any "
        "more.",
        reference="baseline",
        keeps_joint=False,
    )
    model = IndependentModel
    reads_counts = True

    def _fit(self, table: Table, seed: Seed) -> IndependentModel:
        return IndependentModel(
            table.schema, table.rows, [_Margin.of(table[name]) for name in table.names], table
        )

    def _fit_stream(self, stream: StreamTable, seed: Seed) -> IndependentModel:
        held = stream.guarded(budget=False)
        model = IndependentModel(
            stream.schema_of(held), stream.rows, [_Margin.counted(each) for each in held]
        )
        model.origin = stream.origin(held)
        return model

    def cost(self, shape: Shape) -> Cost:
        """A sort of each column and a search per drawn cell."""
        cells = shape.rows * shape.columns
        return Cost(seconds=0.01 + 1.5e-7 * cells, bytes=40.0 * shape.rows + 9.0 * cells)
