"""`Walker`: from one table that fits what is published to others, by moves that keep every published sum.

People move between the corners of boxes wherever no published table can see it: two records exchange some of their
values, or four or eight do where every pair or triple of columns is published. Moves found otherwise can be added.
The walk shows what nobody can tell apart. That it reaches every table that fits is not proven: what it has not met
may still exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalenius.core.random import generator
from dalenius.published._kernels import walk_cells, walk_moves
from dalenius.published.arrays import Ints
from dalenius.published.margin import NO_LIMIT
from dalenius.published.system import System

MOST_NUMBERS = 1 << 26
"""Combinations of values up to which cells are found by their number."""
MOST_BLOCKS = 5
"""Columns of a box are divided into so many blocks at most: sixteen people must move at once then."""


@dataclass(eq=False, repr=False)
class Walker:
    """A table that fits, and the smallest and largest count of each cell met on the way.

    Examples
    --------
    >>> from dalenius.published import Published
    >>> out = Published.count({"sex": ["f", "m"], "town": ["A", "B"]}, [["sex"], ["town"]])
    >>> walker = Walker.of(System.of(out), np.array([1, 0, 0, 1]), seed=1)
    >>> _ = walker.steps(100)
    >>> walker.low.tolist(), walker.high.tolist()
    ([0, 0, 0, 0], [1, 1, 1, 1])
    """

    cells: Ints
    maps: Ints
    counts: Ints
    low: Ints
    high: Ints
    cell_of: Ints
    radix: Ints
    blocks: int
    seed: int
    taken: int = 0
    moves: list[tuple[Ints, Ints]] = field(default_factory=list)

    @classmethod
    def of(cls, system: System, counts: Ints, seed: int) -> Walker | None:
        """Start from a table of whole numbers; None where nothing can move, or there are too many combinations."""
        published = system.published
        shape = [len(values) for values in published.domains.values()]
        if published.combinations > MOST_NUMBERS or counts.sum() < 2 or len(shape) < 2:
            return None
        radix = np.concatenate([np.cumprod(shape[::-1])[::-1][1:], [1]]).astype(np.int64)
        cell_of = np.full(published.combinations, -1, np.int64)
        cell_of[system.cells @ radix] = np.arange(len(system.cells))
        # Only tables that say something can be broken; one with ranges stays inside them if it stays as it is.
        told = [m for m in published.margins if ((m.low > 0) | (m.high < NO_LIMIT)).any()]
        maps = np.full((len(told), len(shape), max(shape)), -2, np.int64)
        for t, margin in enumerate(told):
            for column, places in zip(margin.columns, margin.maps, strict=True):
                maps[t, published.columns.index(column), : len(places)] = places
        widest = max((len(margin.columns) for margin in told), default=0)
        blocks = max(2, min(len(shape), widest + 1, MOST_BLOCKS))
        held = counts.copy()
        return cls(
            system.cells, maps, held, held.copy(), held.copy(), cell_of, radix, blocks, seed
        )  # fmt: skip

    def steps(self, proposals: int) -> int:
        """Propose some moves; the number of those that were made."""
        rng = generator(self.seed, "walk", self.taken)
        self.taken += 1
        seen = (self.counts, self.low, self.high)
        made = walk_cells(
            self.cells, self.cell_of, self.radix, self.maps, self.blocks, proposals, rng, *seen
        )  # fmt: skip
        if self.moves:
            start = np.cumsum([0, *(len(places) for places, _ in self.moves)])
            places, change = (np.concatenate([move[i] for move in self.moves]) for i in (0, 1))
            size = len(self.counts)
            room = (np.zeros(size, np.int64), np.full(size, NO_LIMIT, np.int64))
            made += walk_moves(start, places, change, proposals // 10, rng, *room, *seen)
        return int(made)

    def jump(self, counts: Ints) -> None:
        """Go on from another table that fits."""
        self.counts[:] = counts
        self.low, self.high = np.minimum(self.low, counts), np.maximum(self.high, counts)

    def add(self, change: Ints) -> None:
        """Know a further move: a change of cells that keeps every published sum."""
        places = np.flatnonzero(change)
        self.moves.append((places, change[places]))
