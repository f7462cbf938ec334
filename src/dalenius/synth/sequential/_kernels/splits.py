"""Split search: the best cut of one predictor in one node.

Predictors are small integers (`coding`): bins of a number, in order, or levels of a category, without order. Categories
are cut by ordering their levels by the response in the node, which finds the best of all 2^(L-1) - 1 cuts for
a number or a yes/no (Breiman et al. 1984, section 4.2.2) in L log L steps; for more classes the levels are
ordered on the first axis of a correspondence analysis of level by class. A factor of 300 levels therefore
costs no more than a number.

The rows of a node lie apart in the table. They are therefore read once: codes, labels and weights of a node come here
as arrays of their own, in the order of the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalenius.core.kernels import njit

MOST_CELLS = 1 << 17
"""Cells of a table of code by class that still lie in the processor's cache."""


class Scratch(NamedTuple):
    """Work space shared by all nodes: per code (times to start), per cell, per class; tables are left as zeros."""

    times: Any
    weight: Any
    total: Any
    mean: Any
    touched: Any
    start: Any
    cells: Any
    cell_class: Any
    cell_weight: Any
    table: Any
    left_k: Any
    right_k: Any
    left_n: Any
    right_n: Any


@njit(cache=True, nogil=True)
def scratch(codes, rows, response, by_rows):
    """Empty work space for predictors of so many codes; ``by_rows`` when cells may be as many as rows."""
    k = max(response.classes, 1)
    table = codes * k if codes * k <= MOST_CELLS else 0
    cells = 0
    if response.classes > 0:
        cells = rows if by_rows or table == 0 else min(rows, table)
    return Scratch(
        np.zeros(codes, np.int64), np.zeros(codes), np.zeros(codes), np.zeros(codes), np.zeros(codes, np.int64),
        np.zeros(codes, np.int64), np.zeros(codes, np.int64), np.zeros(cells, response.label.dtype),
        np.zeros(cells), np.zeros(table, np.int32), np.zeros(k), np.zeros(k), np.zeros(k, np.int64),
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
def _count(code, w, s):
    """Rows and weight of each code; returns how many codes there are."""
    used = 0
    for c in code:
        if s.times[c] == 0:
            s.touched[used] = c
            used += 1
        s.times[c] += 1
    if len(w) > 0:
        for i in range(len(code)):
            s.weight[code[i]] += w[i]
    else:
        for t in range(used):
            s.weight[s.touched[t]] = s.times[s.touched[t]]
    return used


@njit(cache=True, nogil=True)
def _clear(s, used):
    for t in range(used):
        c = s.touched[t]
        s.times[c] = 0
        s.weight[c] = 0.0
        s.total[c] = 0.0


@njit(cache=True, nogil=True)
def split_number(code, y, w, unordered, least, best, s):
    """Best cut for a number: (score, how many ordered codes go left, codes seen)."""
    used = _count(code, w, s)
    weighted = len(w) > 0
    for i in range(len(code)):
        s.total[code[i]] += w[i] * y[i] if weighted else y[i]
    cut = -1
    if used > 1:
        sum_w, sum_y = 0.0, 0.0
        for t in range(used):
            c = s.touched[t]
            s.mean[c] = s.total[c] / s.weight[c]
            sum_w += s.weight[c]
            sum_y += s.total[c]
        _order_codes(s.touched, used, s.mean, unordered)
        left, left_w, left_y = 0, 0.0, 0.0
        for t in range(used - 1):
            c = s.touched[t]
            left += s.times[c]
            left_w += s.weight[c]
            left_y += s.total[c]
            if left < least:
                continue
            if len(code) - left < least:
                break
            rest = sum_y - left_y
            score = left_y * left_y / left_w + rest * rest / (sum_w - left_w)
            if score > best:
                best = score
                cut = t + 1
    _clear(s, used)
    return best, cut, used


@njit(cache=True, nogil=True)
def _cells_of_rows(code, y, w, s, used):
    """Cells of code by class, code by code; every row is a cell."""
    weighted = len(w) > 0
    at = 0
    for t in range(used):
        c = s.touched[t]
        s.start[c] = at
        s.cells[c] = 0
        at += s.times[c]
    for i in range(len(code)):
        c = code[i]
        at = s.start[c] + s.cells[c]
        s.cell_class[at] = y[i]
        s.cell_weight[at] = w[i] if weighted else 1.0
        s.cells[c] += 1


@njit(cache=True, nogil=True)
def _cells_of_table(code, y, classes, seen, s, used):
    """Cells of code by class, code by code, counted in a table: for nodes of more rows than the table has cells."""
    for i in range(len(code)):
        s.table[code[i] * classes + y[i]] += 1
    at = 0
    for t in range(used):
        c = s.touched[t]
        s.start[c] = at
        for k in seen:
            times = s.table[c * classes + k]
            if times > 0:
                s.cell_class[at] = k
                s.cell_weight[at] = times
                s.table[c * classes + k] = 0
                at += 1
        s.cells[c] = at - s.start[c]


@njit(cache=True, nogil=True)
def _level_means(score, s, used):
    """Mean score of the classes of each code."""
    for t in range(used):
        c = s.touched[t]
        total = 0.0
        for i in range(s.start[c], s.start[c] + s.cells[c]):
            total += s.cell_weight[i] * score[s.cell_class[i]]
        s.mean[c] = total / s.weight[c]


@njit(cache=True, nogil=True)
def _class_axis(whole, seen, s, used):
    """Scores of the codes on the first axis of level by class (two rounds of reciprocal averaging)."""
    score, fresh = s.left_k, s.right_k
    top = seen[0]
    for k in seen:
        score[k] = 0.0
        fresh[k] = 0.0
        if whole[k] > whole[top]:
            top = k
    score[top] = 1.0
    _level_means(score, s, used)
    for t in range(used):
        c = s.touched[t]
        for i in range(s.start[c], s.start[c] + s.cells[c]):
            fresh[s.cell_class[i]] += s.cell_weight[i] * s.mean[c]
    for k in seen:
        score[k] = fresh[k] / whole[k]
    _level_means(score, s, used)


@njit(cache=True, nogil=True)
def _start_scan(whole, seen, diversity, s, used):
    """All rows on the right; returns their weight and the sum of squares of their classes."""
    squares, weight = 0.0, 0.0
    for k in seen:
        s.left_k[k] = 0.0
        s.right_k[k] = whole[k]
        s.left_n[k] = 0
        s.right_n[k] = 0
        squares += whole[k] * whole[k]
        weight += whole[k]
    if diversity > 1:
        for t in range(used):
            c = s.touched[t]
            for i in range(s.start[c], s.start[c] + s.cells[c]):
                s.right_n[s.cell_class[i]] += 1
    return weight, squares


@njit(cache=True, nogil=True)
def _scan_classes(rows, whole, seen, least, diversity, best, s, used):
    """Move the cells from right to left, code by code, and keep the best Gini score."""
    right_w, right_sum = _start_scan(whole, seen, diversity, s, used)
    left_w, left_sum = 0.0, 0.0
    kinds_left, kinds_right = 0, len(seen)
    cut, left = -1, 0
    for t in range(used - 1):
        c = s.touched[t]
        left += s.times[c]
        for i in range(s.start[c], s.start[c] + s.cells[c]):
            k = s.cell_class[i]
            one = s.cell_weight[i]
            left_sum += one * (2.0 * s.left_k[k] + one)
            right_sum -= one * (2.0 * s.right_k[k] - one)
            s.left_k[k] += one
            s.right_k[k] -= one
            left_w += one
            right_w -= one
            if diversity > 1:  # here every cell is a row
                s.left_n[k] += 1
                s.right_n[k] -= 1
                kinds_left += s.left_n[k] == 1
                kinds_right -= s.right_n[k] == 0
        if left < least or (diversity > 1 and kinds_left < diversity):
            continue
        if rows - left < least or (diversity > 1 and kinds_right < diversity):
            break
        score = left_sum / left_w + right_sum / right_w
        if score > best:
            best = score
            cut = t + 1
    return best, cut


@njit(cache=True, nogil=True)
def split_class(code, size, y, w, unordered, classes, whole, seen, least, diversity, best, s):
    """Best cut for classes (Gini): (score, how many ordered codes go left, codes seen)."""
    used = _count(code, w, s)
    cut = -1
    if used > 1:
        many = len(code) >= size * len(seen) and len(s.table) > 0
        if many and len(w) == 0 and diversity == 1:
            _cells_of_table(code, y, classes, seen, s, used)
        else:
            _cells_of_rows(code, y, w, s, used)
        if unordered:
            _class_axis(whole, seen, s, used)
        _order_codes(s.touched, used, s.mean, unordered)
        best, cut = _scan_classes(len(code), whole, seen, least, diversity, best, s, used)
    _clear(s, used)
    return best, cut, used


@njit(cache=True, nogil=True)
def _normal_score(statistic, df):
    """How unlikely a chi-square is, as a normal score: tests of different size compare (Wilson, Hilferty 1931)."""
    spread = 2.0 / (9.0 * df)
    return ((statistic / df) ** (1.0 / 3.0) - (1.0 - spread)) / np.sqrt(spread)


@njit(cache=True, nogil=True)
def _with_number(code, y, unordered, s, used):
    """Statistic and degrees of freedom of a predictor against a number."""
    n = len(code)
    sy, syy, sx, sxx, sxy = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        x = float(code[i])
        sy += y[i]
        syy += y[i] * y[i]
        sx += x
        sxx += x * x
        sxy += x * y[i]
        s.total[code[i]] += y[i]
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
def _ordered_with_class(code, y, seen, s):
    n = len(code)
    sx, sxx = 0.0, 0.0
    for i in range(n):
        x = float(code[i])
        s.left_k[y[i]] += x
        s.right_k[y[i]] += 1.0
        sx += x
        sxx += x * x
    vx = sxx - sx * sx / n
    between = -sx * sx / n
    for k in seen:
        between += s.left_k[k] ** 2 / s.right_k[k]
    return ((n - 1) * between / vx, len(seen) - 1.0) if vx > 0 else (0.0, 0.0)


@njit(cache=True, nogil=True)
def _unordered_with_class(code, y, w, seen, s, used):
    for k in y:
        s.right_k[k] += 1.0
    _cells_of_rows(code, y, w, s, used)
    pearson = 0.0
    for t in range(used):
        c = s.touched[t]
        mine = range(s.start[c], s.start[c] + s.cells[c])
        for i in mine:
            s.left_k[s.cell_class[i]] += 1.0
        for i in mine:  # each of the rows of a cell adds its share, so that a cell counts once
            k = s.cell_class[i]
            pearson += s.left_k[k] / (s.cells[c] * s.right_k[k])
        for i in mine:
            s.left_k[s.cell_class[i]] = 0.0
    return (len(code) - 1) * (pearson - 1.0), (used - 1.0) * (len(seen) - 1.0)


@njit(cache=True, nogil=True)
def association(code, number, label, w, unordered, classes, seen, s):
    """Permutation test of one predictor against the response, as a normal score (Hothorn et al. 2006, eq. 1-3).

    The quadratic form of their linear statistic is (n - 1) r^2 for two numbers, (n - 1) times the share of
    variance between groups for a number and a category, and (n - 1)/n times Pearson's chi-square for two
    categories.
    """
    used = _count(code, w, s)
    statistic, df = 0.0, 0.0
    if used > 1 and classes == 0:
        statistic, df = _with_number(code, number, unordered, s, used)
    elif used > 1 and len(seen) > 1:
        for k in seen:
            s.left_k[k] = 0.0
            s.right_k[k] = 0.0
        if unordered:
            statistic, df = _unordered_with_class(code, label, w, seen, s, used)
        else:
            statistic, df = _ordered_with_class(code, label, seen, s)
    _clear(s, used)
    return _normal_score(max(statistic, 0.0), df) if df > 0 else -np.inf
