"""One classification tree for two classes, grown with a complexity budget.

The growth rule is that of R's rpart, on which synthpop's default propensity tree stands: a split must save more than a
share of the root's misclassified rows, and a budget handed down stops branches that could not pay for themselves
(Breiman et al. 1984, 3.3; restated by Latner, Neunhoeffer, Drechsler 2024 for their appendix A).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from dalenius.core.option import at_least, one_of
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.utility.propensity.design import Predictor, dense
from dalenius.utility.propensity.tree import _kernels as kernels

LEAF = 5
DEPTH = 30
COMPLEXITY = 0.001
BINS = 4096
"""Numbers with more different values are counted in at most so many bins first."""

Growth = Literal["balanced", "rpart"]
"""Who counts how much, and what becomes of a root that no column can split.

``balanced``: both files count alike whatever their sizes, and such a root is cut half way where that tells most.
``rpart``: every row counts alike and such a root stays whole, as in R's rpart and synthpop's ``utility.gen``.
"""


@dataclass(frozen=True, eq=False)
class Stacked:
    """All predictors of both files as whole numbers: levels of factors, ranks of numbers.

    ``bins`` holds them row by row, so that one pass counts all columns. A number with more than `BINS` different values
    is there in bins of neighbouring ranks; its own ranks stand in ``ranks[fine]`` (−1: the bins are the ranks).
    """

    bins: IntArray = field(repr=False)
    ranks: IntArray = field(repr=False)
    fine: IntArray
    sizes: IntArray
    factor: BoolArray
    owners: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[Predictor]) -> Stacked:
        """Rank numbers and take over the codes of factors."""
        factor = np.array([part.factor for part in parts], dtype=bool)
        codes = {f: dense(part.values)[0] for f, part in enumerate(parts)}
        empty = np.zeros((len(parts[0].values), len(parts)), np.uint8)
        blank = cls(empty, np.zeros((0, len(empty)), np.int32), -np.ones(len(parts), np.int64),
                    np.ones(len(parts), np.int64), factor, tuple(part.column for part in parts))  # fmt: skip
        return blank.replaced(codes)

    def replaced(self, codes: Mapping[int, IntArray]) -> Stacked:
        """The same with other codes of some columns; the bins are overwritten where they have room."""
        sizes, fine = self.sizes.copy(), self.fine.copy()
        held = {f: self.ranks[self.fine[f]] for f in np.flatnonzero(self.fine >= 0).tolist()}
        tops = {f: int(own.max()) for f, own in codes.items()}
        shifts = {
            f: 0 if self.factor[f] else max(0, top.bit_length() - BINS.bit_length() + 1)
            for f, top in tops.items()
        }
        largest = max((tops[f] >> shifts[f] for f in codes), default=0)
        bins = self.bins.astype(np.promote_types(self.bins.dtype, np.min_scalar_type(largest)), copy=False)
        for f, own in codes.items():
            held.pop(f, None)
            if shifts[f]:
                held[f] = own
            bins[:, f] = own >> shifts[f]
            sizes[f] = (tops[f] >> shifts[f]) + 1
        fine[:] = -1
        fine[list(held)] = np.arange(len(held))
        ranks = np.stack([held[f] for f in held]).astype(np.int32, copy=False) if held else self.ranks[:0]
        return replace(self, bins=bins, ranks=ranks, fine=fine, sizes=sizes)

    def some(self, rows: IntArray) -> Stacked:
        """The same predictors on some rows, which may come several times."""
        return replace(self, bins=np.take(self.bins, rows, axis=0), ranks=np.take(self.ranks, rows, axis=1))

    def column(self, f: int) -> IntArray:
        """Levels or ranks of one predictor."""
        return self.ranks[self.fine[f]] if self.fine[f] >= 0 else self.bins[:, f]

    def numbers(self) -> AnyArray:
        """All predictors as a matrix of floats."""
        return np.stack([self.column(f) for f in range(len(self.sizes))], axis=1).astype(np.float64)

    @cached_property
    def columns(self) -> IntArray:
        """The bins column by column, for parting rows."""
        return np.ascontiguousarray(self.bins.T)

    @cached_property
    def spare(self) -> IntArray:
        """Room for parting rows."""
        return np.empty(len(self.bins), np.int32)

    @cached_property
    def offsets(self) -> IntArray:
        """Where the bins of each column begin in the counts of a node."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def root(self, weights: IntArray) -> Node:
        """All rows, counted."""
        rows = np.arange(len(weights), dtype=np.int32)
        return Node(rows, self._counted(weights, rows), int(weights.sum()))

    def _counted(self, weights: IntArray, rows: IntArray) -> IntArray:
        counts: IntArray = kernels.count_node(self.bins, self.offsets, weights, rows, int(self.sizes.sum()))
        return counts

    def best(self, node: Node, weights: IntArray, smallest: int, worth: AnyArray) -> Split:
        """Find the best split of a node."""
        return Split(*kernels.best_split(
            node.counts, self.columns, self.ranks, self.fine, self.offsets, self.sizes, self.factor, weights, node.rows,
            smallest, worth,
        ))  # fmt: skip

    def children(self, node: Node, split: Split, weights: IntArray, fewest: int) -> tuple[Node, Node]:
        """Part a node in place; only the smaller child is counted, the node's counts become those of the other one.

        Children of fewer rows than ``fewest`` are not split further, so that nobody needs their counts.
        """
        f, rows = split.column, node.rows
        here, weight = kernels.part(
            self.columns, self.ranks, int(self.fine[f]), f, weights, rows, self.spare, split.cut, split.left,
            bool(self.factor[f]), int(self.sizes[f]),
        )  # fmt: skip
        left = Node(rows[:here], node.counts, weight)
        right = Node(rows[here:], node.counts, node.weight - weight)
        if max(left.size, right.size) < fewest:
            return left, right
        small = left if here <= len(rows) - here else right
        counted = self._counted(weights, small.rows)
        rest = np.subtract(node.counts, counted, out=node.counts)
        if small is left:
            return left._replace(counts=counted), right._replace(counts=rest)
        return left._replace(counts=rest), right._replace(counts=counted)


def weighed(t: BoolArray) -> IntArray:
    """Weights of rows that stand for themselves, ``t`` where they are protected.

    Examples
    --------
    >>> weighed(np.array([False, True])).tolist() == [1, 2**32]
    True
    """
    return np.where(t, np.int64(1 << 32), np.int64(1))


class Split(NamedTuple):
    """Column (−1: none), Gini decrease, last rank on the left of a number, levels on the left of a factor."""

    column: int
    gain: float
    cut: int
    left: IntArray


class Node(NamedTuple):
    """Rows of a node in their order, how often each value of each column occurs in either file, weight of all rows."""

    rows: IntArray
    counts: IntArray
    weight: int

    @property
    def ones(self) -> int:
        """Protected rows."""
        return self.weight >> 32

    @property
    def size(self) -> int:
        """Rows of both files."""
        return (self.weight & kernels.LOW) + self.ones


class Tree(NamedTuple):
    """Leaves, and the Gini decrease per predictor."""

    leaves: list[Node]
    gains: AnyArray

    def scores(self, rows: int) -> AnyArray:
        """Share of protected rows in the leaf of each row."""
        scores = np.empty(rows)
        for leaf in self.leaves:
            scores[leaf.rows] = leaf.ones / leaf.size
        return scores

    def pmse(self, share: float) -> float:
        """Mean squared distance of the scores from the share of protected rows."""
        sizes, ones = np.array([(leaf.size, leaf.ones) for leaf in self.leaves]).T
        return float(sizes @ (ones / sizes - share) ** 2 / sizes.sum())


@dataclass
class _Grower:
    """Grows one tree; see `grow`."""

    data: Stacked
    weights: IntArray
    alpha: float
    worth: AnyArray
    smallest: int
    ahead: bool
    leaves: list[Node] = field(default_factory=list)
    gains: AnyArray = field(default_factory=lambda: np.zeros(0))

    def node(self, node: Node, depth: int, budget: float) -> tuple[float, int, float]:
        """Grow below a node; returns the risk, the splits and the complexity of what was kept."""
        own = self._own(node)
        reach = min(own, budget)
        mark = len(self.leaves)
        if node.size >= 3 * self.smallest and reach > self.alpha and depth < DEPTH:
            split = self._best(node)
            if split.column < 0 and depth == 0 and self.ahead:
                split = self._look_ahead(node)
            if split.column >= 0:
                saved = self.gains.copy()
                grown = self._split(node, depth, budget, own, reach, split)
                if grown is not None:
                    return grown
                del self.leaves[mark:]
                self.gains = saved
        self.leaves.append(node)
        return own, 0, self.alpha

    def _best(self, node: Node) -> Split:
        return self.data.best(node, self.weights, self.smallest, self.worth)

    def _look_ahead(self, root: Node) -> Split:
        """Split of the root when no single column tells anything: the half-way cut whose halves tell most.

        Columns shuffled one by one keep every margin exactly, so a tree that looks one step ahead sees nothing.
        """
        best = Split(-1, 0.0, -1, np.zeros(0, np.int64))
        for f in range(len(self.data.sizes)):
            size = (self.weights & kernels.LOW) + (self.weights >> 32)
            count = np.bincount(self.data.column(f), size)
            half = int(np.searchsorted(np.cumsum(count) / root.size, 0.5))
            half -= half + 1 >= len(count)
            split = Split(f, 0.0, half, np.arange(half + 1))
            whole = root._replace(rows=root.rows.copy(), counts=root.counts.copy())
            halves = self.data.children(whole, split, self.weights, 0)
            gain = sum(max(self._best(part).gain, 0.0) for part in halves if part.size)
            if gain > best.gain + 1e-6:
                best = split._replace(gain=gain)
        return best

    def _split(
        self, node: Node, depth: int, budget: float, own: float, reach: float, split: Split
    ) -> tuple[float, int, float] | None:
        left, right = self.data.children(node, split, self.weights, 3 * self.smallest)
        self.gains[split.column] += split.gain
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

    def _own(self, node: Node) -> float:
        """Misclassified rows of a node that is a leaf."""
        return float(min(self.worth[1] * node.ones, self.worth[0] * (node.size - node.ones)))


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


def grow(data: Stacked, weights: IntArray, rule: Rule | None = None) -> Tree:
    """Grow one tree; ``weights`` say how many original and protected rows each row stands for (see `weighed`)."""
    rule = rule or Rule()
    root = data.root(weights)
    worth, own = np.ones(2), float(min(root.ones, root.size - root.ones))
    if rule.growth == "balanced":  # with files of equal size these are 1 too
        zeros = root.size - root.ones
        worth = np.array([root.size / (2 * max(zeros, 1)), root.size / (2 * max(root.ones, 1))])
        own = root.size / 2
    grower = _Grower(
        data, weights, rule.complexity * own, worth, rule.minbucket, rule.growth == "balanced",
        gains=np.zeros(len(data.sizes)),
    )  # fmt: skip
    grower.node(root, 0, own)
    return Tree(grower.leaves, grower.gains)


def grow_to_depth(data: Stacked, t: BoolArray, depth: int) -> Tree:
    """A tree that splits wherever it can, down to a depth.

    The tree of NIST's benchmark (Francis 2024): no pruning, leaves of any size, every row counts alike.
    """
    tree = Tree([], np.zeros(len(data.sizes)))
    weights = weighed(t)
    waiting = [(data.root(weights), 0)]
    while waiting:
        node, level = waiting.pop()
        split = data.best(node, weights, 1, np.ones(2)) if level < depth and node.size > 1 else None
        if split is None or split.column < 0:
            tree.leaves.append(node)
            continue
        tree.gains[split.column] += split.gain
        waiting += [(child, level + 1) for child in data.children(node, split, weights, 2)]
    return tree
