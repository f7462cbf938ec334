"""Compiled collapsing: equal rows become one item, so that trees of categories work on few items."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit

MOST = 3
"""Looking for equal rows is given up once one row in this many is new: then there is little to gain."""
TRIAL = 8
"""The same after one row in this many, if two thirds of them were new."""


@njit(cache=True, nogil=True)
def collapse(cells, rows, counts, hashes):
    """Put equal rows together: one item with their counts added and their hashes combined.

    Returns no items where too many rows differ.
    """
    n, d = cells.shape
    size = 1
    while size < n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    most = n // MOST
    first = np.empty(most + 1, np.int32)
    sums = np.zeros((most + 1, 3), np.int64)
    found = 0
    for r in range(n):
        h = np.uint64(0)
        for j in range(d):
            h = (h ^ np.uint64(cells[r, j])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        at = np.int64(h & np.uint64(size - 1))
        while slots[at] >= 0:
            other, j = first[slots[at]], 0
            while j < d and cells[other, j] == cells[r, j]:
                j += 1
            if j == d:
                break
            at = (at + 1) & (size - 1)
        item = slots[at]
        if item < 0:
            if found == most or (r < n // TRIAL and found > 2 * n // (3 * TRIAL)):
                return cells[:0].copy(), sums[:0].copy()
            item = found
            slots[at], first[item] = item, r
            found += 1
        sums[item, 0] += rows[r]
        sums[item, 1] += counts[r]
        sums[item, 2] ^= hashes[r]
    held = np.empty((found, d), np.int64)
    for item in range(found):
        for j in range(d):
            held[item, j] = cells[first[item], j]
    return held, sums[:found].copy()
