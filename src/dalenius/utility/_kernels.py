"""Loops of the table measures: merging two sparse tables and adding up over their cells."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.data.vector import AnyArray, IntArray

SUMS = 13
"""How many figures `cell_sums` returns."""


@njit(cache=True, nogil=True)
def merge(keys_a: IntArray, a: AnyArray, keys_b: IntArray, b: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Counts of two sparse tables over the union of their (sorted) cells."""
    size = len(keys_a) + len(keys_b)
    first, second = np.zeros(size), np.zeros(size)
    i = j = n = 0
    while i < len(keys_a) or j < len(keys_b):
        take_a = j >= len(keys_b) or (i < len(keys_a) and keys_a[i] <= keys_b[j])
        take_b = i >= len(keys_a) or (j < len(keys_b) and keys_b[j] <= keys_a[i])
        if take_a:
            first[n] = a[i]
            i += 1
        if take_b:
            second[n] = b[j]
            j += 1
        n += 1
    return first[:n], second[:n]


@njit(cache=True, nogil=True)
def cell_sums(d: AnyArray, s: AnyArray) -> AnyArray:
    """Everything the table measures need, in one walk over the cells with d + s > 0.

    Returns n, k, cells, cells positive in both, VW, FT, JSD (nats), G, Σ|δ|, Σ|δ|/√e, Σ√(pq), PO50, TVD.
    """
    out = np.zeros(SUMS)
    n = d.sum()
    k = s.sum()
    both_d = both_s = 0.0
    for i in range(len(d)):
        if d[i] > 0 and s[i] > 0:
            both_d += d[i]
            both_s += s[i]
    share = k / (n + k)
    odds = share / (1 - share)
    right = 0.0
    for i in range(len(d)):
        total = d[i] + s[i]
        if total <= 0:
            continue
        p, q = d[i] / n, s[i] / k
        e = total * share
        delta = s[i] - d[i] * odds
        out[2] += 1
        out[4] += delta * delta / e
        root = np.sqrt(s[i]) - np.sqrt(d[i] * odds)
        out[5] += 4 * root * root
        m = (p + q) / 2
        if p > 0:
            out[6] += 0.5 * p * np.log(p / m)
        if q > 0:
            out[6] += 0.5 * q * np.log(q / m)
        if d[i] > 0 and s[i] > 0:
            out[3] += 1
            out[7] += 2 * s[i] * np.log((s[i] / both_s) / (d[i] / both_d))
        out[8] += abs(delta)
        out[9] += abs(delta) / np.sqrt(e)
        out[10] += np.sqrt(p * q)
        # Two floating proportions are compared, as synthpop does, so that ties fall the same way.
        right += s[i] if q > p else d[i]
        out[12] += 0.5 * abs(p - q)
    out[0], out[1] = n, k
    out[11] = 100 * right / (n + k) - 50
    return out


@njit(cache=True, nogil=True)
def score_ranks(d: AnyArray, s: AnyArray) -> tuple[float, float]:
    """Kolmogorov–Smirnov distance and Mann–Whitney U (synthetic first) of the score s / (s + d)."""
    score = s / (s + d)
    order = np.argsort(score)
    n, k = d.sum(), s.sum()
    below_d = below_s = 0.0
    distance = u = 0.0
    i = 0
    while i < len(order):
        j = i
        tie_d = tie_s = 0.0
        while j < len(order) and score[order[j]] == score[order[i]]:
            tie_d += d[order[j]]
            tie_s += s[order[j]]
            j += 1
        u += tie_s * (below_d + tie_d / 2)
        below_d += tie_d
        below_s += tie_s
        distance = max(distance, abs(below_d / n - below_s / k))
        i = j
    return distance, u


@njit(cache=True, nogil=True)
def inside_groups(
    order: IntArray, values: AnyArray, groups: IntArray, split: int, size: int
) -> tuple[IntArray, AnyArray, AnyArray]:
    """Rows, medians and Kolmogorov–Smirnov distance of two files inside every group, in one walk by ascending value.

    Rows below ``split`` are the first file's; ``order`` sorts the rows that have a value. A distance is looked at when
    the next value of its group comes, so that equal values count together.
    """
    rows, seen = np.zeros((2, size), np.int64), np.zeros((2, size), np.int64)
    for i in range(len(order)):
        rows[int(order[i] >= split), groups[order[i]]] += 1
    middles = np.zeros((2, size))
    distance, last = np.zeros(size), np.full(size, np.nan)
    for i in range(len(order)):
        row = order[i]
        group, file, value = groups[row], int(row >= split), values[row]
        if value != last[group]:
            last[group] = value
            if rows[0, group] > 0 and rows[1, group] > 0:
                gap = abs(seen[0, group] / rows[0, group] - seen[1, group] / rows[1, group])
                distance[group] = max(distance[group], gap)
        place, n = seen[file, group], rows[file, group]
        if place == (n - 1) // 2:
            middles[file, group] = value
        if place == n // 2:
            middles[file, group] = (middles[file, group] + value) / 2
        seen[file, group] = place + 1
    return rows, middles, distance
