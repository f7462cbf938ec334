"""Compiled refinement: the rows of a node described by combining buckets of its subnodes.

A subnode covers the same cell with one dimension dropped, so its buckets are finer there than the node itself can be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.trees import DEPTH, FLAGS, HALF, LEVELS, SUB

SHORT = 32
"""Sub-lists with more entries than this are drawn from by trial, without making lists of what fits."""
TRIALS = 20
"""Draws that may fail before the lists are made after all."""
NEVER = -1
"""Depth from which upwards a bucket no longer counts, for buckets that always count."""


class Arena(NamedTuple):
    """Buckets of a tree, and the range of each node.

    ``upto`` are cumulative weights. ``dead`` is the depth from which upwards a bucket no longer counts, because an
    ancestor replaced it; this happens in trees of one dimension only. ``hull_low`` and ``hull_high`` enclose the
    buckets that count at each node; nothing where there are none (low above high).
    """

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    upto: npt.NDArray[np.float64]
    dead: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int32]
    hull_low: npt.NDArray[np.int64]
    hull_high: npt.NDArray[np.int64]


class Lists(NamedTuple):
    """What a node is drawn from: whole buckets per subnode, single sides per dimension, with cumulative weights.

    Line i of ``buckets`` and ``sums`` belongs to the subnode without dimension i (bucket -1: the node's own single
    values), line j of the others to dimension j; ``ends`` and ``side_ends`` are how many entries there are.
    """

    ends: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    side_ends: npt.NDArray[np.int64]
    side_low: npt.NDArray[np.int64]
    side_high: npt.NDArray[np.int64]
    side_sums: npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def make_lists(d, room):
    """Empty lists with room for this many entries each."""
    return Lists(
        np.zeros(d, np.int64),
        np.empty((d, room), np.int64),
        np.empty((d, room)),
        np.zeros(d, np.int64),
        np.empty((d, room), np.int64),
        np.empty((d, room), np.int64),
        np.empty((d, room)),
    )


@njit(cache=True, nogil=True, inline="always")
def _next(state):
    """Counter-based uniform numbers (SplitMix64); only ever applied to what is already anonymous."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, float(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, inline="always")
def own_range(ints, wide, v, d, low, high, at):
    """Write the range of a node to a place of the arena: the value where it is single, the cell elsewhere."""
    end = wide.shape[1] - 3 * d
    shift = LEVELS - ints[v, DEPTH]
    for j in range(d):
        smallest, largest = wide[v, end + d + j], wide[v, end + 2 * d + j]
        if smallest == largest:
            low[at, j], high[at, j] = smallest, smallest
        else:
            low[at, j] = wide[v, end + j] << shift
            high[at, j] = low[at, j] + (np.int64(1) << shift)


@njit(cache=True, nogil=True, inline="always")
def _without(ints, wide, v, i, d):
    """Where the buckets without dimension i come from: the subnode, or -1 for the node's own single values."""
    end = wide.shape[1] - 3 * d
    for j in range(d):
        if j != i and wide[v, end + d + j] != wide[v, end + 2 * d + j]:
            return ints[v, SUB + i], False
    return np.int32(-1), True


@njit(cache=True, nogil=True, inline="always")
def _smallest_hull(ints, wide, v, d, below, smallest, largest):
    """Per dimension the narrowest hull of any sub-list, and the entries of all lists; -1 if a subnode has nothing."""
    values = wide.shape[1] - 2 * d
    best = np.full(d, -1, np.int64)
    entries = 0
    for i in range(d):
        sub, single = _without(ints, wide, v, i, d)
        if not single and (sub < 0 or below.hull_low[sub, 0] > below.hull_high[sub, 0]):
            return -1
        entries += 1 if single else below.last[sub] - below.first[sub]
        for j in range(d):
            if j == i:
                continue
            if single:
                low = high = wide[v, values + j]
            else:
                q = j if j < i else j - 1
                low, high = below.hull_low[sub, q], below.hull_high[sub, q]
            if best[j] < 0 or high - low < best[j]:
                best[j] = high - low
                smallest[j], largest[j] = low, high
    return entries


@njit(cache=True, nogil=True, inline="always")
def _meet(ints, wide, v, d, smallest, largest):
    """Cut the smallest hulls to the cell where they meet, widen them to hold both where they do not.

    Of a stub leaf's cell only the halves count that alone are above the threshold.
    """
    end = wide.shape[1] - 3 * d
    shift = LEVELS - ints[v, DEPTH]
    for j in range(d):
        low = wide[v, end + j] << shift
        high = low + (np.int64(1) << shift)
        half = (ints[v, FLAGS] >> (HALF + 2 * j)) & 3
        if half == 1:
            high = low + (np.int64(1) << (shift - 1))
        elif half == 2:
            low += np.int64(1) << (shift - 1)
        single = smallest[j] == largest[j] and low <= smallest[j] < high
        if single or (smallest[j] < high and low < largest[j]):
            smallest[j], largest[j] = max(smallest[j], low), min(largest[j], high)
        else:
            smallest[j], largest[j] = min(smallest[j], low), max(largest[j], high)


@njit(cache=True, nogil=True)
def _admit_point(values, v, i, d, smallest, largest, lists):
    """Add the node's own single values, without dimension i, to the lists."""
    whole = True
    for j in range(d):
        if j == i:
            continue
        value = values[v, j]
        if smallest[j] <= value <= largest[j]:
            at = lists.side_ends[j]
            lists.side_low[j, at], lists.side_high[j, at] = value, value
            lists.side_sums[j, at] = 1.0 + (lists.side_sums[j, at - 1] if at > 0 else 0.0)
            lists.side_ends[j] = at + 1
        else:
            whole = False
    if whole:
        lists.buckets[i, 0], lists.sums[i, 0] = -1, 1.0
        lists.ends[i] = 1


@njit(cache=True, nogil=True)
def _admit_buckets(below, sub, i, d, smallest, largest, lists):
    """Add the buckets of the subnode without dimension i: their sides that fit, and the whole where all of them do."""
    low, high, weight, dead = below.low, below.high, below.weight, below.dead
    side_ends, side_low, side_high, side_sums = (
        lists.side_ends,
        lists.side_low,
        lists.side_high,
        lists.side_sums,
    )
    depth, held, total = below.depth[sub], 0, 0.0
    for b in range(below.first[sub], below.last[sub]):
        if dead[b] >= depth or weight[b] <= 0.0:
            continue
        whole = True
        for j in range(d):
            if j == i:
                continue
            q = j if j < i else j - 1
            if smallest[j] <= low[b, q] and high[b, q] <= largest[j]:
                at = side_ends[j]
                side_low[j, at], side_high[j, at] = low[b, q], high[b, q]
                side_sums[j, at] = weight[b] + (side_sums[j, at - 1] if at > 0 else 0.0)
                side_ends[j] = at + 1
            else:
                whole = False
        if whole:
            total += weight[b]
            lists.buckets[i, held], lists.sums[i, held] = b, total
            held += 1
    lists.ends[i] = held


@njit(cache=True, nogil=True)
def _admit(ints, wide, v, d, below, smallest, largest, lists):
    """Fill the lists with what lies inside the smallest hulls; False if one stays empty."""
    values = wide[:, wide.shape[1] - 2 * d :]
    lists.ends[:], lists.side_ends[:] = 0, 0
    for i in range(d):
        sub, single = _without(ints, wide, v, i, d)
        if single:
            _admit_point(values, v, i, d, smallest, largest, lists)
        else:
            _admit_buckets(below, sub, i, d, smallest, largest, lists)
    shortest = np.int64(1)
    for i in range(d):
        shortest = min(shortest, lists.ends[i], lists.side_ends[i])
    return shortest > 0


@njit(cache=True, nogil=True, inline="always")
def _pick(sums, end, u):
    """First place whose cumulative weight exceeds a share of the total."""
    wanted = u * sums[end - 1]
    low, high = 0, end - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True, inline="always")
def _put(wide, v, d, j, b, below, side_low, side_high, low, high, size):
    """Write one bucket: dimension ``j`` from its side, the others from bucket ``b``, or the node's own values."""
    values = wide.shape[1] - 2 * d
    for q in range(d):
        if q == j:
            low[size, q], high[size, q] = side_low, side_high
        elif b < 0:
            low[size, q] = high[size, q] = wide[v, values + q]
        else:
            p = q if q < j else q - 1
            low[size, q], high[size, q] = below.low[b, p], below.high[b, p]


@njit(cache=True, nogil=True)
def _combine(wide, v, d, amount, below, lists, state, low, high, weight, size):
    """Draw buckets of weight about 1: all but one dimension from one list, that dimension from its sides."""
    draws = max(1, int(np.rint(amount)))
    for k in range(draws):
        j = k % d
        state, u = _next(state)
        b = lists.buckets[j, _pick(lists.sums[j], lists.ends[j], u)]
        state, u = _next(state)
        s = _pick(lists.side_sums[j], lists.side_ends[j], u)
        _put(wide, v, d, j, b, below, lists.side_low[j, s], lists.side_high[j, s], low, high, size)
        weight[size] = amount / draws
        size += 1
    return size


@njit(cache=True, nogil=True, inline="always")
def _any_bucket(below, sub, u):
    """Bucket of a subnode at a share of its weight, and that weight."""
    low, high = below.first[sub], below.last[sub] - 1
    before = below.upto[low] - below.weight[low]
    wanted = before + u * (below.upto[high] - before)
    while low < high:
        middle = (low + high) // 2
        if below.upto[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True, inline="always")
def _try_whole(wide, v, below, sub, i, d, smallest, largest, state):
    """Draw a bucket without dimension i that lies inside the smallest hulls (-1: single values, -2: no luck)."""
    values = wide.shape[1] - 2 * d
    for _ in range(1 if sub < 0 else TRIALS):
        b = np.int64(-1)
        if sub >= 0:
            state, u = _next(state)
            b = _any_bucket(below, sub, u)
        inside = True
        for j in range(d):
            if j == i:
                continue
            q = j if j < i else j - 1
            low = wide[v, values + j] if b < 0 else below.low[b, q]
            high = wide[v, values + j] if b < 0 else below.high[b, q]
            inside = inside and smallest[j] <= low and high <= largest[j]
        if inside:
            return state, b
    return state, np.int64(-2)


@njit(cache=True, nogil=True, inline="always")
def _try_side(wide, v, below, subs, totals, j, d, smallest, largest, state):
    """Draw one side of dimension j, out of all sub-lists that have it, inside the smallest hull; False: no luck."""
    value = wide[v, wide.shape[1] - 2 * d + j]
    everything = 0.0
    for i in range(d):
        everything += 0.0 if i == j else totals[i]
    for _ in range(TRIALS):
        state, u = _next(state)
        rest, i = u * everything, -1
        for k in range(d):
            if k != j and rest >= 0.0:
                i = k
                rest -= totals[k]
        low = high = value
        if subs[i] >= 0:
            b = _any_bucket(below, subs[i], min(1.0 + rest / totals[i], 1.0))
            q = j if j < i else j - 1
            low, high = below.low[b, q], below.high[b, q]
        if smallest[j] <= low and high <= largest[j]:
            return state, low, high, True
    return state, value, value, False


@njit(cache=True, nogil=True)
def _combine_by_trial(ints, wide, v, d, amount, below, smallest, largest, state, low, high, weight, size):
    """The same as filling lists and drawing from them, for long lists: draw from everything until it fits.

    Returns -1 where some draw found nothing; then the lists must be made.
    """
    subs, totals = np.empty(d, np.int32), np.ones(d)
    for i in range(d):
        subs[i], single = _without(ints, wide, v, i, d)
        if not single:
            begin, end = below.first[subs[i]], below.last[subs[i]]
            totals[i] = below.upto[end - 1] - below.upto[begin] + below.weight[begin]
    draws = max(1, int(np.rint(amount)))
    for k in range(max(draws, d)):
        j = k % d
        state, b = _try_whole(wide, v, below, subs[j], j, d, smallest, largest, state)
        state, side_low, side_high, found = _try_side(
            wide, v, below, subs, totals, j, d, smallest, largest, state
        )
        if b < -1 or not found:
            return -1
        if k >= draws:  # only to know that this list is not empty
            continue
        _put(wide, v, d, j, b, below, side_low, side_high, low, high, size)
        weight[size] = amount / draws
        size += 1
    return size


@njit(cache=True, nogil=True)
def _combine_by_lists(
    ints, wide, v, d, amount, below, smallest, largest, lists, state, low, high, weight, size
):
    """Make lists of what fits and draw from them; without any, the node's own range must do."""
    if _admit(ints, wide, v, d, below, smallest, largest, lists):
        return _combine(wide, v, d, amount, below, lists, state, low, high, weight, size)
    own_range(ints, wide, v, d, low, high, size)
    weight[size] = amount
    return size + 1


@njit(cache=True, nogil=True)
def refine(ints, wide, v, d, amount, below, lists, state, low, high, weight, size):
    """Describe the rows of a node by combining buckets of its subnodes; returns the new end of the arena.

    The arena must have room for ``round(amount) + 1`` buckets; ``lists`` are room for lists of usual length.
    """
    smallest, largest = np.empty(d, np.int64), np.empty(d, np.int64)
    entries = _smallest_hull(ints, wide, v, d, below, smallest, largest)
    if entries < 0:
        own_range(ints, wide, v, d, low, high, size)
        weight[size] = amount
        return size + 1
    _meet(ints, wide, v, d, smallest, largest)
    if d > 2 and entries > SHORT:
        end = _combine_by_trial(
            ints, wide, v, d, amount, below, smallest, largest, state, low, high, weight, size
        )
        if end >= 0:
            return end
    held = lists if entries <= lists.sums.shape[1] else make_lists(d, entries)
    return _combine_by_lists(
        ints, wide, v, d, amount, below, smallest, largest, held, state, low, high, weight, size
    )
