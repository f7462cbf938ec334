"""Rows like those of a frame: cells that are there are kept, gaps and further columns are drawn given them.

Several tries are drawn for each row. A cell that is given is put in; where the model draws it after a cell that was
free, a try counts only if the model draws the same (a number: one in the same bin of the model) of itself. The first
try that counts is an exact draw given the cells (von Neumann 1951); a row without one takes the try that held longest,
and is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.random import Seed, sequence
from dalenius.data.exit import leave
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, IntArray, Vector, states
from dalenius.synth.conditional import Conditioned, released_schema, with_levels

if TYPE_CHECKING:
    from dalenius.synth.base import Model

TRIES = (8, 64, 256)
"""Tries for every row; those that all fail get the next number of tries."""


def draw_like(model: Model, frame: Any, seed: Seed) -> Conditioned:
    """One row for each row of a frame, with its cells, and what it lacks drawn given them.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> people = {"sex": ["f", "m"] * 40, "pay": [10, 30] * 38 + [20, 20] * 2}
    >>> model = make_synthesizer("cart").fit(people, seed=1)
    >>> drawn = draw_like(model, {"sex": ["m", "f", None], "pay": [None, None, 10]}, seed=1)
    >>> drawn.table.to_frame()
    {'sex': ['m', 'f', 'f'], 'pay': [30, 10, 10]}
    """
    if not hasattr(model, "fill"):
        raise OptionError(
            f"{model.method} cannot fill rows; use a method that draws one column after the other"
        )
    wanted = _wanted(model, frame)
    cells = model.preparation.apply_to_part(wanted)
    given = {n: with_levels(cells[n], model.schema[n]) for n in cells.names if n in model.schema}
    left: IntArray = np.arange(wanted.rows)
    parts: list[tuple[IntArray, Table]] = []
    drawn = exact = 0
    for turn, tries in enumerate(TRIES):
        if not len(left):
            break
        rows = np.repeat(left, tries)
        made, held = model.fill(
            {n: v.take(rows) for n, v in given.items()}, len(rows), sequence(seed, "like", turn)
        )
        best = held.reshape(len(left), tries).argmax(axis=1)
        fine = held.reshape(len(left), tries)[np.arange(len(left)), best] == len(model.schema.names)
        use = fine if turn + 1 < len(TRIES) else np.ones(len(left), bool)
        parts.append((left[use], made.take((np.arange(len(left)) * tries + best)[use])))
        drawn, exact = drawn + len(rows), exact + int(fine.sum())
        left = left[~use]
    table = _kept_cells(model.preparation.restore(_in_order(parts, model.schema)), wanted)
    return Conditioned(leave(table), drawn, exact, "like")


def _wanted(model: Model, frame: Any) -> Table:
    """The frame as the model would give it out."""
    released = released_schema(model)
    wanted = Table.from_frame(frame)
    unknown = [name for name in wanted.names if name not in released]
    if unknown:
        raise OptionError(f"like: {no_column(unknown, released.names)}")
    if not wanted.rows:
        raise DataError("like: the frame has no rows")
    # bounds and levels of the model are what it can draw; what is given may lie beside them
    columns = [
        replace(released[n], levels=_levels(released[n], wanted[n]), bounds=None, note="")
        for n in wanted.names
    ]
    return Table.from_frame(frame, Schema(tuple(columns)))


def _levels(column: Any, vector: Vector) -> Any:
    """Levels of a category: the model's, and after them what else is given."""
    if column.kind.is_number or column.levels is None:
        return None
    return (
        *column.levels,
        *(level for level in vector.levels if level not in (*column.levels, *column.special)),
    )


def _in_order(parts: list[tuple[IntArray, Table]], schema: Schema) -> Table:
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    first = parts[0][1]
    vectors = []
    for name in schema.names:
        column = first[name].column
        cells = [with_levels(table[name], column) for _, table in parts]
        data, state = np.concatenate([c.data for c in cells]), np.concatenate([states(c) for c in cells])
        vectors.append(Vector(column, data[order], state[order]).tidy())
    return Table.from_vectors(vectors, len(order), first.origin, first.schema)


def _kept_cells(made: Table, wanted: Table) -> Table:
    """The given cells as they were, whatever was made over afterwards."""
    vectors = []
    for name in wanted.names:
        if name not in made:
            continue
        theirs = with_levels(wanted[name], made[name].column)
        given = states(theirs) != MISSING
        data = np.where(given, theirs.data, made[name].data)
        state = np.where(given, states(theirs), states(made[name])).astype(np.uint8)
        vectors.append(Vector(made[name].column, data, state).tidy())
    return made.with_vectors(*vectors)
