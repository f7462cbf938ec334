"""Loops of the propensity tree: finding the best split of a node and parting its rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from dalenius.data.vector import AnyArray, BoolArray, IntArray


@njit(cache=True, nogil=True)
def _gini(zeros: float, ones: float) -> float:
    return 2.0 * ones * zeros / (ones + zeros) if ones + zeros > 0 else 0.0


@njit(cache=True, nogil=True)
def _tally(codes: IntArray, t: BoolArray, rows: IntArray, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """Levels present in the node, their rows and their protected rows; by counting, or by sorting when that is less."""
    if size <= 4 * len(rows):
        count = np.zeros(size, np.int64)
        ones = np.zeros(size, np.int64)
        for i in range(len(rows)):
            code = codes[rows[i]]
            count[code] += 1
            ones[code] += t[rows[i]]
        present = np.nonzero(count)[0]
        return present, count[present], ones[present]
    mine = codes[rows]
    order = np.argsort(mine)
    present = np.empty(len(rows), np.int64)
    count = np.zeros(len(rows), np.int64)
    ones = np.zeros(len(rows), np.int64)
    found = -1
    for i in range(len(order)):
        code = mine[order[i]]
        if found < 0 or present[found] != code:
            found += 1
            present[found] = code
        count[found] += 1
        ones[found] += t[rows[order[i]]]
    return present[: found + 1], count[: found + 1], ones[: found + 1]


@njit(cache=True, nogil=True)
def best_split(
    codes: IntArray,
    sizes: IntArray,
    factor: BoolArray,
    t: BoolArray,
    rows: IntArray,
    smallest: int,
    weights: AnyArray,
) -> tuple[int, float, IntArray]:
    """Column of the split with the largest Gini decrease, the decrease, and the codes that go left.

    Numbers split between neighbouring values; levels of a factor are first put in order of their protected share,
    which is exact for two classes (Breiman et al. 1984, 4.2.2). The first column wins ties. Column −1: none.
    ``weights`` of original and protected rows make files of different size count alike.
    """
    n = len(rows)
    total = 0
    for i in range(n):
        total += t[rows[i]]
    w0, w1 = weights[0], weights[1]
    parent = _gini(w0 * (n - total), w1 * total)
    best, gain = -1, 1e-9
    left = np.zeros(0, np.int64)
    for f in range(len(sizes)):
        present, count, ones = _tally(codes[f], t, rows, sizes[f])
        if len(present) < 2:
            continue
        order = np.argsort(ones / count, kind="mergesort") if factor[f] else np.arange(len(present))
        below = below_ones = 0
        cut = -1
        for i in range(len(order) - 1):
            below += count[order[i]]
            below_ones += ones[order[i]]
            if below < smallest or n - below < smallest:
                continue
            inside = _gini(w0 * (below - below_ones), w1 * below_ones)
            above_ones = total - below_ones
            decrease = parent - inside - _gini(w0 * (n - below - above_ones), w1 * above_ones)
            if decrease > gain * (1 + 1e-12):
                best, gain, cut = f, decrease, i
        if cut >= 0:
            left = present[order[: cut + 1]]
    return best, gain, left


@njit(cache=True, nogil=True)
def part(codes: IntArray, rows: IntArray, left: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Rows whose code is among ``left``, and the others; both keep their order."""
    goes = np.zeros(size, np.bool_)
    for i in range(len(left)):
        goes[left[i]] = True
    first = np.empty(len(rows), np.int64)
    second = np.empty(len(rows), np.int64)
    a = b = 0
    for i in range(len(rows)):
        if goes[codes[rows[i]]]:
            first[a] = rows[i]
            a += 1
        else:
            second[b] = rows[i]
            b += 1
    return first[:a], second[:b]


@njit(cache=True, nogil=True)
def count_ones(t: BoolArray, rows: IntArray) -> int:
    """Protected rows among some rows."""
    total = 0
    for i in range(len(rows)):
        total += t[rows[i]]
    return total


@njit(cache=True, nogil=True)
def fill(scores: AnyArray, rows: IntArray, value: float) -> None:
    """Give rows of a leaf their score."""
    for i in range(len(rows)):
        scores[rows[i]] = value
