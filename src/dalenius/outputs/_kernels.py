"""One pass over the records for all figures of all cells, compiled."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit

COLUMNS = ("rows", "missing", "negative", "units", "sum", "total", "low", "high", "at_low", "at_high")


@njit(cache=True)
def _keep(top, cell, size):
    last = top.shape[1] - 1
    if size > top[cell, last]:
        k = last
        while k > 0 and top[cell, k - 1] < size:
            top[cell, k] = top[cell, k - 1]
            k -= 1
        top[cell, k] = size


@njit(cache=True)
def by_record(cell, value, has_value, out, top):
    """Every record is a unit of its own."""
    for i in range(len(cell)):
        c = cell[i]
        if c < 0:
            continue
        v = value[i] if has_value else 1.0
        if v != v:
            out[c, 1] += 1
            continue
        out[c, 0] += 1
        size = abs(v)
        out[c, 2] += v < 0
        out[c, 4] += v
        out[c, 5] += size
        if v < out[c, 6]:
            out[c, 6] = v
            out[c, 8] = 1
        elif v == out[c, 6]:
            out[c, 8] += 1
        if v > out[c, 7]:
            out[c, 7] = v
            out[c, 9] = 1
        elif v == out[c, 7]:
            out[c, 9] += 1
        _keep(top, c, size)
    for c in range(out.shape[0]):
        out[c, 3] = out[c, 0]


@njit(cache=True)
def by_unit(cell, value, has_value, unit, marks, out, top, votes):
    """A unit's records are added up within the cell; units are counted once (records ordered by cell first).

    ``votes``: by how many units, at most, those with one total outnumber all others (Boyer and Moore's majority vote).
    """
    cells = out.shape[0]
    start = np.zeros(cells + 1, np.int64)
    for i in range(len(cell)):
        if cell[i] >= 0:
            start[cell[i] + 1] += 1
    for c in range(cells):
        start[c + 1] += start[c]
    place = start[:-1].copy()
    order = np.empty(start[cells], np.int32)
    for i in range(len(cell)):
        c = cell[i]
        if c >= 0:
            order[place[c]] = i
            place[c] += 1
    seen, low_seen, high_seen = marks[0], marks[1], marks[2]  # cell each unit was last met in
    own = np.zeros(marks.shape[1], np.float64)
    for c in range(cells):
        low, high = np.inf, -np.inf
        for p in range(start[c], start[c + 1]):
            v = value[order[p]] if has_value else 1.0
            if v != v:
                out[c, 1] += 1
                continue
            u = unit[order[p]]
            out[c, 0] += 1
            out[c, 2] += v < 0
            out[c, 4] += v
            low, high = min(low, v), max(high, v)
            if seen[u] != c:
                seen[u] = c
                own[u] = v
                out[c, 3] += 1
            else:
                own[u] += v
        out[c, 6], out[c, 7] = low, high
        most, led, dust = 0.0, 0, 2e-9 * max(abs(low), abs(high))
        for p in range(start[c], start[c + 1]):
            v = value[order[p]] if has_value else 1.0
            if v != v:
                continue
            u = unit[order[p]]
            if has_value:
                if v == low and low_seen[u] != c:
                    low_seen[u] = c
                    out[c, 8] += 1
                if v == high and high_seen[u] != c:
                    high_seen[u] = c
                    out[c, 9] += 1
            if seen[u] == c:
                seen[u] = -2 - c
                size = abs(own[u])
                out[c, 5] += size
                _keep(top, c, size)
                if led == 0:
                    most, led = own[u], 1
                elif abs(own[u] - most) <= max(dust, 2e-9 * abs(most)):
                    led += 1
                else:
                    led -= 1
        votes[c] = led


@njit(cache=True)
def joint(first, second, size, out):
    """How many units have each pair of codes (``size`` is the number of codes of the second)."""
    for i in range(len(first)):
        out[np.int64(first[i]) * size + second[i]] += 1
