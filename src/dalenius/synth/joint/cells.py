"""`Cells`: the saturated model. A sparse table whose empty cells may hold mass too, without ever being written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dalenius.counts.keys import distinct, ravel, unravel
from dalenius.data.vector import BoolArray, IntArray
from dalenius.synth._store import stored
from dalenius.synth.joint.structure import Structure

FloatArray = npt.NDArray[np.float64]
_LISTED = 2**20
"""Below so many cells the empty ones are listed; above, they are found by trial."""


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Cells with weights, and a mass spread evenly over all other possible cells.

    Attributes
    ----------
    sizes
        Codes of each column.
    codes
        Codes of the listed cells, one array per column.
    weights
        Their weights.
    elsewhere
        Mass of all other possible cells together.
    structure
        Impossible cells.

    Examples
    --------
    >>> cells = Cells((2, 2), [np.array([0, 1]), np.array([0, 1])], np.array([3.0, 1.0]), 0.0)
    >>> drawn = cells.sample(1000, np.random.default_rng(0))
    >>> bool(np.all(drawn[0] == drawn[1]))
    True
    """

    sizes: tuple[int, ...]
    codes: Sequence[IntArray]
    weights: FloatArray
    elsewhere: float
    structure: Structure = field(default_factory=lambda: Structure({}))

    def sample(self, rows: int, rng: np.random.Generator, *, even: bool = False) -> list[IntArray]:
        """Codes of so many rows, in random order; ``even`` gives each listed cell its share, rounded by chance."""
        held = float(self.weights.sum())
        if rows == 0 or held + self.elsewhere <= 0:
            return [np.zeros(rows, np.int64) for _ in self.sizes]
        outside = int(rng.binomial(rows, min(self.elsewhere / (held + self.elsewhere), 1.0)))
        times = self._times(rows - outside, rng, even) if held > 0 else np.zeros(len(self.weights), np.int64)
        order = rng.permutation(rows)
        listed = np.repeat(np.arange(len(times)), times)
        empty = self.empty_cells(outside, rng)
        return [
            np.concatenate([c[listed], e])[order].astype(np.int64)
            for c, e in zip(self.codes, empty, strict=True)
        ]

    def _times(self, rows: int, rng: np.random.Generator, even: bool) -> IntArray:
        """How often each listed cell is drawn."""
        shares = self.weights / self.weights.sum()
        if not even:
            return rng.multinomial(rows, shares)
        # One point in each of ``rows`` equal steps along the cells (systematic sampling).
        ends = np.minimum(np.floor(np.cumsum(shares) * rows + rng.random()), rows).astype(np.int64)
        ends[-1] = rows
        return np.diff(ends, prepend=0)

    def empty_cells(self, count: int, rng: np.random.Generator, different: bool = False) -> list[IntArray]:
        """Codes of random possible cells that are not listed; all different if wanted."""
        if count == 0:
            return [np.zeros(0, np.int64) for _ in self.sizes]
        if math.prod(self.sizes) <= _LISTED:
            free = self._free()
            picked = rng.choice(len(free), count, replace=not different)
            return [unravel(free[picked], self.sizes, i) for i in range(len(self.sizes))]
        empty: list[Sequence[IntArray]] = []
        known, missing = ravel(list(self.codes), self.sizes, len(self.weights)), count
        while missing > 0:
            tries = [rng.integers(0, size, missing + missing // 4 + 16) for size in self.sizes]
            keys = ravel(tries, self.sizes, len(tries[0]))
            good = self.structure.allows(tries) & ~_among(keys, known, self.sizes)
            if different:
                good &= _first(keys, self.sizes)
            kept = [t[good][:missing] for t in tries]
            empty.append(kept)
            missing -= len(kept[0])
            if different:
                known = np.concatenate([known, keys[good][: len(kept[0])]])
        return [np.concatenate(parts) for parts in zip(*empty, strict=True)]

    def _free(self) -> IntArray:
        """Keys of all possible cells that are not listed."""
        open_cells = np.ones(math.prod(self.sizes), dtype=bool)
        open_cells[ravel(list(self.codes), self.sizes, len(self.weights))] = False
        every = np.flatnonzero(open_cells)
        possible = self.structure.allows([unravel(every, self.sizes, i) for i in range(len(self.sizes))])
        return every[possible]


def _among(keys: IntArray, known: IntArray, sizes: Sequence[int]) -> BoolArray:
    """Which keys are among the known ones."""
    _, ids = distinct(np.concatenate([known, keys]), sizes)
    seen = np.zeros(int(ids.max(initial=-1)) + 1, dtype=bool)
    seen[ids[: len(known)]] = True
    return seen[ids[len(known) :]]


def _first(keys: IntArray, sizes: Sequence[int]) -> BoolArray:
    """Which keys occur for the first time."""
    _, ids = distinct(keys, sizes)
    _, firsts = np.unique(ids, return_index=True)
    result = np.zeros(len(keys), dtype=bool)
    result[firsts] = True
    return result
