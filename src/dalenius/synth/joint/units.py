"""Who is protected: a record, or a person, household or firm that owns several records.

A budget for units needs a bound on the records of one unit, because whatever one unit can change must be covered by
noise. Rows beyond the bound are left out. Which rows of a unit stay depends on that unit alone (its first ones in the
file), so a unit that comes or goes changes nothing about the others.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.schema import Role
from dalenius.data.table import Table


def owner_column(table: Table) -> str | None:
    """Column that names the protected unit: the entity, otherwise the household, otherwise none.

    Examples
    --------
    >>> from dalenius.data import Schema
    >>> data = {"person": ["p", "p", "q"], "visit": ["a", "b", "a"]}
    >>> owner_column(Table.from_frame(data, Schema.infer(data).with_roles(entity="person")))
    'person'
    """
    owners = [*table.schema.by_role(Role.ENTITY), *table.schema.by_role(Role.HOUSEHOLD)]
    return owners[0] if owners else None


def bound_units(table: Table, most: int | None) -> tuple[Table, str | None]:
    """Rows that a budget can cover, and the column of the protected unit; at most ``most`` rows of each unit.

    Rows without a unit are left out: nobody can say whose they are.

    Examples
    --------
    >>> from dalenius.data import Schema
    >>> data = {"person": ["p", "p", "q"], "visit": ["a", "b", "a"]}
    >>> bound_units(Table.from_frame(data, Schema.infer(data).with_roles(entity="person")), 1)[0].rows
    2
    """
    owner = owner_column(table)
    if owner is None:
        if most is not None:
            raise OptionError(
                "contribution bounds the records of a unit, but no column has the role entity or household; "
                "give one that role in the schema, or leave contribution out"
            )
        return table, None
    if most is None:
        raise OptionError(
            f"column {owner!r} names units that may own several records, and a budget protects the unit: give "
            "contribution, the most records a unit may have (further ones are left out), or take the role away "
            "if every record is a unit of its own"
        )
    vector = table[owner]
    known = np.flatnonzero(vector.present)
    _, units = np.unique(vector.data[known], return_inverse=True)
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], units[order], side="left")
    kept = known[order][np.arange(len(order)) - starts < most]
    return table.take(np.sort(kept)), owner
