"""The few largest values of each row of a sparse matrix, compiled."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.tables.model import Floats, Ints


def largest_in_rows(indptr: Ints, data: Floats, count: int) -> Floats:
    """For each row the ``count`` largest values in decreasing order, 0 where there are fewer.

    Examples
    --------
    >>> largest_in_rows(np.array([0, 3, 3]), np.array([1.0, 5.0, 2.0]), 2).tolist()
    [[5.0, 2.0], [0.0, 0.0]]
    """
    out = np.zeros((len(indptr) - 1, count))
    _fill(np.asarray(indptr, np.int64), np.asarray(data, np.float64), out)
    return out


@njit(cache=True)
def _fill(indptr, data, out):  # type: ignore[no-untyped-def]
    count = out.shape[1]
    for i in range(out.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            v = data[p]
            if v > out[i, count - 1]:
                k = count - 1
                while k > 0 and out[i, k - 1] < v:
                    out[i, k] = out[i, k - 1]
                    k -= 1
                out[i, k] = v
