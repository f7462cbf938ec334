"""Loops over rows for the table of keys by target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def order_by_group(ids: Any, groups: int) -> Any:
    """Rows sorted by group, and where each group starts."""
    starts = np.zeros(groups + 1, np.int64)
    for i in range(len(ids)):
        starts[ids[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    fill = starts[:-1].copy()
    order = np.empty(len(ids), np.int64)
    for i in range(len(ids)):
        g = ids[i]
        order[fill[g]] = i
        fill[g] += 1
    return order, starts


@njit(cache=True)
def count_cells(
    starts_d: Any, order_d: Any, codes_d: Any, starts_s: Any, order_s: Any, codes_s: Any,
    starts_h: Any, order_h: Any, codes_h: Any, levels: int,
) -> Any:  # fmt: skip
    """Cells (group, level) that occur in any file, with their counts, and the cell of every original row."""
    limit = len(order_d) + len(order_s) + len(order_h)
    group = np.empty(limit, np.int64)
    level = np.empty(limit, np.int64)
    d = np.zeros(limit, np.int64)
    s = np.zeros(limit, np.int64)
    h = np.zeros(limit, np.int64)
    cell = np.empty(len(order_d), np.int64)
    # place[t] is the cell of level t; it is stale, and so unused, when it lies before this group's first cell
    place = np.full(levels, -1, np.int64)
    used = 0
    for g in range(len(starts_d) - 1):
        begin = used
        for k in range(starts_d[g], starts_d[g + 1]):
            row = order_d[k]
            t = codes_d[row]
            if place[t] < begin:
                place[t] = used
                group[used] = g
                level[used] = t
                used += 1
            d[place[t]] += 1
            cell[row] = place[t]
        for k in range(starts_s[g], starts_s[g + 1]):
            t = codes_s[order_s[k]]
            if place[t] < begin:
                place[t] = used
                group[used] = g
                level[used] = t
                used += 1
            s[place[t]] += 1
        for k in range(starts_h[g], starts_h[g + 1]):
            t = codes_h[order_h[k]]
            if place[t] < begin:
                place[t] = used
                group[used] = g
                level[used] = t
                used += 1
            h[place[t]] += 1
    return group[:used].copy(), level[:used].copy(), d[:used].copy(), s[:used].copy(), h[:used].copy(), cell
