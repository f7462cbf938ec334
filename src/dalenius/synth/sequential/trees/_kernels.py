"""Growing trees in place, sending rows down them, and picking donors from leaves.

A node is a range of the array of row numbers, so a tree of any size needs one permutation and little work space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dalenius.synth.sequential.splits._kernels import association, scratch, split_class, split_number

LEAF = -1


class Response(NamedTuple):
    """What is predicted: a number, or labels of ``classes`` classes; ``w`` is empty when all rows count alike."""

    number: Any
    label: Any
    classes: Any
    w: Any


class Limits(NamedTuple):
    """When a tree stops: see `Tuning`. A finite ``critical`` chooses predictors by a test, not by the best cut."""

    least: Any
    split_least: Any
    complexity: Any
    evidence: Any
    critical: Any
    diversity: Any
    depth: Any
    tries: Any


@njit(cache=True, nogil=True)
def _several(rows, y, wanted, found):
    """Whether the rows hold at least ``wanted`` different numbers."""
    used = 0
    for r in rows:
        new = True
        for i in range(used):
            if found[i] == y[r]:
                new = False
                break
        if new:
            found[used] = y[r]
            used += 1
            if used >= wanted:
                return True
    return False


@njit(cache=True, nogil=True)
def _next(state):
    """A random number from 0 to 2^31 - 1 (xorshift*), from a state of our own so that threads cannot disturb it."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return int((x * np.uint64(2685821657736338717)) >> np.uint64(33))


@njit(cache=True, nogil=True)
def _partition(rows, code, goes_left, spare):
    """Move the rows that go left to the front, both sides in their old order; return how many went."""
    left = 0
    right = 0
    for i in range(len(rows)):
        r = rows[i]
        if goes_left[code[r]]:
            rows[left] = r
            left += 1
        else:
            spare[right] = r
            right += 1
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@njit(cache=True, nogil=True)
def _count_classes(rows, y, w, whole, present, kinds):
    """Weight of each class in the node; returns how many classes, total weight and the sum of squares."""
    weighted = len(w) > 0
    for t in range(kinds):
        whole[present[t]] = 0.0
    kinds = 0
    for r in rows:
        k = y[r]
        if whole[k] == 0.0:
            present[kinds] = k
            kinds += 1
        whole[k] += w[r] if weighted else 1.0
    total, squares = 0.0, 0.0
    for t in range(kinds):
        total += whole[present[t]]
        squares += whole[present[t]] * whole[present[t]]
    return kinds, total, squares


@njit(cache=True, nogil=True)
def _sum_numbers(rows, y, w):
    """Total weight, sum and sum of squares of the numbers in the node."""
    weighted = len(w) > 0
    total, linear, square = 0.0, 0.0, 0.0
    for r in rows:
        one = w[r] if weighted else 1.0
        total += one
        linear += one * y[r]
        square += one * y[r] * y[r]
    return total, linear, square


@njit(cache=True, nogil=True)
def _candidates(pool, tries, state):
    """Put some predictors drawn at random in front; how many are to be looked at."""
    count = len(pool)
    if tries <= 0 or tries >= count:
        return count
    for i in range(tries):
        j = i + _next(state) % (count - i)
        pool[i], pool[j] = pool[j], pool[i]
    return tries


@njit(cache=True, nogil=True)
def _strongest(codes, unordered, rows, response, seen, pool, considered, critical, s):
    """Place in the pool of the predictor with the strongest test, -1 when none passes."""
    chosen = -1
    for i in range(considered):
        f = pool[i]
        score = association(
            codes[f], unordered[f], rows, response.number, response.label, response.classes, seen, s
        )
        if score > critical:
            critical = score
            chosen = i
    return chosen


@njit(cache=True, nogil=True)
def _best_cut(codes, unordered, rows, response, whole, seen, pool, begin, end, limits, best, s, kept):
    """Best cut over some predictors: (predictor or -1, codes that go left, codes seen); ``kept`` holds their order."""
    chosen, chosen_cut, chosen_used = -1, 0, 0
    for i in range(begin, end):
        f = pool[i]
        if response.classes > 0:
            score, cut, used = split_class(
                codes[f], unordered[f], rows, response.label, response.w, whole, seen, limits.least, limits.diversity,
                best, s,
            )  # fmt: skip
        else:
            score, cut, used = split_number(
                codes[f], unordered[f], rows, response.number, response.w, limits.least, best, s
            )
        if cut > 0:
            best = score
            chosen, chosen_cut, chosen_used = f, cut, used
            for t in range(used):
                kept[t] = s.touched[t]
    return chosen, chosen_cut, chosen_used


@njit(cache=True, nogil=True)
def _sides(code, unordered, size, rows, kept, cut, used, times, goes_left):
    """Which codes go left; one that the node has not seen goes with its neighbour, or with the larger side."""
    if not unordered:
        middle = (kept[cut - 1] + kept[cut]) // 2
        for c in range(size):
            goes_left[c] = c <= middle
        return
    for r in rows:
        times[code[r]] += 1
    left = 0
    for t in range(used):
        if t < cut:
            left += times[kept[t]]
        times[kept[t]] = 0
    for c in range(size):
        goes_left[c] = 2 * left >= len(rows)
    for t in range(used):
        goes_left[kept[t]] = t < cut


@njit(cache=True, nogil=True)
def _store(cuts, used, goes_left, size):
    """Append one bit per code to the table of cuts, making room where needed."""
    needed = (size + 7) // 8
    while used + needed > len(cuts):
        wider = np.zeros(2 * len(cuts), np.uint8)
        wider[:used] = cuts[:used]
        cuts = wider
    for c in range(size):
        if goes_left[c]:
            cuts[used + (c >> 3)] |= np.uint8(1 << (c & 7))
    return cuts, used + needed


@njit(cache=True, nogil=True)
def grow(codes, use, unordered, sizes, response, rows, limits, seed):  # noqa: PLR0915 (one pass over the nodes)
    """Grow one tree over ``rows`` (which is put in leaf order).

    Returns per node: predictor (LEAF for a leaf), place of its cut in the table of cuts, left and right child, first
    and last row of a leaf; and the table of cuts: for each code of the predictor one bit, set when it goes left.
    """
    n = len(rows)
    most = max(2 * (n // max(limits.least, 1)) + 3, 3)
    feature = np.full(most, LEAF, np.int32)
    where = np.zeros(most, np.int64)
    left_of = np.zeros(most, np.int32)
    right_of = np.zeros(most, np.int32)
    first = np.zeros(most, np.int64)
    last = np.zeros(most, np.int64)
    cuts, cuts_used = np.zeros(1024, np.uint8), 0
    widest = 1
    for f in use:
        widest = max(widest, sizes[f])
    s = scratch(widest, n, response.classes)
    kept = np.zeros(widest, np.int64)
    goes_left = np.zeros(widest, np.bool_)
    whole = np.zeros(max(response.classes, 1))
    present = np.zeros(max(response.classes, 1), np.int64)
    found = np.zeros(max(limits.diversity, 1))
    pool = use.copy()
    state = np.array([np.uint64(seed) | np.uint64(1)], dtype=np.uint64)
    stack = np.zeros((most, 2), np.int64)
    top, nodes, kinds, floor = 1, 1, 0, -1.0
    last[0] = n
    while top > 0:
        top -= 1
        node, depth = stack[top]
        mine = rows[first[node] : last[node]]
        size = len(mine)
        if size == 0:
            continue
        if response.classes > 0:
            kinds, weight, squares = _count_classes(mine, response.label, response.w, whole, present, kinds)
            base = squares / weight
            impurity = weight - base
        else:
            weight, linear, squares = _sum_numbers(mine, response.number, response.w)
            base = linear * linear / weight
            impurity = squares - base
        if floor < 0.0:
            floor = max(limits.complexity, limits.evidence / size) * max(impurity, 0.0)
        small = size < max(limits.split_least, 2 * limits.least)
        if small or depth >= limits.depth or impurity <= 1e-12 * max(weight, 1.0):
            continue
        seen = present[:kinds]
        begin, end = 0, _candidates(pool, limits.tries, state)
        if limits.critical > -np.inf:
            begin = _strongest(codes, unordered, mine, response, seen, pool, end, limits.critical, s)
            end = begin + 1
            if begin < 0:
                continue
        best = base + max(floor, 1e-10 * abs(base))
        f, cut, used = _best_cut(
            codes, unordered, mine, response, whole, seen, pool, begin, end, limits, best, s, kept
        )
        if f < 0:
            continue
        _sides(codes[f], unordered[f], sizes[f], mine, kept, cut, used, s.times, goes_left)
        went = _partition(mine, codes[f], goes_left, s.rows)
        if (
            limits.diversity > 1
            and response.classes == 0
            and not (
                _several(mine[:went], response.number, limits.diversity, found)
                and _several(mine[went:], response.number, limits.diversity, found)
            )
        ):
            continue
        feature[node] = f
        where[node] = cuts_used
        cuts, cuts_used = _store(cuts, cuts_used, goes_left, sizes[f])
        left_of[node], right_of[node] = nodes, nodes + 1
        first[nodes], last[nodes] = first[node], first[node] + went
        first[nodes + 1], last[nodes + 1] = first[node] + went, last[node]
        stack[top, 0], stack[top, 1] = nodes + 1, depth + 1
        stack[top + 1, 0], stack[top + 1, 1] = nodes, depth + 1
        top += 2
        nodes += 2
    return (
        feature[:nodes].copy(), where[:nodes].copy(), left_of[:nodes].copy(), right_of[:nodes].copy(),
        first[:nodes].copy(), last[:nodes].copy(), cuts[:cuts_used].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def route(codes, rows, feature, where, left, right, cuts, leaf):
    """Send some rows down the tree and write the leaf of each."""
    for i in range(len(rows)):
        r = rows[i]
        node = 0
        while feature[node] >= 0:
            c = codes[feature[node], r]
            node = left[node] if cuts[where[node] + (c >> 3)] >> (c & 7) & 1 else right[node]
        leaf[i] = node


@njit(cache=True, nogil=True)
def pick(leaf, first, last, chance, mass, donor):
    """A donor's place for every row: each member of its leaf alike, or in proportion to its weight.

    ``mass`` is the running sum of the weights in leaf order (empty: all alike).
    """
    weighted = len(mass) > 0
    for i in range(len(leaf)):
        lo, hi = first[leaf[i]], last[leaf[i]]
        if not weighted:
            donor[i] = lo + min(int(chance[i] * (hi - lo)), hi - lo - 1)
            continue
        below = mass[lo - 1] if lo > 0 else 0.0
        wanted = below + chance[i] * (mass[hi - 1] - below)
        a, b = lo, hi - 1
        while a < b:
            middle = (a + b) // 2
            if mass[middle] > wanted:
                b = middle
            else:
                a = middle + 1
        donor[i] = a
