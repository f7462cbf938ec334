"""Whose rows a table of sums is made of: what is said where nobody named the column of contributors.

Without it every row is taken for a contributor of its own. Three rows of one firm then look like three firms, and no
rule on contributors sees what the cell gives away.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from dalenius.data import Role, Table
from dalenius.tables.model import TableModel

NAMES = re.compile(
    r"(^|[_.\s-])(id|ids|nr|key|firm|firms|company|enterprise|business|establishment|plant|contributor|respondent"
    r"|reporter|person|pid|unit|employer|owner|farm|holding|group|household|hh|patient|betrieb|unternehmen|firma"
    r"|entreprise|empresa)($|[_.\s-]|id$|nr$)|Id$|ID$",
    re.IGNORECASE,
)
"""What columns are called that say whose row it is."""
MANY = 3
"""From one distinct value in so many rows a column of texts may name contributors, whatever it is called."""


def contributor_columns(table: Table, used: Collection[str | None]) -> tuple[str, ...]:
    """Columns that look as if they said whose row it is: named like one, or of many values, some of them repeated.

    A column in which every row differs changes nothing, since every row is a contributor of its own anyway.

    Examples
    --------
    >>> table = Table.from_frame({"firm": ["A", "A", "B"], "area": ["x", "x", "x"], "v": [1, 2, 3]})
    >>> contributor_columns(table, ["v"])
    ('firm',)
    """
    return tuple(name for name in table.names if name not in used and _names_somebody(table, name))


def _names_somebody(table: Table, name: str) -> bool:
    vector = table[name]
    told = bool(NAMES.search(name)) or Role.IDENTIFIER in vector.column.roles
    if vector.is_number and not told:
        return False
    groups = vector.categories
    if not told and all(isinstance(label, int | float) for label in groups.labels):
        return False
    _, often = np.unique(np.asarray(groups.codes), return_counts=True)
    return bool((often > 1).any()) and len(often) > 1 and (told or MANY * len(often) >= table.rows)


def whose_rows(model: TableModel) -> str:
    """What a reader must know about who counts as a contributor; nothing where a column was named.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"area": ["x", "x", "y"], "firm": ["A", "A", "B"], "v": [1, 2, 3]}
    >>> whose_rows(define(firms, by="area", value="v", contributor="firm"))
    ''
    >>> whose_rows(define({"area": ["x", "y"], "v": [1, 2]}, by="area", value="v"))
    'Each row counts as one contributor.'
    """
    if model.records is None or model.records.contributor is not None:
        return ""
    said = "Each row counts as one contributor."
    if not model.perhaps:
        return said
    listed = " or ".join(repr(name) for name in model.perhaps[:3])
    return f"{said} If column {listed} says whose row it is, name it with contributor= (--contributor)."
