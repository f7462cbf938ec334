"""Relations between cells: which published cell is the sum of which others."""

from __future__ import annotations

import numpy as np

from dalenius.tables.model import TableModel

Relation = tuple[int, list[int]]
"""A cell, and the cells that add up to it."""


def relations(model: TableModel, around: int | None = None) -> list[Relation]:
    """Every cell that is the sum of its parts by one dimension's hierarchy, all of them being published cells.

    With ``around`` only the relations one cell takes part in, as the whole or as a part.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y"], "n": [5, 7]}, by="a", freq="n")
    >>> relations(model)
    [(0, [1, 2])]
    """
    at = {row: i for i, row in enumerate(model.cells.select(model.names).iter_rows())}
    kept: list[Relation] = []
    seen: set[tuple[int, frozenset[int]]] = set()
    for axis in range(len(model.dimensions)):
        groups = _groups(model, axis)
        for row, i in at.items():
            for codes in groups.get(row[axis], ()):
                below = [at.get((*row[:axis], code, *row[axis + 1 :])) for code in codes]
                parts = [b for b in below if b is not None]
                if not parts or (len(parts) < len(below) and not _covers(model, i, parts)):
                    continue
                if around is not None and around != i and around not in parts:
                    continue
                key = (i, frozenset(parts))
                if key not in seen and parts != [i]:
                    seen.add(key)
                    kept.append((i, parts))
    return kept


def _groups(model: TableModel, axis: int) -> dict[str, list[list[str]]]:
    """For every code the ways to split it: by its children, grouped so that each way covers its leaves once."""
    tree = model.dimensions[axis].hierarchy
    found: dict[str, list[list[str]]] = {}
    for code, children in tree.children.items():
        left = list(children)
        while left:
            way: list[str] = []
            taken: set[str] = set()
            for child in left:
                if not taken & tree.parts[child]:
                    way.append(child)
                    taken |= tree.parts[child]
            left = [child for child in left if child not in way]
            if taken == set(tree.parts[code]):
                found.setdefault(code, []).append(way)
    return found


def _covers(model: TableModel, whole: int, parts: list[int]) -> bool:
    """Whether the parts hold every inner cell of the whole once."""
    matrix = model.matrix
    inside = matrix.indices[matrix.indptr[whole] : matrix.indptr[whole + 1]]
    held = np.concatenate([matrix.indices[matrix.indptr[p] : matrix.indptr[p + 1]] for p in parts])
    return bool(np.array_equal(np.sort(held), np.sort(inside)))
