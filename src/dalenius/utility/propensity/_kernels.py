"""Loops of the logistic propensity model: one non-zero per term and row, so nothing is ever expanded."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.data.vector import AnyArray, IntArray


@njit(cache=True, nogil=True)
def normal_equations(
    columns: IntArray, values: AnyArray, place: IntArray, weight: AnyArray, target: AnyArray, size: int
) -> tuple[AnyArray, AnyArray]:
    """X'WX and X'Wz. Row i has ``values[i, place[t]]`` (or 1) in column ``columns[i, t]`` of each term t."""
    gram = np.zeros((size, size))
    right = np.zeros(size)
    terms = columns.shape[1]
    held = np.zeros(terms)
    used = np.zeros(terms, np.int64)
    for i in range(len(weight)):
        w = weight[i]
        count = 0
        for t in range(terms):
            column = columns[i, t]
            if column >= 0:
                used[count] = column
                held[count] = values[i, place[t]] if place[t] >= 0 else 1.0
                count += 1
        for a in range(count):
            scaled = w * held[a]
            row = used[a]
            right[row] += scaled * target[i]
            for b in range(a + 1):
                gram[row, used[b]] += scaled * held[b]
    return gram, right


@njit(cache=True, nogil=True)
def linear_predictor(columns: IntArray, values: AnyArray, place: IntArray, beta: AnyArray) -> AnyArray:
    """Xβ, row by row."""
    out = np.zeros(columns.shape[0])
    for i in range(columns.shape[0]):
        total = 0.0
        for t in range(columns.shape[1]):
            column = columns[i, t]
            if column >= 0:
                total += beta[column] * (values[i, place[t]] if place[t] >= 0 else 1.0)
        out[i] = total
    return out
