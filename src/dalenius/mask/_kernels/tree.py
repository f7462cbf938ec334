"""A box tree over points from which rows can be taken: nearest and farthest rows among those that are left.

Equal points are kept once with a queue of their rows, so that ties between copies cost nothing. A box shrinks when a
point at its side goes. Ties between rows go to the lowest row, everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalenius.core.kernels import njit

LEAF = 8
"""Points in a leaf, at most."""
DEEPEST = 256
"""Depth of the stack of a search; the tree halves its points, so that 64 levels are beyond any memory."""


class Tree(NamedTuple):
    """Points and boxes; ``nominal`` columns count 1 where they differ, others by their difference to a ``power``."""

    points: Any
    nominal: Any
    power: int
    order: Any  # points by leaf, those that are left first
    place: Any  # where in the order a point stands
    leaf: Any  # its leaf
    low: Any  # boxes
    high: Any
    left: Any  # first child, or -1; the second one is next to it
    above: Any
    begin: Any  # first place of a leaf
    count: Any  # points left in a node's leaf, or 1 while a child has any
    rows: Any  # rows by point, in their order
    head: Any  # next row of a point
    stop: Any  # behind its last row
    reach: Any  # no point of a node was farther from ``seen`` than this
    seen: Any


@njit(cache=True, nogil=True)
def apart(points: Any, i: int, to: Any, nominal: Any, power: int) -> float:
    """Distance of a point (squared where the power is 2)."""
    total = 0.0
    for j in range(to.shape[0]):
        gap = points[i, j] - to[j]
        if nominal[j]:
            total += 1.0 if gap != 0.0 else 0.0
        elif power == 2:
            total += gap * gap
        else:
            total += abs(gap)
    return total


@njit(cache=True, nogil=True)
def _least(low: Any, high: Any, node: int, to: Any, nominal: Any, power: int) -> float:
    """No point of the box is nearer."""
    total = 0.0
    for j in range(to.shape[0]):
        gap = max(low[node, j] - to[j], to[j] - high[node, j], 0.0)
        if nominal[j]:
            total += 1.0 if gap > 0.0 else 0.0
        elif power == 2:
            total += gap * gap
        else:
            total += gap
    return total


@njit(cache=True, nogil=True)
def _most(low: Any, high: Any, node: int, to: Any, nominal: Any, power: int) -> float:
    """No point of the box is farther."""
    total = 0.0
    for j in range(to.shape[0]):
        gap = max(abs(low[node, j] - to[j]), abs(high[node, j] - to[j]))
        if nominal[j]:
            total += 1.0 if gap > 0.0 else 0.0
        elif power == 2:
            total += gap * gap
        else:
            total += gap
    return total


@njit(cache=True, nogil=True)
def _halve(order: Any, values: Any, begin: int, stop: int) -> None:
    """Put the middle value in the middle, no larger one before it and no smaller one behind it."""
    middle, first, last = (begin + stop) // 2, begin, stop - 1
    while first < last:
        pivot = values[order[(first + last) // 2]]
        i, j = first, last
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@njit(cache=True, nogil=True)
def _box(points: Any, order: Any, begin: int, stop: int, low: Any, high: Any) -> None:
    """The smallest box around some points."""
    for j in range(points.shape[1]):
        low[j], high[j] = np.inf, -np.inf
    for t in range(begin, stop):
        for j in range(points.shape[1]):
            low[j] = min(low[j], points[order[t], j])
            high[j] = max(high[j], points[order[t], j])


@njit(cache=True, nogil=True)
def _widest(low: Any, high: Any, nominal: Any) -> int:
    """The side along which a box is widest; codes that differ are 1 apart."""
    side, width = 0, -1.0
    for j in range(low.shape[0]):
        wide = min(high[j] - low[j], 1.0) if nominal[j] else high[j] - low[j]
        if wide > width:
            side, width = j, wide
    return side


@njit(cache=True, nogil=True)
def plant(points: Any, nominal: Any, power: int, rows: Any, starts: Any) -> Tree:
    """Build the tree: the widest side is halved until a leaf is small."""
    size, width = points.shape
    most = max(1, 4 * (size // LEAF + 1))
    order, leaf = np.arange(size), np.empty(size, np.int64)
    low, high = np.empty((most, width)), np.empty((most, width))
    left, above = np.full(most, -1), np.full(most, -1)
    begin, stop, count = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    stop[0] = size
    nodes, node = 1, 0
    while node < nodes:  # children stand behind their parents
        first, last = begin[node], stop[node]
        _box(points, order, first, last, low[node], high[node])
        side = _widest(low[node], high[node], nominal)
        if last - first > LEAF and high[node, side] > low[node, side]:
            _halve(order, points[:, side], first, last)
            left[node], count[node] = nodes, 1
            middle = (first + last) // 2
            begin[nodes], stop[nodes], begin[nodes + 1], stop[nodes + 1] = first, middle, middle, last
            above[nodes], above[nodes + 1] = node, node
            nodes += 2
        else:
            count[node] = last - first
            leaf[first:last] = node
        node += 1
    # points are numbered by leaf, so that neighbours lie side by side in memory
    return Tree(
        points[order], nominal, power, np.arange(size), np.arange(size), leaf, low[:nodes].copy(), high[:nodes].copy(),
        left[:nodes].copy(), above[:nodes].copy(), begin[:nodes].copy(), count[:nodes].copy(), rows,
        starts[:-1][order], starts[1:][order], np.full(nodes, np.inf), np.zeros((nodes, width)),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def take(tree: Tree, point: int) -> int:
    """Take the next row of a point out of the tree."""
    order, place, count, low, high = tree.order, tree.place, tree.count, tree.low, tree.high
    row: int = tree.rows[tree.head[point]]
    tree.head[point] += 1
    if tree.head[point] < tree.stop[point]:
        return row
    node = tree.leaf[point]
    count[node] -= 1
    here, last = place[point], tree.begin[node] + count[node]
    other = order[last]
    order[here], order[last] = other, point
    place[other], place[point] = here, last
    _box(tree.points, order, tree.begin[node], last, low[node], high[node])
    node = tree.above[node]
    while node >= 0 and _shrink(low, high, count, node, tree.left[node]):
        node = tree.above[node]
    return row


@njit(cache=True, nogil=True)
def _shrink(low: Any, high: Any, count: Any, node: int, child: int) -> bool:
    """Fit a box to its children; says whether anything changed."""
    some = 1 if count[child] + count[child + 1] > 0 else 0
    changed = some != count[node]
    count[node] = some
    for j in range(low.shape[1]):
        least, most = min(low[child, j], low[child + 1, j]), max(high[child, j], high[child + 1, j])
        changed = changed or least != low[node, j] or most != high[node, j]
        low[node, j], high[node, j] = least, most
    return changed


@njit(cache=True, nogil=True)
def farthest(tree: Tree, to: Any, stack: Any, bounds: Any) -> int:
    """The point with the farthest row from a place."""
    best, found, row = -1.0, -1, -1
    low, high, nominal, power, count, points = (
        tree.low,
        tree.high,
        tree.nominal,
        tree.power,
        tree.count,
        tree.points,
    )
    left, begin, order, rows, head = tree.left, tree.begin, tree.order, tree.rows, tree.head
    stack[0], bounds[0], top = 0, np.inf, 1
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] < best or count[node] == 0:
            continue
        if left[node] >= 0:
            one, two = left[node], left[node] + 1
            first = _most(low, high, one, to, nominal, power) if count[one] else -1.0
            second = _most(low, high, two, to, nominal, power) if count[two] else -1.0
            if first > second:  # the better one on top
                one, two, first, second = two, one, second, first
            stack[top], bounds[top], stack[top + 1], bounds[top + 1] = one, first, two, second
            top += 2
            continue
        for t in range(begin[node], begin[node] + count[node]):
            point = order[t]
            far = apart(points, point, to, nominal, power)
            mine = rows[head[point]]
            if far > best or (far == best and mine < row):
                best, found, row = far, point, mine
    return found


@njit(cache=True, nogil=True)
def _away(places: Any, i: int, to: Any, nominal: Any, power: int) -> float:
    """Distance of a place, for the inequality of the triangle."""
    far = apart(places, i, to, nominal, power)
    return np.sqrt(far) if power == 2 else far


@njit(cache=True, nogil=True)
def _reached(reach: Any, seen: Any, node: int, to: Any, nominal: Any, power: int, count: Any) -> float:
    """No point of the node is farther: what it reached when last seen, and the way since."""
    if count[node] == 0:
        return -1.0
    bound: float = reach[node] + _away(seen, node, to, nominal, power)
    return bound * (1.0 + 1e-12)


@njit(cache=True, nogil=True)
def outermost(tree: Tree, to: Any, stack: Any) -> int:
    """The point with the farthest row from a place that moves little from call to call.

    Each node remembers how far its points reached from the place where it was last looked at; it is looked at again
    only when the way since could have changed the answer. Bounds that were passed are tightened on the way back.
    """
    best, found, row = -1.0, -1, -1
    reach, seen, nominal, power, count, points = (
        tree.reach,
        tree.seen,
        tree.nominal,
        tree.power,
        tree.count,
        tree.points,
    )
    left, begin, order, rows, head = tree.left, tree.begin, tree.order, tree.rows, tree.head
    stack[0], top = 0, 1
    while top > 0:
        top -= 1
        node = stack[top]
        if node < 0:  # on the way back
            node = -node - 1
            one = left[node]
            first = _reached(reach, seen, one, to, nominal, power, count)
            reach[node] = max(first, _reached(reach, seen, one + 1, to, nominal, power, count))
            seen[node] = to
            continue
        if _reached(reach, seen, node, to, nominal, power, count) < best or count[node] == 0:
            continue
        if left[node] >= 0:
            one, two = left[node], left[node] + 1
            first = _reached(reach, seen, one, to, nominal, power, count)
            if first > _reached(reach, seen, two, to, nominal, power, count):
                one, two = two, one
            stack[top], stack[top + 1], stack[top + 2] = -node - 1, one, two
            top += 3
            continue
        most = 0.0
        for t in range(begin[node], begin[node] + count[node]):
            point = order[t]
            far = _away(points, point, to, nominal, power)
            most = max(most, far)
            mine = rows[head[point]]
            if far > best or (far == best and mine < row):
                best, found, row = far, point, mine
        reach[node] = most
        seen[node] = to
    return found


@njit(cache=True, nogil=True)
def nearest(tree: Tree, to: Any, stack: Any, bounds: Any, far: Any, which: Any, rows: Any) -> int:
    """The nearest rows to a place, as many as ``which`` holds or are left, with their points and distances."""
    wanted, held = which.shape[0], 0
    low, high, nominal, power, count, points = (
        tree.low,
        tree.high,
        tree.nominal,
        tree.power,
        tree.count,
        tree.points,
    )
    left, begin, order, owned, head, stop = tree.left, tree.begin, tree.order, tree.rows, tree.head, tree.stop
    stack[0], bounds[0], top = 0, 0.0, 1
    while top > 0:
        top -= 1
        node = stack[top]
        if count[node] == 0 or (held == wanted and bounds[top] > far[wanted - 1]):
            continue
        if left[node] >= 0:
            one, two = left[node], left[node] + 1
            first = _least(low, high, one, to, nominal, power) if count[one] else np.inf
            second = _least(low, high, two, to, nominal, power) if count[two] else np.inf
            if first < second:
                one, two, first, second = two, one, second, first
            stack[top], bounds[top], stack[top + 1], bounds[top + 1] = one, first, two, second
            top += 2
            continue
        for t in range(begin[node], begin[node] + count[node]):
            point = order[t]
            gap = apart(points, point, to, nominal, power)
            for at in range(head[point], stop[point]):
                row = owned[at]
                last = wanted - 1
                if held == wanted and (gap > far[last] or (gap == far[last] and row > rows[last])):
                    break
                held = _insert(held, gap, point, row, far, which, rows)
    return held


@njit(cache=True, nogil=True)
def _insert(held: int, gap: float, point: int, row: int, far: Any, which: Any, rows: Any) -> int:
    """Keep a row among the nearest, in their order."""
    at = min(held, which.shape[0] - 1)
    while at > 0 and (far[at - 1] > gap or (far[at - 1] == gap and rows[at - 1] > row)):
        far[at], which[at], rows[at] = far[at - 1], which[at - 1], rows[at - 1]
        at -= 1
    far[at], which[at], rows[at] = gap, point, row
    return min(held + 1, which.shape[0])


@njit(cache=True, nogil=True)
def nearest_points(tree: Tree, places: Any, found: Any) -> None:
    """For each place the point with the nearest row; ties to the lowest row."""
    stack, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    far, which, rows = np.empty(1), np.empty(1, np.int64), np.empty(1, np.int64)
    for i in range(places.shape[0]):
        nearest(tree, places[i], stack, bounds, far, which, rows)
        found[i] = rows[0]
