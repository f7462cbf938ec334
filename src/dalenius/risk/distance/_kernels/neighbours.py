"""Nearest neighbours among mixed records: a tree of boxes, searched exactly.

A record is a row of numbers and a row of category codes. The distance of two records is the sum over columns of
weight x min(|difference|, cap) for numbers (squared in the Euclidean metric) and of the weight where categories differ.

Where distances are plain sums, a sketch of every record in 8 bits a column (`sketch.py`) gives lower bounds in whole
units of distance, 32 records at a time: of boxes, which are opened in the order of their bounds, and of the records in
them. Only records whose bound is within reach are looked at exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit

LEAF = 256
LOOKED = 256
STACK = 512


@njit(cache=True)
def _split(
    num: Any, cat: Any, wn: Any, wc: Any, cap: float, rows: Any, start: int, end: int, scratch: Any
) -> Any:
    """Choose the column and value that divide some rows best, by looking at some: (column or -1, value)."""
    best, column, value = 0.0, -1, 0.0
    n = end - start
    stride = max(1, n // LOOKED)
    for j in range(num.shape[1]):
        m = 0
        for i in range(start, end, stride):
            scratch[m] = num[rows[i], j]
            m += 1
        ordered = np.sort(scratch[:m])
        middle = ordered[m // 2]
        if ordered[0] == middle:
            # the lower half is one value: split just above it
            k = np.searchsorted(ordered, middle, side="right")
            if k == m:
                continue
            middle = ordered[k]
        below = np.searchsorted(ordered, middle)
        gap = min(cap, ordered[(m + below) // 2 if below < m else m - 1] - ordered[below // 2])
        gain = wn[j] * gap * min(below, m - below) / m
        if gain > best:
            best, column, value = gain, j, middle
    for j in range(cat.shape[1]):
        # the most frequent code, found on a sample: enough to divide well
        step = max(1, n // 256)
        top, share = -1, 0
        for i in range(0, n, max(step, n // 16 + 1)):
            code = cat[rows[start + i], j]
            count = 0
            for k in range(0, n, step):
                if cat[rows[start + k], j] == code:
                    count += 1
            if count > share:
                top, share = code, count
        p = share / (n // step + (1 if n % step else 0))
        gain = wc[j] * min(p, 1 - p)
        if gain > best:
            best, column, value = gain, num.shape[1] + j, float(top)
    return column, value


@njit(cache=True)
def _around_rows(low: Any, high: Any, code: Any, num: Any, cat: Any, rows: Any) -> None:
    """The box of a leaf: bounds of the numbers, and the code that all rows share (-1: they differ)."""
    for row in rows:
        for j in range(num.shape[1]):
            low[j] = min(low[j], num[row, j])
            high[j] = max(high[j], num[row, j])
        for j in range(cat.shape[1]):
            if code[j] == -2:
                code[j] = cat[row, j]
            elif code[j] != cat[row, j]:
                code[j] = -1


@njit(cache=True)
def _around_boxes(low: Any, high: Any, code: Any, at: int, inside: Any) -> None:
    """The box of a node around those of its children."""
    a, b = inside[0], inside[1]
    for j in range(low.shape[1]):
        low[at, j] = min(low[a, j], low[b, j])
        high[at, j] = max(high[a, j], high[b, j])
    for j in range(code.shape[1]):
        code[at, j] = code[a, j] if code[a, j] == code[b, j] else -1


@njit(cache=True)
def build(num: Any, cat: Any, wn: Any, wc: Any, cap: float) -> Any:  # noqa: PLR0912 (one loop for the compiler)
    """Return the tree: row order, ranges, children and boxes of the nodes."""
    n = len(num) if num.shape[1] else len(cat)
    rows = np.arange(n)
    limit = max(3, 4 * (n // LEAF + 1))
    first = np.zeros(limit, np.int64)
    last = np.zeros(limit, np.int64)
    child = np.full((limit, 2), -1, np.int64)
    divides = np.full(limit, -1, np.int64)
    low = np.full((limit, num.shape[1]), np.inf)
    high = np.full((limit, num.shape[1]), -np.inf)
    code = np.full((limit, cat.shape[1]), -2, np.int32)
    scratch = np.empty(n)
    side = np.empty(n, np.int64)
    last[0] = n
    used, at = 1, 0
    while at < used:
        start, end = first[at], last[at]
        if end - start > LEAF and used + 2 <= limit:
            column, value = _split(num, cat, wn, wc, cap, rows, start, end, scratch)
            if column >= 0:
                lo, hi = start, 0
                for i in range(start, end):
                    row = rows[i]
                    if column < num.shape[1]:
                        left = num[row, column] < value
                    else:
                        left = cat[row, column - num.shape[1]] == int(value)
                    if left:
                        rows[lo] = row
                        lo += 1
                    else:
                        side[hi] = row
                        hi += 1
                for i in range(hi):
                    rows[lo + i] = side[i]
                if lo > start and hi > 0:
                    child[at, 0], child[at, 1] = used, used + 1
                    divides[at] = column
                    first[used], last[used] = start, lo
                    first[used + 1], last[used + 1] = lo, end
                    used += 2
        at += 1
    for at in range(used - 1, -1, -1):  # children come after their parents
        if child[at, 0] < 0:
            _around_rows(low[at], high[at], code[at], num, cat, rows[first[at] : last[at]])
        else:
            _around_boxes(low, high, code, at, child[at])
    return (
        rows, first[:used].copy(), last[:used].copy(), child[:used].copy(), divides[:used].copy(),
        low[:used].copy(), high[:used].copy(), code[:used].copy(),
    )  # fmt: skip


@njit(cache=True, fastmath=True)
def _bound(
    qnum: Any,
    qcat: Any,
    q: int,
    low: Any,
    high: Any,
    code: Any,
    node: int,
    wn: Any,
    wc: Any,
    cap: float,
    euclid: bool,
) -> float:
    """Smallest distance any record in a box can have."""
    total = 0.0
    for j in range(len(wc)):
        if code[node, j] >= 0 and code[node, j] != qcat[q, j]:
            total += wc[j]
    for j in range(len(wn)):
        gap = max(low[node, j] - qnum[q, j], qnum[q, j] - high[node, j])
        if gap > 0:
            gap = wn[j] * min(gap, cap)
            total += gap * gap if euclid else gap
    return total


@njit(cache=True, fastmath=True)
def _part(
    j: int, qnum: Any, qcat: Any, q: int, low: Any, high: Any, code: Any, node: int, wn: Any, wc: Any, cap: float,
    euclid: bool,
) -> float:  # fmt: skip
    """What one column adds to the bound of a box."""
    if j >= len(wn):
        at = j - len(wn)
        return wc[at] if code[node, at] >= 0 and code[node, at] != qcat[q, at] else 0.0
    gap = max(low[node, j] - qnum[q, j], qnum[q, j] - high[node, j])
    if gap <= 0:
        return 0.0
    gap = wn[j] * min(gap, cap)
    return gap * gap if euclid else gap


@njit(cache=True, fastmath=True)
def _scan(
    acc: Any, qnum: Any, qcat: Any, q: int, num: Any, cat: Any, start: int, end: int, wn: Any, wc: Any, cap: Any,
    euclid: bool,
) -> None:  # fmt: skip
    """Distances of one query to a run of records; records are stored by column, so that each loop is vectorised."""
    m = end - start
    for i in range(m):
        acc[i] = 0
    for j in range(len(wc)):
        code, weight = qcat[q, j], wc[j]
        column = cat[j]
        for i in range(m):
            acc[i] += weight if column[start + i] != code else 0.0
    for j in range(len(wn)):
        value, weight = qnum[q, j], wn[j]
        line = num[j]
        if euclid:
            for i in range(m):
                gap = weight * min(abs(line[start + i] - value), cap)
                acc[i] += gap * gap
        else:
            for i in range(m):
                acc[i] += weight * min(abs(line[start + i] - value), cap)


@njit(cache=True)
def _insert(best: Any, which: Any, q: int, d: Any, row: int) -> None:
    """Put a record among the nearest of a query, in the place of the farthest; equal distances by row number."""
    place = best.shape[1] - 1
    while place > 0 and (d < best[q, place - 1] or (d == best[q, place - 1] and row < which[q, place - 1])):
        best[q, place] = best[q, place - 1]
        which[q, place] = which[q, place - 1]
        place -= 1
    best[q, place] = d
    which[q, place] = row


@njit(cache=True, parallel=True)
def search(  # noqa: PLR0912 (one loop for the compiler)
    qnum: Any, qcat: Any, num: Any, cat: Any, wn: Any, wc: Any, cap: Any, euclid: bool, k: int, own: Any,
    rows: Any, first: Any, last: Any, child: Any, column: Any, low: Any, high: Any, code: Any,
) -> Any:  # fmt: skip
    """Rows of the k nearest records; ``num`` and ``cat`` are columns in tree order.

    Equal distances go to the smaller row number, so that the answer does not depend on the tree. In double precision: a
    single outlier makes the range so wide that single precision cannot tell a copied record from its neighbours.
    """
    n = len(own)
    best = np.full((n, k), np.inf)
    which = np.full((n, k), -1, np.int64)
    widest = 0
    for node in range(len(first)):
        if child[node, 0] < 0:
            widest = max(widest, last[node] - first[node])
    for place in prange(n):
        q = np.int64(place)
        stack = np.empty(STACK, np.int64)
        bounds = np.empty(STACK)
        acc = np.empty(widest)
        stack[0], bounds[0] = 0, 0.0
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            # rounding of the bound, which is kept by differences, must not hide an equally near record
            worst = best[q, k - 1] * (1 + 1e-9) + 1e-12
            if bounds[size] > worst:
                continue
            if child[node, 0] < 0:
                if _bound(qnum, qcat, q, low, high, code, node, wn, wc, cap, euclid) > worst:
                    continue
                start, end = first[node], last[node]
                _scan(acc, qnum, qcat, q, num, cat, start, end, wn, wc, cap, euclid)
                for i in range(end - start):
                    d = acc[i]
                    if d > best[q, k - 1]:
                        continue
                    row = rows[start + i]
                    if row == own[q] or (d == best[q, k - 1] and row > which[q, k - 1] >= 0):
                        continue
                    _insert(best, which, q, d, row)
                continue
            a, b, j = child[node, 0], child[node, 1], column[node]
            # the children differ from their parent in the column that divides them, as far as the bound goes
            rest = bounds[size] - _part(j, qnum, qcat, q, low, high, code, node, wn, wc, cap, euclid)
            da = rest + _part(j, qnum, qcat, q, low, high, code, a, wn, wc, cap, euclid)
            db = rest + _part(j, qnum, qcat, q, low, high, code, b, wn, wc, cap, euclid)
            if da > db:
                a, b = b, a
                da, db = db, da
            if db <= worst:
                stack[size], bounds[size] = b, db
                size += 1
            if da <= worst:
                stack[size], bounds[size] = a, da
                size += 1
    return which


@njit(cache=True, parallel=True)
def distances(
    qnum: Any, qcat: Any, num: Any, cat: Any, wn: Any, wc: Any, cap: float, euclid: bool, which: Any
) -> Any:
    """Distances of queries to chosen records, in double precision."""
    result = np.empty(which.shape)
    for q in prange(len(which)):
        for k in range(which.shape[1]):
            i = which[q, k]
            total = 0.0
            for j in range(len(wc)):
                if qcat[q, j] != cat[i, j]:
                    total += wc[j]
            for j in range(len(wn)):
                gap = wn[j] * min(abs(qnum[q, j] - num[i, j]), cap)
                total += gap * gap if euclid else gap
            result[q, k] = np.sqrt(total) if euclid else total
    return result


@njit(cache=True)
def _bound_boxes(near: Any, low: Any, high: Any, query: Any, cost: Any) -> None:
    """Lower bounds of the distances of one query to what is in boxes, in units; see `_bound_records`."""
    for i in range(len(near)):
        near[i] = np.uint8(0)
    for j in range(len(query)):
        value, add, least, most = query[j], cost[j], low[j], high[j]
        if add > 0:
            for i in range(len(near)):
                old = near[i]
                new = np.uint8(old + (add if least[i] == most[i] and least[i] != value else np.uint8(0)))
                near[i] = new if new >= old else np.uint8(255)
        else:
            for i in range(len(near)):
                old, nearest = near[i], min(max(value, least[i]), most[i])
                gap = np.uint8(max(nearest, value) - min(nearest, value))
                gap = np.uint8(gap - np.uint8(1)) if gap > np.uint8(1) else np.uint8(0)
                new = np.uint8(old + gap)
                near[i] = new if new >= old else np.uint8(255)


@njit(cache=True)
def _bound_records(near: Any, sketch: Any, query: Any, cost: Any, start: int, end: int) -> None:
    """Lower bounds of the distances of one query to a run of records, in units; 255 is 255 or more.

    Numbers (a cost of 0) stand on steps of a unit: they are at least as many units apart as there are steps between
    theirs. Sums stop at 255 and differences at 0, in forms that become one instruction for 32 records.
    """
    m = end - start
    for i in range(m):
        near[i] = np.uint8(0)
    for j in range(len(query)):
        value, add, column = query[j], cost[j], sketch[j, start:end]
        if add > 0:
            for i in range(m):
                old = near[i]
                new = np.uint8(old + (add if column[i] != value else np.uint8(0)))
                near[i] = new if new >= old else np.uint8(255)
        else:
            for i in range(m):
                other, old = column[i], near[i]
                gap = np.uint8(max(other, value) - min(other, value))
                gap = np.uint8(gap - np.uint8(1)) if gap > np.uint8(1) else np.uint8(0)
                new = np.uint8(old + gap)
                near[i] = new if new >= old else np.uint8(255)


@njit(cache=True)
def _in_order(order: Any, near: Any) -> None:
    """Places by their bounds, smallest first."""
    count = np.zeros(257, np.int64)
    for i in range(len(near)):
        count[near[i] + 1] += 1
    for bound in range(256):
        count[bound + 1] += count[bound]
    for i in range(len(near)):
        order[count[near[i]]] = i
        count[near[i]] += 1


@njit(cache=True)
def _within(near: Any, m: int, reach: Any) -> int:
    """How many bounds are within reach."""
    found = 0
    for i in range(m):
        found += near[i] <= reach
    return found


@njit(cache=True, fastmath={"contract"})
def _exactly(
    qnum: Any, qcat: Any, q: int, num: Any, cat: Any, place: int, wn: Any, wc: Any, cap: float
) -> float:
    """Distance of one query to one record, added up in the order in which `_scan` does."""
    total = 0.0
    for j in range(len(wc)):
        if cat[j, place] != qcat[q, j]:
            total += wc[j]
    for j in range(len(wn)):
        total += wn[j] * min(abs(num[j, place] - qnum[q, j]), cap)
    return total


@njit(cache=True, parallel=True)
def search_sketched(
    qnum: Any, qcat: Any, num: Any, cat: Any, wn: Any, wc: Any, cap: float, k: int, own: Any, rows: Any,
    starts: Any, low: Any, high: Any, sketch: Any, queries: Any, cost: Any, unit: float,
) -> Any:  # fmt: skip
    """Rows of the k nearest records as `search` finds them, by sketches of records, boxes and queries."""
    n, boxes = len(own), len(starts) - 1
    best = np.full((n, k), np.inf)
    which = np.full((n, k), -1, np.int64)
    widest = 0
    for i in range(boxes):
        widest = max(widest, starts[i + 1] - starts[i])
    for place in prange(n):
        q = np.int64(place)
        bounds, order = np.empty(boxes, np.uint8), np.empty(boxes, np.int64)
        near = np.empty(widest, np.uint8)
        _bound_boxes(bounds, low, high, queries[q], cost)
        _in_order(order, bounds)
        for at in range(boxes):
            box = order[at]
            # rounding must not hide an equally near record
            reach = np.uint8(min((best[q, k - 1] * (1 + 1e-9) + 1e-12) / unit, 255.0))
            if bounds[box] > reach:
                break
            start, end = starts[box], starts[box + 1]
            _bound_records(near, sketch, queries[q], cost, start, end)
            if _within(near, end - start, reach) == 0:
                continue
            for i in range(end - start):
                if near[i] > reach:
                    continue
                d = _exactly(qnum, qcat, q, num, cat, start + i, wn, wc, cap)
                row = rows[start + i]
                last = best[q, k - 1]
                if d > last or row == own[q] or (d == last and row > which[q, k - 1] >= 0):
                    continue
                _insert(best, which, q, d, row)
                reach = np.uint8(min((best[q, k - 1] * (1 + 1e-9) + 1e-12) / unit, 255.0))
    return which
