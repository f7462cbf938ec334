"""`saturated`: a category given the exact combination of its predictors, without any smoothing between cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.fitted import ColumnMethod, Job, column_method, smallest

_MIX = np.uint64(0x9E3779B97F4A7C15)


@column_method
@dataclass(eq=False, repr=False)
class SaturatedCells(ColumnMethod):
    """Draw from the original rows that agree on all predictors; from all rows where none does.

    Keeps every relation between its predictors and the column, and with it every rare combination: for few columns of
    few levels only.
    """

    name = "saturated"
    summary = "original rows of the same cell (few predictors with few levels)"

    use: Sequence[int]
    keys: npt.NDArray[np.uint64]
    donors: AnyArray
    mass: Floats

    @classmethod
    def fit(cls, job: Job) -> SaturatedCells:
        """Sort the rows by cell."""
        chosen = job.proper()
        keys = _keys(chosen.design, chosen.use, chosen.rows)
        order = np.argsort(keys, kind="stable")
        return cls(chosen.use, keys[order], smallest(chosen.values[order]), np.cumsum(chosen.masses[order]))

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """A row of the same cell, by weight."""
        keys = _keys(design, self.use, rows)
        low = np.searchsorted(self.keys, keys, side="left")
        high = np.searchsorted(self.keys, keys, side="right")
        none = low == high
        low[none], high[none] = 0, len(self.keys)
        below = np.where(low > 0, self.mass[np.maximum(low - 1, 0)], 0.0)
        wanted = below + generator(seed, "donor").random(len(rows)) * (self.mass[high - 1] - below)
        return self.donors[np.clip(np.searchsorted(self.mass, wanted, side="right"), low, high - 1)]


def _keys(design: Design, use: Sequence[int], rows: IntArray) -> npt.NDArray[np.uint64]:
    """One 64-bit word per row for the combination of its predictors (two combinations share one in 2^64 cases)."""
    word = np.zeros(len(rows), np.uint64)
    for place in use:
        word = (word ^ design.codes[place, rows].astype(np.uint64)) * _MIX
        word ^= word >> np.uint64(29)
    return word
