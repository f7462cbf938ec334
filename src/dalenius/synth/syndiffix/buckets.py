"""`Buckets`: the anonymised content of one combination of columns; all that is needed to draw rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dalenius.synth._store import stored
from dalenius.synth.syndiffix.axis import Axis, Codes
from dalenius.synth.syndiffix.forest import Combination, Forest


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Buckets:
    """Ranges with weights. Column j of ``low`` and ``high`` belongs to column ``columns[j]``.

    Codes are those of the whole frame of each axis; ``low`` equals ``high`` for single values.
    """

    columns: Combination
    low: Codes
    high: Codes
    weight: npt.NDArray[np.float64]

    @property
    def rows(self) -> float:
        """Noisy number of rows described."""
        return float(self.weight.sum())

    def merged(self) -> Buckets:
        """Equal ranges added up, in ascending order: the compact form for files."""
        if not len(self.weight):
            return self
        keys = np.concatenate([self.low, self.high], axis=1)
        order = np.lexsort(keys.T[::-1])
        keys = keys[order]
        new = np.ones(len(keys), dtype=bool)
        new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
        first = np.flatnonzero(new)
        weight = np.add.reduceat(self.weight[order], first)
        d = len(self.columns)
        return replace(self, low=keys[first, :d].copy(), high=keys[first, d:].copy(), weight=weight)

    def spread(self, rows: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Bucket of each of ``rows`` rows: systematic rounding of the weights with one random start."""
        ends = np.cumsum(self.weight)
        ends *= rows / ends[-1]
        ends[-1] = rows
        counts = np.diff(np.floor(ends + rng.random()), prepend=0.0)
        return np.repeat(np.arange(len(counts)), counts.astype(np.int64))


def buckets_of(forest: Forest, combination: Combination) -> Buckets:
    """Buckets of a combination of columns, in codes of the columns' whole frames."""
    arena = forest.tree(combination).arena
    assert arena is not None
    alive = (arena.dead < 0) & (arena.weight > 0)
    axes: list[Axis] = [forest.axes[i] for i in combination]
    low, high = arena.low[alive], arena.high[alive]
    for j, axis in enumerate(axes):
        low[:, j], high[:, j] = axis.to_frame(low[:, j]), axis.to_frame(high[:, j])
    return Buckets(combination, low, high, arena.weight[alive])
