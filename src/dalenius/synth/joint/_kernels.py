"""Loops of the joint models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def visit_cells(chances: Any, picks: Any, sizes: Any, mass: float) -> Any:
    """Records fall into cells seen before in proportion to their size, or into new ones; gives each record's cell.

    ``sizes`` are those of the new cells in the order they are seen, ``mass`` the size of all cells together.
    """
    cells = np.empty(chances.shape[0], np.int64)
    ends = np.empty(chances.shape[0], np.float64)
    seen, held = 0, 0.0
    for i in range(chances.shape[0]):
        if seen > 0 and chances[i] * mass < held:
            cells[i] = np.searchsorted(ends[:seen], picks[i] * held, side="right")
        else:
            held += sizes[seen]
            ends[seen] = held
            cells[i] = seen
            seen += 1
    return cells
