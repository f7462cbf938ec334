"""`Plan`: which columns are synthesized together, and how the parts are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from dalenius.core.option import Option, check_fields
from dalenius.synth._store import stored
from dalenius.synth.syndiffix._kernels.clusters import anneal, assemble
from dalenius.synth.syndiffix.dependence import Matrix


@dataclass(frozen=True)
class ClusterOptions:
    """How clusters are searched.

    Attributes
    ----------
    most
        Room of a cluster; a column takes 1 + sqrt(entropy), at least 2.
    threshold
        Least average dependence for sharing a cluster.
    alpha
        Cooling of the annealing; smaller searches longer.
    sample
        Rows on which dependence is measured.

    Examples
    --------
    >>> ClusterOptions().most
    15.0
    """

    most: float = 15.0
    threshold: float = 0.1
    alpha: float = 0.01
    sample: Annotated[int, Option(at_least=1)] = 1000

    def __post_init__(self) -> None:
        check_fields("clusters", self)


@stored
@dataclass(frozen=True)
class Part:
    """One derived cluster: stitched on some columns of earlier clusters, it adds others.

    ``shared`` stitches take their common columns from both sides, the others from the left alone.
    """

    stitch: tuple[int, ...]
    adds: tuple[int, ...]
    shared: bool = True

    @property
    def columns(self) -> tuple[int, ...]:
        """All its columns, ascending."""
        return tuple(sorted(self.stitch + self.adds))


@stored
@dataclass(frozen=True)
class Plan:
    """The first cluster and what is stitched to it.

    Examples
    --------
    >>> plan = Plan((1,), (Part((1,), (2, 3)), Part((1, 2), (4, 5)))).merged()
    >>> plan.first, [(p.stitch, p.adds) for p in plan.parts]
    ((1, 2, 3), [((1, 2), (4, 5))])
    """

    first: tuple[int, ...]
    parts: tuple[Part, ...] = field(default=())

    @property
    def combinations(self) -> list[tuple[int, ...]]:
        """Columns of every cluster."""
        return [tuple(sorted(self.first)), *(part.columns for part in self.parts)]

    def merged(self) -> Plan:
        """Without a first cluster that the second contains entirely."""
        if self.parts and set(self.parts[0].stitch) == set(self.first):
            return Plan(tuple(sorted(self.parts[0].columns)), self.parts[1:])
        return self


def weights_of(entropies: Matrix) -> Matrix:
    """Room each column takes in a cluster.

    Examples
    --------
    >>> weights_of(np.array([0.2, 4.0])).tolist()
    [2.0, 3.0]
    """
    return 1.0 + np.sqrt(np.maximum(entropies, 1.0))


def solve(matrix: Matrix, entropies: Matrix, options: ClusterOptions, main: int | None = None) -> Plan:
    """The plan that loses the least dependence.

    Examples
    --------
    >>> near = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1.0]])
    >>> solve(near, np.full(3, 25.0), ClusterOptions(most=12)).combinations[0]
    (0, 1)
    """
    weights, fixed = weights_of(entropies), -1 if main is None else main
    count, most = len(weights), float(options.most)
    order = np.arange(count)
    if count > 1:
        order = anneal(matrix, weights, most, options.threshold, options.alpha, fixed, np.uint64(0x5D1FF1))
    cluster, stitch = np.empty(count, np.int64), np.zeros((count, count), np.bool_)
    clusters = assemble(order, matrix, weights, most, options.threshold, fixed, cluster, stitch)
    parts = [
        Part(tuple(np.flatnonzero(stitch[k]).tolist()), tuple(np.flatnonzero(cluster == k).tolist()))
        for k in range(1, clusters)
    ]
    return Plan(tuple(np.flatnonzero(cluster == 0).tolist()), tuple(parts)).merged()


def plan_for_target(
    target: int, features: Sequence[int], count: int, weights: Matrix, most: float, drop_others: bool = False
) -> Plan:
    """Clusters around a target: its features in order of rank, further ones stitched on the target.

    Columns that are no features are joined to the target one by one, or dropped.

    Examples
    --------
    >>> plan = plan_for_target(0, [1, 2, 3, 4, 5], 8, np.full(8, 2.0), 6.0)
    >>> plan.combinations
    [(0, 1, 2), (0, 3, 4), (0, 5), (0, 6), (0, 7)]
    """
    groups: list[list[int]] = [[]]
    used = float(weights[target])
    for feature in features:
        if used + float(weights[feature]) > most and groups[-1]:
            groups.append([])
            used = float(weights[target])
        groups[-1].append(feature)
        used += float(weights[feature])
    first = tuple(sorted([target, *groups[0]]))
    parts = [Part((target,), tuple(sorted(group))) for group in groups[1:]]
    others = [i for i in range(count) if i != target and i not in set(features)]
    if not drop_others:
        parts += [Part((target,), (i,), shared=False) for i in others]
    return Plan(first, tuple(parts))


def alone(count: int) -> Plan:
    """Every column a cluster of its own, joined at random.

    Examples
    --------
    >>> alone(2).combinations
    [(0,), (1,)]
    """
    return Plan((0,), tuple(Part((), (i,), shared=False) for i in range(1, count)))
