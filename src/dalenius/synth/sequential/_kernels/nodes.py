"""Nodes of a tree as arrays: adding them, storing their cuts, sending rows down, and picking donors from leaves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalenius.core.kernels import njit

LEAF = -1


class Nodes(NamedTuple):
    """Per node: predictor (LEAF for a leaf), place of its cut, left and right child, first and last row."""

    feature: Any
    where: Any
    left: Any
    right: Any
    first: Any
    last: Any


@njit(cache=True, nogil=True)
def empty_nodes(size):
    """Room for so many leaves."""
    return Nodes(
        np.full(size, LEAF, np.int32), np.zeros(size, np.int64), np.zeros(size, np.int32),
        np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def copied(nodes, used, size):
    """The first nodes in arrays of another length."""
    fresh = empty_nodes(size)
    fresh.feature[:used] = nodes.feature[:used]
    fresh.where[:used] = nodes.where[:used]
    fresh.left[:used] = nodes.left[:used]
    fresh.right[:used] = nodes.right[:used]
    fresh.first[:used] = nodes.first[:used]
    fresh.last[:used] = nodes.last[:used]
    return fresh


@njit(cache=True, nogil=True)
def add_children(nodes, used, node, feature, where, went):
    """Turn a leaf into a split with two new leaves, making room where needed."""
    if used + 2 > len(nodes.feature):
        nodes = copied(nodes, used, 2 * len(nodes.feature))
    nodes.feature[node] = feature
    nodes.where[node] = where
    nodes.left[node], nodes.right[node] = used, used + 1
    middle = nodes.first[node] + went
    nodes.first[used], nodes.last[used] = nodes.first[node], middle
    nodes.first[used + 1], nodes.last[used + 1] = middle, nodes.last[node]
    return nodes


@njit(cache=True, nogil=True)
def sides(code, unordered, size, rows, kept, cut, used, times, goes_left):
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
def store(cuts, used, goes_left, size):
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
