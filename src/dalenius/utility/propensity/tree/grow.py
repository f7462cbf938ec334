"""One classification tree for two classes, grown with a complexity budget.

The growth rule is that of R's rpart, on which synthpop's default propensity tree stands: a split must save more than a
share of the root's misclassified rows, and a budget handed down stops branches that could not pay for themselves
(Breiman et al. 1984, 3.3; restated by Latner, Neunhoeffer, Drechsler 2024 for their appendix A).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from dalenius.core.option import at_least, one_of
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.utility.propensity.design import Predictor
from dalenius.utility.propensity.tree import _kernels as kernels

LEAF = 5
DEPTH = 30
COMPLEXITY = 0.001

Growth = Literal["balanced", "rpart"]
"""Who counts how much, and what becomes of a root that no column can split.

``balanced``: both files count alike whatever their sizes, and such a root is cut half way where that tells most.
``rpart``: every row counts alike and such a root stays whole, as in R's rpart and synthpop's ``utility.gen``.
"""


@dataclass(frozen=True, eq=False)
class Stacked:
    """All predictors of both files as codes: ranks of numbers, levels of factors."""

    codes: IntArray = field(repr=False)
    sizes: IntArray
    factor: BoolArray
    owners: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[Predictor]) -> Stacked:
        """Rank numbers and take over the codes of factors."""
        codes = [np.unique(part.values, return_inverse=True)[1].astype(np.int32) for part in parts]
        sizes = np.array([int(code.max()) + 1 for code in codes], np.int64)
        factor = np.array([part.factor for part in parts], dtype=bool)
        return cls(np.stack(codes), sizes, factor, tuple(part.column for part in parts))


@dataclass
class _Grower:
    """Grows one tree; see `grow`."""

    data: Stacked
    t: BoolArray
    alpha: float
    weights: AnyArray
    smallest: int
    ahead: bool
    leaves: list[IntArray] = field(default_factory=list)
    gains: AnyArray = field(default_factory=lambda: np.zeros(0))

    def node(self, rows: IntArray, depth: int, budget: float) -> tuple[float, int, float]:
        """Grow below some rows; returns the risk, the splits and the complexity of what was kept."""
        own = self._own(rows)
        reach = min(own, budget)
        mark = len(self.leaves)
        if len(rows) >= 3 * self.smallest and reach > self.alpha and depth < DEPTH:
            split = self._best(rows)
            if split[0] < 0 and depth == 0 and self.ahead:
                split = self._look_ahead(rows)
            if split[0] >= 0:
                saved = self.gains.copy()
                grown = self._split(rows, depth, budget, own, reach, split)
                if grown is not None:
                    return grown
                del self.leaves[mark:]
                self.gains = saved
        self.leaves.append(rows)
        return own, 0, self.alpha

    def _best(self, rows: IntArray) -> tuple[int, float, IntArray]:
        found: tuple[int, float, IntArray] = kernels.best_split(
            self.data.codes, self.data.sizes, self.data.factor, self.t, rows, self.smallest, self.weights
        )
        return found

    def _look_ahead(self, rows: IntArray) -> tuple[int, float, IntArray]:
        """Split of the root when no single column tells anything: the half-way cut whose halves tell most.

        Columns shuffled one by one keep every margin exactly, so a tree that looks one step ahead sees nothing.
        """
        best: tuple[int, float, IntArray] = (-1, 0.0, np.zeros(0, np.int64))
        for column in range(len(self.data.sizes)):
            codes, size = self.data.codes[column], int(self.data.sizes[column])
            below = np.cumsum(np.bincount(codes[rows], minlength=size)) / len(rows)
            left = np.arange(int(np.searchsorted(below, 0.5)) + 1)
            if len(left) >= size:
                left = left[:-1]
            gain = sum(
                max(self._best(half)[1], 0.0) for half in kernels.part(codes, rows, left, size) if len(half)
            )
            if gain > best[1] + 1e-6:
                best = (column, gain, left)
        return best

    def _split(
        self,
        rows: IntArray,
        depth: int,
        budget: float,
        own: float,
        reach: float,
        split: tuple[int, float, IntArray],
    ) -> tuple[float, int, float] | None:
        column, gain, left_codes = split
        left, right = kernels.part(self.data.codes[column], rows, left_codes, int(self.data.sizes[column]))
        self.gains[column] += gain
        own_left, own_right = self._own(left), self._own(right)
        risk_l, splits_l, worth_l = self.node(left, depth + 1, reach - self.alpha)
        reach = min(max((own - risk_l) / (splits_l + 1), own - own_left), budget)
        risk_r, splits_r, worth_r = self.node(right, depth + 1, reach - self.alpha)
        kept = [risk_l, splits_l, risk_r, splits_r]
        worth = (own - risk_l - risk_r) / (splits_l + splits_r + 1)
        # A child that would collapse before this node does not count towards the node's worth, nor further up.
        order = ((worth_r, 2, own_right), (worth_l, 0, own_left))
        for child, place, alone in order if worth_r <= worth_l else order[::-1]:
            if worth <= child:
                break
            kept[place], kept[place + 1] = alone, 0
            worth = (own - kept[0] - kept[2]) / (kept[1] + kept[3] + 1)
        if worth <= self.alpha:
            return None
        return kept[0] + kept[2], int(kept[1] + kept[3] + 1), worth

    def _own(self, rows: IntArray) -> float:
        ones = int(kernels.count_ones(self.t, rows))
        return float(min(self.weights[1] * ones, self.weights[0] * (len(rows) - ones)))


@dataclass(frozen=True)
class Rule:
    """How a tree grows: the share of the root's misclassified rows a split must save, the smallest leaf, who counts."""

    complexity: float = COMPLEXITY
    minbucket: int = LEAF
    growth: Growth = "balanced"

    def __post_init__(self) -> None:
        at_least("complexity", self.complexity, 0)
        at_least("minbucket", self.minbucket, 1)
        one_of("growth", self.growth, get_args(Growth))


def grow(data: Stacked, t: BoolArray, rule: Rule | None = None) -> tuple[AnyArray, int, AnyArray]:
    """Scores, number of leaves and Gini decrease per predictor of one tree."""
    rule = rule or Rule()
    rows = np.arange(len(t), dtype=np.int64)
    ones = int(t.sum())
    weights, root = np.ones(2), float(min(ones, len(t) - ones))
    if rule.growth == "balanced":  # with files of equal size these weights are 1 too
        weights = np.array([len(t) / (2 * max(len(t) - ones, 1)), len(t) / (2 * max(ones, 1))])
        root = len(t) / 2
    grower = _Grower(
        data, t, rule.complexity * root, weights, rule.minbucket, rule.growth == "balanced",
        gains=np.zeros(len(data.sizes)),
    )  # fmt: skip
    grower.node(rows, 0, root)
    scores = np.empty(len(t))
    for leaf in grower.leaves:
        kernels.fill(scores, leaf, kernels.count_ones(t, leaf) / len(leaf))
    return scores, len(grower.leaves), grower.gains


def grow_to_depth(data: Stacked, t: BoolArray, depth: int) -> tuple[AnyArray, int, AnyArray]:
    """Scores, leaves and Gini decrease per predictor of a tree that splits wherever it can, down to a depth.

    The tree of NIST's benchmark (Francis 2024): no pruning, leaves of any size, every row counts alike.
    """
    gains, scores = np.zeros(len(data.sizes)), np.empty(len(t))
    waiting = [(np.arange(len(t), dtype=np.int64), 0)]
    leaves, weights = 0, np.ones(2)
    while waiting:
        rows, level = waiting.pop()
        column, gain, left = (-1, 0.0, rows[:0])
        if level < depth and len(rows) > 1:
            column, gain, left = kernels.best_split(data.codes, data.sizes, data.factor, t, rows, 1, weights)
        if column < 0:
            kernels.fill(scores, rows, kernels.count_ones(t, rows) / len(rows))
            leaves += 1
            continue
        gains[column] += gain
        for part in kernels.part(data.codes[column], rows, left, int(data.sizes[column])):
            waiting.append((part, level + 1))
    return scores, leaves, gains
