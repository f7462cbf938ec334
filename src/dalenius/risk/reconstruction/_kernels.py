"""Loops over areas: bounds, rules and the test for another table (Numba).

Rules are numbered 0 open, 1 reference, 2 race_zero, 3 race_all, 4 residual, 5 bounds, 6 exact.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True)
def fix_areas(total, split, reference, known, inside, outside, low, high, rule):
    """Fill bounds and rules of all areas; returns the first area whose tables contradict each other, or -1.

    ``total[b, i, j]`` people in row i and category j, ``split[b, i]`` how many of a row are in the group looked for,
    ``known[b, i]`` how many of the reference category are, -1 where nobody says; ``inside[b, j]`` and
    ``outside[b, j]`` how many of a category are in the group and not.
    """
    for b in range(total.shape[0]):
        if not _fix_area(
            total[b], split[b], reference, known[b], inside[b], outside[b], low[b], high[b], rule[b]
        ):
            return b
    return -1


@njit(cache=True)
def _fix_area(total, split, reference, known, inside, outside, low, high, rule):
    rows, kinds = total.shape
    open_kinds, last = 0, -1
    for j in range(kinds):
        every = j != reference
        for i in range(rows):
            low[i, j] = 0
            high[i, j] = min(total[i, j], inside[j])
            rule[i, j] = 0
            if j == reference and known[i] >= 0:
                low[i, j] = high[i, j] = known[i]
                rule[i, j] = 1
            elif inside[j] == 0:
                high[i, j] = 0
                rule[i, j] = 2
            elif outside[j] == 0:
                low[i, j] = high[i, j] = total[i, j]
                rule[i, j] = 3
            else:
                every = False if j != reference else every
        if j != reference and not every:
            open_kinds += 1
            last = j
    if open_kinds == 1:
        _residual(split, last, low, high, rule)
    return _bounds(split, inside, low, high, rule)


@njit(cache=True)
def _residual(split, last, low, high, rule):
    rows, kinds = low.shape
    for i in range(rows):
        rest = split[i]
        sure = True
        for j in range(kinds):
            if j != last:
                sure = sure and rule[i, j] > 0
                rest -= low[i, j]
        if sure:
            if rest < low[i, last] or rest > high[i, last]:
                continue  # a contradiction, which the bounds will find
            low[i, last] = high[i, last] = rest
            rule[i, last] = 4


@njit(cache=True)
def _sweep(sums, low, high):
    """Bounds by the sums of the rows: -1 where they contradict them, 1 where something changed, 0 otherwise."""
    rows, kinds = low.shape
    changed = 0
    for i in range(rows):
        least, most = 0, 0
        for j in range(kinds):
            least += low[i, j]
            most += high[i, j]
        if least > sums[i] or most < sums[i]:
            return -1
        if least == most:
            continue
        for j in range(kinds):
            bottom = max(low[i, j], sums[i] - (most - high[i, j]))
            top = min(high[i, j], sums[i] - (least - low[i, j]))
            if bottom > low[i, j] or top < high[i, j]:
                least += bottom - low[i, j]
                most += top - high[i, j]
                low[i, j], high[i, j] = bottom, top
                changed = 1
    return changed


@njit(cache=True)
def _bounds(split, inside, low, high, rule):
    changed = 1
    while changed:
        first = _sweep(split, low, high)
        second = _sweep(inside, low.T, high.T)
        if first < 0 or second < 0:
            return False
        changed = first + second
    for i in range(low.shape[0]):
        for j in range(low.shape[1]):
            if rule[i, j] == 0 and low[i, j] == high[i, j]:
                rule[i, j] = 5
    return True


@njit(cache=True)
def exact_areas(areas, split, inside, low, high, rule, solution):
    """Exact ends in the areas that are still open; the first area no table fits, or -1."""
    for b in areas:
        if not _exact_area(split[b], inside[b], low[b], high[b], rule[b], solution[b]):
            return b
    return -1


@njit(cache=True)
def _exact_area(split, inside, low, high, rule, solution):
    rows, kinds = low.shape
    size = rows + kinds + 2
    room = np.zeros((size, size), np.int64)
    wanted, offered = 0, 0
    for j in range(kinds):
        room[rows + j, size - 1] = inside[j]
        wanted += inside[j]
    for i in range(rows):
        room[size - 2, i] = split[i]
        offered += split[i]
        for j in range(kinds):
            wanted -= low[i, j]
            offered -= low[i, j]
            room[i, rows + j] = high[i, j] - low[i, j]
            room[size - 2, i] -= low[i, j]
            room[rows + j, size - 1] -= low[i, j]
    if offered != wanted or _push(room, size - 2, size - 1, wanted) != wanted:
        return False
    for i in range(rows):
        room[size - 2, i] = room[i, size - 2] = 0
        for j in range(kinds):
            solution[i, j] = low[i, j] + room[rows + j, i]
            room[rows + j, size - 1] = room[size - 1, rows + j] = 0
    for i in range(rows):
        for j in range(kinds):
            if low[i, j] < high[i, j]:
                # A path that uses the cell's own arcs says nothing about it.
                again = room.copy()
                again[i, rows + j] = again[rows + j, i] = 0
                other = again.copy()
                held, spare = room[rows + j, i], room[i, rows + j]
                high[i, j] = solution[i, j] + _push(again, rows + j, i, spare)
                low[i, j] = solution[i, j] - _push(other, i, rows + j, held)
                rule[i, j] = 6 if low[i, j] == high[i, j] else 0
    return True


@njit(cache=True)
def _push(room, start, end, most):
    """Largest flow from one node to another, at most so much; ``room`` becomes what is left."""
    size = room.shape[0]
    flow = 0
    queue, before = np.zeros(size, np.int64), np.zeros(size, np.int64)
    while flow < most:
        before[:] = -1
        before[start] = start
        queue[0] = start
        head, tail = 0, 1
        while head < tail and before[end] < 0:
            node = queue[head]
            head += 1
            for other in range(size):
                if before[other] < 0 and room[node, other] > 0:
                    before[other] = node
                    queue[tail] = other
                    tail += 1
        if before[end] < 0:
            break
        step, node = most - flow, end
        while node != start:
            step = min(step, room[before[node], node])
            node = before[node]
        node = end
        while node != start:
            room[before[node], node] -= step
            room[node, before[node]] += step
            node = before[node]
        flow += step
    return flow
