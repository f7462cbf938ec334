"""`Merged`: a tree or network of tables over columns whose rare levels were put together.

A level that noise alone could have made is not worth a line in every table. Levels whose noisy count is small
become one level "rest"; when a record is drawn, its rest turns back into a level by the noisy counts. (McKenna,
Miklau and Sheldon 2021, MST.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.counts.ipf import FloatArray
from dalenius.counts.tree_table import TreeTable
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth._store import stored
from dalenius.synth.joint.bayes import Network

THRESHOLD = 3.0
"""Levels below so many standard deviations of the noise are merged."""


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Merging:
    """How one column's levels were merged.

    Attributes
    ----------
    into
        New code of each level.
    kept
        Level of each new code, but for the rest, which is the last.
    rest, shares
        Levels of the rest and how it turns back into them; empty when nothing was merged.
    """

    into: IntArray
    kept: IntArray
    rest: IntArray
    shares: FloatArray

    @classmethod
    def of(cls, noisy: FloatArray, deviation: float) -> Merging:
        """Merge the levels whose noisy count is below the threshold; a single one stays as it is.

        Examples
        --------
        >>> Merging.of(np.array([100.0, 1.0, 90.0, -2.0]), deviation=2.0).into.tolist()
        [0, 2, 1, 2]
        """
        small = noisy < THRESHOLD * deviation
        if np.count_nonzero(small) < 2:
            small = np.zeros(len(noisy), dtype=bool)
        kept, rest = np.flatnonzero(~small), np.flatnonzero(small)
        into = np.full(len(noisy), len(kept), dtype=np.int64)
        into[kept] = np.arange(len(kept))
        positive = np.maximum(noisy[rest], 0.0)
        whole = positive.sum()
        shares = positive / whole if whole > 0 else np.full(len(rest), 1.0 / max(len(rest), 1))
        return cls(into, kept, rest, shares)

    @classmethod
    def nothing(cls, levels: int) -> Merging:
        """Every level stays as it is.

        Examples
        --------
        >>> Merging.nothing(3).into.tolist()
        [0, 1, 2]
        """
        every = np.arange(levels)
        return cls(every, every, np.zeros(0, np.int64), np.zeros(0))

    @property
    def size(self) -> int:
        """Number of levels after merging."""
        return len(self.kept) + (len(self.rest) > 0)

    def fold(self, table: AnyArray) -> AnyArray:
        """A one-way table with the rest added up."""
        return np.bincount(self.into, weights=table, minlength=self.size)

    def unfold(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """Levels again."""
        if not len(self.rest):
            return codes
        full = np.append(self.kept, 0)[codes]
        hidden = np.flatnonzero(codes == len(self.kept))
        full[hidden] = self.rest[
            np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(len(hidden)), side="right")
        ]
        return full


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Merged:
    """A tree of tables over merged levels.

    Examples
    --------
    >>> merging = Merging.of(np.array([100.0, 1.0, 90.0, -2.0]), deviation=2.0)
    >>> from dalenius.counts.junction import JunctionTree
    >>> merged = Merged(TreeTable.uniform(JunctionTree.of([3], [(0,)])), [merging])
    >>> sorted(set(merged.sample(1000, np.random.default_rng(1))[0].tolist()))
    [0, 1, 2]
    """

    table: TreeTable | Network
    mergings: Sequence[Merging]

    def sample(self, rows: int, rng: np.random.Generator, *, even: bool = False) -> list[IntArray]:
        """Codes of each column for so many rows; see `TreeTable.sample`."""
        drawn = self.table.sample(rows, rng, even=even)
        return [merging.unfold(codes, rng) for merging, codes in zip(self.mergings, drawn, strict=True)]
