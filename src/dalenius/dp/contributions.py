"""Who is protected: a record, or a person, household or firm that owns several records.

A budget for units needs a bound on the records of one unit, because whatever one unit can change must be covered by
noise. Rows beyond the bound are left out. Which rows of a unit stay depends on that unit alone (its first ones in the
file), so a unit that comes or goes changes nothing about the others. An entity is somebody, so its bound must be given;
the records of a household are different people, who may be protected one by one, or all together with a bound.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.units import owner_column


def bound_units(table: Table, most: int | None) -> tuple[Table, list[str]]:
    """Rows that a budget can cover, at most ``most`` of each unit, and who is protected, in words.

    Rows without a unit are left out: nobody can say whose they are.

    Examples
    --------
    >>> from dalenius.data import Schema
    >>> data = {"person": ["p", "p", "q"], "visit": ["a", "b", "a"]}
    >>> kept, said = bound_units(Table.from_frame(data, Schema.infer(data).with_roles(entity="person")), 1)
    >>> kept.rows, said
    (2, ["each unit of column 'person' is protected as a whole, with up to 1 records"])
    """
    owner = owner_column(table.schema)
    if most is None:
        return table, _say_records(table, owner)
    if owner is None:
        raise OptionError(
            "contribution bounds the records of a unit, but no column has the role entity or household; "
            "give one that role in the schema, or leave contribution out"
        )
    vector = table[owner]
    known = np.flatnonzero(vector.present)
    _, units = np.unique(vector.data[known], return_inverse=True)
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], units[order], side="left")
    kept = known[order][np.arange(len(order)) - starts < most]
    said = f"each unit of column {owner!r} is protected as a whole, with up to {most} records"
    return table.take(np.sort(kept)), [said]


def _say_records(table: Table, owner: str | None) -> list[str]:
    """What it means that single records are protected; an error where they belong to somebody who has more."""
    if owner is None:
        return []
    if table.schema[owner].has(Role.ENTITY):
        raise OptionError(
            f"column {owner!r} names units that may own several records, and a budget protects the unit: give "
            "contribution, the most records a unit may have (further ones are left out), or take the role away "
            "if every record is a unit of its own"
        )
    return [
        f"each record is protected, not all records of column {owner!r} together: for that give contribution"
    ]
