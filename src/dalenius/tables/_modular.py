"""Sparse elimination modulo the prime 2³¹ − 1, compiled: what an intruder can compute, found by another route.

Columns are reduced one by one against the pivots found so far (left-looking), small columns first; the suppression itself
works right-looking in whole numbers. A false "computable" has a chance of about 2⁻³¹ per cell and vector.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PRIME = 2**31 - 1


@njit(cache=True)  # type: ignore[untyped-decorator]
def power(base, exponent):  # type: ignore[no-untyped-def]
    """Modular power."""
    result, base = np.int64(1), base % PRIME
    while exponent > 0:
        if exponent & 1:
            result = result * base % PRIME
        base = base * base % PRIME
        exponent >>= 1
    return result


@njit(cache=True)  # type: ignore[untyped-decorator]
def _push(heap, size, item):  # type: ignore[no-untyped-def]
    i = size
    heap[i] = item
    while i > 0 and heap[(i - 1) >> 1] > heap[i]:
        heap[(i - 1) >> 1], heap[i] = heap[i], heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    return size + 1


@njit(cache=True)  # type: ignore[untyped-decorator]
def _pop(heap, size):  # type: ignore[no-untyped-def]
    top = heap[0]
    size -= 1
    heap[0] = heap[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return top, size
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[i] <= heap[child]:
            return top, size
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@njit(cache=True)  # type: ignore[untyped-decorator]
def echelon(indptr, indices, data, count):  # type: ignore[no-untyped-def]
    """Reduce columns one by one.

    Returns the pivot rows, the reduced columns (pivot entry 1 left out) as start, rows and values, and the places of the
    columns that were no combination of earlier ones.
    """
    columns = len(indptr) - 1
    pivot_of = np.full(count, -1, np.int64)
    pivots = np.empty(min(columns, count), np.int64)
    start = np.zeros(min(columns, count) + 1, np.int64)
    fresh = np.empty(min(columns, count), np.int64)
    rows = np.empty(max(4 * len(indices), 1024), np.int64)
    vals = np.empty(len(rows), np.int64)
    work = np.zeros(count, np.int64)
    listed = np.zeros(count, np.bool_)
    support = np.empty(count, np.int64)
    heap = np.empty(count + 1, np.int64)
    found, end = 0, 0
    for j in range(columns):
        size, waiting = 0, 0
        for p in range(indptr[j], indptr[j + 1]):
            r = indices[p]
            work[r] = data[p] % PRIME
            listed[r] = True
            support[size] = r
            size += 1
            if pivot_of[r] >= 0:
                waiting = _push(heap, waiting, pivot_of[r])
        while waiting > 0:
            k, waiting = _pop(heap, waiting)
            factor = work[pivots[k]]
            work[pivots[k]] = 0
            if factor == 0:
                continue
            for p in range(start[k], start[k + 1]):
                r = rows[p]
                if not listed[r]:
                    listed[r] = True
                    support[size] = r
                    size += 1
                    if pivot_of[r] >= 0:
                        waiting = _push(heap, waiting, pivot_of[r])
                work[r] = (work[r] - factor * vals[p]) % PRIME
        best = -1
        for s in range(size):
            r = support[s]
            if work[r] != 0 and (best < 0 or r < best):
                best = r
        if best >= 0:
            if end + size > len(rows):
                bigger = 2 * (end + size)
                more_rows, more_vals = np.empty(bigger, np.int64), np.empty(bigger, np.int64)
                more_rows[:end], more_vals[:end] = rows[:end], vals[:end]
                rows, vals = more_rows, more_vals
            inverse = power(work[best], PRIME - 2)
            for s in range(size):
                r = support[s]
                if work[r] != 0 and r != best:
                    rows[end] = r
                    vals[end] = work[r] * inverse % PRIME
                    end += 1
            pivots[found] = best
            fresh[found] = j
            pivot_of[best] = found
            found += 1
            start[found] = end
        for s in range(size):
            work[support[s]] = 0
            listed[support[s]] = False
    return pivots[:found], start[: found + 1], rows[:end], vals[:end], fresh[:found]


@njit(cache=True)  # type: ignore[untyped-decorator]
def back_substitute(pivots, start, rows, vals, vectors):  # type: ignore[no-untyped-def]
    """Set the pivot rows of random vectors so that every column of the echelon form is orthogonal to them."""
    for k in range(len(pivots) - 1, -1, -1):
        for t in range(vectors.shape[1]):
            total = np.int64(0)
            for p in range(start[k], start[k + 1]):
                total = (total + vals[p] * vectors[rows[p], t]) % PRIME
            vectors[pivots[k], t] = (PRIME - total) % PRIME


@njit(cache=True)  # type: ignore[untyped-decorator]
def kernel(matrix):  # type: ignore[no-untyped-def]
    """A basis of the vectors that a small dense matrix sends to zero, as columns."""
    rows, columns = matrix.shape
    work = matrix.copy() % PRIME
    pivot_row = np.full(columns, -1, np.int64)
    rank = 0
    for c in range(columns):
        at = -1
        for r in range(rank, rows):
            if work[r, c] != 0:
                at = r
                break
        if at < 0:
            continue
        for x in range(columns):
            work[rank, x], work[at, x] = work[at, x], work[rank, x]
        inverse = power(work[rank, c], PRIME - 2)
        for x in range(columns):
            work[rank, x] = work[rank, x] * inverse % PRIME
        for r in range(rows):
            if r != rank and work[r, c] != 0:
                factor = work[r, c]
                for x in range(columns):
                    work[r, x] = (work[r, x] - factor * work[rank, x]) % PRIME
        pivot_row[c] = rank
        rank += 1
        if rank == rows:
            break
    basis = np.zeros((columns, columns - rank), np.int64)
    place = 0
    for free in range(columns):
        if pivot_row[free] >= 0:
            continue
        basis[free, place] = 1
        for c in range(columns):
            if pivot_row[c] >= 0:
                basis[c, place] = (PRIME - work[pivot_row[c], free]) % PRIME
        place += 1
    return basis


@njit(cache=True)  # type: ignore[untyped-decorator]
def product(left, right):  # type: ignore[no-untyped-def]
    """Modular product of two small dense matrices."""
    out = np.zeros((left.shape[0], right.shape[1]), np.int64)
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            if left[i, k] != 0:
                for j in range(right.shape[1]):
                    out[i, j] = (out[i, j] + left[i, k] * right[k, j]) % PRIME
    return out
