"""One classification tree for two classes, grown with a complexity budget (spec psd08, 2.3).

The growth rule is the one behind synthpop's default propensity tree, restated there: a split must save more than a
share of the root's misclassified rows, and a budget handed down stops branches that could not pay for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.utility.propensity.design import Predictor
from dalenius.utility.propensity.tree import _kernels as kernels

LEAF = 5
DEPTH = 30
COMPLEXITY = 0.001


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
    smallest: int = LEAF
    leaves: list[IntArray] = field(default_factory=list)
    gains: AnyArray = field(default_factory=lambda: np.zeros(0))

    def node(self, rows: IntArray, depth: int, budget: float) -> tuple[float, int, float]:
        """Grow below some rows; returns the risk, the splits and the complexity of what was kept."""
        own = self._own(rows)
        reach = min(own, budget)
        mark = len(self.leaves)
        if len(rows) >= 3 * self.smallest and reach > self.alpha and depth < DEPTH:
            split = self._best(rows)
            if split[0] < 0 and depth == 0:
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
        # A child that would collapse before this node does not count towards the node's worth.
        order = ((worth_r, 2, own_right), (worth_l, 0, own_left))
        for child, place, alone in order if worth_r <= worth_l else order[::-1]:
            if worth <= child:
                break
            kept[place], kept[place + 1] = alone, 0
            worth = (own - kept[0] - kept[2]) / (kept[1] + kept[3] + 1)
        if worth <= self.alpha:
            return None
        return risk_l + risk_r, splits_l + splits_r + 1, worth

    def _own(self, rows: IntArray) -> float:
        ones = int(kernels.count_ones(self.t, rows))
        return float(min(self.weights[1] * ones, self.weights[0] * (len(rows) - ones)))


def grow(data: Stacked, t: BoolArray, complexity: float = COMPLEXITY) -> tuple[AnyArray, int, AnyArray]:
    """Scores, number of leaves and Gini decrease per predictor of one tree.

    A split is kept when it lowers the number of misclassified rows by more than ``complexity`` of the root's; the
    budget handed down stops branches early that could not pay for themselves.
    """
    rows = np.arange(len(t), dtype=np.int64)
    ones = int(t.sum())
    # Both files count alike: with equal sizes these weights are 1, and the tree is the plain one.
    weights = np.array([len(t) / (2 * max(len(t) - ones, 1)), len(t) / (2 * max(ones, 1))])
    root = len(t) / 2
    grower = _Grower(data, t, complexity * root, weights, gains=np.zeros(len(data.sizes)))
    grower.node(rows, 0, root)
    scores = np.empty(len(t))
    for leaf in grower.leaves:
        kernels.fill(scores, leaf, kernels.count_ones(t, leaf) / len(leaf))
    return scores, len(grower.leaves), grower.gains


def grow_to_depth(data: Stacked, t: BoolArray, depth: int) -> tuple[AnyArray, int, AnyArray]:
    """Scores, leaves and Gini decrease per predictor of a tree that splits wherever it can, down to a depth.

    The tree of NIST's benchmark (spec psd11, 2.6 H): no pruning, leaves of any size, every row counts alike.
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
