"""Smallest tolerance at which a row meets one of the originals with the same categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit


@njit(cache=True, parallel=True)
def smallest(x: Any, starts: Any, y: Any, group: Any, unit: Any) -> Any:
    """For each row of y: the least over originals of its group of the largest |x - y| / unit over the numbers.

    A negative unit stands for |y| itself.
    """
    n = len(y)
    result = np.full(n, np.inf)
    for q in prange(n):
        best = np.inf
        for i in range(starts[group[q]], starts[group[q] + 1]):
            worst = 0.0
            for j in range(y.shape[1]):
                gap = abs(x[i, j] - y[q, j])
                if gap > 0.0:
                    size = unit[j] if unit[j] >= 0.0 else abs(y[q, j])
                    worst = max(worst, gap / size if size != 0.0 else np.inf)
                    if worst >= best:
                        break
            best = min(best, worst)
        result[q] = best
    return result
