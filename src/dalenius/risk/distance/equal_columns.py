"""Who has a record with more of his values than anybody else shares with him, counted exactly, 64 records at a time."""

from __future__ import annotations

import numba
import numpy as np

from dalenius.core.kernels import threads_for
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.distance._kernels import equal_columns as kernels


def closer_than_fellows(
    queries: AnyArray, own: IntArray, original: AnyArray, owners: IntArray, protected: AnyArray, more: int
) -> AnyArray:
    """Which queries a protected record equals in so many columns more than any original of another owner does.

    Parameters
    ----------
    queries, original, protected
        Records as codes of categories, the same in all three.
    own
        Owner of each query, who is no fellow; -1 for a stranger.

    Examples
    --------
    >>> people = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]])
    >>> made = np.array([[0, 0, 0, 1], [1, 1, 1, 1]])
    >>> closer_than_fellows(people, np.arange(3), people, np.arange(3), made, 2).tolist()
    [True, False, False]
    """
    place, first, asked, values = _numbered(queries, original, protected)
    parts = 1
    with threads_for(queries.size * (len(original) + len(protected)) // 64):
        parts = numba.get_num_threads()
        most = kernels.most_equal(asked, protected, place, first, values, parts)
        met = kernels.others_equal(asked, most - more + 1, own, owners, original, place, first, values, parts)
    return ~met


def _numbered(*files: AnyArray) -> tuple[IntArray, IntArray, AnyArray, int]:
    """Number the values of the first file: a number for each code, where the codes of each column begin, its cells."""
    sizes = [1 + max(int(file[:, j].max(initial=-1)) for file in files) for j in range(files[0].shape[1])]
    first = np.cumsum([0, *sizes[:-1]])
    place = np.full(sum(sizes), -1, np.int32)
    used, cells = np.unique(files[0] + first, return_inverse=True)
    place[used] = np.arange(len(used))
    return place, first, cells.reshape(files[0].shape), len(used)
