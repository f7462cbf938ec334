"""Fisher–Jenks natural breaks: groups with the least squared deviation within (Fisher 1958, exact for sorted data)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_VALUES = 1500
"""Distinct values the exact search looks at; more are first merged into this many small equal-count cells."""


def natural_breaks(values: npt.NDArray[np.float64], groups: int) -> npt.NDArray[np.float64]:
    """Break points of the best partition into ``groups`` classes.

    Examples
    --------
    >>> natural_breaks(np.array([1, 2, 3, 50, 51, 52, 99, 100.0]), 3)
    array([  1.,  50.,  99., 100.])
    """
    points, weights = np.unique(values, return_counts=True)
    if len(points) > MOST_VALUES:
        cells = np.array_split(np.arange(len(points)), MOST_VALUES)
        starts = np.array([cell[0] for cell in cells])
        sums = np.add.reduceat(points * weights, starts)
        weights = np.add.reduceat(weights, starts)
        lows, points = points[starts], sums / weights
    else:
        lows = points
    if len(points) <= groups:
        return np.append(lows, values.max()) if len(lows) else lows
    best = _best_starts(points, weights.astype(np.float64), groups)
    return np.unique(np.append(lows[best], values.max()))


def _best_starts(points: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], groups: int) -> list[int]:
    """First position of each class, by dynamic programming over the number of classes."""
    n = len(points)
    points = (points - points[0]) / (points[-1] - points[0])
    w = np.concatenate([[0.0], np.cumsum(weights)])
    s = np.concatenate([[0.0], np.cumsum(weights * points)])
    q = np.concatenate([[0.0], np.cumsum(weights * points**2)])
    ends = np.arange(1, n + 1)
    best = q[ends] - s[ends] ** 2 / w[ends]
    back = np.zeros((groups, n), dtype=np.int64)
    for k in range(1, groups):
        new = np.full(n, np.inf)
        for end in range(k, n):
            first = np.arange(k, end + 1)
            cost = (
                best[first - 1]
                + (q[end + 1] - q[first])
                - (s[end + 1] - s[first]) ** 2 / (w[end + 1] - w[first])
            )
            pick = int(np.argmin(cost))
            new[end], back[k, end] = cost[pick], first[pick]
        best = new
    starts, end = [], n - 1
    for k in range(groups - 1, 0, -1):
        start = int(back[k, end])
        starts.append(start)
        end = start - 1
    return [0, *reversed(starts)]
