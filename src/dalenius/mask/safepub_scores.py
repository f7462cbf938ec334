"""How good a level of generalisation is, as scores whose sensitivity is known (Bild, Kuhn and Prasser 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalenius.data.vector import AnyArray
from dalenius.mask.lattice.search import Lattice
from dalenius.mask.neighbours import Floats

Score = Literal["classification", "granularity", "precision", "discernibility", "entropy", "group-count"]


def sensitivity(score: Score, k: int) -> float:
    """By how much one record more or less moves a score at most.

    Examples
    --------
    >>> [sensitivity(name, 10) for name in ("classification", "precision", "group-count")]
    [10.0, 9.0, 1.0]
    """
    if score == "classification":
        return float(k)
    if score in ("precision", "granularity"):
        return float(max(k - 1, 1))
    if score == "group-count":
        return 1.0
    return k * k / (k - 1) + 1 if k > 1 else 5.0


def choice_chances(scores: Floats, width: float, epsilon: float) -> Floats:
    """Chances of the exponential mechanism: exp(½ ε score / sensitivity), made to add up to one.

    Examples
    --------
    >>> choice_chances(np.array([5.0, 7.0]), 2.0, 2.0).round(6).tolist()
    [0.268941, 0.731059]
    """
    logs = 0.5 * epsilon * (scores - scores.max()) / width
    made: Floats = np.exp(logs) / np.exp(logs).sum()
    return made


def majority_count(features: AnyArray, sizes: AnyArray, k: int, target_counted: bool = True) -> float:
    """Records that the commonest class of their group of features gets right, among those that are shown.

    Parameters
    ----------
    target_counted
        Whether the class is part of what k records must share, as it must be where it leaves with them. The paper's
        score (Sugiyama et al. 2024, definition 4) looks at the features alone.

    Examples
    --------
    >>> features = np.array([0, 0, 0, 1, 1, 2])
    >>> [majority_count(features, np.array([3, 1, 1, 2, 2, 2]), k) for k in (1, 2, 3, 6)]
    [7.0, 7.0, 3.0, 0.0]
    >>> [majority_count(features, np.array([3, 1, 1, 2, 2, 2]), k, target_counted=False) for k in (1, 2, 4, 6)]
    [7.0, 7.0, 5.0, 0.0]
    """
    which = features.astype(np.int64)
    shown = sizes >= k if target_counted else np.bincount(which, sizes)[which] >= k
    if not shown.any():
        return 0.0
    best = np.zeros(int(features.max()) + 1)
    np.maximum.at(best, which[shown], sizes[shown])
    return float(best.sum())


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores of nodes of a lattice of a sample; ``total`` is the number of records of the file, where it is public.

    Scores are told up to a number that is the same for all nodes: only their differences count.
    """

    lattice: Lattice
    score: Score
    k: int
    target: int | None = None
    total: int | None = None
    covers: Sequence[Sequence[Floats]] = ()

    def of(self, levels: Sequence[int]) -> float:
        """The score of a node: more is better."""
        groups = self.lattice.groups(levels)
        sizes = groups.sizes.astype(float)
        shown = sizes >= self.k
        alive = float(sizes[shown].sum())
        heights = [ladder.height for ladder in self.lattice.ladders]
        if self.score == "classification":
            return self._classified(levels, groups.ids, sizes)
        if self.score == "group-count":
            return float(shown.sum()) + (not shown.all())
        if self.score == "precision":
            lost = np.mean(
                [at / height if height else 0.0 for at, height in zip(levels, heights, strict=True)]
            )
            return alive * (1 - float(lost))
        if self.score == "granularity":
            mass = self.lattice.facts.weights * shown[groups.ids]
            codes = self.lattice.facts.codes
            each = [float((mass * self.covers[j][at][codes[j]]).sum()) for j, at in enumerate(levels)]
            return alive - float(np.mean(each))
        total = float(self.total or 1)
        if self.score == "discernibility":
            return -float((sizes[shown] ** 2).sum()) / total + alive
        return self._spread(levels, shown[groups.ids], total)

    def _classified(self, levels: Sequence[int], ids: AnyArray, sizes: Floats) -> float:
        """Cells of features and target, then the commonest target of each group of features."""
        target = self.target if self.target is not None else len(levels) - 1
        facts, ladders = self.lattice.facts, self.lattice.ladders
        key = np.zeros(len(ids), np.int64)
        for j, (ladder, at) in enumerate(zip(ladders, levels, strict=True)):
            if j != target:
                key = np.unique(
                    key * ladder.sizes[at] + ladder.maps[at][facts.codes[j]], return_inverse=True
                )[1]
        first = np.unique(ids, return_index=True)[1]
        height = ladders[target].height
        found = majority_count(key[first], sizes, self.k)
        return found * (1 - levels[target] / height if height else 1.0)

    def _spread(self, levels: Sequence[int], shown: AnyArray, total: float) -> float:
        """Squared counts of single values, with the records that are not shown counted as all."""
        facts, lost = self.lattice.facts, 0.0
        for j, (ladder, at) in enumerate(zip(self.lattice.ladders, levels, strict=True)):
            mass = facts.weights * shown
            counts = np.bincount(ladder.maps[at][facts.codes[j]], mass, ladder.sizes[at])
            alive = float(mass.sum())
            root = at == ladder.height and ladder.sizes[at] == 1 and ladder.height > 0
            lost += total * alive if root else float((counts**2).sum())
            lost -= total * alive
        return -lost / (total * len(levels))
