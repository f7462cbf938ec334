"""Which secondary cells are needed: what publishing one of them after all would give away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dalenius.published._modular import product
from dalenius.published.nullspace import NullSpace
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.model import Ints
from dalenius.tables.suppression import Suppression


def exposed_by_publishing(result: Suppression, places: Sequence[int] | None = None) -> dict[int, Ints]:
    """For each secondary cell the primary cells that anybody could compute if it were published after all.

    An empty list means that the cell is not needed against exact computation; it may still be there because of small
    counts, single contributors or intervals.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> {cell: found.tolist() for cell, found in exposed_by_publishing(protect(model, SmallCount(3))).items()}
    {2: [1]}
    """
    table = Disclosed.of(result)
    matrix = sp.csc_matrix(table.matrix)
    space = NullSpace(matrix[:, np.flatnonzero(table.published)], vectors=4)
    primary = np.flatnonzero(table.primary)
    changes = space.seen(matrix[:, primary])
    wanted = np.flatnonzero(result.secondary) if places is None else np.asarray(places, np.int64)
    shown = space.seen(matrix[:, wanted])
    found: dict[int, Ints] = {}
    for cell, change in zip(wanted.tolist(), shown, strict=True):
        left = product(changes, NullSpace.unchanging(change[None, :]))
        found[cell] = primary[~(left != 0).any(axis=1)]
    return found
