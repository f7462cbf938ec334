"""Groups of at least k rows: MDAV, its form with groups of varying size, and the best cuts of one sorted column."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.kernels import njit
from dalenius.mask._kernels.tree import DEEPEST, Tree, farthest, nearest, outermost, take


@njit(cache=True, nogil=True)
def _leave(tree: Tree, point: int, weight: float, sums: Any, counts: Any, offsets: Any) -> None:
    """Take a row of some weight out of the running centre."""
    sums[-1] -= weight
    for j in range(tree.points.shape[1]):
        if tree.nominal[j]:
            counts[offsets[j] + int(tree.points[point, j])] -= weight
        else:
            sums[j] -= weight * tree.points[point, j]


@njit(cache=True, nogil=True)
def _centre(tree: Tree, sums: Any, counts: Any, offsets: Any, centre: Any) -> None:
    """Mean of what is left, and the commonest level of nominal columns."""
    for j in range(centre.shape[0]):
        if tree.nominal[j]:
            centre[j] = np.argmax(counts[offsets[j] : offsets[j + 1]])
        else:
            centre[j] = sums[j] / sums[-1]


@njit(cache=True, nogil=True)
def _start(tree: Tree, weights: Any, sums: Any, counts: Any, offsets: Any) -> int:
    """Fill the running centre; gives the number of rows."""
    rows = 0
    for point in range(tree.points.shape[0]):
        for at in range(tree.head[point], tree.stop[point]):
            _leave(tree, point, -weights[tree.rows[at]], sums, counts, offsets)
            rows += 1
    return rows


@njit(cache=True, nogil=True)
def mdav(tree: Tree, k: int, weights: Any, offsets: Any, labels: Any) -> int:
    """Give each row its group (Domingo-Ferrer and Torra 2005); gives the number of groups."""
    width = tree.points.shape[1]
    sums, counts = np.zeros(width + 1), np.zeros(offsets[width] + 1)
    centre, seed, group = np.empty(width), np.empty(width), 0
    stack, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    far, which, rows = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
    rest = _start(tree, weights, sums, counts, offsets)
    while rest >= 2 * k:
        _centre(tree, sums, counts, offsets, centre)
        first = outermost(tree, centre, stack)
        seed[:] = tree.points[first]
        twice = rest >= 3 * k
        second = farthest(tree, seed, stack, bounds) if twice else -1
        for turn in range(2 if twice else 1):
            if turn == 1:
                if tree.head[second] >= tree.stop[second]:  # it went with the first group
                    second = farthest(tree, seed, stack, bounds)
                seed[:] = tree.points[second]
            nearest(tree, seed, stack, bounds, far, which, rows)
            for i in range(k):
                labels[take(tree, which[i])] = group
                _leave(tree, which[i], weights[rows[i]], sums, counts, offsets)
            rest -= k
            group += 1
    return _remainder(tree, labels, group)


@njit(cache=True, nogil=True)
def _remainder(tree: Tree, labels: Any, group: int) -> int:
    """All rows that are left are one group."""
    some = 0
    for point in range(tree.points.shape[0]):
        for at in range(tree.head[point], tree.stop[point]):
            labels[tree.rows[at]] = group
            some = 1
    return group + some


@njit(cache=True, nogil=True)
def varying(tree: Tree, k: int, gain: float, outer: Any, labels: Any) -> int:
    """Groups of k to 2k - 1 rows (Solanas and Martínez-Ballesté 2006); rows that are left over keep the label -1.

    ``outer`` lists the points from the farthest to the nearest to the centre of all rows. A group grows by the nearest
    row outside while that row lies nearer to the group than ``gain`` times its distance to any other row outside.
    """
    stack, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    far, which, rows = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
    far_2, which_2, rows_2 = np.empty(2), np.empty(2, np.int64), np.empty(2, np.int64)
    members, rest, group, at = np.empty(2 * k, np.int64), labels.shape[0], 0, 0
    power = 1.0 if tree.power == 2 else 0.0
    while rest >= k:
        while tree.head[outer[at]] >= tree.stop[outer[at]]:
            at += 1
        nearest(tree, tree.points[outer[at]], stack, bounds, far, which, rows)
        held = k
        for i in range(k):
            members[i] = which[i]
            labels[take(tree, which[i])] = group
        while held < 2 * k - 1 and rest - held > 0:
            inside, point = np.inf, -1
            for i in range(held):
                nearest(tree, tree.points[members[i]], stack, bounds, far_2[:1], which_2[:1], rows_2[:1])
                if far_2[0] < inside:
                    inside, point = far_2[0], which_2[0]
            found = nearest(tree, tree.points[point], stack, bounds, far_2, which_2, rows_2)
            outside = far_2[1] if found > 1 else np.inf
            if not inside < gain ** (1.0 + power) * outside:
                break
            members[held] = point
            labels[take(tree, point)] = group
            held += 1
        rest -= held
        group += 1
    return group


@njit(cache=True, nogil=True)
def best_cuts(values: Any, weights: Any, k: int) -> Any:
    """Group of each of the sorted values so that the squared loss is least: a shortest path over cuts.

    A group of 2k rows or more is never better than two of them (Hansen and Mukherjee 2003).
    """
    rows = values.shape[0]
    mass, first, second = np.zeros(rows + 1), np.zeros(rows + 1), np.zeros(rows + 1)
    shift = values[rows // 2]
    for i in range(rows):
        value = values[i] - shift
        mass[i + 1] = mass[i] + weights[i]
        first[i + 1] = first[i] + weights[i] * value
        second[i + 1] = second[i] + weights[i] * value * value
    cost, cut = np.full(rows + 1, np.inf), np.zeros(rows + 1, np.int64)
    cost[0] = 0.0
    for i in range(k, rows + 1):
        for j in range(max(0, i - 2 * k + 1), i - k + 1):
            total = first[i] - first[j]
            loss = cost[j] + (second[i] - second[j]) - total * total / (mass[i] - mass[j])
            if loss < cost[i]:
                cost[i], cut[i] = loss, j
    labels, end, group = np.empty(rows, np.int64), rows, 0
    while end > 0:
        labels[cut[end] : end] = group
        end = cut[end]
        group += 1
    return group - 1 - labels
