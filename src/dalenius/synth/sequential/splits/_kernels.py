"""Split search: the best cut of one predictor in one node.

Predictors are small integers (`coding`): bins of a number, in order, or levels of a category, without order. Categories
are cut by ordering their levels by the response in the node, which finds the best of all 2^(L-1) - 1 cuts for
a number or a yes/no (Breiman et al. 1984, section 4.2.2) in L log L steps; for more classes the levels are
ordered on the first axis of a correspondence analysis of level by class. A factor of 300 levels therefore
costs no more than a number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Scratch(NamedTuple):
    """Work space shared by all nodes: per code (times to place), per row, per class; left as zeros between calls."""

    times: Any
    weight: Any
    total: Any
    mean: Any
    touched: Any
    place: Any
    rows: Any
    left_k: Any
    right_k: Any
    left_n: Any
    right_n: Any


@njit(cache=True, nogil=True)
def scratch(codes, rows, classes):
    """Empty work space for predictors of so many codes."""
    k = max(classes, 1)
    return Scratch(
        np.zeros(codes, np.int64), np.zeros(codes), np.zeros(codes), np.zeros(codes), np.zeros(codes, np.int64),
        np.zeros(codes, np.int64), np.zeros(rows, np.int32), np.zeros(k), np.zeros(k), np.zeros(k, np.int64),
        np.zeros(k, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _sort_by(order, key, count):
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
def _order_codes(touched, used, mean, unordered):
    """Put the codes seen in the node in the order in which they may be cut."""
    if not unordered:
        for t in range(used):
            mean[touched[t]] = touched[t]
    _sort_by(touched, mean, used)


@njit(cache=True, nogil=True)
def _clear(s, used):
    for t in range(used):
        c = s.touched[t]
        s.times[c] = 0
        s.weight[c] = 0.0
        s.total[c] = 0.0


@njit(cache=True, nogil=True)
def split_number(code, unordered, rows, y, w, least, best, s):
    """Best cut for a number: (score, how many ordered codes go left, codes seen)."""
    used = 0
    weighted = len(w) > 0
    sum_w = 0.0
    sum_y = 0.0
    for r in rows:
        c = code[r]
        if s.times[c] == 0:
            s.touched[used] = c
            used += 1
        one = w[r] if weighted else 1.0
        s.times[c] += 1
        s.weight[c] += one
        s.total[c] += one * y[r]
        sum_w += one
        sum_y += one * y[r]
    cut = -1
    if used > 1:
        for t in range(used):
            c = s.touched[t]
            s.mean[c] = s.total[c] / s.weight[c]
        _order_codes(s.touched, used, s.mean, unordered)
        left = 0
        left_w = 0.0
        left_y = 0.0
        for t in range(used - 1):
            c = s.touched[t]
            left += s.times[c]
            left_w += s.weight[c]
            left_y += s.total[c]
            if left < least:
                continue
            if len(rows) - left < least:
                break
            rest = sum_y - left_y
            score = left_y * left_y / left_w + rest * rest / (sum_w - left_w)
            if score > best:
                best = score
                cut = t + 1
    _clear(s, used)
    return best, cut, used


@njit(cache=True, nogil=True)
def _class_axis(code, rows, y, w, whole, seen, s, used):
    """Scores of the codes on the first axis of level by class (two rounds of reciprocal averaging)."""
    score, fresh = s.left_k, s.right_k
    top = seen[0]
    for k in seen:
        score[k] = 0.0
        fresh[k] = 0.0
        if whole[k] > whole[top]:
            top = k
    score[top] = 1.0
    _level_means(code, rows, y, w, score, s, used)
    weighted = len(w) > 0
    for r in rows:
        fresh[y[r]] += (w[r] if weighted else 1.0) * s.mean[code[r]]
    for k in seen:
        score[k] = fresh[k] / whole[k]
    _level_means(code, rows, y, w, score, s, used)


@njit(cache=True, nogil=True)
def _level_means(code, rows, y, w, score, s, used):
    weighted = len(w) > 0
    for t in range(used):
        s.total[s.touched[t]] = 0.0
    for r in rows:
        s.total[code[r]] += (w[r] if weighted else 1.0) * score[y[r]]
    for t in range(used):
        c = s.touched[t]
        s.mean[c] = s.total[c] / s.weight[c]


@njit(cache=True, nogil=True)
def _sort_rows(code, rows, s, used):
    """Rows in the order of their codes."""
    start = 0
    for t in range(used):
        s.place[s.touched[t]] = start
        start += s.times[s.touched[t]]
    for r in rows:
        c = code[r]
        s.rows[s.place[c]] = r
        s.place[c] += 1


@njit(cache=True, nogil=True)
def _scan_classes(rows, y, w, whole, seen, least, diversity, best, s, used):
    """Move the sorted rows from right to left, code by code, and keep the best Gini score."""
    weighted = len(w) > 0
    left_sum, right_sum, left_w, right_w = 0.0, 0.0, 0.0, 0.0
    for k in seen:
        s.left_k[k] = 0.0
        s.right_k[k] = whole[k]
        s.left_n[k] = 0
        s.right_n[k] = 0
        right_sum += whole[k] * whole[k]
        right_w += whole[k]
    if diversity > 1:
        for r in rows:
            s.right_n[y[r]] += 1
    kinds_left, kinds_right = 0, len(seen)
    cut = -1
    at = 0
    for t in range(used - 1):
        for _ in range(s.times[s.touched[t]]):
            r = s.rows[at]
            at += 1
            k = y[r]
            one = w[r] if weighted else 1.0
            left_sum += one * (2.0 * s.left_k[k] + one)
            right_sum -= one * (2.0 * s.right_k[k] - one)
            s.left_k[k] += one
            s.right_k[k] -= one
            left_w += one
            right_w -= one
            if diversity > 1:
                s.left_n[k] += 1
                s.right_n[k] -= 1
                kinds_left += s.left_n[k] == 1
                kinds_right -= s.right_n[k] == 0
        if at < least or (diversity > 1 and kinds_left < diversity):
            continue
        if len(rows) - at < least or (diversity > 1 and kinds_right < diversity):
            break
        score = left_sum / left_w + right_sum / right_w
        if score > best:
            best = score
            cut = t + 1
    return best, cut


@njit(cache=True, nogil=True)
def split_class(code, unordered, rows, y, w, whole, seen, least, diversity, best, s):
    """Best cut for classes (Gini): (score, how many ordered codes go left, codes seen)."""
    used = 0
    weighted = len(w) > 0
    for r in rows:
        c = code[r]
        if s.times[c] == 0:
            s.touched[used] = c
            used += 1
        s.times[c] += 1
        s.weight[c] += w[r] if weighted else 1.0
    cut = -1
    if used > 1:
        if unordered:
            _class_axis(code, rows, y, w, whole, seen, s, used)
        _order_codes(s.touched, used, s.mean, unordered)
        _sort_rows(code, rows, s, used)
        best, cut = _scan_classes(rows, y, w, whole, seen, least, diversity, best, s, used)
    _clear(s, used)
    return best, cut, used


@njit(cache=True, nogil=True)
def _normal_score(statistic, df):
    """How unlikely a chi-square is, as a normal score: tests of different size compare (Wilson, Hilferty 1931)."""
    spread = 2.0 / (9.0 * df)
    return ((statistic / df) ** (1.0 / 3.0) - (1.0 - spread)) / np.sqrt(spread)


@njit(cache=True, nogil=True)
def _with_number(code, unordered, rows, y, s, used):
    """Statistic and degrees of freedom of a predictor against a number."""
    n = len(rows)
    sy, syy, sx, sxx, sxy = 0.0, 0.0, 0.0, 0.0, 0.0
    for r in rows:
        x = float(code[r])
        sy += y[r]
        syy += y[r] * y[r]
        sx += x
        sxx += x * x
        sxy += x * y[r]
        s.total[code[r]] += y[r]
    vy = syy - sy * sy / n
    vx = sxx - sx * sx / n
    if vy <= 0 or vx <= 0:
        return 0.0, 0.0
    if not unordered:
        cov = sxy - sx * sy / n
        return (n - 1) * cov * cov / (vx * vy), 1.0
    between = -sy * sy / n
    for t in range(used):
        between += s.total[s.touched[t]] ** 2 / s.times[s.touched[t]]
    return (n - 1) * between / vy, used - 1.0


@njit(cache=True, nogil=True)
def _ordered_with_class(code, rows, y, seen, s):
    n = len(rows)
    sx, sxx = 0.0, 0.0
    for r in rows:
        x = float(code[r])
        s.left_k[y[r]] += x
        s.right_k[y[r]] += 1.0
        sx += x
        sxx += x * x
    vx = sxx - sx * sx / n
    between = -sx * sx / n
    for k in seen:
        between += s.left_k[k] ** 2 / s.right_k[k]
    return ((n - 1) * between / vx, len(seen) - 1.0) if vx > 0 else (0.0, 0.0)


@njit(cache=True, nogil=True)
def _unordered_with_class(code, rows, y, seen, s, used):
    for r in rows:
        s.right_k[y[r]] += 1.0
    _sort_rows(code, rows, s, used)
    at = 0
    pearson = 0.0
    for t in range(used):
        size = s.times[s.touched[t]]
        for i in range(at, at + size):
            s.left_k[y[s.rows[i]]] += 1.0
        for i in range(
            at, at + size
        ):  # each of the rows of a cell adds its share, so that a cell counts once
            k = y[s.rows[i]]
            pearson += s.left_k[k] / (size * s.right_k[k])
        for i in range(at, at + size):
            s.left_k[y[s.rows[i]]] = 0.0
        at += size
    return (len(rows) - 1) * (pearson - 1.0), (used - 1.0) * (len(seen) - 1.0)


@njit(cache=True, nogil=True)
def association(code, unordered, rows, number, label, classes, seen, s):
    """Permutation test of one predictor against the response, as a normal score (Hothorn et al. 2006, eq. 1-3).

    The quadratic form of their linear statistic is (n - 1) r^2 for two numbers, (n - 1) times the share of
    variance between groups for a number and a category, and (n - 1)/n times Pearson's chi-square for two
    categories.
    """
    used = 0
    for r in rows:
        c = code[r]
        if s.times[c] == 0:
            s.touched[used] = c
            used += 1
        s.times[c] += 1
    statistic, df = 0.0, 0.0
    if used > 1 and classes == 0:
        statistic, df = _with_number(code, unordered, rows, number, s, used)
    elif used > 1 and len(seen) > 1:
        for k in seen:
            s.left_k[k] = 0.0
            s.right_k[k] = 0.0
        if unordered:
            statistic, df = _unordered_with_class(code, rows, label, seen, s, used)
        else:
            statistic, df = _ordered_with_class(code, rows, label, seen, s)
    _clear(s, used)
    return _normal_score(max(statistic, 0.0), df) if df > 0 else -np.inf
