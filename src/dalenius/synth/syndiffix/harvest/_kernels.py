"""Compiled harvest: from the nodes of a tree to its buckets, with weights as floats.

Buckets lie in one arena per tree; those of a node and all its descendants are one contiguous range. A bucket has a
lower and an upper code per dimension (equal for a single value).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dalenius.synth.syndiffix.noise._kernels import DRAW, keyed
from dalenius.synth.syndiffix.trees._kernels import (
    DEPTH,
    FIRST,
    FLAGS,
    HALF,
    KIDS,
    LEVELS,
    LOW,
    SINGULAR,
    SUB,
)

COVERED = 0.95
"""Where a child was suppressed, what children leave uncovered is described by the node itself unless they cover this share
of it. The reference scales children up already when they cover half, which moves the mass of thin regions into dense ones
(correlations rise)."""  # noqa: E501


class Arena(NamedTuple):
    """Buckets of a tree, and the range of each node.

    ``dead`` is the depth from which upwards a bucket no longer counts, because an ancestor replaced it (-1: never).
    """

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    dead: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def _next(state):
    """Counter-based uniform numbers (SplitMix64); only ever applied to what is already anonymous."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, float(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def _own(ints, wide, v, d, low, high):
    """Range of a node: the value where it is single, the cell elsewhere."""
    end = wide.shape[1] - 3 * d
    shift = LEVELS - ints[v, DEPTH]
    for j in range(d):
        smallest, largest = wide[v, end + d + j], wide[v, end + 2 * d + j]
        if smallest == largest:
            low[j], high[j] = smallest, smallest
        else:
            low[j] = wide[v, end + j] << shift
            high[j] = low[j] + (np.int64(1) << shift)


@njit(cache=True, nogil=True)
def _reference(ints, wide, v, d, low, high):
    """Cell of a node; for a stub leaf only the halves that alone are above the threshold."""
    end = wide.shape[1] - 3 * d
    shift = LEVELS - ints[v, DEPTH]
    for j in range(d):
        low[j] = wide[v, end + j] << shift
        high[j] = low[j] + (np.int64(1) << shift)
        half = (ints[v, FLAGS] >> (HALF + 2 * j)) & 3
        if half == 1:
            high[j] = low[j] + (np.int64(1) << (shift - 1))
        elif half == 2:
            low[j] += np.int64(1) << (shift - 1)


@njit(cache=True, nogil=True)
def _sublists(ints, wide, v, d, below, kind, smallest, largest):  # noqa: PLR0912
    """Which buckets refine the node (kind 1: its own single values, 0: its subnode's) and their smallest hull.

    False if a subnode has nothing to offer.
    """
    end = wide.shape[1] - 3 * d
    best = np.full(d, -1, np.int64)
    low, high = np.empty(d, np.int64), np.empty(d, np.int64)
    for i in range(d):
        single = True
        for j in range(d):
            single = single and (j == i or wide[v, end + d + j] == wide[v, end + 2 * d + j])
        kind[i] = 1 if single else 0
        if single:
            for j in range(d):
                low[j] = high[j] = wide[v, end + d + j]
        else:
            sub = ints[v, SUB + i]
            if sub < 0:
                return False
            seen = False
            for b in range(below.first[sub], below.last[sub]):
                if below.dead[b] >= below.depth[sub]:
                    continue
                for j in range(d):
                    if j == i:
                        continue
                    q = j if j < i else j - 1
                    if not seen or below.low[b, q] < low[j]:
                        low[j] = below.low[b, q]
                    if not seen or below.high[b, q] > high[j]:
                        high[j] = below.high[b, q]
                seen = True
            if not seen:
                return False
        for j in range(d):
            if j != i and (best[j] < 0 or high[j] - low[j] < best[j]):
                best[j] = high[j] - low[j]
                smallest[j], largest[j] = low[j], high[j]
    return True


@njit(cache=True, nogil=True)
def _meet(d, smallest, largest, low, high):
    """Cut the smallest hulls to the reference cell where they meet, widen them to hold both where they do not."""
    for j in range(d):
        single = smallest[j] == largest[j] and low[j] <= smallest[j] < high[j]
        if single or (smallest[j] < high[j] and low[j] < largest[j]):
            smallest[j], largest[j] = max(smallest[j], low[j]), min(largest[j], high[j])
        else:
            smallest[j], largest[j] = min(smallest[j], low[j]), max(largest[j], high[j])


@njit(cache=True, nogil=True)
def _admit(ints, wide, v, d, below, kind, smallest, largest, ends, lists, sums, side_ends, sides, side_sums):  # noqa: PLR0912
    """Lists to draw from: whole buckets per subnode, single sides per dimension, with cumulative weights."""
    end = wide.shape[1] - 3 * d
    at = 0
    for i in range(d):
        total = 0.0
        if kind[i] == 1:
            inside = True
            for j in range(d):
                value = wide[v, end + d + j]
                inside = inside and (j == i or smallest[j] <= value <= largest[j])
            if inside:
                lists[at], total = -1, 1.0
                sums[at] = total
                at += 1
        else:
            sub = ints[v, SUB + i]
            for b in range(below.first[sub], below.last[sub]):
                if below.dead[b] >= below.depth[sub] or below.weight[b] <= 0.0:
                    continue
                inside = True
                for j in range(d):
                    if j != i:
                        q = j if j < i else j - 1
                        inside = inside and smallest[j] <= below.low[b, q] and below.high[b, q] <= largest[j]
                if inside:
                    total += below.weight[b]
                    lists[at], sums[at] = b, total
                    at += 1
        ends[i] = at
        if total <= 0.0:
            return False
    at = 0
    for j in range(d):
        total = 0.0
        for i in range(d):
            if i == j:
                continue
            if kind[i] == 1:
                value = wide[v, end + d + j]
                if smallest[j] <= value <= largest[j]:
                    total += 1.0
                    sides[at, 0], sides[at, 1], side_sums[at] = value, value, total
                    at += 1
                continue
            q = j if j < i else j - 1
            sub = ints[v, SUB + i]
            for b in range(below.first[sub], below.last[sub]):
                if below.dead[b] >= below.depth[sub] or below.weight[b] <= 0.0:
                    continue
                if smallest[j] <= below.low[b, q] and below.high[b, q] <= largest[j]:
                    total += below.weight[b]
                    sides[at, 0], sides[at, 1], side_sums[at] = below.low[b, q], below.high[b, q], total
                    at += 1
        side_ends[j] = at
        if total <= 0.0:
            return False
    return True


@njit(cache=True, nogil=True)
def _pick(sums, begin, end, u):
    """First place whose cumulative weight exceeds a share of the total."""
    wanted = u * sums[end - 1]
    low, high = begin, end - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def _refine(ints, wide, v, d, amount, below, state, low, high, weight, size):
    """Describe the rows of a node by combining buckets of its subnodes; returns the new end of the arena.

    The arena must have room for ``round(amount) + 1`` buckets.
    """
    kind = np.zeros(d, np.int64)
    smallest, largest = np.empty(d, np.int64), np.empty(d, np.int64)
    usable = _sublists(ints, wide, v, d, below, kind, smallest, largest)
    if usable:
        cell_low, cell_high = np.empty(d, np.int64), np.empty(d, np.int64)
        _reference(ints, wide, v, d, cell_low, cell_high)
        _meet(d, smallest, largest, cell_low, cell_high)
        room = 0
        for i in range(d):
            sub = ints[v, SUB + i]
            room += 1 if kind[i] == 1 else below.last[sub] - below.first[sub]
        ends, side_ends = np.empty(d, np.int64), np.empty(d, np.int64)
        lists, sums = np.empty(room, np.int64), np.empty(room)
        sides, side_sums = np.empty((room * (d - 1), 2), np.int64), np.empty(room * (d - 1))
        usable = _admit(
            ints, wide, v, d, below, kind, smallest, largest, ends, lists, sums, side_ends, sides, side_sums
        )
    if not usable:
        _own(ints, wide, v, d, low[size], high[size])
        weight[size] = amount
        return size + 1
    end = wide.shape[1] - 3 * d
    draws = max(1, int(np.rint(amount)))
    for k in range(draws):
        j = k % d  # the dimension that is drawn alone
        state, u = _next(state)
        b = lists[_pick(sums, 0 if j == 0 else ends[j - 1], ends[j], u)]
        state, u = _next(state)
        s = _pick(side_sums, 0 if j == 0 else side_ends[j - 1], side_ends[j], u)
        for q in range(d):
            if q == j:
                low[size, q], high[size, q] = sides[s, 0], sides[s, 1]
            elif b < 0:
                low[size, q] = high[size, q] = wide[v, end + d + q]
            else:
                p = q if q < j else q - 1
                low[size, q], high[size, q] = below.low[b, p], below.high[b, p]
        weight[size] = amount / draws
        size += 1
    return size


@njit(cache=True, nogil=True)
def _room(low, high, weight, dead, size, more):
    wanted = len(weight)
    if size + more <= wanted:
        return low, high, weight, dead
    while wanted < size + more:
        wanted *= 2
    new_low, new_high = np.empty((wanted, low.shape[1]), np.int64), np.empty((wanted, low.shape[1]), np.int64)
    new_weight, new_dead = np.empty(wanted), np.full(wanted, -1, np.int32)
    new_low[:size], new_high[:size] = low[:size], high[:size]
    new_weight[:size], new_dead[:size] = weight[:size], dead[:size]
    return new_low, new_high, new_weight, new_dead


@njit(cache=True, nogil=True)
def _branch(d, depth, noisy, weight, dead, begin, size, lost):
    """Settle a branch: how much it still has to give, after scaling its children's buckets if they suffice."""
    covered = 0.0
    for b in range(begin, size):
        if dead[b] < depth:
            covered += weight[b]
    if d > 1 and covered < (COVERED if lost else 0.5) * noisy:
        return noisy - covered
    if 2 * covered < noisy:
        for b in range(begin, size):
            dead[b] = max(dead[b], depth)
        return noisy
    for b in range(begin, size):
        weight[b] *= noisy / covered
    return 0.0


@njit(cache=True, nogil=True)
def harvest(noise, ints, wide, noisy, seeds, safe, d, below):
    """Buckets of a tree, from the bottom up; ``below`` are the arenas of the trees with one dimension less."""
    nodes = len(ints)
    capacity = max(64, int(noisy[0]))
    low, high = np.empty((capacity, d), np.int64), np.empty((capacity, d), np.int64)
    weight, dead = np.empty(capacity), np.full(capacity, -1, np.int32)
    first, last = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    stack, upcoming = np.empty(LEVELS + 2, np.int32), np.zeros(LEVELS + 2, np.int32)
    stack[0], top, size = 0, 0, 0
    while top >= 0:
        v = stack[top]
        if upcoming[top] == 0:
            first[v] = size
        if upcoming[top] < ints[v, KIDS]:
            stack[top + 1], upcoming[top + 1] = ints[v, FIRST] + upcoming[top], 0
            upcoming[top] += 1
            top += 1
            continue
        top -= 1
        flags = ints[v, FLAGS]
        if ints[v, KIDS] > 0:
            lost = False
            for c in range(ints[v, FIRST], ints[v, FIRST] + ints[v, KIDS]):
                lost = lost or (ints[c, KIDS] == 0 and ints[c, FLAGS] & LOW > 0)
            amount = _branch(d, ints[v, DEPTH], noisy[v], weight, dead, first[v], size, lost)
        else:
            amount = noisy[v] if safe or not flags & LOW else 0.0
        if amount > 0.0:
            low, high, weight, dead = _room(low, high, weight, dead, size, int(amount) + 2)
            if d == 1 or (flags & SINGULAR and ints[v, KIDS] == 0):
                _own(ints, wide, v, d, low[size], high[size])
                weight[size] = amount
                size += 1
            else:
                state = keyed(noise, DRAW, seeds[v])
                size = _refine(ints, wide, v, d, amount, below, state, low, high, weight, size)
        last[v] = size
    return low[:size].copy(), high[:size].copy(), weight[:size].copy(), dead[:size].copy(), first, last
