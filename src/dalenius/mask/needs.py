"""What steps ask of columns, in words that quote no value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.units import units_of
from dalenius.mask.neighbours import Floats


def number_faults(table: Table, names: Iterable[str], positive: bool = False) -> list[str]:
    """What keeps columns from being computed with: categories, only gaps, infinities, weights of 0 or less.

    Examples
    --------
    >>> number_faults(Table.from_frame({"a": ["x", "y"], "b": [1.0, float("inf")]}), ["a", "b"])
    ["column 'a' is categorical; numbers are needed", "column 'b' has an infinite value; set a limit first"]
    """
    wrong = []
    for name in names:
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
