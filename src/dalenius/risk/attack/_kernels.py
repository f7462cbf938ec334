"""Descriptions of protected records, and how many people fit them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit


@njit(cache=True, parallel=True)
def describe(codes: Any, logs: Any, rows: Any, orders: Any, limit: float) -> Any:
    """Columns each description needs, in its own order, until it is narrow and fits no other record.

    ``logs`` are the logarithms of the shares of the values in their columns, ``limit`` that of the weight wanted. A
    description that never gets so narrow takes all columns; one that always fits other records takes none (0).
    Gives the number of columns and the logarithm of the weight.
    """
    depth = np.zeros(len(rows), np.int64)
    weights = np.zeros(len(rows))
    for b in prange(len(rows)):
        row = rows[b]
        alive = np.arange(len(codes))
        left = len(codes)
        weight = 0.0
        for k in range(codes.shape[1]):
            column = orders[b, k]
            weight += logs[row, column]
            kept = 0
            for i in range(left):
                if codes[alive[i], column] == codes[row, column]:
                    alive[kept] = alive[i]
                    kept += 1
            left = kept
            if left == 1 and (weight <= limit or k + 1 == codes.shape[1]):
                depth[b] = k + 1
                weights[b] = weight
                break
    return depth, weights


@njit(cache=True, parallel=True)
def owners_that_fit(codes: Any, owners: Any, wanted: Any, orders: Any, depth: Any) -> Any:
    """Different owners of records that fit each description: 0, 1, or 2 for more than one."""
    found = np.zeros(len(wanted), np.int64)
    for b in prange(len(wanted)):
        first = -1
        for i in range(len(codes)):
            fits = True
            for k in range(depth[b]):
                column = orders[b, k]
                if codes[i, column] != wanted[b, column]:
                    fits = False
                    break
            if fits and owners[i] != first:
                found[b] += 1
                if found[b] == 2:
                    break
                first = owners[i]
    return found
