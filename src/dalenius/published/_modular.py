"""Sparse elimination modulo the prime 2³¹ − 1, compiled: the audit's own route to what can be computed.

Columns are reduced one by one against the pivots found so far (left-looking), small columns first; the suppression
itself works right-looking in whole numbers. A false "computable" has a chance of about 2⁻³¹ per cell and vector.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit

PRIME = 2**31 - 1


@njit(cache=True)
def power(base, exponent):  # type: ignore[no-untyped-def]
    """Modular power."""
    result, base = np.int64(1), base % PRIME
    while exponent > 0:
        if exponent & 1:
            result = result * base % PRIME
        base = base * base % PRIME
        exponent >>= 1
    return result


@njit(cache=True)
def _push(heap, size, item):  # type: ignore[no-untyped-def]
    i = size
    heap[i] = item
    while i > 0 and heap[(i - 1) >> 1] > heap[i]:
        heap[(i - 1) >> 1], heap[i] = heap[i], heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    return size + 1


@njit(cache=True)
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


@njit(cache=True)
def _reduce(entries, values, pivot_of, pivots, start, rows, vals, work, listed, support, heap):  # type: ignore[no-untyped-def]
    """Spread a column over ``work`` and clear its pivot rows, earliest pivot first; returns the size of its support."""
    size, waiting = 0, 0
    for p in range(len(entries)):
        r = entries[p]
        work[r] = values[p] % PRIME
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
    return size


@njit(cache=True)
def _first_left(size, support, work):  # type: ignore[no-untyped-def]
    """The first row that is not zero, or -1."""
    best = -1
    for s in range(size):
        r = support[s]
        if work[r] != 0 and (best < 0 or r < best):
            best = r
    return best


@njit(cache=True)
def _store(best, size, support, work, rows, vals, end):  # type: ignore[no-untyped-def]
    """Write a reduced column, scaled to 1 in its pivot row, which is left out; returns the new end."""
    inverse = power(work[best], PRIME - 2)
    for s in range(size):
        r = support[s]
        if work[r] != 0 and r != best:
            rows[end] = r
            vals[end] = work[r] * inverse % PRIME
            end += 1
    return end


@njit(cache=True)
def _larger(array, capacity, end):  # type: ignore[no-untyped-def]
    more = np.empty(capacity, np.int64)
    more[:end] = array[:end]
    return more


@njit(cache=True)
def echelon(indptr, indices, data, count):  # type: ignore[no-untyped-def]
    """Reduce columns one by one.

    Returns the pivot rows, the reduced columns (pivot entry 1 left out) as start, rows and values, and the places of
    the columns that were no combination of earlier ones.
    """
    columns = len(indptr) - 1
    most = min(columns, count)
    pivot_of = np.full(count, -1, np.int64)
    pivots, fresh, start = np.empty(most, np.int64), np.empty(most, np.int64), np.zeros(most + 1, np.int64)
    rows = np.empty(max(4 * len(indices), 1024), np.int64)
    vals = np.empty(len(rows), np.int64)
    work, listed = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    support, heap = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    found, end = 0, 0
    for j in range(columns):
        part = slice(indptr[j], indptr[j + 1])
        size = _reduce(
            indices[part], data[part], pivot_of, pivots, start, rows, vals, work, listed, support, heap
        )
        best = _first_left(size, support, work)
        if best >= 0:
            if end + size > len(rows):
                rows, vals = _larger(rows, 2 * (end + size), end), _larger(vals, 2 * (end + size), end)
            end = _store(best, size, support, work, rows, vals, end)
            pivots[found], fresh[found], pivot_of[best] = best, j, found
            found += 1
            start[found] = end
        for s in range(size):
            work[support[s]] = 0
            listed[support[s]] = False
    return pivots[:found], start[: found + 1], rows[:end], vals[:end], fresh[:found]


@njit(cache=True)
def back_substitute(pivots, start, rows, vals, vectors):  # type: ignore[no-untyped-def]
    """Set the pivot rows of random vectors so that every column of the echelon form is orthogonal to them."""
    for k in range(len(pivots) - 1, -1, -1):
        for t in range(vectors.shape[1]):
            total = np.int64(0)
            for p in range(start[k], start[k + 1]):
                total = (total + vals[p] * vectors[rows[p], t]) % PRIME
            vectors[pivots[k], t] = (PRIME - total) % PRIME


@njit(cache=True)
def _reduced(value):  # type: ignore[no-untyped-def]
    """A number below 2⁶³ modulo the prime, by its two halves: 2³¹ is 1 (Knuth 4.3.2)."""
    value = (value & PRIME) + (value >> 31)
    value = (value & PRIME) + (value >> 31)
    return value - PRIME if value >= PRIME else value


@njit(cache=True)
def _eliminated(work):  # type: ignore[no-untyped-def]
    """Bring a small dense matrix into echelon form in place, pivots 1; for every column its pivot row or -1."""
    rows, columns = work.shape
    pivot_row = np.full(columns, -1, np.int64)
    rank = 0
    for c in range(columns):
        at = rank
        while at < rows and work[at, c] == 0:
            at += 1
        if at >= rows:
            continue
        if at != rank:
            for x in range(c, columns):
                work[rank, x], work[at, x] = work[at, x], work[rank, x]
        inverse = power(work[rank, c], PRIME - 2)
        for x in range(c, columns):
            work[rank, x] = _reduced(work[rank, x] * inverse)
        for r in range(rank + 1, rows):
            factor = PRIME - work[r, c]
            if factor != PRIME:
                for x in range(c, columns):
                    work[r, x] = _reduced(work[r, x] + factor * work[rank, x])
        pivot_row[c] = rank
        rank += 1
    return pivot_row, rank


@njit(cache=True)
def kernel(matrix):  # type: ignore[no-untyped-def]
    """A basis of the vectors that a small dense matrix sends to zero, as columns."""
    columns = matrix.shape[1]
    work = matrix.copy() % PRIME
    pivot_row, rank = _eliminated(work)
    basis = np.zeros((columns, columns - rank), np.int64)
    place = 0
    for free in range(columns):
        if pivot_row[free] >= 0:
            continue
        basis[free, place] = 1
        for c in range(free - 1, -1, -1):
            if pivot_row[c] >= 0:
                total = work[pivot_row[c], free]
                for x in range(c + 1, free):
                    total = _reduced(total + work[pivot_row[c], x] * basis[x, place])
                basis[c, place] = (PRIME - total) % PRIME
        place += 1
    return basis


@njit(cache=True)
def reduced_form(matrix):  # type: ignore[no-untyped-def]
    """Reduced row echelon form of a small dense matrix, without empty rows."""
    work = matrix.copy() % PRIME
    pivot_row, rank = _eliminated(work)
    for c in range(work.shape[1]):
        if pivot_row[c] >= 0:
            for r in range(pivot_row[c]):
                factor = PRIME - work[r, c]
                if factor != PRIME:
                    for x in range(c, work.shape[1]):
                        work[r, x] = _reduced(work[r, x] + factor * work[pivot_row[c], x])
    return work[:rank]


@njit(cache=True)
def pivots(matrix):  # type: ignore[no-untyped-def]
    """Places of the columns of a small dense matrix that are no combination of those before."""
    work = matrix.copy() % PRIME
    pivot_row, _ = _eliminated(work)
    return np.flatnonzero(pivot_row >= 0)


@njit(cache=True)
def product(left, right):  # type: ignore[no-untyped-def]
    """Modular product of two small dense matrices."""
    out = np.zeros((left.shape[0], right.shape[1]), np.int64)
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            if left[i, k] != 0:
                for j in range(right.shape[1]):
                    out[i, j] = (out[i, j] + left[i, k] * right[k, j]) % PRIME
    return out
