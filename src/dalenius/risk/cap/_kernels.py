"""Nearest key combinations in the Hamming distance (number of keys that differ)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit


@njit(cache=True, parallel=True)
def nearest_groups(wanted: Any, there: Any) -> Any:
    """Least number of differing keys between each wanted combination and those that are there."""
    n = len(wanted)
    radius = np.empty(n, np.int64)
    for q in prange(n):
        best = wanted.shape[1] + 1
        for i in range(len(there)):
            differ = 0
            for j in range(wanted.shape[1]):
                differ += wanted[q, j] != there[i, j]
                if differ >= best:
                    break
            if differ < best:
                best = differ
                if best == 1:
                    break
        radius[q] = best
    return radius


@njit(cache=True, parallel=True)
def pooled(wanted: Any, there: Any, radius: Any, starts: Any, level: Any, count: Any, levels: int) -> Any:
    """Target counts among the combinations at exactly the radius of each wanted one."""
    n = len(wanted)
    result = np.zeros((n, levels), np.int64)
    for q in prange(n):
        for i in range(len(there)):
            differ = 0
            for j in range(wanted.shape[1]):
                differ += wanted[q, j] != there[i, j]
                if differ > radius[q]:
                    break
            if differ == radius[q]:
                for k in range(starts[i], starts[i + 1]):
                    result[q, level[k]] += count[k]
    return result
