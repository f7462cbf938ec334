"""Compiled harvest: from the nodes of a tree to its buckets, with weights as floats.

Buckets lie in one arena per tree; those of a node and all its descendants are one contiguous range. A bucket has a
lower and an upper code per dimension (equal for a single value).
"""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.noise import DRAW, keyed
from dalenius.synth.syndiffix._kernels.refining import NEVER, Arena, make_lists, own_range, refine
from dalenius.synth.syndiffix._kernels.trees import DEPTH, FIRST, FLAGS, KIDS, LEVELS, LOW, SINGULAR

ROOM = 1024
"""Entries of the lists that refinement draws from; longer ones are made when needed."""
COVERED = 0.95
"""Where a child was suppressed, what children leave uncovered is described by the node itself unless they cover this
share of it. The reference scales children up already when they cover half, which moves the mass of thin regions into
dense ones (correlations rise)."""


@njit(cache=True, nogil=True)
def _larger(low, high, weight, dead, size, more):
    """The arena with room for more buckets."""
    wanted = 2 * len(weight)
    while wanted < size + more:
        wanted *= 2
    new_low, new_high = np.empty((wanted, low.shape[1]), np.int64), np.empty((wanted, low.shape[1]), np.int64)
    new_weight, new_dead = np.empty(wanted), np.full(wanted, NEVER, np.int32)
    new_low[:size], new_high[:size] = low[:size], high[:size]
    new_weight[:size], new_dead[:size] = weight[:size], dead[:size]
    return new_low, new_high, new_weight, new_dead


@njit(cache=True, nogil=True, inline="always")
def _branch(d, depth, noisy, weight, dead, begin, size, lost):
    """Settle a branch: how much it still has to give, after scaling its children's buckets if they suffice.

    Also whether the children's buckets are replaced by the branch's own.
    """
    covered = 0.0
    for b in range(begin, size):
        if dead[b] < depth:
            covered += weight[b]
    if d > 1 and covered < (COVERED if lost else 0.5) * noisy:
        return noisy - covered, False
    if 2 * covered < noisy:
        for b in range(begin, size):
            dead[b] = max(dead[b], depth)
        return noisy, True
    for b in range(begin, size):
        weight[b] *= noisy / covered
    return 0.0, False


@njit(cache=True, nogil=True, inline="always")
def _lost(ints, v):
    """Whether a child of a branch was suppressed."""
    for c in range(ints[v, FIRST], ints[v, FIRST] + ints[v, KIDS]):
        if ints[c, KIDS] == 0 and ints[c, FLAGS] & LOW:
            return True
    return False


@njit(cache=True, nogil=True, inline="always")
def _enclose(hull_low, hull_high, v, low, high, begin, end):
    """Make the hull of a node hold some ranges too."""
    for b in range(begin, end):
        for j in range(low.shape[1]):
            hull_low[v, j] = min(hull_low[v, j], low[b, j])
            hull_high[v, j] = max(hull_high[v, j], high[b, j])


@njit(cache=True, nogil=True)
def harvest(noise, ints, wide, noisy, seeds, safe, d, below):
    """Buckets of a tree, from the bottom up; ``below`` are the arenas of the trees with one dimension less."""
    nodes = len(ints)
    capacity = max(64, int(noisy[0]))
    low, high = np.empty((capacity, d), np.int64), np.empty((capacity, d), np.int64)
    weight, dead = np.empty(capacity), np.full(capacity, NEVER, np.int32)
    first, last = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    hull_low = np.full((nodes, d), np.iinfo(np.int64).max, np.int64)
    hull_high = np.full((nodes, d), np.iinfo(np.int64).min, np.int64)
    lists = make_lists(d, ROOM)
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
        amount = noisy[v] if safe or not flags & LOW else 0.0
        if ints[v, KIDS] > 0:
            depth = ints[v, DEPTH]
            amount, replaced = _branch(d, depth, noisy[v], weight, dead, first[v], size, _lost(ints, v))
            if not replaced:
                family = ints[v, FIRST], ints[v, FIRST] + ints[v, KIDS]
                _enclose(hull_low, hull_high, v, hull_low, hull_high, family[0], family[1])
        begin = size
        if amount > 0.0:
            if size + int(amount) + 2 > len(weight):
                low, high, weight, dead = _larger(low, high, weight, dead, size, int(amount) + 2)
            if d == 1 or (flags & SINGULAR and ints[v, KIDS] == 0):
                own_range(ints, wide, v, d, low, high, size)
                weight[size] = amount
                size += 1
            else:
                state = keyed(noise, DRAW, seeds[v])
                size = refine(ints, wide, v, d, amount, below, lists, state, low, high, weight, size)
        _enclose(hull_low, hull_high, v, low, high, begin, size)
        last[v] = size
    held = weight[:size].copy()
    return Arena(
        low[:size].copy(), high[:size].copy(), held, np.cumsum(held), dead[:size].copy(), first, last,
        ints[:, DEPTH].copy(), hull_low, hull_high,
    )  # fmt: skip
