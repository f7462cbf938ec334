"""What can be computed from what is known: cells in the span of the known ones.

A vector z with ``known.T @ z = 0`` is a change of the inner cells that no known cell shows. A cell is computable
exactly if no such change alters it, so one random z (modulo a large prime) decides all cells at once. Knowing a few
more cells means taking only those combinations of some z's that leave these unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.random import generator
from dalenius.published._modular import PRIME, back_substitute, echelon, kernel, product
from dalenius.published.arrays import Bools, Ints


class NullSpace:
    """Random invisible changes of the inner cells, given the known cells.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))  # total, first, second
    >>> space = NullSpace(x[:, [0]])
    >>> space.computable(x).tolist()
    [True, False, False]
    >>> space.computable(x, also=x[:, [1]]).tolist()
    [True, True, True]
    """

    def __init__(self, known: Any, vectors: int = 4, seed: int = 1) -> None:
        known = sp.csc_matrix(known)
        order = np.argsort(np.diff(known.indptr), kind="stable")
        known = sp.csc_matrix(known[:, order])
        self.rows = known.shape[0]
        form = echelon(
            known.indptr.astype(np.int64),
            known.indices.astype(np.int64),
            known.data.astype(np.int64),
            self.rows,
        )
        self.rank = len(form[0])
        self.vectors = generator(seed, "null space").integers(1, PRIME, (self.rows, vectors), dtype=np.int64)
        back_substitute(*form[:4], self.vectors)

    def seen(self, cells: Any) -> Ints:
        """How each vector changes each cell (cells × vectors)."""
        return np.asarray(sp.csc_matrix(cells).T.astype(np.int64) @ self.vectors) % PRIME

    def computable(self, cells: Any, also: Any | None = None) -> Bools:
        """Which cells follow from the known ones, and from a few more (fewer than there are vectors)."""
        changes = self.seen(cells)
        if also is not None:
            changes = product(changes, self.unchanging(self.seen(also)))
        return np.asarray(~(changes != 0).any(axis=1))

    @staticmethod
    def unchanging(changes: Ints) -> Ints:
        """Combinations of the vectors (as columns) for which none of these changes is left."""
        return np.asarray(kernel(np.ascontiguousarray(changes)))


def computable_cells(matrix: Any, known: Bools, targets: Any | None = None) -> Bools:
    """Which cells (all of the matrix by default) can be computed exactly from the known ones.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))
    >>> computable_cells(x, np.array([True, True, False])).tolist()
    [True, True, True]
    """
    matrix = sp.csc_matrix(matrix)
    space = NullSpace(matrix[:, np.flatnonzero(known)], vectors=2)
    return space.computable(matrix if targets is None else targets)
