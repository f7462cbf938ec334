"""Compiled stitching: join two drawn tables on common columns by bisecting both on the grid."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit

ALIKE = 0.7
"""Both halves of both tables must agree in size at least in this ratio for a cut to be made."""


@njit(cache=True, nogil=True)
def _random(state):
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _shuffle(rows, start, end, state):
    for i in range(end - 1, start, -1):
        state, bits = _random(state)
        j = start + int(bits % np.uint64(i - start + 1))
        rows[i], rows[j] = rows[j], rows[i]
    return state


@njit(cache=True, nogil=True)
def _divide(values, rows, other, start, end, middle):
    """Move rows below the middle to the front, keeping order; returns how many there are."""
    below = 0
    for i in range(start, end):
        below += values[rows[i]] < middle
    low, high = start, start + below
    for i in range(start, end):
        if values[rows[i]] < middle:
            other[low] = rows[i]
            low += 1
        else:
            other[high] = rows[i]
            high += 1
    rows[start:end] = other[start:end]
    return below


@njit(cache=True, nogil=True)
def _sort(values, rows, start, end):
    """Sort a slice of rows by all columns, first column first; stable."""
    for c in range(len(values) - 1, -1, -1):
        part = rows[start:end].copy()
        rows[start:end] = part[np.argsort(values[c][part], kind="mergesort")]


@njit(cache=True, nogil=True)
def _alike(a, b):
    return min(a, b) >= ALIKE * max(a, b) and min(a, b) > 0


@njit(cache=True, nogil=True)
def stitch(left, right, roof, shared, seed, result):
    """Pairs of rows (left, right) of two tables with common columns.

    ``left`` and ``right`` are the common columns' codes, one line per column; ``roof`` is the end of the code range.
    ``result`` has room for the longer table. With ``shared`` the pieces get the mean of both sizes, carried over
    exactly from piece to piece; otherwise the left table's. Returns the number of pairs.
    """
    columns = len(left)
    l_rows, r_rows = np.arange(left.shape[1]), np.arange(right.shape[1])
    l_other, r_other = l_rows.copy(), r_rows.copy()
    depth = 64 * columns + 2
    bounds, ranges = np.empty((depth, 6), np.int64), np.empty((depth, columns, 2), np.int64)
    bounds[0] = np.array([0, left.shape[1], 0, right.shape[1], 0, 0])
    ranges[0, :, 0], ranges[0, :, 1] = 0, roof
    waiting, made, halves, state = 1, 0, 0, seed
    while waiting > 0:
        waiting -= 1
        l0, l1, r0, r1 = bounds[waiting, 0], bounds[waiting, 1], bounds[waiting, 2], bounds[waiting, 3]
        column, failed = bounds[waiting, 4], bounds[waiting, 5]
        span = ranges[waiting].copy()
        cut = False
        while failed < columns and l1 - l0 > 1 and r1 - r0 > 1:
            low, high = span[column, 0], span[column, 1]
            if high - low < 2:
                failed, column = failed + 1, (column + 1) % columns
                continue
            middle = low + (high - low) // 2
            l_below = _divide(left[column], l_rows, l_other, l0, l1, middle)
            r_below = _divide(right[column], r_rows, r_other, r0, r1, middle)
            l_above, r_above = l1 - l0 - l_below, r1 - r0 - r_below
            if _alike(l_below, r_below) and _alike(l_above, r_above):
                cut = True
                break
            if l_below == 0 and r_below == 0:
                span[column, 0] = middle
            elif l_above == 0 and r_above == 0:
                span[column, 1] = middle
            else:
                failed, column = failed + 1, (column + 1) % columns
        if cut:
            following = (column + 1) % columns
            bounds[waiting] = np.array([l0 + l_below, l1, r0 + r_below, r1, following, 0])
            bounds[waiting + 1] = np.array([l0, l0 + l_below, r0, r0 + r_below, following, 0])
            ranges[waiting], ranges[waiting + 1] = span, span
            ranges[waiting, column, 0], ranges[waiting + 1, column, 1] = middle, middle
            waiting += 2
            continue
        state = _shuffle(l_rows, l0, l1, state)
        state = _shuffle(r_rows, r0, r1, state)
        before = halves // 2
        halves += (l1 - l0) + (r1 - r0)
        wanted = halves // 2 - before if shared else l1 - l0
        made = _merge(left, right, l_rows, r_rows, l0, l1, r0, r1, wanted, result, made)
    return made


@njit(cache=True, nogil=True)
def _merge(left, right, l_rows, r_rows, l0, l1, r0, r1, wanted, result, made):
    """Zip two shuffled pieces, sorted by the common columns, to the wanted number of pairs.

    A surplus is dropped, gaps are filled by repeats.
    """
    chosen_l, chosen_r = np.empty(wanted, np.int64), np.empty(wanted, np.int64)
    for i in range(wanted):
        chosen_l[i], chosen_r[i] = l_rows[l0 + i % (l1 - l0)], r_rows[r0 + i % (r1 - r0)]
    _sort(left, chosen_l, 0, wanted)
    _sort(right, chosen_r, 0, wanted)
    result[made : made + wanted, 0], result[made : made + wanted, 1] = chosen_l, chosen_r
    return made + wanted
