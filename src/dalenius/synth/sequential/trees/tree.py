"""`Tree`: a grown tree with the donors of its leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.coding import distinct_counts
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.fitted import Parts, Target, Tuning
from dalenius.synth.sequential.trees._kernels import Limits, Response, grow, pick, route

NONE: Floats = np.zeros(0)
MOST_SHARES = 40
CHUNK = 100_000
NO_NUMBERS: npt.NDArray[np.float32] = np.zeros(0, np.float32)
NO_LABELS: npt.NDArray[np.uint16] = np.zeros(0, np.uint16)


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes as arrays; a leaf holds the places ``first`` to ``last`` of the donors.

    Attributes
    ----------
    feature, where, left, right
        Predictor of each node (-1 for a leaf), place of its cut in ``cuts``, and its children.
    cuts
        For each split one bit per code of the predictor: set when the code goes left.
    mass
        Running sum of the donors' weights; empty when all count alike.
    """

    feature: npt.NDArray[np.int32]
    where: npt.NDArray[np.int64]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    cuts: npt.NDArray[np.uint8]
    mass: Floats

    @classmethod
    def grow(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning,
        *, tested: bool = False, tries: int = 0, seed: Seed = 0,
    ) -> tuple[Tree, npt.NDArray[np.int32]]:  # fmt: skip
        """Grow a tree; also returns the rows in the order of the leaves.

        Parameters
        ----------
        tested
            Choose predictors by a permutation test (conditional inference tree) instead of by the best cut.
        tries
            Predictors looked at in a node, drawn anew for each; 0 for all (random forest).
        """
        order = rows.astype(np.int32)
        label, number, classes = _response(target, tuning)
        weights = NONE if target.weights is None else target.weights
        critical = stats.norm.ppf(1 - tuning.alpha / max(len(use), 1)) if tested else -np.inf
        evidence = 0.0 if tested else tuning.evidence * _shares(label[rows] if classes else None)
        limits = Limits(
            tuning.minbucket, 3 * tuning.minbucket, float(tuning.cp), float(evidence), float(critical),
            tuning.diversity, tuning.depth, tries,
        )  # fmt: skip
        start = int(generator(seed, "tree").integers(1, 2**62)) if tries else 1
        nodes = grow(
            design.codes, np.array(use, np.int64), design.unordered, design.sizes,
            Response(number, label, classes, weights), order, limits, start,
        )  # fmt: skip
        mass = NONE if target.weights is None else np.cumsum(target.weights[order])
        feature, where, left, right, first, last, cuts = nodes
        return cls(feature, where, left, right, first, last, cuts, mass), order

    def leaves(self, design: Design, rows: IntArray) -> npt.NDArray[np.int32]:
        """Leaf of each of these rows."""
        leaf = np.zeros(len(rows), np.int32)
        route(design.codes, rows, self.feature, self.where, self.left, self.right, self.cuts, leaf)
        return leaf

    def donors(self, design: Design, rows: IntArray, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Place of a random donor for each of these rows."""
        donor = np.zeros(len(rows), np.int64)
        for start in range(0, len(rows), CHUNK):  # some at a time, so that work space stays small
            part = slice(start, start + CHUNK)
            leaf = self.leaves(design, rows[part])
            pick(leaf, self.first, self.last, rng.random(len(leaf)), self.mass, donor[part])
        return donor

    @property
    def leaf_count(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature < 0))

    def parts(self) -> Parts:
        """Arrays, for a saved model."""
        names = ("feature", "where", "left", "right", "first", "last", "cuts", "mass")
        return {}, {name: getattr(self, name) for name in names}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Tree:
        """Rebuild a saved tree."""
        names = ("feature", "where", "left", "right", "first", "last", "cuts", "mass")
        return cls(*(arrays[name] for name in names))


def _shares(label: IntArray | None) -> float:
    """Free shares that a split adds: it must earn ``evidence`` for each (at most `MOST_SHARES` are charged)."""
    if label is None:
        return 1.0
    found = int(np.count_nonzero(np.bincount(label)))
    return float(min(max(found - 1, 1), MOST_SHARES))


def _response(target: Target, tuning: Tuning) -> tuple[IntArray, npt.NDArray[np.float32], int]:
    """The response as the kernels take it, in small types: a tree reads it once per predictor and level.

    A yes/no is a number (its Gini gain is its variance gain, and faster). A number enters by its rank: trees then cut
    where the distribution differs instead of fencing in a few extreme values (spec psd08: one outlier, one leaf).
    """
    if target.classes > 2 or (target.classes and tuning.diversity > 1):
        small = np.uint16 if target.classes < 2**16 else np.int32
        return target.values.astype(small), NO_NUMBERS, target.classes
    if target.classes:
        return NO_LABELS, target.values.astype(np.float32), 0
    distinct, times = distinct_counts(target.values)
    middle = ((np.cumsum(times) - times / 2) / max(len(target.values), 1) - 0.5).astype(np.float32)
    return NO_LABELS, middle[np.searchsorted(distinct, target.values)], 0
