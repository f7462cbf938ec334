"""Counts of close records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit


@njit(cache=True, parallel=True)
def count_close(x: Any, y: Any, a: Any, b: Any, width: Any) -> Any:
    """Count for each row of x the rows of y within the widths, by how many categories are known to agree.

    Also gives the last row of y that agrees in everything (-1: none); it is the only one where the count is 1.
    """
    result = np.zeros((len(x), a.shape[1] + 1), np.int64)
    last = np.full(len(x), -1, np.int64)
    for i in prange(len(x)):
        for k in range(len(y)):
            near = True
            for j in range(x.shape[1]):
                # written so that a gap (NaN) is never near
                if not abs(x[i, j] - y[k, j]) <= width[j]:
                    near = False
                    break
            if not near:
                continue
            result[i, 0] += 1
            agree = True
            for j in range(a.shape[1]):
                if a[i, j] != b[k, j]:
                    agree = False
                    break
                result[i, j + 1] += 1
            if agree:
                last[i] = k
    return result, last
