"""Compiled trees: rows in Z-order, nodes as slices, statistics as reductions (count, exclusive or, minimum, maximum).

A node is a row of two tables. ``ints`` (int32) holds its slice of the permutation, its place in the tree, its flags and
its subnodes; ``wide`` (int64) its row count, per unit column the number and the combined hash of its distinct units, and
per dimension its cell number, smallest and largest code.
"""  # noqa: E501

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dalenius.synth.syndiffix.noise._kernels import is_low

LEVELS = 62
START, END, DEPTH, PARENT, FIRST, KIDS, CODE, FLAGS, SUB = range(9)
ROWS, UNITS = 0, 1
STUB, LOW, SINGULAR, WEAK = 1, 2, 4, 8
HALF = 8
"""Bit of ``FLAGS`` from which two bits per dimension say which half of a stub leaf is the only one above the threshold."""  # noqa: E501


class Items(NamedTuple):
    """Rows, or groups of equal rows, to be put on the grid.

    With one row per unit ``units`` is empty: ``counts`` and ``hashes`` say how many units an item has and combine their
    hashes. Otherwise ``units[k, i]`` is the unit of item i in unit column k (-1: none) and ``unit_hashes`` their hashes.
    """  # noqa: E501

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


@njit(cache=True, nogil=True)
def _collect(items, perm, start, end, dim, depth, half, found, marks, mark):
    """Number and combined hash of the distinct units of a slice, or of one half of it (``dim`` >= 0)."""
    many = items.units.shape[0]
    found[:] = 0
    shift = LEVELS - 1 - depth
    if many == 0:
        for i in range(start, end):
            r = perm[i]
            if dim < 0 or (items.cells[dim, r] >> shift) & 1 == half:
                found[0] += items.counts[r]
                found[1] ^= items.hashes[r]
        return mark
    for k in range(many):
        mark += 1
        for i in range(start, end):
            r = perm[i]
            unit = items.units[k, r]
            if (
                unit >= 0
                and marks[k, unit] != mark
                and (dim < 0 or (items.cells[dim, r] >> shift) & 1 == half)
            ):
                marks[k, unit] = mark
                found[2 * k] += 1
                found[2 * k + 1] ^= items.unit_hashes[k, unit]
    return mark


@njit(cache=True, nogil=True)
def _low(noise, threshold, found):
    for k in range(len(found) // 2):  # noqa: SIM110
        if is_low(noise, threshold, found[2 * k], found[2 * k + 1]):
            return True
    return False


@njit(cache=True, nogil=True)
def _low_node(noise, threshold, wide, v, end):
    for k in range(UNITS, end, 2):  # noqa: SIM110
        if is_low(noise, threshold, wide[v, k], wide[v, k + 1]):
            return True
    return False


@njit(cache=True, nogil=True)
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
    d = items.actual.shape[0]
    found = np.zeros(2, np.int64)
    first = perm[start]
    singular = True
    for i in range(start, end):
        r = perm[i]
        found[0] += items.counts[r]
        found[1] ^= items.hashes[r]
        for j in range(d):
            singular = singular and items.actual[j, r] == items.actual[j, first]
        if i == start or singular or not (depth <= rule.depth or i + 1 - start >= rule.row_limit):
            continue
        if rule.safe or not _low(noise, noise.low, found):
            return True
    return False


@njit(cache=True, nogil=True)
def _splits(items, noise, rule, perm, ints, wide, v):
    flags, depth = ints[v, FLAGS], ints[v, DEPTH]
    if flags & STUB or flags & SINGULAR or depth >= LEVELS - 1:
        return False
    if rule.prefix:
        return _some_prefix_passes(items, noise, rule, perm, ints[v, START], ints[v, END], depth)
    return (depth <= rule.depth or wide[v, ROWS] >= rule.row_limit) and (rule.safe or not flags & LOW)


@njit(cache=True, nogil=True)
def _halves(items, noise, perm, node, found, marks, mark):
    """For a stub leaf, note per dimension the half that alone is above the threshold (1 lower, 2 upper)."""
    d = items.cells.shape[0]
    for j in range(d):
        mark = _collect(items, perm, node[START], node[END], j, node[DEPTH], 0, found, marks, mark)
        below = _low(noise, noise.low, found)
        mark = _collect(items, perm, node[START], node[END], j, node[DEPTH], 1, found, marks, mark)
        above = _low(noise, noise.low, found)
        if below != above:
            node[FLAGS] |= (2 if below else 1) << (HALF + 2 * j)
    return mark


@njit(cache=True, nogil=True)
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
def _larger(table, size):
    grown = np.zeros((2 * len(table), table.shape[1]), table.dtype)
    grown[:size] = table[:size]
    return grown


@njit(cache=True, nogil=True)
def _scatter(actual, rows, counts, hashes, perm, other, digit, place, child_of, wide, start, end):
    """Move the rows of a slice into their children's slices, in order, and add them to the children's statistics."""
    d = len(actual)
    low = wide.shape[1] - 2 * d
    for i in range(start, end):
        r, code = perm[i], digit[i]
        other[place[code]] = r
        place[code] += 1
        v = child_of[code]
        wide[v, ROWS] += rows[r]
        wide[v, UNITS] += counts[r]
        wide[v, UNITS + 1] ^= hashes[r]
        for j in range(d):
            value = actual[j, r]
            wide[v, low + j] = min(wide[v, low + j], value)
            wide[v, low + d + j] = max(wide[v, low + d + j], value)
    perm[start:end] = other[start:end]


@njit(cache=True, nogil=True)
def _begin(wide, v, d):
    end = wide.shape[1] - 3 * d
    for j in range(d):
        wide[v, end + d + j] = np.iinfo(np.int64).max
        wide[v, end + 2 * d + j] = np.iinfo(np.int64).min


@njit(cache=True, nogil=True)
def _digits(cells, perm, start, end, depth, digit, tally, used):
    """Child code of every row of a slice; how often each occurs; the codes in ascending order."""
    d = cells.shape[0]
    shift = LEVELS - 1 - depth
    count = 0
    for i in range(start, end):
        r = perm[i]
        code = 0
        for j in range(d):
            code = (code << 1) | ((cells[j, r] >> shift) & 1)
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


@njit(cache=True, nogil=True)
def grow(items, noise, rule, subs, sub_roots):  # noqa: PLR0915
    """Grow one tree; returns its node tables and the permutation of items.

    ``subs`` are the first child, number of children, code and flags of all nodes of the trees with one dimension less,
    one tree after the other; ``sub_roots`` their roots (-1 in a tree of one dimension).
    """
    d, n = items.cells.shape
    columns = max(items.units.shape[0], 1)
    perm, other = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    digit = np.empty(n, np.int16)
    marks = np.zeros((items.units.shape[0], items.unit_hashes.shape[1]), np.int32)
    tally, child_of = np.zeros(1 << d, np.int32), np.zeros(1 << d, np.int32)
    place, used = np.zeros(1 << d, np.int32), np.zeros(1 << d, np.int16)
    ints = np.zeros((max(64, n // 2), SUB + d), np.int32)
    wide = np.zeros((len(ints), 1 + 2 * columns + 3 * d), np.int64)
    cell = 1 + 2 * columns
    size, mark = 1, 0
    _begin(wide, 0, d)
    digit[:], place[0] = 0, 0
    _scatter(
        items.actual, items.rows, items.counts, items.hashes, perm, other, digit, place, child_of, wide, 0, n
    )
    ints[0, END], ints[0, PARENT] = n, -1
    weak = 0
    for i in range(d):
        ints[0, SUB + i] = sub_roots[i]
        weak += sub_roots[i] >= 0 and (subs[sub_roots[i], 3] & WEAK) > 0
    if d > 1 and (weak == d or (rule.any_stub and weak > 0)):
        ints[0, FLAGS] = STUB
    stack = np.empty(LEVELS * (1 << d) + 1, np.int32)
    stack[0], waiting = 0, 1
    while waiting > 0:
        waiting -= 1
        v = stack[waiting]
        start, end, depth = ints[v, START], ints[v, END], ints[v, DEPTH]
        if items.units.shape[0] > 0:
            mark = _collect(items, perm, start, end, -1, depth, 0, wide[v, UNITS:cell], marks, mark)
        judge(noise, rule, ints, wide, v, d)
        if not _splits(items, noise, rule, perm, ints, wide, v):
            flags = ints[v, FLAGS]
            if flags & STUB and not flags & LOW and not flags & SINGULAR:
                mark = _halves(items, noise, perm, ints[v], np.zeros(2 * columns, np.int64), marks, mark)
            continue
        kids = _digits(items.cells, perm, start, end, depth, digit, tally, used)
        while size + kids > len(ints):
            ints, wide = _larger(ints, size), _larger(wide, size)
        ints[v, FIRST], ints[v, KIDS] = size, kids
        at = start
        for i in range(kids):
            code, c = np.int64(used[i]), size + i
            child_of[code], place[code] = c, at
            ints[c, START], ints[c, DEPTH], ints[c, PARENT], ints[c, CODE] = at, depth + 1, v, code
            at += tally[code]
            ints[c, END] = at
            tally[code] = 0
            _begin(wide, c, d)
            for j in range(d):
                wide[c, cell + j] = 2 * wide[v, cell + j] + ((code >> (d - 1 - j)) & 1)
            _subnodes(subs, ints, v, c, code, d, rule.any_stub)
        _scatter(
            items.actual,
            items.rows,
            items.counts,
            items.hashes,
            perm,
            other,
            digit,
            place,
            child_of,
            wide,
            start,
            end,
        )
        for i in range(kids):
            stack[waiting + i] = size + kids - 1 - i
        waiting += kids
        size += kids
    return ints[:size].copy(), wide[:size].copy(), perm


@njit(cache=True, nogil=True)
def collapse(cells, rows, counts, hashes):
    """Put equal rows together: one item with their counts added and their hashes combined.

    Gives up (returns no items) as soon as a third of the rows differ: then there is nothing to gain.
    """
    d, n = cells.shape
    size = 1
    while size < n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    most = n // 3
    first = np.empty(most + 1, np.int32)
    sums = np.zeros((3, most + 1), np.int64)
    found = 0
    for r in range(n):
        h = np.uint64(0)
        for j in range(d):
            h = (h ^ np.uint64(cells[j, r])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        at = np.int64(h & np.uint64(size - 1))
        while slots[at] >= 0:
            same = True
            for j in range(d):
                same = same and cells[j, first[slots[at]]] == cells[j, r]
            if same:
                break
            at = (at + 1) & (size - 1)
        item = slots[at]
        if item < 0:
            if found == most:
                return cells[:, :0].copy(), sums[:, :0].copy()
            item = found
            slots[at], first[item] = item, r
            found += 1
        sums[0, item] += rows[r]
        sums[1, item] += counts[r]
        sums[2, item] ^= hashes[r]
    held = np.empty((d, found), np.int64)
    for j in range(d):
        for item in range(found):
            held[j, item] = cells[j, first[item]]
    return held, sums[:, :found].copy()


@njit(cache=True, nogil=True)
def lowest_root(ints):
    """Node of a one-dimensional tree to which its root can be pushed down: one side empty or suppressed, again and again."""  # noqa: E501
    root = 0
    while ints[root, KIDS] > 0:
        kept = -1
        for c in range(ints[root, FIRST], ints[root, FIRST] + ints[root, KIDS]):
            if ints[c, KIDS] > 0 or not ints[c, FLAGS] & LOW:
                kept = c if kept == -1 else -2
        if kept < 0:
            break
        root = kept
    return root


@njit(cache=True, nogil=True)
def extend(items, noise, rule, ints, wide, perm, root):
    """Add the rows outside a pushed-down root to the outermost leaves, as the reference does; no splits, no new extremes."""  # noqa: E501
    columns = max(items.units.shape[0], 1)
    marks = np.zeros((items.units.shape[0], items.unit_hashes.shape[1]), np.int32)
    mark, n = 0, len(perm)
    for side in range(2):
        if (side == 0 and ints[root, START] == 0) or (side == 1 and ints[root, END] == n):
            continue
        v = root
        while True:
            if side == 0:
                ints[v, START] = 0
            else:
                ints[v, END] = n
            found = wide[v, UNITS : UNITS + 2 * columns]
            mark = _collect(items, perm, ints[v, START], ints[v, END], -1, 0, 0, found, marks, mark)
            wide[v, ROWS] = 0
            for i in range(ints[v, START], ints[v, END]):
                wide[v, ROWS] += items.rows[perm[i]]
            judge(noise, rule, ints, wide, v, 1)
            if ints[v, KIDS] == 0:
                break
            v = ints[v, FIRST] if side == 0 else ints[v, FIRST] + ints[v, KIDS] - 1


@njit(cache=True, nogil=True)
def prune(ints, wide, root):
    """Node tables of the part of a one-dimensional tree below a new root, which gets number 0 and depth 0."""
    new = np.full(len(ints), -1, np.int32)
    new[root] = 0
    size = 1
    for v in range(root + 1, len(ints)):
        if new[ints[v, PARENT]] >= 0:
            new[v] = size
            size += 1
    kept, stats = np.empty((size, ints.shape[1]), np.int32), np.empty((size, wide.shape[1]), np.int64)
    for v in range(root, len(ints)):
        at = new[v]
        if at < 0:
            continue
        kept[at], stats[at] = ints[v], wide[v]
        kept[at, DEPTH] -= ints[root, DEPTH]
        kept[at, PARENT] = -1 if v == root else new[ints[v, PARENT]]
        if ints[v, KIDS] > 0:
            kept[at, FIRST] = new[ints[v, FIRST]]
    return kept, stats
