"""Compiled push-down: where the root of a one-dimensional tree can go, and the tree below it."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.trees import (
    DEPTH,
    END,
    FIRST,
    FLAGS,
    KIDS,
    LOW,
    PARENT,
    ROWS,
    START,
    UNITS,
    collect,
    judge,
    none_seen,
)


@njit(cache=True, nogil=True)
def lowest_root(ints):
    """Node to which the root can be pushed down: one side empty or suppressed, again and again."""
    root = 0
    while ints[root, KIDS] > 0:
        kept = -1
        for c in range(ints[root, FIRST], ints[root, FIRST] + ints[root, KIDS]):
            if ints[c, KIDS] > 0 or not ints[c, FLAGS] & LOW:
                kept = c if kept == -1 else -2
        if kept < 0:
            break
        root = kept
    return root


@njit(cache=True, nogil=True)
def extend(items, noise, rule, ints, wide, perm, root):
    """Add the rows outside a pushed-down root to the outermost leaves, as the reference does.

    Nothing is split and extremes stay as they are.
    """
    columns = max(items.units.shape[0], 1)
    seen, n = none_seen(items), len(perm)
    for side in range(2):
        if (side == 0 and ints[root, START] == 0) or (side == 1 and ints[root, END] == n):
            continue
        v = root
        while True:
            if side == 0:
                ints[v, START] = 0
            else:
                ints[v, END] = n
            found = wide[v, UNITS : UNITS + 2 * columns]
            collect(items, perm, seen, ints[v, START], ints[v, END], -1, 0, 0, found)
            wide[v, ROWS] = 0
            for i in range(ints[v, START], ints[v, END]):
                wide[v, ROWS] += items.rows[perm[i]]
            judge(noise, rule, ints, wide, v, 1)
            if ints[v, KIDS] == 0:
                break
            v = ints[v, FIRST] if side == 0 else ints[v, FIRST] + ints[v, KIDS] - 1


@njit(cache=True, nogil=True)
def prune(ints, wide, root):
    """Node tables of the part of a one-dimensional tree below a new root, which gets number 0 and depth 0."""
    new = np.full(len(ints), -1, np.int32)
    new[root] = 0
    size = 1
    for v in range(root + 1, len(ints)):
        if new[ints[v, PARENT]] >= 0:
            new[v] = size
            size += 1
    kept, stats = np.empty((size, ints.shape[1]), np.int32), np.empty((size, wide.shape[1]), np.int64)
    for v in range(root, len(ints)):
        at = new[v]
        if at < 0:
            continue
        kept[at], stats[at] = ints[v], wide[v]
        kept[at, DEPTH] -= ints[root, DEPTH]
        kept[at, PARENT] = -1 if v == root else new[ints[v, PARENT]]
        if ints[v, KIDS] > 0:
            kept[at, FIRST] = new[ints[v, FIRST]]
    return kept, stats
