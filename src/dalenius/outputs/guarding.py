"""Cells that were taken out though they hold many people (dominated ones): whether their total follows from others.

How many they are is no secret; what they have together is. So only sums of the same column are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.outputs.differencing import Atoms, atoms_of, given_away
from dalenius.outputs.partition import Layer, Partition
from dalenius.outputs.query import Ints


def guards_fall(parts: Sequence[Partition], kinds: Sequence[str | None]) -> bool:
    """Whether a guarded cell follows from all parts, and not already from those after the first, which are out.

    ``kinds`` says of which column each part shows sums; None for one that shows none.

    Examples
    --------
    >>> group = np.repeat([1, 2, 3], 20)  # the first was taken out
    >>> taken = Partition((np.where(group > 1, group, 0),), 3, np.where(group == 1, 1, 0))
    >>> total = Partition((np.ones(60, int),), 1)
    >>> guards_fall([total, taken], ["pay", "pay"]), guards_fall([total, taken], ["age", "pay"])
    (True, False)
    """
    for place, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        if part.guarded is None or kind is None:
            continue
        same = [i for i, other in enumerate(kinds) if other == kind]
        before = [i for i in same if i > 0]
        if _falls([parts[i] for i in same], part.guarded) and (
            place == 0 or not _falls([parts[i] for i in before], part.guarded)
        ):
            return True
    return False


def _falls(parts: Sequence[Partition], guard: Layer) -> bool:
    """Whether a cell of a layer that must stay unknown follows from the cells of some parts."""
    layers, start = [], 0
    for part in parts:
        layers += [(layer, start) for layer in part.layers]
        start += part.cells
    if not layers:
        return False
    atoms, atom = _atoms([*layers, (guard, start)], start, int(guard.max()))
    size = int(guard.max()) + 1
    targets = sp.csr_matrix((np.ones(len(guard)), (atom, guard)), shape=(len(atoms.counts), size))
    known = given_away(atoms, sp.csc_matrix(targets.minimum(1).astype(np.int64))[:, 1:])
    held = np.bincount(guard, minlength=size)[1:] > 0
    return bool((known & held).any())


def _atoms(layers: Any, cells: int, guards: int) -> tuple[Atoms, Ints]:
    """Atoms by layers and guarded cells; of the latter nothing is known."""
    atoms, atom = atoms_of(layers, cells + guards)
    return Atoms(atoms.counts, sp.csr_matrix(atoms.matrix)[:, :cells]), atom
