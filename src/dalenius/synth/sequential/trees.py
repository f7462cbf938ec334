"""`Tree`: a grown tree with the donors of its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.later import stats
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth._store import stored
from dalenius.synth.sequential._kernels.nodes import pick, route
from dalenius.synth.sequential._kernels.trees import Limits, Predictors, Response, grow
from dalenius.synth.sequential.coding import distinct_counts, places_of
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.fitted import Job, Target, Tuning

NONE: Floats = np.zeros(0)
COMMON_LEVEL = 0.25
"""Chance gains that a split must earn for each level that many rows share (see `chance_gains`)."""
LARGE = 1 << 17
"""Rows above which a node is cut by a sample of so many, and below which its rows are copied to lie together."""
CHUNK = 100_000
NO_NUMBERS: npt.NDArray[np.float32] = np.zeros(0, np.float32)


@stored
@dataclass(frozen=True, eq=False, repr=False)
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
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    cuts: npt.NDArray[np.uint8]
    mass: Floats

    @classmethod
    def grow(
        cls, job: Job, *, tested: bool = False, tries: int = 0, seed: Seed = 0
    ) -> tuple[Tree, npt.NDArray[np.int32]]:
        """Grow a tree; also returns the rows in the order of the leaves.

        Parameters
        ----------
        tested
            Choose predictors by a permutation test (conditional inference tree) instead of by the best cut.
        tries
            Predictors looked at in a node, drawn anew for each; 0 for all (random forest).
        """
        target, design, tuning = job.target, job.design, job.tuning
        order = job.rows.astype(np.int32)
        label, number, classes = _response(target, tuning, design.codes.dtype)
        weights = NONE if target.weights is None else target.weights
        critical = stats.norm.ppf(1 - tuning.alpha / max(len(job.use), 1)) if tested else -np.inf
        evidence = 0.0 if tested else tuning.evidence * chance_gains(job)
        limits = Limits(
            tuning.minbucket, 3 * tuning.minbucket, float(tuning.cp), float(evidence), float(critical),
            tuning.diversity, tuning.depth, tries, LARGE,
        )  # fmt: skip
        start = int(generator(seed, "tree").integers(1, 2**62)) if tries else 1
        predictors = Predictors(design.codes, np.array(job.use, np.int64), design.unordered, design.sizes)
        nodes, cuts = grow(predictors, Response(number, label, classes, weights), order, limits, start)
        mass = NONE if target.weights is None else np.cumsum(target.weights[order])
        tree = cls(nodes.feature, nodes.where, nodes.left, nodes.right, nodes.first, nodes.last, cuts, mass)
        return tree, order

    def leaves(self, design: Design, rows: IntArray) -> npt.NDArray[np.int32]:
        """Leaf of each of these rows."""
        leaf = np.zeros(len(rows), np.int32)
        route(design.codes, rows, self.feature, self.where, self.left, self.right, self.cuts, leaf)
        return leaf

    def donated(self, values: AnyArray, design: Design, rows: IntArray, rng: np.random.Generator) -> AnyArray:
        """For each of these rows the value of a random donor; ``values`` are the donors' in leaf order."""
        drawn = np.zeros(len(rows), values.dtype)
        for start in range(0, len(rows), CHUNK):  # some at a time, so that work space stays small
            part = slice(start, start + CHUNK)
            leaf = self.leaves(design, rows[part])
            donor = np.zeros(len(leaf), np.int64)
            pick(leaf, self.first, self.last, rng.random(len(leaf)), self.mass, donor)
            drawn[part] = values[donor]
        return drawn


def chance_gains(job: Job) -> float:
    """How many times the gain of a split by chance a split must earn, for ``evidence`` 1.

    The sum of n_k^2 / n over leaves is the number of original rows that would draw their own value again; a split by
    chance raises it by G = 1 - sum of p_k^2. A split must raise it by G/4 for each level, and by one whole row for each
    level that is rare (fewer than sqrt(n) rows hold it): those are the people whom a small leaf fences in. At
    most half a level's rows are asked for, so that a column of many small levels can still be told apart.

    Examples
    --------
    >>> def job(values, classes):
    ...     return Job(Target(values, classes), Design([], 100), (), np.arange(100), Tuning(), 0)
    >>> chance_gains(job(np.array([0, 1, 2, 3] * 25), 4)), chance_gains(job(np.arange(100.0), 0))
    (1.0, 1.0)
    """
    if job.target.classes == 0 or not len(job.rows):
        return 1.0
    times = np.bincount(job.values)
    times = times[times > 0]
    n = len(job.rows)
    chance = 1.0 - float(np.sum((times / n) ** 2))
    if chance <= 0:
        return 1.0
    # A level that most rows hold ("does not apply") fences nobody in; the others are asked for by their own size.
    others = np.delete(times, np.argmax(times)) if 2 * times.max() > n else times
    own = float(
        np.sum(others.astype(np.float64) ** 2) / others.sum()
    )  # rows that share a row's level, on average
    rare = int(np.count_nonzero(times < np.sqrt(n)))
    wanted = rare + COMMON_LEVEL * chance * (len(times) - rare)
    return min(wanted, own / 2) / chance


def _response(
    target: Target, tuning: Tuning, codes: npt.DTypeLike
) -> tuple[AnyArray, npt.NDArray[np.float32], int]:
    """The response as the kernels take it, in small types: a tree reads it once per level.

    A yes/no is a number (its Gini gain is its variance gain, and faster). A number enters by its rank: trees then cut
    where the distribution differs instead of fencing in a few extreme values (Latner et al. 2024).
    """
    if target.classes > 2 or (target.classes and tuning.diversity > 1):
        small = np.promote_types(codes, np.min_scalar_type(target.classes - 1))  # few types: compiled once
        return target.values.astype(small), NO_NUMBERS, target.classes
    none = np.zeros(0, codes)
    if target.classes:
        return none, target.values.astype(np.float32), 0
    distinct, times = distinct_counts(target.values)
    middle = ((np.cumsum(times) - times / 2) / max(len(target.values), 1) - 0.5).astype(np.float32)
    return none, middle[places_of(target.values, distinct)], 0
