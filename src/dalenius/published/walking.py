"""`Walker`: from one file that fits the published tables to others, by swaps that keep every table.

Two records exchange some of their values wherever every published table stays as it is. Free, the walk shows what
nobody can tell apart. That it reaches every file that fits is not proven: what it has not met may still exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.random import generator
from dalenius.published._kernels import walk_records
from dalenius.published.arrays import Ints
from dalenius.published.margin import NO_LIMIT
from dalenius.published.system import System

MOST_NUMBERS = 1 << 26
"""Combinations of values up to which cells are found by their number."""


@dataclass(eq=False, repr=False)
class Walker:
    """A file of records that fits, and the smallest and largest count of each cell met on the way.

    Examples
    --------
    >>> from dalenius.published import Published
    >>> out = Published.count({"sex": ["f", "m"], "town": ["A", "B"]}, [["sex"], ["town"]])
    >>> walker = Walker.of(System.of(out), np.array([1, 0, 0, 1]), seed=1)
    >>> _ = walker.steps(100)
    >>> walker.low.tolist(), walker.high.tolist()
    ([0, 0, 0, 0], [1, 1, 1, 1])
    """

    records: Ints
    maps: Ints
    sizes: Ints
    low: Ints
    high: Ints
    cell_of: Ints
    radix: Ints
    seed: int
    taken: int = 0

    @classmethod
    def of(cls, system: System, counts: Ints, seed: int) -> Walker | None:
        """Start from a table of whole numbers; None where there is nobody, or too many combinations."""
        published = system.published
        shape = [len(values) for values in published.domains.values()]
        if published.combinations > MOST_NUMBERS or counts.sum() < 2 or not shape:
            return None
        radix = np.concatenate([np.cumprod(shape[::-1])[::-1][1:], [1]]).astype(np.int64)
        cell_of = np.full(published.combinations, -1, np.int64)
        cell_of[system.cells @ radix] = np.arange(len(system.cells))
        # Only tables that say something can be broken; one with ranges stays inside them if it stays as it is.
        told = [m for m in published.margins if ((m.low > 0) | (m.high < NO_LIMIT)).any()]
        maps = np.full((len(told), len(shape), max(shape)), -2, np.int64)
        sizes = np.ones((len(told), len(shape)), np.int64)
        for t, margin in enumerate(told):
            for column, places, size in zip(margin.columns, margin.maps, margin.shape, strict=True):
                a = published.columns.index(column)
                maps[t, a, : len(places)] = places
                sizes[t, a] = size
        records = np.repeat(system.cells, counts, axis=0)
        return cls(records, maps, sizes, counts.copy(), counts.copy(), cell_of, radix, seed)

    def steps(self, proposals: int) -> int:
        """Propose some swaps; the number of those that were made."""
        rng = generator(self.seed, "walk", self.taken)
        self.taken += 1
        made = walk_records(
            self.records, self.maps, self.sizes, proposals, rng, self.low, self.high, self.cell_of, self.radix
        )
        return int(made)
