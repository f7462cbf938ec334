"""How good a level of generalisation is, as scores whose sensitivity is known (Bild, Kuhn and Prasser 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalenius.data.vector import AnyArray
from dalenius.mask.lattice.search import Lattice, Levels
from dalenius.mask.lattice.walk import Cells, cells, merged, walk
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
    shown = sizes >= k if target_counted else np.bincount(features, sizes)[features] >= k
    if not shown.any():
        return 0.0
    best = np.zeros(int(features.max()) + 1)
    np.maximum.at(best, features[shown], sizes[shown])
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

    def of(self, levels: Levels) -> float:
        """The score of a node: more is better."""
        return self.value(cells(self.lattice, levels))

    def all(self) -> tuple[list[Levels], Floats]:
        """Every node with its score."""
        found = [(at.levels, self.value(at)) for at in walk(self.lattice)]
        return [levels for levels, _ in found], np.array([value for _, value in found])

    def value(self, at: Cells) -> float:
        """The score of a node by its groups."""
        shown = at.sizes >= self.k
        sizes = at.sizes.astype(float)
        alive = float(sizes[shown].sum())
        heights = [ladder.height for ladder in self.lattice.ladders]
        if self.score == "classification":
            return self._classified(at, sizes)
        if self.score == "group-count":
            return float(shown.sum()) + (not shown.all())
        if self.score == "precision":
            lost = np.mean(
                [here / height if height else 0.0 for here, height in zip(at.levels, heights, strict=True)]
            )
            return alive * (1 - float(lost))
        if self.score == "granularity":
            each = [
                float(np.bincount(at.codes[j], sizes * shown, len(share)) @ share)
                for j, share in enumerate(self._shares(at.levels))
            ]
            return alive - float(np.mean(each))
        total = float(self.total or 1)
        if self.score == "discernibility":
            return -float((sizes[shown] ** 2).sum()) / total + alive
        return self._spread(at, sizes * shown, total)

    def _shares(self, levels: Levels) -> list[Floats]:
        """For each column how much of its domain each of its groups covers."""
        made = []
        for ladder, here, share in zip(self.lattice.ladders, levels, self.covers, strict=True):
            of_group = np.zeros(ladder.sizes[here])
            of_group[ladder.maps[here]] = share[here]
            made.append(of_group)
        return made

    def _classified(self, at: Cells, sizes: Floats) -> float:
        """Cells of features and target, then the commonest target of each group of features."""
        ladders = self.lattice.ladders
        target = self.target if self.target is not None else len(ladders) - 1
        features = [j for j in range(len(ladders)) if j != target]
        widths = [ladders[j].sizes[at.levels[j]] for j in features]
        ids = merged(np.take(at.codes, features, axis=0), widths, at.sizes)[1]
        height = ladders[target].height
        found = majority_count(ids, sizes, self.k)
        return found * (1 - at.levels[target] / height if height else 1.0)

    def _spread(self, at: Cells, mass: Floats, total: float) -> float:
        """Squared counts of single values, with the records that are not shown counted as all."""
        lost, alive = 0.0, float(mass.sum())
        for ladder, here, codes in zip(self.lattice.ladders, at.levels, at.codes, strict=True):
            counts = np.bincount(codes, mass, ladder.sizes[here])
            root = here == ladder.height and ladder.sizes[here] == 1 and ladder.height > 0
            lost += total * alive if root else float((counts**2).sum())
            lost -= total * alive
        return -lost / (total * len(at.levels))
