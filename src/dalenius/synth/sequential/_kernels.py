"""The tree engine: histogram splits grown in place, in Numba.

Predictors are small integers (`coding`): bins of a number, in order, or levels of a category, without order. A node is
a range of the array of row numbers, so a tree of any size needs one permutation and a few scratch arrays. Categories
are split by ordering their levels by the response in the node, which finds the best of all 2^(L-1) - 1 splits for a
number or a yes/no (Breiman et al. 1984, section 4.2.2) in L log L steps; for more classes the levels are ordered on the
first axis of a correspondence analysis of level by class. A factor of 300 levels therefore costs no more than a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LEAF = -1


@njit(cache=True, nogil=True)
def _sort_by(order: Any, key: Any, count: int) -> None:
    """Sort the first ``count`` entries of ``order`` by ``key[order]`` (Shell's method, no allocation)."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, count):
            held = order[i]
            value = key[held]
            j = i
            while j >= gap and (
                key[order[j - gap]] > value or (key[order[j - gap]] == value and order[j - gap] > held)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = held
        gap //= 3


@njit(cache=True, nogil=True)
def _order_levels(touched: Any, used: int, mean: Any, unordered: bool) -> None:
    """Put the codes seen in the node in the order in which they may be cut."""
    if not unordered:
        for t in range(used):
            mean[touched[t]] = touched[t]
    _sort_by(touched, mean, used)


@njit(cache=True, nogil=True)
def _split_number(
    code: Any, unordered: bool, rows: Any, y: Any, w: Any, least: int, best: float,
    times: Any, weight: Any, total: Any, mean: Any, touched: Any,
) -> tuple[float, int, int]:  # fmt: skip
    """Best cut of one predictor for a number: (score, how many ordered codes go left, codes seen)."""
    used = 0
    weighted = len(w) > 0
    sum_w = 0.0
    sum_y = 0.0
    for r in rows:
        c = code[r]
        if times[c] == 0:
            touched[used] = c
            used += 1
        times[c] += 1
        one = w[r] if weighted else 1.0
        weight[c] += one
        total[c] += one * y[r]
        sum_w += one
        sum_y += one * y[r]
    cut = -1
    if used > 1:
        for t in range(used):
            c = touched[t]
            mean[c] = total[c] / weight[c]
        _order_levels(touched, used, mean, unordered)
        n = len(rows)
        left = 0
        left_w = 0.0
        left_y = 0.0
        for t in range(used - 1):
            c = touched[t]
            left += times[c]
            left_w += weight[c]
            left_y += total[c]
            if left < least:
                continue
            if n - left < least:
                break
            rest = sum_y - left_y
            score = left_y * left_y / left_w + rest * rest / (sum_w - left_w)
            if score > best:
                best = score
                cut = t + 1
    for t in range(used):
        c = touched[t]
        times[c] = 0
        weight[c] = 0.0
        total[c] = 0.0
    return best, cut, used


@njit(cache=True, nogil=True)
def _class_axis(
    code: Any, rows: Any, y: Any, w: Any, whole: Any, seen: Any, score: Any, fresh: Any, weight: Any, total: Any,
    mean: Any, touched: Any, used: int,
) -> None:  # fmt: skip
    """Scores of the codes on the first axis of level by class (two rounds of reciprocal averaging)."""
    top = seen[0]
    for k in seen:
        score[k] = 0.0
        if whole[k] > whole[top]:
            top = k
    score[top] = 1.0
    weighted = len(w) > 0
    for turn in range(2):
        for t in range(used):
            total[touched[t]] = 0.0
        for r in rows:
            one = w[r] if weighted else 1.0
            total[code[r]] += one * score[y[r]]
        for t in range(used):
            c = touched[t]
            mean[c] = total[c] / weight[c]
        if turn == 1:
            break
        for k in seen:
            fresh[k] = 0.0
        for r in rows:
            one = w[r] if weighted else 1.0
            fresh[y[r]] += one * mean[code[r]]
        for k in seen:
            score[k] = fresh[k] / whole[k]
    for t in range(used):
        total[touched[t]] = 0.0


@njit(cache=True, nogil=True)
def _split_class(
    code: Any, unordered: bool, rows: Any, y: Any, w: Any, whole: Any, seen: Any, least: int, diversity: int,
    best: float, times: Any, weight: Any, total: Any, mean: Any, touched: Any, place: Any, sorted_rows: Any,
    left_k: Any, right_k: Any, left_n: Any, right_n: Any,
) -> tuple[float, int, int]:  # fmt: skip
    """Best cut of one predictor for classes (Gini): (score, how many ordered codes go left, codes seen)."""
    used = 0
    weighted = len(w) > 0
    for r in rows:
        c = code[r]
        if times[c] == 0:
            touched[used] = c
            used += 1
        times[c] += 1
        weight[c] += w[r] if weighted else 1.0
    cut = -1
    if used > 1:
        if unordered:
            _class_axis(
                code, rows, y, w, whole, seen, left_k, right_k, weight, total, mean, touched, used,
            )  # fmt: skip
        _order_levels(touched, used, mean, unordered)
        start = 0
        for t in range(used):
            place[touched[t]] = start
            start += times[touched[t]]
        for r in rows:
            c = code[r]
            sorted_rows[place[c]] = r
            place[c] += 1
        left_sum = 0.0
        right_sum = 0.0
        left_w = 0.0
        right_w = 0.0
        for k in seen:
            left_k[k] = 0.0
            right_k[k] = whole[k]
            right_sum += whole[k] * whole[k]
            right_w += whole[k]
        kinds_left = 0
        kinds_right = len(seen)
        if diversity > 1:
            for k in seen:
                left_n[k] = 0
                right_n[k] = 0
            for r in rows:
                right_n[y[r]] += 1
        n = len(rows)
        at = 0
        for t in range(used - 1):
            for _ in range(times[touched[t]]):
                r = sorted_rows[at]
                at += 1
                k = y[r]
                one = w[r] if weighted else 1.0
                left_sum += one * (2.0 * left_k[k] + one)
                right_sum -= one * (2.0 * right_k[k] - one)
                left_k[k] += one
                right_k[k] -= one
                left_w += one
                right_w -= one
                if diversity > 1:
                    left_n[k] += 1
                    right_n[k] -= 1
                    kinds_left += left_n[k] == 1
                    kinds_right -= right_n[k] == 0
            if at < least or (diversity > 1 and kinds_left < diversity):
                continue
            if n - at < least or (diversity > 1 and kinds_right < diversity):
                break
            score = left_sum / left_w + right_sum / right_w
            if score > best:
                best = score
                cut = t + 1
    for t in range(used):
        c = touched[t]
        times[c] = 0
        weight[c] = 0.0
    return best, cut, used


@njit(cache=True, nogil=True)
def _normal_score(statistic: float, df: float) -> float:
    """How unlikely a chi-square is, as a normal score, so that tests of different size compare (Wilson, Hilferty 1931)."""
    spread = 2.0 / (9.0 * df)
    return ((statistic / df) ** (1.0 / 3.0) - (1.0 - spread)) / np.sqrt(spread)


@njit(cache=True, nogil=True)
def _association(
    code: Any, unordered: bool, rows: Any, number: Any, label: Any, classes: int, seen: Any, times: Any, total: Any,
    mean: Any, touched: Any, place: Any, sorted_rows: Any, left_k: Any, right_k: Any,
) -> float:  # fmt: skip
    """Permutation test of one predictor against the response, as a normal score (Hothorn et al. 2006, eq. 1-3).

    The quadratic form of their linear statistic is (n - 1) r^2 for two numbers, (n - 1) times the share of variance
    between groups for a number and a category, and (n - 1)/n times Pearson's chi-square for two categories.
    """
    n = len(rows)
    used = 0
    for r in rows:
        c = code[r]
        if times[c] == 0:
            touched[used] = c
            used += 1
        times[c] += 1
    statistic = 0.0
    df = 0.0
    if used > 1 and classes == 0:
        sy, syy, sx, sxx, sxy = 0.0, 0.0, 0.0, 0.0, 0.0
        for r in rows:
            y, x = number[r], float(code[r])
            sy += y
            syy += y * y
            sx += x
            sxx += x * x
            sxy += x * y
            total[code[r]] += y
        vy = syy - sy * sy / n
        vx = sxx - sx * sx / n
        if vy > 0 and vx > 0:
            if unordered:
                between = -sy * sy / n
                for t in range(used):
                    between += total[touched[t]] ** 2 / times[touched[t]]
                statistic, df = (n - 1) * between / vy, used - 1.0
            else:
                cov = sxy - sx * sy / n
                statistic, df = (n - 1) * cov * cov / (vx * vy), 1.0
    elif used > 1 and len(seen) > 1:
        for k in seen:
            left_k[k] = 0.0
            right_k[k] = 0.0
        if unordered:
            start = 0
            for t in range(used):
                place[touched[t]] = start
                start += times[touched[t]]
            for r in rows:
                right_k[label[r]] += 1.0
                sorted_rows[place[code[r]]] = r
                place[code[r]] += 1
            at = 0
            pearson = 0.0
            for t in range(used):
                size = times[touched[t]]
                for i in range(at, at + size):
                    left_k[label[sorted_rows[i]]] += 1.0
                for i in range(at, at + size):
                    k = label[sorted_rows[i]]
                    # Each of the left_k[k] rows adds its share, so that a cell is counted once.
                    pearson += left_k[k] / (size * right_k[k])
                for i in range(at, at + size):
                    left_k[label[sorted_rows[i]]] = 0.0
                at += size
            statistic, df = (n - 1) * (pearson - 1.0), (used - 1.0) * (len(seen) - 1.0)
        else:
            sx, sxx = 0.0, 0.0
            for r in rows:
                x = float(code[r])
                left_k[label[r]] += x
                right_k[label[r]] += 1.0
                sx += x
                sxx += x * x
            vx = sxx - sx * sx / n
            between = -sx * sx / n
            for k in seen:
                between += left_k[k] ** 2 / right_k[k]
            if vx > 0:
                statistic, df = (n - 1) * between / vx, len(seen) - 1.0
    for t in range(used):
        times[touched[t]] = 0
        total[touched[t]] = 0.0
    return _normal_score(max(statistic, 0.0), df) if df > 0 else -np.inf


@njit(cache=True, nogil=True)
def _several(rows: Any, y: Any, wanted: int, found: Any) -> bool:
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
def _next(state: Any) -> int:
    """A random number from 0 to 2^31 - 1 (xorshift*), from a state of our own so that threads cannot disturb it."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return int((x * np.uint64(2685821657736338717)) >> np.uint64(33))


@njit(cache=True, nogil=True)
def _partition(rows: Any, code: Any, goes_left: Any, spare: Any) -> int:
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
def grow(
    codes: Any, use: Any, unordered: Any, sizes: Any, number: Any, label: Any, classes: int, w: Any, rows: Any,
    least: int, split_least: int, complexity: float, evidence: float, critical: float, diversity: int,
    depth_limit: int, tries: int, seed: int,
) -> tuple[Any, Any, Any, Any, Any, Any, Any]:  # fmt: skip
    """Grow one tree over ``rows`` (which is put in leaf order).

    Returns per node: predictor (LEAF for a leaf), place of its cut in the table of cuts, left and right child, first
    and last row of a leaf; and the table of cuts: for each code of the predictor one bit, set when it goes left.
    A finite ``critical`` chooses the predictor by a test (conditional inference tree) instead of by the best cut.
    """
    n = len(rows)
    most = max(2 * (n // max(least, 1)) + 3, 3)
    feature = np.full(most, LEAF, np.int32)
    where = np.zeros(most, np.int64)
    left_of = np.zeros(most, np.int32)
    right_of = np.zeros(most, np.int32)
    first = np.zeros(most, np.int64)
    last = np.zeros(most, np.int64)
    cuts = np.zeros(1024, np.uint8)
    cuts_used = 0

    widest = 1
    for f in use:
        widest = max(widest, sizes[f])
    times = np.zeros(widest, np.int64)
    weight = np.zeros(widest)
    total = np.zeros(widest)
    mean = np.zeros(widest)
    touched = np.zeros(widest, np.int64)
    kept = np.zeros(widest, np.int64)
    place = np.zeros(widest, np.int64)
    goes_left = np.zeros(widest, np.bool_)
    spare = np.zeros(n, np.int32)
    whole = np.zeros(max(classes, 1))
    left_k = np.zeros(max(classes, 1))
    right_k = np.zeros(max(classes, 1))
    left_n = np.zeros(max(classes, 1), np.int64)
    right_n = np.zeros(max(classes, 1), np.int64)
    present = np.zeros(max(classes, 1), np.int64)
    found = np.zeros(max(diversity, 1))
    kinds = 0
    pool = use.copy()
    state = np.array([np.uint64(seed) | np.uint64(1)], dtype=np.uint64)
    weighted = len(w) > 0

    stack_node = np.zeros(most, np.int64)
    stack_depth = np.zeros(most, np.int64)
    top = 1
    nodes = 1
    first[0], last[0] = 0, n
    floor = -1.0
    while top > 0:
        top -= 1
        node = stack_node[top]
        depth = stack_depth[top]
        mine = rows[first[node] : last[node]]
        size = len(mine)
        if size == 0:
            continue
        sum_w = 0.0
        if classes > 0:
            for t in range(kinds):
                whole[present[t]] = 0.0
            kinds = 0
            for r in mine:
                k = label[r]
                if whole[k] == 0.0:
                    present[kinds] = k
                    kinds += 1
                whole[k] += w[r] if weighted else 1.0
            squares = 0.0
            for t in range(kinds):
                sum_w += whole[present[t]]
                squares += whole[present[t]] * whole[present[t]]
            base = squares / sum_w
            impurity = sum_w - base
        else:
            sum_y = 0.0
            sum_yy = 0.0
            for r in mine:
                one = w[r] if weighted else 1.0
                sum_w += one
                sum_y += one * number[r]
                sum_yy += one * number[r] * number[r]
            base = sum_y * sum_y / sum_w
            impurity = sum_yy - base
        if floor < 0.0:
            floor = max(complexity, evidence / size) * max(impurity, 0.0)
        if size < split_least or size < 2 * least or depth >= depth_limit or impurity <= 1e-12 * max(sum_w, 1.0):
            continue

        best = base + max(floor, 1e-10 * abs(base))
        best_f = -1
        best_cut = 0
        considered = len(pool)
        if tries > 0 and tries < considered:
            for i in range(tries):
                j = i + _next(state) % (considered - i)
                pool[i], pool[j] = pool[j], pool[i]
            considered = tries
        seen = present[:kinds]
        begin = 0
        if critical > -np.inf:
            strongest = critical
            chosen = -1
            for i in range(considered):
                f = pool[i]
                score = _association(
                    codes[f], unordered[f], mine, number, label, classes, seen, times, total, mean, touched, place,
                    spare, left_k, right_k,
                )  # fmt: skip
                if score > strongest:
                    strongest = score
                    chosen = i
            if chosen < 0:
                continue
            begin, considered = chosen, chosen + 1
        for i in range(begin, considered):
            f = pool[i]
            if classes > 0:
                score, cut, used = _split_class(
                    codes[f], unordered[f], mine, label, w, whole, seen, least, diversity, best, times, weight, total,
                    mean, touched, place, spare, left_k, right_k, left_n, right_n,
                )  # fmt: skip
            else:
                score, cut, used = _split_number(
                    codes[f], unordered[f], mine, number, w, least, best, times, weight, total, mean, touched,
                )  # fmt: skip
            if cut > 0:
                best = score
                best_f = f
                best_cut = cut
                for t in range(used):
                    kept[t] = touched[t]
                best_used = used
        if best_f < 0:
            continue

        # A code that the node has not seen goes with its neighbour (number) or with the larger side (category).
        span = sizes[best_f]
        if unordered[best_f]:
            seen = 0
            for c in range(span):
                place[c] = 0
            for r in mine:
                place[codes[best_f, r]] += 1
            for t in range(best_cut):
                seen += place[kept[t]]
            for c in range(span):
                goes_left[c] = 2 * seen >= size
            for t in range(best_used):
                goes_left[kept[t]] = t < best_cut
        else:
            middle = (kept[best_cut - 1] + kept[best_cut]) // 2
            for c in range(span):
                goes_left[c] = c <= middle
        if diversity > 1 and classes == 0:
            went = _partition(mine, codes[best_f], goes_left, spare)
            if not (_several(mine[:went], number, diversity, found) and _several(mine[went:], number, diversity, found)):
                continue
        needed = (span + 7) // 8
        while cuts_used + needed > len(cuts):
            wider = np.zeros(2 * len(cuts), np.uint8)
            wider[:cuts_used] = cuts[:cuts_used]
            cuts = wider
        for c in range(span):
            if goes_left[c]:
                cuts[cuts_used + (c >> 3)] |= np.uint8(1 << (c & 7))
        feature[node] = best_f
        where[node] = cuts_used
        cuts_used += needed

        went = _partition(mine, codes[best_f], goes_left, spare)
        left_of[node] = nodes
        right_of[node] = nodes + 1
        first[nodes], last[nodes] = first[node], first[node] + went
        first[nodes + 1], last[nodes + 1] = first[node] + went, last[node]
        stack_node[top] = nodes + 1
        stack_depth[top] = depth + 1
        stack_node[top + 1] = nodes
        stack_depth[top + 1] = depth + 1
        top += 2
        nodes += 2
    return (
        feature[:nodes].copy(), where[:nodes].copy(), left_of[:nodes].copy(), right_of[:nodes].copy(),
        first[:nodes].copy(), last[:nodes].copy(), cuts[:cuts_used].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def route(codes: Any, rows: Any, feature: Any, where: Any, left: Any, right: Any, cuts: Any, leaf: Any) -> None:
    """Send some rows down the tree and write the leaf of each."""
    for i in range(len(rows)):
        r = rows[i]
        node = 0
        while feature[node] >= 0:
            c = codes[feature[node], r]
            node = left[node] if cuts[where[node] + (c >> 3)] >> (c & 7) & 1 else right[node]
        leaf[i] = node


@njit(cache=True, nogil=True)
def pick(leaf: Any, first: Any, last: Any, chance: Any, mass: Any, donor: Any) -> None:
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
