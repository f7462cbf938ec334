"""Growing trees in place.

A node is a range of the array of row numbers, so a tree of any size needs one permutation and little work space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalenius.core.kernels import njit
from dalenius.synth.sequential._kernels.nodes import add_children, copied, empty_nodes, sides, store
from dalenius.synth.sequential._kernels.splits import association, scratch, split_class, split_number


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
    large: Any


class Predictors(NamedTuple):
    """Codes of all columns, which of them may be used, which have no order, and how many codes each has."""

    codes: Any
    use: Any
    unordered: Any
    sizes: Any


class Space(NamedTuple):
    """Work space of one tree: rows of the node in hand, its classes, the cut in hand, and the random state."""

    number: Any
    label: Any
    w: Any
    code: Any
    spare: Any
    whole: Any
    present: Any
    kept: Any
    goes_left: Any
    found: Any
    pool: Any
    state: Any


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
def _work_space(predictors, response, rows, limits, seed):
    """Empty work space, and that of the split search."""
    widest = 1
    for f in predictors.use:
        widest = max(widest, predictors.sizes[f])
    by_class = response.classes > 0
    classes = max(response.classes, 1)
    space = Space(
        np.zeros(0 if by_class else rows, response.number.dtype),
        np.zeros(rows if by_class else 0, response.label.dtype),
        np.zeros(min(rows, len(response.w))), np.zeros(rows, predictors.codes.dtype), np.zeros(rows, np.int32),
        np.zeros(classes), np.zeros(classes, np.int64), np.zeros(widest, np.int64), np.zeros(widest, np.bool_),
        np.zeros(max(limits.diversity, 1)), predictors.use.copy(),
        np.array([np.uint64(seed) | np.uint64(1)], dtype=np.uint64),
    )  # fmt: skip
    by_rows = limits.diversity > 1 or limits.critical > -np.inf or len(response.w) > 0
    return space, scratch(widest, rows, response, by_rows)


@njit(cache=True, nogil=True)
def _count_classes(y, w, whole, present, kinds):
    """Weight of each class in the node; returns how many classes, total weight and the sum of squares."""
    weighted = len(w) > 0
    for t in range(kinds):
        whole[present[t]] = 0.0
    kinds = 0
    for i in range(len(y)):
        k = y[i]
        if whole[k] == 0.0:
            present[kinds] = k
            kinds += 1
        whole[k] += w[i] if weighted else 1.0
    total, squares = 0.0, 0.0
    for t in range(kinds):
        total += whole[present[t]]
        squares += whole[present[t]] * whole[present[t]]
    return kinds, total, squares


@njit(cache=True, nogil=True)
def _sum_numbers(y, w):
    """Total weight, sum and sum of squares of the numbers in the node."""
    weighted = len(w) > 0
    total, linear, square = 0.0, 0.0, 0.0
    for i in range(len(y)):
        one = w[i] if weighted else 1.0
        total += one
        linear += one * y[i]
        square += one * y[i] * y[i]
    return total, linear, square


@njit(cache=True, nogil=True)
def _enter(rows, response, space, kinds):
    """Read the response of a node; returns how many classes, weight, score and impurity."""
    size = len(rows)
    w = space.w[: min(size, len(space.w))]
    for i in range(len(w)):
        w[i] = response.w[rows[i]]
    if response.classes > 0:
        for i in range(size):
            space.label[i] = response.label[rows[i]]
        kinds, weight, squares = _count_classes(space.label[:size], w, space.whole, space.present, kinds)
        base = squares / weight
        return kinds, weight, base, weight - base
    for i in range(size):
        space.number[i] = response.number[rows[i]]
    weight, linear, squares = _sum_numbers(space.number[:size], w)
    base = linear * linear / weight
    return kinds, weight, base, squares - base


@njit(cache=True, nogil=True)
def _read_codes(codes, rows, code):
    """Codes of the rows of a node, in their order."""
    for i in range(len(rows)):
        code[i] = codes[rows[i]]
    return code[: len(rows)]


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
def _strongest(predictors, rows, classes, seen, considered, critical, space, s):
    """Place in the pool of the predictor with the strongest test, -1 when none passes."""
    chosen = -1
    size = len(rows)
    w = space.w[: min(size, len(space.w))]
    for i in range(considered):
        f = space.pool[i]
        code = _read_codes(predictors.codes[f], rows, space.code)
        score = association(
            code, space.number[:size], space.label[:size], w, predictors.unordered[f], classes, seen, s
        )
        if score > critical:
            critical = score
            chosen = i
    return chosen


@njit(cache=True, nogil=True)
def _best_cut(predictors, rows, classes, seen, begin, end, limits, best, space, s):
    """Best cut over some predictors: (predictor or -1, codes that go left, codes seen); ``kept`` holds their order."""
    chosen, chosen_cut, chosen_used = -1, 0, 0
    size = len(rows)
    w = space.w[: min(size, len(space.w))]
    for i in range(begin, end):
        f = space.pool[i]
        code = _read_codes(predictors.codes[f], rows, space.code)
        if classes > 0:
            score, cut, used = split_class(
                code, predictors.sizes[f], space.label[:size], w, predictors.unordered[f], classes, space.whole, seen,
                limits.least, limits.diversity, best, s,
            )  # fmt: skip
        else:
            score, cut, used = split_number(
                code, space.number[:size], w, predictors.unordered[f], limits.least, best, s
            )
        if cut > 0:
            best = score
            chosen, chosen_cut, chosen_used = f, cut, used
            for t in range(used):
                space.kept[t] = s.touched[t]
    return chosen, chosen_cut, chosen_used


@njit(cache=True, nogil=True)
def _find_cut(predictors, rows, classes, seen, limits, best, space, s):
    """The cut of a node: over all predictors, over some drawn at random, or over the one with the strongest test."""
    begin, end = 0, _candidates(space.pool, limits.tries, space.state)
    if limits.critical > -np.inf:
        begin = _strongest(predictors, rows, classes, seen, end, limits.critical, space, s)
        if begin < 0:
            return -1, 0, 0
        end = begin + 1
    return _best_cut(predictors, rows, classes, seen, begin, end, limits, best, space, s)


@njit(cache=True, nogil=True)
def _too_alike(left, right, response, wanted, found):
    """Whether a side of a cut holds fewer different numbers than wanted (classes are counted in the split search)."""
    return (
        wanted > 1
        and response.classes == 0
        and not (
            _several(left, response.number, wanted, found) and _several(right, response.number, wanted, found)
        )
    )


@njit(cache=True, nogil=True)
def _divide(predictors, f, rows, looked, cut, codes_used, space, s):
    """Put the rows that go left in front; returns how many they are. The cut was found on the rows looked at."""
    code = predictors.codes[f]
    sides(
        code, predictors.unordered[f], predictors.sizes[f], looked, space.kept, cut, codes_used, s.times,
        space.goes_left,
    )  # fmt: skip
    return _partition(rows, code, space.goes_left, space.spare)


@njit(cache=True, nogil=True)
def _looked_at(rows, most, room, state):
    """One row at random out of each of ``most`` equal parts; all rows where they are no more, or ``most`` is 0."""
    if most == 0 or len(rows) <= most:
        return rows
    for i in range(most):
        begin = i * len(rows) // most
        room[i] = rows[begin + _next(state) % ((i + 1) * len(rows) // most - begin)]
    return room


@njit(cache=True, nogil=True)
def _cut(predictors, response, rows, limits, floor, kinds, space, s):
    """Classes of some rows, and their best cut; see `_find_cut`."""
    kinds, weight, base, impurity = _enter(rows, response, space, kinds)
    if impurity <= 1e-12 * max(weight, 1.0):
        return kinds, -1, 0, 0
    best = base + max(floor, 1e-10 * abs(base))
    f, cut, codes_used = _find_cut(
        predictors, rows, response.classes, space.present[:kinds], limits, best, space, s
    )
    return kinds, f, cut, codes_used


@njit(cache=True, nogil=True)
def _noted(later, waiting, node, depth):
    """Put a node on the list of those that are grown later, making room where needed."""
    if waiting == len(later):
        wider = np.zeros((2 * len(later), 2), np.int64)
        wider[:waiting] = later
        later = wider
    later[waiting, 0], later[waiting, 1] = node, depth
    return later


@njit(cache=True, nogil=True)
def _grow_on(predictors, response, rows, limits, floor, deep, seed, large):
    """Grow over ``rows``, whose node stands so deep; returns nodes, cuts, the least gain, and nodes for later.

    A node of more than ``large`` rows (0: none) is cut by a sample, if that finds a cut worth it; smaller ones are left
    for later.
    """
    space, s = _work_space(predictors, response, len(rows), limits, seed)
    room = np.zeros(large, np.int32)
    nodes = empty_nodes(64)
    nodes.last[0] = len(rows)
    cuts, cuts_used = np.zeros(1024, np.uint8), 0
    stack = np.zeros(
        (min(limits.depth, len(rows)) + 3, 2), np.int64
    )  # one waiting node per level, and two of the last
    stack[0, 1] = deep
    later, waiting = np.zeros((64, 2), np.int64), 0
    top, used, kinds = 1, 1, 0
    while top > 0:
        top -= 1
        node, depth = stack[top]
        mine = rows[nodes.first[node] : nodes.last[node]]
        size = len(mine)
        small = size < max(limits.split_least, 2 * limits.least)
        if size == 0 or depth >= limits.depth or (small and floor >= 0.0):
            continue
        if floor < 0.0:
            kinds, _, _, impurity = _enter(mine, response, space, kinds)
            floor = max(limits.complexity, limits.evidence / size) * max(impurity, 0.0)
            if small:
                continue
        if size <= large:
            later = _noted(later, waiting, node, depth)
            waiting += 1
            continue
        looked = _looked_at(mine, large, room, space.state)
        kinds, f, cut, codes_used = _cut(predictors, response, looked, limits, floor, kinds, space, s)
        if f < 0 and len(looked) < size:  # too little to be seen in a sample may be enough in all rows
            looked = mine
            kinds, f, cut, codes_used = _cut(predictors, response, mine, limits, floor, kinds, space, s)
        if f < 0:
            continue
        went = _divide(predictors, f, mine, looked, cut, codes_used, space, s)
        if _too_alike(mine[:went], mine[went:], response, limits.diversity, space.found):
            continue
        nodes = add_children(nodes, used, node, f, cuts_used, went)
        cuts, cuts_used = store(cuts, cuts_used, space.goes_left, predictors.sizes[f])
        stack[top, 0], stack[top, 1] = used + 1, depth + 1
        stack[top + 1, 0], stack[top + 1, 1] = used, depth + 1
        top += 2
        used += 2
    return copied(nodes, used, used), cuts[:cuts_used].copy(), floor, later[:waiting].copy()


@njit(cache=True, nogil=True)
def _together(predictors, response, rows):
    """Predictors and response of some rows, copied to lie together: reading them scattered takes most of the time."""
    codes = np.empty((predictors.codes.shape[0], len(rows)), predictors.codes.dtype)
    for f in predictors.use:
        _read_codes(predictors.codes[f], rows, codes[f])
    number = np.empty(min(len(rows), len(response.number)), response.number.dtype)
    label = np.empty(min(len(rows), len(response.label)), response.label.dtype)
    w = np.empty(min(len(rows), len(response.w)))
    for i in range(len(number)):
        number[i] = response.number[rows[i]]
    for i in range(len(label)):
        label[i] = response.label[rows[i]]
    for i in range(len(w)):
        w[i] = response.w[rows[i]]
    near = Predictors(codes, predictors.use, predictors.unordered, predictors.sizes)
    return near, Response(number, label, response.classes, w)


@njit(cache=True, nogil=True)
def _appended(nodes, used, node, grown, cuts_used):
    """Put a tree in the place of a leaf, making room where needed; its cuts stand after those in use."""
    count = len(grown.feature)
    while used + count > len(nodes.feature):
        nodes = copied(nodes, used, 2 * len(nodes.feature))
    begin, shift = nodes.first[node], used - 1
    for i in range(count):
        at = node if i == 0 else shift + i
        nodes.feature[at] = grown.feature[i]
        nodes.where[at] = grown.where[i] + cuts_used
        nodes.left[at], nodes.right[at] = grown.left[i] + shift, grown.right[i] + shift
        nodes.first[at], nodes.last[at] = begin + grown.first[i], begin + grown.last[i]
    return nodes


@njit(cache=True, nogil=True)
def grow(predictors, response, rows, limits, seed):
    """Grow one tree over ``rows`` (which is put in leaf order).

    Returns the nodes and the table of cuts: for each code of a split's predictor one bit, set when it goes left. Of
    many rows, nodes of more than ``limits.large`` come first; below them each tree is grown on rows copied together.
    """
    large = limits.large if len(rows) > limits.large and limits.tries <= 0 else 0
    nodes, cuts, floor, later = _grow_on(predictors, response, rows, limits, -1.0, 0, seed, large)
    used, cuts_used = len(nodes.feature), len(cuts)
    for i in range(len(later)):
        node = later[i, 0]
        mine = rows[nodes.first[node] : nodes.last[node]]
        near, told = _together(predictors, response, mine)
        order = np.arange(len(mine)).astype(np.int32)
        grown, more, _, _ = _grow_on(near, told, order, limits, floor, later[i, 1], seed, 0)
        nodes = _appended(nodes, used, node, grown, cuts_used)
        used += len(grown.feature) - 1
        while cuts_used + len(more) > len(cuts):
            wider = np.zeros(2 * len(cuts) + len(more), np.uint8)
            wider[:cuts_used] = cuts[:cuts_used]
            cuts = wider
        cuts[cuts_used : cuts_used + len(more)] = more
        cuts_used += len(more)
        held = mine.copy()
        for place in range(len(held)):
            mine[place] = held[order[place]]
    return copied(nodes, used, used), cuts[:cuts_used].copy()
