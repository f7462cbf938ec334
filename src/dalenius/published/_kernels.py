"""Loops over published sums and over records (Numba)."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True)
def propagate(row_start, row_cells, cell_start, cell_rows, low, high, cells, limit):
    """Bounds of cells by single sums until nothing changes; the first sum that cannot be met, or -1."""
    lo = np.zeros(cells, np.int64)
    hi = np.full(cells, limit, np.int64)
    rows = len(low)
    waiting = np.arange(rows)
    queued = np.ones(rows, np.bool_)
    head, size = 0, rows
    while size > 0:
        r = waiting[head]
        head = (head + 1) % rows
        size -= 1
        queued[r] = False
        least, most = 0, 0
        for k in range(row_start[r], row_start[r + 1]):
            least += lo[row_cells[k]]
            most += hi[row_cells[k]]
        if least > high[r] or most < low[r]:
            return lo, hi, r
        for k in range(row_start[r], row_start[r + 1]):
            c = row_cells[k]
            bottom = max(lo[c], low[r] - (most - hi[c]))
            top = min(hi[c], high[r] - (least - lo[c]))
            if bottom > lo[c] or top < hi[c]:
                least += bottom - lo[c]
                most += top - hi[c]
                lo[c], hi[c] = bottom, top
                for j in range(cell_start[c], cell_start[c + 1]):
                    other = cell_rows[j]
                    if other != r and not queued[other]:
                        queued[other] = True
                        waiting[(head + size) % rows] = other
                        size += 1
    return lo, hi, -1


@njit(cache=True)
def walk_records(codes, maps, sizes, proposals, rng, low, high, cell_of, radix):
    """Swap some values of two records wherever every table stays as it is; widen the bounds of the cells seen.

    ``maps[t, a]`` gives the category of every value of attribute a in table t, -1 where the table does not speak of
    it, -2 where it does not look at the attribute. ``cell_of`` finds a possible cell by the number of its codes.
    """
    n, d = codes.shape
    tables = maps.shape[0]
    counts = np.zeros(len(low), np.int64)
    for i in range(n):
        counts[cell_of[_number(codes[i], radix)]] += 1
    moved = 0
    mine, other = np.zeros(d, np.int64), np.zeros(d, np.int64)
    for _ in range(proposals):
        i, j = rng.integers(0, n), rng.integers(0, n)
        chosen = rng.integers(1, 1 << d)
        same = True
        for a in range(d):
            swap = (chosen >> a) & 1
            mine[a] = codes[j, a] if swap else codes[i, a]
            other[a] = codes[i, a] if swap else codes[j, a]
            if swap and codes[i, a] != codes[j, a]:
                same = False
        if same or not _keep(codes[i], codes[j], mine, other, maps, sizes, tables, d):
            continue
        was, were = cell_of[_number(codes[i], radix)], cell_of[_number(codes[j], radix)]
        now, then = cell_of[_number(mine, radix)], cell_of[_number(other, radix)]
        if now < 0 or then < 0:
            continue
        counts[was] -= 1
        counts[were] -= 1
        counts[now] += 1
        counts[then] += 1
        codes[i, :] = mine
        codes[j, :] = other
        moved += 1
        for c in (was, were, now, then):
            low[c] = min(low[c], counts[c])
            high[c] = max(high[c], counts[c])
    return moved


@njit(cache=True)
def _number(row, radix):
    total = 0
    for a in range(len(row)):
        total += row[a] * radix[a]
    return total


@njit(cache=True)
def _keep(first, second, mine, other, maps, sizes, tables, d):
    for t in range(tables):
        a = _key(first, maps[t], sizes[t], d)
        b = _key(second, maps[t], sizes[t], d)
        x = _key(mine, maps[t], sizes[t], d)
        y = _key(other, maps[t], sizes[t], d)
        if not ((a == x and b == y) or (a == y and b == x)):
            return False
    return True


@njit(cache=True)
def _key(row, maps, sizes, d):
    key = 0
    for a in range(d):
        group = maps[a, row[a]]
        if group == -1:
            return -1
        if group >= 0:
            key = key * sizes[a] + group
    return key
