"""Rows of the original drawn again, as a file of a model that fits it perfectly would have them.

A row that is drawn three times need not stand there three times: it weighs as much. Only rows with a number that occurs
once in the original are written out, because a model does not repeat such numbers: what was drawn is spread evenly up
to half way to its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dalenius.data.vector import BoolArray, IntArray
from dalenius.utility.propensity.design import dense
from dalenius.utility.propensity.tree._kernels import spread_ranks
from dalenius.utility.propensity.tree.grow import Stacked


@dataclass(frozen=True, eq=False)
class Redrawn:
    """The original's rows, then those that were written out; ``who`` is the row of each that was drawn."""

    data: Stacked
    who: IntArray = field(repr=False)

    def weights(self, n: int) -> IntArray:
        """One original row for each of the first ``n``, and a protected one for each time a row was drawn."""
        weights: IntArray = np.bincount(self.who, minlength=len(self.data.bins)) << 32
        weights[:n] += 1
        return weights

    def stacked(self, n: int) -> Stacked:
        """What was drawn, row by row, on the ``n`` rows of the original."""
        return self.data.some(np.concatenate([self.who, np.arange(n)]))


@dataclass(frozen=True, eq=False)
class Redrawing:
    """An original to draw from: its rows, and the ranks of numbers of which some occur once, with which ones do."""

    original: Stacked
    once: Mapping[int, tuple[IntArray, BoolArray]] = field(repr=False)

    @classmethod
    def of(cls, data: Stacked, k: int) -> Redrawing:
        """The rows after the first ``k`` of stacked ones."""
        original = replace(data, bins=data.bins[k:], ranks=data.ranks[:, k:])
        once = {}
        for f in np.flatnonzero(~data.factor).tolist():
            ranks, count = dense(original.column(f))
            if np.any(count == 1):
                once[f] = ranks, count == 1
        return cls(original, once)

    def draw(self, k: int, rng: np.random.Generator) -> Redrawn:
        """Draw ``k`` rows.

        Examples
        --------
        >>> from dalenius.utility.propensity.design import Predictor
        >>> data = Stacked.of([Predictor("a", "a", np.array([0, 0, 1, 1, 1]), True)])
        >>> drawn = Redrawing.of(data, 2).draw(2, np.random.default_rng(1))
        >>> len(drawn.data.bins), len(drawn.who), hex(drawn.weights(3).sum())
        (3, 2, '0x200000003')
        """
        n = len(self.original.bins)
        drawn = rng.integers(0, n, k)
        moved = {f: rng.random(k) - 0.5 for f in self.once}
        out = np.flatnonzero(self._alone[drawn])
        who = drawn.copy()
        who[out] = n + np.arange(len(out))
        codes = {}
        for f, (ranks, once) in self.once.items():
            fresh, under = spread_ranks(ranks[drawn[out]], once, moved[f][out])
            codes[f] = np.concatenate([under[ranks], fresh])
        rows = np.concatenate([np.arange(n), drawn[out]])
        return Redrawn(self.original.some(rows).replaced(codes), who)

    @cached_property
    def _alone(self) -> BoolArray:
        """Rows with a number that occurs once."""
        alone = np.zeros(len(self.original.bins), dtype=bool)
        for ranks, once in self.once.values():
            alone |= once[ranks]
        return alone
