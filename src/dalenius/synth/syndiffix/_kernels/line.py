"""Compiled trees of one column, where sorted rows make every node a range."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.trees import (
    CODE,
    DEPTH,
    END,
    FIRST,
    FLAGS,
    KIDS,
    LEVELS,
    PARENT,
    ROWS,
    START,
    SUB,
    UNITS,
    judge,
    larger,
    passes,
)  # fmt: skip


@njit(cache=True, nogil=True)
def _running(rows, counts, hashes):
    """Sums of rows and units, and combined hashes, of the items before each place."""
    n = len(rows)
    sums = np.zeros((n + 1, 3), np.int64)
    for i in range(n):
        sums[i + 1, 0] = sums[i, 0] + rows[i]
        sums[i + 1, 1] = sums[i, 1] + counts[i]
        sums[i + 1, 2] = sums[i, 2] ^ hashes[i]
    return sums


@njit(cache=True, nogil=True, inline="always")
def _range(ints, wide, cells, sums, v, start, end):
    """Statistics of a node of one dimension whose items stand from ``start`` to ``end`` in ascending order."""
    ints[v, START], ints[v, END], ints[v, SUB] = start, end, -1
    wide[v, ROWS] = sums[end, 0] - sums[start, 0]
    wide[v, UNITS] = sums[end, 1] - sums[start, 1]
    wide[v, UNITS + 1] = sums[end, 2] ^ sums[start, 2]
    wide[v, UNITS + 3], wide[v, UNITS + 4] = cells[start], cells[end - 1]


@njit(cache=True, nogil=True)
def grow_line(cells, rows, counts, hashes, noise, rule):
    """Grow the tree of one column, one row per unit, from at least one item in ascending order: the same as `grow`.

    Nodes are ranges, parted by bisection; what they hold is a difference of running sums, so no row is moved.
    """
    n = len(cells)
    sums = _running(rows, counts, hashes)
    ints = np.zeros((max(64, n // 2), SUB + 1), np.int32)
    wide = np.zeros((len(ints), 1 + 2 + 3), np.int64)
    cell = UNITS + 2
    ints[0, PARENT] = -1
    _range(ints, wide, cells, sums, 0, 0, n)
    stack = np.zeros(2 * LEVELS + 1, np.int32)
    waiting, size = 1, 1
    while waiting > 0:
        waiting -= 1
        v = stack[waiting]
        judge(noise, rule, ints, wide, v, 1)
        depth = ints[v, DEPTH]
        if not passes(rule, ints[v, FLAGS], depth, wide[v, ROWS]):
            continue
        if size + 2 > len(ints):
            ints, wide = larger(ints, size), larger(wide, size)
        start, end = ints[v, START], ints[v, END]
        middle = start + np.searchsorted(cells[start:end], (2 * wide[v, cell] + 1) << (LEVELS - 1 - depth))
        ints[v, FIRST], first = size, size
        for code in range(2):
            low, high = (start, middle) if code == 0 else (middle, end)
            if low < high:
                ints[size, DEPTH], ints[size, PARENT], ints[size, CODE] = depth + 1, v, code
                wide[size, cell] = 2 * wide[v, cell] + code
                _range(ints, wide, cells, sums, size, low, high)
                size += 1
        ints[v, KIDS] = size - first
        for child in range(size - 1, first - 1, -1):
            stack[waiting] = child
            waiting += 1
    return ints[:size].copy(), wide[:size].copy()
