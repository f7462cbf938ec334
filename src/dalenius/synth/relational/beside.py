"""`Beside`: columns drawn given others, whatever table those came from.

A sequence of trees (`fit_sequence`) in which the columns that are given are kept; to draw, rows of given columns come
from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.random import Seed
from dalenius.data.encode import level_key
from dalenius.data.exit import releasable
from dalenius.data.schema import Column, Schema
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, Vector, compact, states
from dalenius.synth.sequential.model import SequentialModel
from dalenius.synth.sequential.synthesizers import CartSynthesizer


@dataclass(frozen=True, eq=False)
class Beside:
    """A model of some columns given others.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", "y"] * 30, "b": [1, 2] * 30})
    >>> model = Beside.fit(table, ["a"], CartSynthesizer(), 0)
    >>> model.draw({"a": table["a"].take(np.array([0, 1, 1]))}, 3, 1)["b"].data.tolist()
    [0, 1, 1]
    """

    model: SequentialModel
    given: tuple[Column, ...]
    drawn: tuple[str, ...]

    @classmethod
    def fit(cls, table: Table, given: Sequence[str], trees: CartSynthesizer, seed: Seed) -> Beside:
        """Fit the other columns; of the given ones only what they look like is kept, no row."""
        plain = releasable(table)
        drawn = tuple(name for name in plain.names if name not in given)
        ordered = plain.select([*given, *drawn])
        model = replace(trees, keep=tuple(given))._fit(ordered, seed)
        model.kept = {}
        return cls(model, tuple(plain.schema[name] for name in given), drawn)

    def draw(self, given: Mapping[str, Vector], rows: int, seed: Seed) -> Table:
        """The drawn columns of so many rows."""
        aligned = {column.name: fitted(given[column.name], column) for column in self.given}
        return self.model.after(aligned, rows, seed).select(self.drawn)


def fitted(vector: Vector, column: Column) -> Vector:
    """The same cells over the levels of another description; a level it does not know is an empty cell.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", "z"]})
    >>> fitted(table["a"], replace(table["a"].column, levels=("w", "x"))).present.tolist()
    [True, False]
    """
    if vector.is_number or vector.column.levels == column.levels:
        return replace(vector, column=column)
    place = {level_key(level): i for i, level in enumerate(column.levels or ())}
    moved = np.array([place.get(level_key(level), -1) for level in vector.levels] or [-1])
    codes = moved[vector.data] if len(vector) else np.zeros(0, np.int64)
    state = np.where((codes < 0) & (states(vector) == 0), MISSING, states(vector)).astype(np.uint8)
    return Vector(column, compact(np.maximum(codes, 0), max(len(place), 1)), state).tidy()


def stack(parts: Sequence[Table]) -> Table:
    """Tables of the same columns, one below the other.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", None]})
    >>> stack([table, table]).rows
    4
    """
    first = parts[0]
    vectors = []
    for name in first.names:
        held = [part[name] for part in parts]
        data = np.concatenate([v.data for v in held])
        plain = all(v.state is None for v in held)
        vectors.append(
            Vector(held[0].column, data, None if plain else np.concatenate([states(v) for v in held]))
        )
    rows = sum(part.rows for part in parts)
    return Table.from_vectors([v.tidy() for v in vectors], rows, first.origin, first.schema)


def renamed(table: Table, prefix: str) -> list[Vector]:
    """The columns of a table under other names, without what relates them to each other.

    Examples
    --------
    >>> [v.column.name for v in renamed(Table.from_frame({"a": [1]}), "homes.")]
    ['homes.a']
    """
    return [
        replace(v, column=replace(v.column, name=f"{prefix}{name}", parent=None, partner=None, roles=()))
        for name, v in table.vectors.items()
    ]


def loose(vectors: Sequence[Vector], rows: int, schema: Schema | None = None) -> Table:
    """A table of vectors, with the rules of a schema where one is given."""
    table = Table.from_vectors(vectors, rows)
    return table if schema is None else replace(table, schema=replace(table.schema, rules=schema.rules))
