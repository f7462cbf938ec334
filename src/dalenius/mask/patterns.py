"""Patterns of gaps: which keys of a row are empty, and how many rows support a row that shows only the others.

Rows with the same keys are one *class*; all work is done on classes. A pattern is a number whose bit j says that key j
is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.counts.keys import distinct, ravel
from dalenius.data.vector import BoolArray, IntArray
from dalenius.mask.neighbours import Floats

Enough = Callable[[Floats, Floats], BoolArray]
"""Whether rows are safe, by the rows and the weight that support them."""


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """Classes of rows: their codes (the stratum last, never empty), gaps from the start, rows and weight.

    Examples
    --------
    >>> made, _ = Classes.of(np.array([[0, 1], [0, 1], [1, 1]]), [2, 2], np.zeros(3, int), np.zeros(3, int), np.ones(3))
    >>> made.rows.tolist(), made.keys
    ([2.0, 1.0], 2)
    """

    codes: IntArray
    sizes: tuple[int, ...]
    gaps: IntArray
    rows: Floats
    weight: Floats

    @classmethod
    def of(
        cls, codes: IntArray, sizes: Sequence[int], gaps: IntArray, strata: IntArray, weights: Floats
    ) -> tuple[Classes, IntArray]:
        """Classes of rows, and the class of each row."""
        kinds, pattern = np.unique(gaps, return_inverse=True)
        full = [*(codes[:, j] for j in range(codes.shape[1])), strata, pattern.ravel()]
        widths = [*sizes, int(strata.max(initial=0)) + 1, len(kinds)]
        values, ids = distinct(ravel(full, widths, len(codes)), widths)
        first = np.zeros(len(values), np.int64)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        held = np.column_stack([codes[first], strata[first]])
        count = np.bincount(ids, minlength=len(values)).astype(float)
        return cls(
            held, tuple(widths[:-1]), gaps[first], count, np.bincount(ids, weights, len(values)).astype(float)
        ), ids

    @property
    def keys(self) -> int:
        """Number of keys."""
        return len(self.sizes) - 1

    def shown(self, rows: IntArray, hidden: int, of: int) -> tuple[IntArray, int]:
        """Number some classes by the keys among ``of`` that a pattern shows (and the stratum)."""
        used = [j for j in range(self.keys) if of >> j & 1 and not hidden >> j & 1]
        columns = [*used, self.keys]
        sizes = [self.sizes[j] for j in columns]
        values, ids = distinct(ravel([self.codes[rows, j] for j in columns], sizes, len(rows)), sizes)
        return ids, len(values)

    def support(
        self, rows: IntArray, hidden: int, now: IntArray, alpha: float, of: int
    ) -> tuple[Floats, Floats]:
        """Rows and weight that match classes which show what a pattern leaves, as all others are now.

        Complete classes and those with the same gaps count in full; classes with other gaps count ``alpha`` where all
        that both show agrees (sdcMicro's freqCalc). A class without any key is matched by everybody in its stratum,
        and supports no complete one.
        """
        count, mass = np.zeros(len(rows)), np.zeros(len(rows))
        theirs = now & of
        for other in np.unique(theirs).tolist():
            nobody = other == of and hidden == 0 and of.bit_count() > 1
            share = 1.0 if other in (0, hidden) or hidden == of else 0.0 if nobody else alpha
            if share == 0.0:
                continue
            there = np.flatnonzero(theirs == other)
            ids, size = self.shown(np.concatenate([rows, there]), hidden | other, of)
            count += share * np.bincount(ids[len(rows) :], self.rows[there], size)[ids[: len(rows)]]
            mass += share * np.bincount(ids[len(rows) :], self.weight[there], size)[ids[: len(rows)]]
        return count, mass

    def frequencies(self, now: IntArray, alpha: float, of: int) -> tuple[Floats, Floats]:
        """Rows and weight that match each class, on some of the keys."""
        count, mass = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        theirs = now & of
        for hidden in np.unique(theirs).tolist():
            here = np.flatnonzero(theirs == hidden)
            count[here], mass[here] = self.support(here, hidden, now, alpha, of)
        return count, mass


def patterns_by_price(of: int, prices: Sequence[float], levels: Sequence[int]) -> list[int]:
    """Patterns of gaps among some keys from the cheapest on; of equal ones first those that empty keys of many levels.

    Examples
    --------
    >>> patterns_by_price(0b11, [1.0, 1.0], [2, 9])
    [2, 1, 3]
    """
    bits = [j for j in range(len(prices)) if of >> j & 1]
    rank = {j: place for place, j in enumerate(sorted(bits, key=lambda j: -levels[j]))}
    subsets = (part for part in range(1, 1 << len(prices)) if part & ~of == 0)
    return sorted(
        subsets,
        key=lambda part: (
            sum(prices[j] for j in bits if part >> j & 1), sorted(rank[j] for j in bits if part >> j & 1)
        ),
    )  # fmt: skip
