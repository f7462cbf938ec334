"""Compiled clustering: dependence of two columns on their trees, and the search for good clusters."""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.trees import CODE, FIRST, FLAGS, KIDS, LEVELS, SINGULAR

FEWEST = 15.0
"""Noisy count below which a node says nothing about dependence."""


@njit(cache=True, nogil=True)
def _step(ints, v):
    """First node and number of nodes to go on with: the children, or the node itself where it is a single value."""
    if ints[v, FLAGS] & SINGULAR:
        return v, 1
    return ints[v, FIRST], ints[v, KIDS]


@njit(cache=True, nogil=True)
def dependence(x_ints, x_wide, x_noisy, y_ints, y_wide, y_noisy, xy_ints, xy_noisy):
    """Dependence of two columns in [0, 1]: how far their joint tree is from what independence expects.

    All three trees are walked together; each joint cell compares its noisy count with the expected one.
    """
    total = max(xy_noisy[0], 1.0)
    score, weight = 0.0, 0.0
    capacity = 4096
    stack = np.empty((capacity, 4), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, 0, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        x, y, xy, depth = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3]
        if x_noisy[x] < FEWEST or y_noisy[y] < FEWEST:
            continue
        if depth > 0:
            expected = x_noisy[x] * y_noisy[y] / total
            actual = xy_noisy[xy] if xy >= 0 else 0.0
            score += abs(expected - actual) / max(expected, actual) * expected
            weight += expected
        if (x_ints[x, FLAGS] & SINGULAR and y_ints[y, FLAGS] & SINGULAR) or depth >= LEVELS - 1:
            continue
        x_first, x_kids = _step(x_ints, x)
        y_first, y_kids = _step(y_ints, y)
        while waiting + x_kids * y_kids > capacity:
            capacity *= 2
            larger = np.empty((capacity, 4), np.int32)
            larger[:waiting] = stack[:waiting]
            stack = larger
        for a in range(x_first, x_first + x_kids):
            x_bit = x_ints[a, CODE] if a != x else (x_wide[a, -2] >> (LEVELS - 1 - depth)) & 1
            for b in range(y_first, y_first + y_kids):
                y_bit = y_ints[b, CODE] if b != y else (y_wide[b, -2] >> (LEVELS - 1 - depth)) & 1
                found = -1
                if xy >= 0:
                    for c in range(xy_ints[xy, FIRST], xy_ints[xy, FIRST] + xy_ints[xy, KIDS]):
                        if xy_ints[c, CODE] == 2 * x_bit + y_bit:
                            found = c
                stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3] = (
                    a,
                    b,
                    found,
                    depth + 1,
                )
                waiting += 1
    return score / weight if weight > 0.0 else 0.0


@njit(cache=True, nogil=True)
def assemble(order, matrix, weights, most, threshold, fixed, cluster, stitch):
    """Put columns into clusters in the given order.

    ``cluster[i]`` becomes the cluster of column i, ``stitch[k, i]`` says that cluster k is stitched on column i. With
    ``fixed`` >= 0 that column begins the first cluster and every other cluster is stitched on it. Returns the number of
    clusters.
    """
    n = len(order)
    cluster[:], stitch[:] = -1, False
    load, size = np.zeros(n), np.zeros(n, np.int64)
    count = 0
    for step in range(-1, n):
        column = fixed if step < 0 else order[step]
        if column < 0 or cluster[column] >= 0:
            continue
        best, best_mean = -1, -1.0
        for k in range(count):
            mean = 0.0
            for i in range(n):
                if cluster[i] == k:
                    mean += matrix[column, i]
            mean /= size[k]
            limit = most if k == 0 else 0.7 * most
            roomy = size[k] == 1 or load[k] + weights[column] <= limit
            if mean >= threshold and roomy and mean > best_mean:
                best, best_mean = k, mean
        if best < 0:
            best = count
            count += 1
        cluster[column] = best
        load[best] += weights[column]
        size[best] += 1
    for k in range(1, count):
        _choose_stitches(matrix, weights, most, threshold, fixed, cluster, stitch, k, load[k], size[k])
    return count


@njit(cache=True, nogil=True)
def _choose_stitches(matrix, weights, most, threshold, fixed, cluster, stitch, k, load, size):
    """Columns of earlier clusters on which cluster k is stitched: the most dependent, as far as there is room."""
    n = len(weights)
    used = max(load, most / 2)
    for turn in range(n):
        best, best_mean, best_peak, best_sum = -1, -1.0, -1.0, -1.0
        for i in range(n):
            if cluster[i] >= k or stitch[k, i]:
                continue
            total, peak = 0.0, 0.0
            for j in range(n):
                if cluster[j] == k:
                    total += matrix[i, j]
                    peak = max(peak, matrix[i, j])
            mean = math.floor(total / size / 0.05) * 0.05
            rounded = math.floor(peak / 0.01) * 0.01
            if turn > 0 and (peak < threshold or used + weights[i] > most):
                continue
            better = mean > best_mean or (
                mean == best_mean and (rounded > best_peak or (rounded == best_peak and total > best_sum))
            )
            if better:
                best, best_mean, best_peak, best_sum = i, mean, rounded, total
        if turn == 0 and fixed >= 0:
            best = fixed
        if best < 0:
            break
        stitch[k, best] = True
        used += weights[best]


@njit(cache=True, nogil=True)
def energy(matrix, cluster, stitch, count):
    """Dependence between columns that are in no cluster together, per column."""
    n = len(cluster)
    missed = 0.0
    for i in range(n):
        for j in range(i):
            together = False
            for k in range(count):
                together = together or (
                    (cluster[i] == k or stitch[k, i]) and (cluster[j] == k or stitch[k, j])
                )
            if not together:
                missed += matrix[i, j]
    return missed / n


@njit(cache=True, nogil=True)
def anneal(matrix, weights, most, threshold, alpha, fixed, state):
    """Search the order of columns with the least missed dependence by simulated annealing; returns the best order."""
    n = len(weights)
    order = np.arange(n)
    best = order.copy()
    cluster, stitch = np.empty(n, np.int64), np.zeros((n, n), np.bool_)
    count = assemble(order, matrix, weights, most, threshold, fixed, cluster, stitch)
    now = energy(matrix, cluster, stitch, count)
    least = now
    heat = 5.0
    while heat > 0.0035 and least > 0.0:
        draws = np.empty(3)
        for q in range(3):
            state += np.uint64(0x9E3779B97F4A7C15)
            z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            draws[q] = float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
        i = int(draws[0] * n)
        j = (i + 1 + int(draws[1] * (n - 1))) % n
        order[i], order[j] = order[j], order[i]
        count = assemble(order, matrix, weights, most, threshold, fixed, cluster, stitch)
        new = energy(matrix, cluster, stitch, count)
        if new <= now or draws[2] < math.exp((now - new) / heat):
            now = new
            if now < least:
                least = now
                best[:] = order
        else:
            order[i], order[j] = order[j], order[i]
        heat = heat / (1.0 + alpha * heat)
    return best
