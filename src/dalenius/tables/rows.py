"""The order of rows in an elimination: free rows, rows of single contributors, rows of small counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.tables.protected import Bools, Ints


def row_rank(small: Bools, owners: Ints) -> Ints:
    """New place of every row: free rows, then contributors (few rows first, then by number), then small rows."""
    rows_of = np.bincount(owners, minlength=1)[owners]
    rows_of[owners == 0] = 0
    order = np.lexsort((np.arange(len(small)), owners, rows_of, small))
    rank = np.empty(len(small), np.int64)
    rank[order] = np.arange(len(small))
    return rank


def reversed_rank(rank: Ints, free: int, small_start: int) -> Ints:
    """The same with the contributors' rows in reverse order."""
    flip = (rank >= free) & (rank < small_start)
    return np.where(flip, free + small_start - 1 - rank, rank)


def permuted(matrix: Any, rank: Ints) -> Any:
    """The matrix with its rows moved to new places."""
    coo = sp.coo_matrix(matrix)
    return sp.csc_matrix((coo.data, (rank[coo.row], coo.col)), shape=matrix.shape)


def moved(owners: Ints, rank: Ints) -> Ints:
    """The owners of the rows at their new places."""
    result = np.zeros_like(owners)
    result[rank] = owners
    return result


def holders(matrix: Any, owners: Ints) -> Ints:
    """The contributor who owns all rows of a column, or 0."""
    low, high = np.zeros(matrix.shape[1], np.int64), np.zeros(matrix.shape[1], np.int64)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        entries = owners[matrix.indices]
        low[filled] = np.minimum.reduceat(entries, matrix.indptr[filled])
        high[filled] = np.maximum.reduceat(entries, matrix.indptr[filled])
    return np.where(low == high, low, 0)
