"""Compiled trees: rows in Z-order, nodes as slices, statistics as reductions (count, exclusive or, minimum, maximum).

A node is a row of two tables. ``ints`` (int32) holds its slice of the permutation, its place in the tree, its flags and
its subnodes; ``wide`` (int64) its row count, per unit column the number and the combined hash of its distinct units,
and per dimension its cell number, smallest and largest code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.noise import is_low

LEVELS = 62
START, END, DEPTH, PARENT, FIRST, KIDS, CODE, FLAGS, SUB = range(9)
ROWS, UNITS = 0, 1
STUB, LOW, SINGULAR, WEAK = 1, 2, 4, 8
HALF = 8
"""Bit of ``FLAGS`` from which two bits per dimension say which half of a stub leaf alone is above the threshold."""


class Items(NamedTuple):
    """Rows, or groups of equal rows, to be put on the grid.

    ``cells`` and ``actual`` have one line per item: codes that decide its cell, and codes that decide extremes. With
    one row per unit ``units`` is empty: ``counts`` and ``hashes`` say how many units an item has and combine their
    hashes. Otherwise ``units[k, i]`` is the unit of item i in unit column k (-1: none) and ``unit_hashes`` their
    hashes.
    """

    cells: npt.NDArray[np.int64]
    actual: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.int64]
    units: npt.NDArray[np.int32]
    unit_hashes: npt.NDArray[np.int64]


class Rule(NamedTuple):
    """When a node splits and when it is too small to be a useful subnode."""

    singular_low: float
    range_low: float
    depth: int
    row_limit: int
    safe: bool
    prefix: bool
    any_stub: bool


class Seen(NamedTuple):
    """Which units were seen in the present slice: those marked with the present mark."""

    marks: npt.NDArray[np.int32]
    mark: npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def none_seen(items):
    """No unit seen yet."""
    return Seen(np.zeros((items.units.shape[0], items.unit_hashes.shape[1]), np.int32), np.zeros(1, np.int32))


@njit(cache=True, nogil=True)
def collect(items, perm, seen, start, end, dim, depth, half, found):
    """Number and combined hash of the distinct units of a slice, or of one half of it (``dim`` >= 0)."""
    many = items.units.shape[0]
    marks = seen.marks
    found[:] = 0
    shift = LEVELS - 1 - depth
    if many == 0:
        for i in range(start, end):
            r = perm[i]
            if dim < 0 or (items.cells[r, dim] >> shift) & 1 == half:
                found[0] += items.counts[r]
                found[1] ^= items.hashes[r]
        return
    for k in range(many):
        seen.mark[0] += 1
        mark = seen.mark[0]
        for i in range(start, end):
            r = perm[i]
            unit = items.units[k, r]
            if (
                unit >= 0
                and marks[k, unit] != mark
                and (dim < 0 or (items.cells[r, dim] >> shift) & 1 == half)
            ):
                marks[k, unit] = mark
                found[2 * k] += 1
                found[2 * k + 1] ^= items.unit_hashes[k, unit]


@njit(cache=True, nogil=True)
def _low(noise, threshold, found):
    low = False
    for k in range(len(found) // 2):
        low = low or is_low(noise, threshold, found[2 * k], found[2 * k + 1])
    return low


@njit(cache=True, nogil=True, inline="always")
def _low_node(noise, threshold, wide, v, end):
    low = False
    for k in range(UNITS, end, 2):
        low = low or is_low(noise, threshold, wide[v, k], wide[v, k + 1])
    return low


@njit(cache=True, nogil=True, inline="always")
def judge(noise, rule, ints, wide, v, d):
    """Set the flags of a finished node from its statistics; the stub flag is already there."""
    end = wide.shape[1] - 3 * d
    singular = True
    for j in range(d):
        singular = singular and wide[v, end + d + j] == wide[v, end + 2 * d + j]
    flags = ints[v, FLAGS] & STUB
    if singular:
        flags |= SINGULAR
    if _low_node(noise, noise.low, wide, v, end):
        flags |= LOW
    if flags & STUB or _low_node(noise, rule.singular_low if singular else rule.range_low, wide, v, end):
        flags |= WEAK
    ints[v, FLAGS] = flags


@njit(cache=True, nogil=True)
def _some_prefix_passes(items, noise, rule, perm, start, end, depth):
    """The reference's rule: split if the rows seen so far passed at any moment of the insertion."""
    d = items.actual.shape[1]
    found = np.zeros(2, np.int64)
    first = perm[start]
    singular = True
    for i in range(start, end):
        r = perm[i]
        found[0] += items.counts[r]
        found[1] ^= items.hashes[r]
        for j in range(d):
            singular = singular and items.actual[r, j] == items.actual[first, j]
        if i == start or singular or not (depth <= rule.depth or i + 1 - start >= rule.row_limit):
            continue
        if rule.safe or not _low(noise, noise.low, found):
            return True
    return False


@njit(cache=True, nogil=True, inline="always")
def passes(rule, flags, depth, rows):
    """Whether a node with these rows splits."""
    if flags & STUB or flags & SINGULAR or depth >= LEVELS - 1:
        return False
    return (depth <= rule.depth or rows >= rule.row_limit) and (rule.safe or not flags & LOW)


@njit(cache=True, nogil=True, inline="always")
def _splits(items, noise, rule, perm, ints, wide, v):
    flags, depth = ints[v, FLAGS], ints[v, DEPTH]
    if rule.prefix and not (flags & STUB or flags & SINGULAR or depth >= LEVELS - 1):
        return _some_prefix_passes(items, noise, rule, perm, ints[v, START], ints[v, END], depth)
    return passes(rule, flags, depth, wide[v, ROWS])


@njit(cache=True, nogil=True)
def _halves(items, noise, perm, seen, node):
    """For a stub leaf, note per dimension the half that alone is above the threshold (1 lower, 2 upper)."""
    found = np.zeros(2 * max(items.units.shape[0], 1), np.int64)
    for j in range(items.cells.shape[1]):
        collect(items, perm, seen, node[START], node[END], j, node[DEPTH], 0, found)
        below = _low(noise, noise.low, found)
        collect(items, perm, seen, node[START], node[END], j, node[DEPTH], 1, found)
        above = _low(noise, noise.low, found)
        if below != above:
            node[FLAGS] |= (2 if below else 1) << (HALF + 2 * j)


@njit(cache=True, nogil=True, inline="always")
def _subnodes(subs, ints, parent, child, code, d, any_stub):
    """Find the child's subnodes below the parent's, and decide whether the child is a stub."""
    weak = 0
    for i in range(d):
        above, found = ints[parent, SUB + i], -1
        if above >= 0 and subs[above, 1] > 0:
            bit = d - 1 - i
            wanted = ((code >> (bit + 1)) << bit) | (code & ((1 << bit) - 1))
            first = subs[above, 0]
            for c in range(first, first + subs[above, 1]):
                if subs[c, 2] == wanted:
                    found = c
                    break
        ints[child, SUB + i] = found
        weak += found < 0 or (subs[found, 3] & WEAK) > 0
    if d > 1 and (weak == d or (any_stub and weak > 0)):
        ints[child, FLAGS] = STUB


@njit(cache=True, nogil=True)
def larger(table, size):
    """The same table with room for twice as many lines."""
    grown = np.zeros((2 * len(table), table.shape[1]), table.dtype)
    grown[:size] = table[:size]
    return grown


@njit(cache=True, nogil=True, inline="always")
def _begin(wide, v, d):
    end = wide.shape[1] - 3 * d
    for j in range(d):
        wide[v, end + d + j] = np.iinfo(np.int64).max
        wide[v, end + 2 * d + j] = np.iinfo(np.int64).min


@njit(cache=True, nogil=True, inline="always")
def _digits(cells, perm, digit, tally, used, start, end, depth):
    """Child code of every row of a slice; how often each occurs; the codes in ascending order."""
    d = cells.shape[1]
    shift = LEVELS - 1 - depth
    count = 0
    for i in range(start, end):
        r = np.uint32(perm[i])
        code = 0
        for j in range(d):
            code = (code << 1) | ((cells[r, j] >> shift) & 1)
        digit[i] = code
        if tally[code] == 0:
            at = count
            while at > 0 and used[at - 1] > code:
                used[at] = used[at - 1]
                at -= 1
            used[at] = code
            count += 1
        tally[code] += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _scatter(actual, rows, counts, hashes, perm, other, digit, place, child_of, wide, start, end):
    """Move the rows of a slice into their children's slices, in order, and add them to the children's statistics."""
    d = actual.shape[1]
    low = wide.shape[1] - 2 * d
    for i in range(start, end):
        # Unsigned: a compiled index that cannot be negative needs no look at the array's end.
        r, code = np.uint32(perm[i]), np.uint16(digit[i])
        other[np.uint32(place[code])] = r
        place[code] += 1
        v = np.uint32(child_of[code])
        wide[v, ROWS] += rows[r]
        wide[v, UNITS] += counts[r]
        wide[v, UNITS + 1] ^= hashes[r]
        for j in range(d):
            value = actual[r, j]
            wide[v, low + j] = min(wide[v, low + j], value)
            wide[v, low + d + j] = max(wide[v, low + d + j], value)
    for i in range(start, end):
        perm[i] = other[i]


@njit(cache=True, nogil=True)
def _plant(rule, subs, sub_roots, ints, n, d):
    """Make the root, over the roots of the trees with one dimension less."""
    ints[0, END], ints[0, PARENT] = n, -1
    weak = 0
    for i in range(d):
        ints[0, SUB + i] = sub_roots[i]
        weak += sub_roots[i] >= 0 and (subs[sub_roots[i], 3] & WEAK) > 0
    if d > 1 and (weak == d or (rule.any_stub and weak > 0)):
        ints[0, FLAGS] = STUB


@njit(cache=True, nogil=True, inline="always")
def _settle(items, noise, rule, perm, seen, ints, wide, v):
    """Judge a node that has all its rows; whether it splits."""
    d = items.cells.shape[1]
    if items.units.shape[0] > 0:
        found = wide[v, UNITS : wide.shape[1] - 3 * d]
        collect(items, perm, seen, ints[v, START], ints[v, END], -1, ints[v, DEPTH], 0, found)
    judge(noise, rule, ints, wide, v, d)
    if _splits(items, noise, rule, perm, ints, wide, v):
        return True
    flags = ints[v, FLAGS]
    if flags & STUB and not flags & LOW and not flags & SINGULAR:
        _halves(items, noise, perm, seen, ints[v])
    return False


@njit(cache=True, nogil=True, inline="always")
def _branch(rule, subs, ints, wide, v, d, used, tally, child_of, place, first, kids):
    """Make the children of a node from the codes that occur, numbered from ``first`` on, still without rows."""
    cell = wide.shape[1] - 3 * d
    at, depth = ints[v, START], ints[v, DEPTH]
    ints[v, FIRST], ints[v, KIDS] = first, kids
    for i in range(kids):
        code, c = np.int64(used[i]), first + i
        child_of[code], place[code] = c, at
        ints[c, START], ints[c, DEPTH], ints[c, PARENT], ints[c, CODE] = at, depth + 1, v, code
        at += tally[code]
        ints[c, END] = at
        tally[code] = 0
        _begin(wide, c, d)
        for j in range(d):
            wide[c, cell + j] = 2 * wide[v, cell + j] + ((code >> (d - 1 - j)) & 1)
        _subnodes(subs, ints, v, c, code, d, rule.any_stub)


@njit(cache=True, nogil=True)
def grow(items, noise, rule, subs, sub_roots):
    """Grow one tree; returns its node tables and the permutation of items.

    ``subs`` are the first child, number of children, code and flags of all nodes of the trees with one dimension less,
    one tree after the other; ``sub_roots`` their roots (-1 in a tree of one dimension).
    """
    n, d = items.cells.shape
    cells, actual, rows, counts, hashes = items.cells, items.actual, items.rows, items.counts, items.hashes
    perm, other, digit = np.arange(n).astype(np.int32), np.empty(n, np.int32), np.zeros(n, np.int16)
    # Per child code: rows it has, its node, its next free place; and the codes that occur.
    tally, child_of, place = (
        np.zeros(1 << d, np.int32),
        np.zeros(1 << d, np.int32),
        np.zeros(1 << d, np.int32),
    )
    used, seen = np.zeros(1 << d, np.int16), none_seen(items)
    ints = np.zeros((max(64, n // 2), SUB + d), np.int32)
    wide = np.zeros((len(ints), 1 + 2 * max(items.units.shape[0], 1) + 3 * d), np.int64)
    _plant(rule, subs, sub_roots, ints, n, d)
    _begin(wide, 0, d)
    _scatter(actual, rows, counts, hashes, perm, other, digit, place, child_of, wide, 0, n)
    stack = np.empty(LEVELS * (1 << d) + 1, np.int32)
    stack[0], waiting, size = 0, 1, 1
    while waiting > 0:
        waiting -= 1
        v = stack[waiting]
        if not _settle(items, noise, rule, perm, seen, ints, wide, v):
            continue
        start, end = ints[v, START], ints[v, END]
        kids = _digits(cells, perm, digit, tally, used, start, end, ints[v, DEPTH])
        while size + kids > len(ints):
            ints, wide = larger(ints, size), larger(wide, size)
        _branch(rule, subs, ints, wide, v, d, used, tally, child_of, place, size, kids)
        _scatter(actual, rows, counts, hashes, perm, other, digit, place, child_of, wide, start, end)
        for i in range(kids):
            stack[waiting + i] = size + kids - 1 - i
        waiting += kids
        size += kids
    return ints[:size].copy(), wide[:size].copy(), perm
