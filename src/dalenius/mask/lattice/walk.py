"""Every node of a lattice in turn, each made out of one that is a level finer in a single column.

What a finer node has put together stays together, so that a node's groups are those of the finer one, merged: a few
hundred groups instead of all rows, for nearly all nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.mask.lattice._kernels import add_codes, hash_groups
from dalenius.mask.lattice.search import MOST_KEYS, Lattice, Levels, distinct

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """The groups of a node.

    Attributes
    ----------
    levels
        Level of each column.
    codes
        For each column the value of each group at that level.
    sizes
        Rows of each group.
    """

    levels: Levels
    codes: Codes
    sizes: Counts


def merged(codes: Codes, widths: Sequence[int], weights: Counts) -> tuple[Codes, Codes, Counts]:
    """Equal columns put together: one of each, which each belongs to, and the sum of their weights.

    Examples
    --------
    >>> codes = np.array([[0, 1, 0], [2, 0, 2]], np.int32)
    >>> [found.tolist() for found in merged(codes, [2, 3], np.array([5, 1, 2]))]
    [[0, 1], [0, 1, 0], [7, 1]]
    """
    count = codes.shape[1]
    if float(np.prod(np.array(widths, float))) >= MOST_KEYS:
        first, whose = distinct(list(codes), widths)
        total = np.bincount(whose, weights, len(first)).astype(np.int64)
        return first.astype(np.int32), whose.astype(np.int32), total
    keys, room = np.zeros(count, np.uint64), 1
    for own, width in zip(codes, widths, strict=True):
        if width > 1:
            add_codes(own, np.arange(width, dtype=np.uint64) * np.uint64(room), keys)
            room *= width
    places = np.full(1 << max(int(2 * count - 1).bit_length(), 4), -1, np.int32)
    owner, ids, sizes = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int64)
    found = hash_groups(keys, weights, places, owner, ids, sizes)
    return owner[:found], ids, sizes[:found]


def cells(lattice: Lattice, levels: Levels) -> Cells:
    """The groups of one node."""
    ladders, exact = lattice.ladders, lattice.facts.codes
    made = np.stack([ladder.maps[at][own] for ladder, at, own in zip(ladders, levels, exact, strict=True)])
    widths = [ladder.sizes[at] for ladder, at in zip(ladders, levels, strict=True)]
    owner, _, sizes = merged(made, widths, lattice.facts.weights)
    return Cells(levels, np.take(made, owner, axis=1), sizes)


def walk(lattice: Lattice) -> Iterator[Cells]:
    """The groups of every node, each node once.

    Columns with few values are made coarser last: their finer node is hardly larger than the one it gives.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> from dalenius.mask.lattice.ladder import Ladder
    >>> table = Table.from_frame({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    >>> lattice = Lattice([Ladder.of(table, "age", [10, "all"]), Ladder.of(table, "sex")], [])
    >>> {cells.levels: len(cells.sizes) for cells in walk(lattice)}
    {(0, 0): 40, (0, 1): 40, (1, 0): 8, (1, 1): 4, (2, 0): 2, (2, 1): 1}
    """
    ladders = lattice.ladders
    order = sorted(range(len(ladders)), key=lambda j: -ladders[j].sizes[0])
    finest = cells(lattice, (0,) * len(ladders))
    yield from _below(lattice, finest, order)


def _below(lattice: Lattice, at: Cells, order: Sequence[int]) -> Iterator[Cells]:
    """A node and all that are coarser in the columns of ``order``."""
    if not order:
        yield at
        return
    yield from _below(lattice, at, order[1:])
    while at.levels[order[0]] < lattice.ladders[order[0]].height:
        at = _coarser(lattice, at, order[0])
        yield from _below(lattice, at, order[1:])


def _coarser(lattice: Lattice, at: Cells, column: int) -> Cells:
    """The node that is one level coarser in a column."""
    ladder, level = lattice.ladders[column], at.levels[column]
    up = np.empty(ladder.sizes[level], np.int32)
    up[ladder.maps[level]] = ladder.maps[level + 1]
    levels = (*at.levels[:column], level + 1, *at.levels[column + 1 :])
    codes = at.codes.copy()
    codes[column] = up[codes[column]]
    widths = [each.sizes[here] for each, here in zip(lattice.ladders, levels, strict=True)]
    owner, _, sizes = merged(codes, widths, at.sizes)
    return Cells(levels, np.take(codes, owner, axis=1), sizes)
