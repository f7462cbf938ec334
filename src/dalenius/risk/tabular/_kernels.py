"""Loops over rows for the table of keys by target."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.kernels import njit


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


@njit(inline="always")
def _add(
    order: Any, start: int, end: int, codes: Any, g: int, begin: int, used: int, place: Any, group: Any, level: Any,
    counts: Any, cell: Any,
) -> int:  # fmt: skip
    """Count some rows of one group into its cells, which begin at ``begin``; gives the number of cells used by now.

    ``place[t]`` is the cell of level t; it is stale, and so unused, when it lies before the group's first cell.
    """
    for k in range(start, end):
        row = order[k]
        t = codes[row]
        if place[t] < begin:
            place[t] = used
            group[used] = g
            level[used] = t
            used += 1
        counts[place[t]] += 1
        if len(cell):
            cell[row] = place[t]
    return used


@njit(cache=True)
def count_cells(
    starts_d: Any, order_d: Any, codes_d: Any, starts_s: Any, order_s: Any, codes_s: Any,
    starts_h: Any, order_h: Any, codes_h: Any, levels: int,
) -> Any:  # fmt: skip
    """Cells (group, level) that occur in any file, with their counts, and the cell of every original row."""
    limit = len(order_d) + len(order_s) + len(order_h)
    group, level = np.empty(limit, np.int64), np.empty(limit, np.int64)
    d, s, h = np.zeros(limit, np.int64), np.zeros(limit, np.int64), np.zeros(limit, np.int64)
    cell, nobody = np.empty(len(order_d), np.int64), np.empty(0, np.int64)
    place = np.full(levels, -1, np.int64)
    used = 0
    for g in range(len(starts_d) - 1):
        first = used
        used = _add(
            order_d, starts_d[g], starts_d[g + 1], codes_d, g, first, used, place, group, level, d, cell
        )
        used = _add(
            order_s, starts_s[g], starts_s[g + 1], codes_s, g, first, used, place, group, level, s, nobody
        )
        used = _add(
            order_h, starts_h[g], starts_h[g + 1], codes_h, g, first, used, place, group, level, h, nobody
        )
    return group[:used].copy(), level[:used].copy(), d[:used].copy(), s[:used].copy(), h[:used].copy(), cell
