"""What steps ask of columns, in words that quote no value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.units import kept_together, units_of
from dalenius.data.vector import Vector
from dalenius.mask.neighbours import Floats


def number_faults(table: Table, names: Iterable[str], positive: bool = False) -> list[str]:
    """What keeps columns from being computed with: categories, only gaps, infinities, weights of 0 or less.

    Columns that are not there are for the step to name.

    Examples
    --------
    >>> number_faults(Table.from_frame({"a": ["x", "y"], "b": [1.0, float("inf")]}), ["a", "b"])
    ["column 'a' is categorical; numbers are needed", "column 'b' has an infinite value; set a limit first"]
    """
    wrong = []
    for name in [name for name in names if name in table]:
        vector = table[name]
        if not vector.is_number:
            wrong.append(f"column {name!r} is {vector.column.kind}; numbers are needed")
        elif not vector.present.any():
            wrong.append(f"column {name!r} has no values; leave it out")
        elif np.isinf(vector.values.astype(float)).any():
            wrong.append(f"column {name!r} has an infinite value; set a limit first")
        elif positive and (not vector.present.all() or (vector.values <= 0).any()):
            wrong.append(
                f"column {name!r} has empty, zero or negative weights; give every row a weight above 0"
            )
    return wrong


def weights_of(table: Table, name: str | None) -> Floats | None:
    """The weights of a column; None where none is named."""
    return None if name is None else table[name].floats()


def rows_each(table: Table) -> int:
    """Rows of the person who has most: so many times k rows are k people's at least.

    Examples
    --------
    >>> rows_each(Table.from_frame({"age": [30, 40]}))
    1
    """
    return units_of(table, "entity").most_rows if table.schema.by_role(Role.ENTITY) else 1


def one_draw_each(table: Table, changed: Sequence[Vector]) -> list[Vector]:
    """Changed columns in which all rows of a person or home that had the same value have the same one again.

    Else whoever puts the rows together that belong together averages the noise away: of twelve rows with a height and
    noise of their own the mean is within a third of it.

    Examples
    --------
    >>> data = {"who": [1, 1, 2, 2], "height": [170, 170, 180, 181]}
    >>> table = Table.from_frame(data)
    >>> table = table.with_schema(table.schema.with_roles(entity="who"))
    >>> noisy = Table.from_frame({"height": [168, 171, 183, 177]})["height"]
    >>> one_draw_each(table, [noisy])[0].data.tolist()
    [168, 168, 183, 177]
    """
    owners = kept_together(table)
    if owners.codes is None or owners.count == table.rows:
        return list(changed)
    made = []
    for vector in changed:
        column = table[vector.column.name].categories
        ids = owners.codes.astype(np.int64) * column.size + column.codes
        _, first, which = np.unique(ids, return_index=True, return_inverse=True)
        made.append(vector.take(first[which.ravel()]))
    return made
