"""What few people hold in a masked file: texts stay in, everything else is named.

A mask changes the columns its steps are about, and gives the others out as they are. A text that one person wrote is
nobody else's, so it never leaves unless the schema says so; dates, numbers and categories that few hold are for the
steward to mask, who must hear of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.core.errors import columns_named
from dalenius.data.exit import stays
from dalenius.data.schema import Column, Kind
from dalenius.data.steps.step import Masked
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import BoolArray, Vector, emptied

MOST = 0.5
"""Numbers and moments are named if more than this share of the records hold one that few hold; categories at once."""


def without_own_texts(table: Table, masked: Masked) -> Masked:
    r"""A masked table without texts that fewer units hold than the schema asks for, and what else few hold.

    Examples
    --------
    >>> from dalenius.data import Schema
    >>> people = {"note": ["well"] * 5 + ["knows Ann"], "born": [1900 + i for i in range(6)]}
    >>> schema = Schema.infer(people).replace_columns(Column("note", Kind.TEXT))
    >>> people = Table.from_frame(people, schema)
    >>> made = without_own_texts(people, Masked(people))
    >>> made.table.to_frame()["note"][-1], print(*made.notes, sep="\n")
    column 'note': texts that fewer than 3 units have are left empty; 'release: as-is' in the schema lets them leave
    column 'born': no step changes what leaves here, values that fewer than 3 units have among it
    (None, None)
    """
    least, links = table.schema.min_units, masked.lens.links
    units = table.units if links is None else table.units.subset(links)
    free = [c for c in masked.table.schema if c.release != "as-is" and not stays(c)]
    few = {column.name: _few(masked.table[column.name], units, least) for column in free}
    texts = {c.name: few[c.name] for c in free if c.kind is Kind.TEXT and few[c.name].any()}
    lens = masked.lens  # a column that was dropped and is there has new values
    touched = {*lens.mapped, *lens.perturbed, *lens.gaps, *lens.dropped, *texts}
    left = [c.name for c in free if c.name not in touched and _exposed(c, few[c.name])]
    notes = []
    if texts:
        notes.append(
            f"{columns_named(list(texts))}: texts that fewer than {least} units have are left empty; "
            "'release: as-is' in the schema lets them leave"
        )
    if left:
        notes.append(
            f"{columns_named(left)}: no step changes what leaves here, values that fewer than {least} units have "
            "among it"
        )
    gaps = {**masked.lens.gaps, **{n: gone | masked.lens.gaps.get(n, False) for n, gone in texts.items()}}
    emptied_columns = [emptied(masked.table[name], gone) for name, gone in texts.items()]
    return replace(
        masked, table=masked.table.with_vectors(*emptied_columns), lens=replace(masked.lens, gaps=gaps),
        notes=(*masked.notes, *notes),
    )  # fmt: skip


def _exposed(column: Column, few: BoolArray) -> bool:
    """Whether a column gives few people away; not if its list of values is public."""
    if column.kind.is_number or column.kind is Kind.DATETIME:
        return bool(len(few)) and float(few.mean()) > MOST
    return column.domain != "declared" and bool(few.any())


def _few(vector: Vector, units: Units, least: int) -> BoolArray:
    """Rows whose value fewer units hold than asked for; empty cells are nobody's."""
    rows = np.flatnonzero(vector.present)
    found = np.zeros(len(vector), bool)
    if len(rows):
        values, codes = np.unique(vector.data[rows], return_inverse=True)
        found[rows] = units.subset(rows).owners(codes, len(values))[codes] < least
    return found
