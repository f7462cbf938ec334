"""Loops of the propensity tree: counting a node, finding its best split, parting its rows.

A row stands for so many original and so many protected ones: its weight of 64 bits has the original ones in the lower
half and the protected ones in the upper half, so that one addition counts both. A node is counted for all columns in
one pass, row after row: ``counts[offset + bin]``. Of two children only the smaller one is counted; the other is the
difference.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.data.vector import AnyArray, BoolArray, IntArray

LOW = 0xFFFFFFFF
"""The half of a weight that counts original rows."""


@njit(cache=True, nogil=True)
def count_node(bins: IntArray, offsets: IntArray, weights: IntArray, rows: IntArray, size: int) -> IntArray:
    """Rows of both files in every bin of every column."""
    counts = np.zeros(size, np.int64)
    for i in range(len(rows)):
        row = rows[i]
        weight = weights[row]
        for f in range(bins.shape[1]):
            counts[offsets[f] + bins[row, f]] += weight
    return counts


@njit(cache=True, nogil=True)
def _gini(zeros: float, ones: float) -> float:
    return 2.0 * ones * zeros / (ones + zeros) if ones + zeros > 0 else 0.0


@njit(cache=True, nogil=True)
def _decrease(node: AnyArray, below: int, below_ones: int) -> float:
    """Gini decrease of a cut; ``node`` is rows, protected rows, weight of an original and of a protected row, Gini."""
    above, above_ones = node[0] - below, node[1] - below_ones
    inside = _gini(node[2] * (below - below_ones), node[3] * below_ones)
    return node[4] - inside - _gini(node[2] * (above - above_ones), node[3] * above_ones)


@njit(cache=True, nogil=True)
def _in_order(counts: IntArray, offset: int, size: int, factor: bool) -> tuple[IntArray, IntArray, IntArray]:
    """Bins that occur, in the order in which they are cut, with their rows and protected rows.

    Levels of a factor stand in order of their protected share, which is exact for two classes (Breiman et al. 1984,
    4.2.2).
    """
    present, count, ones = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    n = 0
    for b in range(size):
        both = counts[offset + b]
        if both > 0:
            present[n], count[n], ones[n] = b, (both & LOW) + (both >> 32), both >> 32
            n += 1
    present, count, ones = present[:n], count[:n], ones[:n]
    if factor:
        order = np.argsort(ones / count, kind="mergesort")
        return present[order], count[order], ones[order]
    return present, count, ones


@njit(cache=True, nogil=True)
def _reach(
    node: AnyArray, count: IntArray, ones: IntArray, smallest: int, coarse: bool
) -> tuple[float, float]:
    """Best decrease of a cut between bins, and a bound on that of any cut.

    The decrease is convex in what lies left of the cut, so inside a bin it is largest at a corner of what is possible.
    """
    n = node[0]
    below = below_ones = 0
    best = bound = 0.0
    for i in range(len(count)):
        if coarse and count[i] > 1:
            bound = max(bound, _decrease(node, below + ones[i], below_ones + ones[i]))
            bound = max(bound, _decrease(node, below + count[i] - ones[i], below_ones))
        below += count[i]
        below_ones += ones[i]
        if below >= smallest and n - below >= smallest:
            best = max(best, _decrease(node, below, below_ones))
    return best, max(best, bound)


@njit(cache=True, nogil=True)
def _by_rank(
    bins: IntArray, ranks: IntArray, weights: IntArray, rows: IntArray, flagged: BoolArray, found: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Ranks of the rows in flagged bins, in order, with their weights (0: no row has it), and the bins of the ranks.

    A bin holds 2^s neighbouring ranks. Where that is less than sorting so many rows, each rank has a place of its own.
    """
    shift = -1
    for i in range(len(rows)):
        if bins[rows[i]] > 0:
            shift = 0
            while ranks[rows[i]] >> shift > bins[rows[i]]:
                shift += 1
            break
    wide = np.flatnonzero(flagged)
    if shift >= 0 and len(wide) << shift <= 8 * found:
        place = np.empty(len(flagged), np.int64)
        keys, owner = np.empty(len(wide) << shift, np.int64), np.empty(len(wide) << shift, np.int64)
        for at in range(len(wide)):
            place[wide[at]] = (at - wide[at]) << shift
            for inside in range(1 << shift):
                keys[(at << shift) + inside] = (wide[at] << shift) + inside
                owner[(at << shift) + inside] = wide[at]
        sums = np.zeros(len(keys), np.int64)
        for i in range(len(rows)):
            row = rows[i]
            b = bins[row]
            if flagged[b]:
                sums[place[b] + ranks[row]] += weights[row]
        return keys, sums, owner
    keys, sums, owner = np.empty(found, np.int64), np.empty(found, np.int64), np.empty(found, np.int64)
    n = 0
    for i in range(len(rows)):
        row = rows[i]
        if flagged[bins[row]]:
            keys[n], sums[n], owner[n] = ranks[row], weights[row], bins[row]
            n += 1
    order = np.argsort(keys[:n])
    return keys[order], sums[order], owner[order]


@njit(cache=True, nogil=True)
def _finer(
    node: AnyArray, bins: IntArray, ranks: IntArray, weights: IntArray, rows: IntArray,
    present: IntArray, count: IntArray, ones: IntArray, smallest: int, gain: float, floor: float,
) -> tuple[float, int]:  # fmt: skip
    """Second look inside the bins of a number where a cut could be best: the gain, and the rank to cut after, or −1."""
    flagged = np.zeros(present[-1] + 1, np.bool_)
    starts, starts_ones = np.zeros(present[-1] + 1, np.int64), np.zeros(present[-1] + 1, np.int64)
    below = below_ones = found = 0
    for i in range(len(present)):
        corner = max(
            _decrease(node, below + ones[i], below_ones + ones[i]),
            _decrease(node, below + count[i] - ones[i], below_ones),
        )
        starts[present[i]], starts_ones[present[i]] = below, below_ones
        below += count[i]
        below_ones += ones[i]
        if max(corner, _decrease(node, below, below_ones)) >= floor:
            flagged[present[i]] = True
            found += count[i]
    keys, sums, owner = _by_rank(bins, ranks, weights, rows, flagged, min(found, len(rows)))
    cut, last = -1, -1
    for i in range(len(keys)):
        if sums[i] == 0:
            continue
        if owner[i] != last:
            last = owner[i]
            below, below_ones = starts[last], starts_ones[last]
        below += (sums[i] & LOW) + (sums[i] >> 32)
        below_ones += sums[i] >> 32
        ends = i + 1 == len(keys) or keys[i + 1] != keys[i]
        if ends and below >= smallest and node[0] - below >= smallest:
            decrease = _decrease(node, below, below_ones)
            if decrease > gain * (1 + 1e-12):
                gain, cut = decrease, keys[i]
    return gain, cut


@njit(cache=True, nogil=True)
def best_split(
    counts: IntArray, columns: IntArray, ranks: IntArray, fine: IntArray, offsets: IntArray, sizes: IntArray,
    factor: BoolArray, weights: IntArray, rows: IntArray, smallest: int, worth: AnyArray,
) -> tuple[int, float, int, IntArray]:  # fmt: skip
    """Column of the split with the largest Gini decrease, the decrease, the rank to cut after, the levels that go left.

    The first column wins ties, and the first cut. Column −1: none. The ``worth`` of an original and of a protected row
    makes files of different size count alike.
    """
    both = 0
    for b in range(sizes[0]):
        both += counts[b]
    n, total = (both & LOW) + (both >> 32), both >> 32
    parent = _gini(worth[0] * (n - total), worth[1] * total)
    node = np.array([float(n), float(total), worth[0], worth[1], parent])
    bounds = np.zeros(len(sizes))
    top = 0.0
    for f in range(len(sizes)):
        _, count, ones = _in_order(counts, offsets[f], sizes[f], factor[f])
        if len(count) > 1 or fine[f] >= 0:
            reached, bounds[f] = _reach(node, count, ones, smallest, fine[f] >= 0)
            top = max(top, reached)
    # nothing below can win any more; the slack is far above what rounding does and far below any real difference
    floor = top * (1 - 1e-9) - 1e-7
    best, gain, cut = -1, 1e-9, -1
    left = np.zeros(0, np.int64)
    for f in range(len(sizes)):
        if bounds[f] <= 0 or bounds[f] < floor:
            continue
        present, count, ones = _in_order(counts, offsets[f], sizes[f], factor[f])
        if fine[f] >= 0:
            better, rank = _finer(
                node, columns[f], ranks[fine[f]], weights, rows, present, count, ones, smallest, gain, floor
            )
            if rank >= 0:
                best, gain, cut = f, better, rank
            continue
        below = below_ones = 0
        last = -1
        for i in range(len(present) - 1):
            below += count[i]
            below_ones += ones[i]
            if below < smallest or n - below < smallest:
                continue
            decrease = _decrease(node, below, below_ones)
            if decrease > gain * (1 + 1e-12):
                best, gain, last = f, decrease, i
        if last >= 0:
            cut = present[last]
            left = present[: last + 1]
    return best, gain, cut, left


@njit(cache=True, nogil=True)
def part(
    columns: IntArray, ranks: IntArray, rank: int, f: int, weights: IntArray, rows: IntArray, spare: IntArray, cut: int,
    left: IntArray, factor: bool, size: int,
) -> tuple[int, int]:  # fmt: skip
    """Put the rows on the left of a split first; both sides keep their order. Gives their number and their weight.

    Every row is written to both sides, and counted on one: which side it takes cannot be foreseen.
    """
    goes = np.zeros(size if factor else 0, np.uint8)
    if factor:
        for i in range(len(left)):
            goes[left[i]] = 1
    a = b = weight = 0
    for i in range(len(rows)):
        row = rows[i]
        code = np.int64(ranks[rank, row]) if rank >= 0 else np.int64(columns[f, row])
        go = int(goes[code]) if factor else int(code <= cut)
        rows[a] = row
        spare[b] = row
        a += go
        b += 1 - go
        weight += weights[row] * go
    rows[a:] = spare[:b]
    return a, weight


@njit(cache=True, nogil=True)
def spread_ranks(drawn: IntArray, once: BoolArray, moved: AnyArray) -> tuple[IntArray, IntArray]:
    """New ranks of values drawn again (given by their rank in the original), and of every rank of the original.

    Rank r of the original stays the value r; where it occurs once, what was drawn is moved by up to half a rank to
    either side (``moved``), and all values are ranked anew.
    """
    k = len(drawn)
    place = np.ones(len(once) + 1, np.int64)
    place[0] = 0
    for i in range(k):
        if once[drawn[i]]:
            place[drawn[i] + 1] += 1
    for rank in range(len(once)):
        place[rank + 1] += place[rank]
    # the moved values of each rank, sorted by insertion: there are a few
    fill = place[:-1].copy()
    who = np.empty(place[-1], np.int64)
    under = place[:-1].astype(np.int32)
    for i in range(k):
        rank = drawn[i]
        if once[rank]:
            j = fill[rank]
            while j > place[rank] and moved[who[j - 1]] > moved[i]:
                who[j] = who[j - 1]
                j -= 1
            who[j] = i
            fill[rank] += 1
            under[rank] += moved[i] < 0
    codes = np.empty(k, np.int32)
    for i in range(k):
        codes[i] = under[drawn[i]]
    for rank in range(len(once)):
        for j in range(place[rank], fill[rank]):
            codes[who[j]] = j if moved[who[j]] < 0 else j + 1
    return codes, under
