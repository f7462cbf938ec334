"""What one protected unit can do to a fit: bounds that are public, and rows that are held to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.dp.budget import Neighbours
from dalenius.dp.noise import FloatArray


@dataclass(frozen=True)
class Reach:
    """How long a row is at most, and who the neighbours are.

    Parameters
    ----------
    row
        Euclidean length of a row of x at most; longer rows are shortened to it.
    entry
        Size of one entry at most; None: as ``row``.
    records
        Records that one protected unit owns at most.

    Examples
    --------
    >>> reach = Reach(row=5.0, entry=8.0)
    >>> reach.hold(np.array([[6.0, 8.0], [0.0, 1.0]])).tolist()
    [[3.0, 4.0], [0.0, 1.0]]
    >>> reach.moved, Reach(5.0, neighbours="add-remove").moved
    (2, 1)
    """

    row: float
    entry: float | None = None
    neighbours: Neighbours = "replace"
    records: int = 1

    def __post_init__(self) -> None:
        for bound in (self.row, self.largest):
            if not 0 < bound < math.inf:
                raise OptionError(
                    "bounds of x must be positive numbers that are public, not read off the data"
                )

    @property
    def largest(self) -> float:
        """The largest entry of x."""
        return self.row if self.entry is None else self.entry

    @property
    def moved(self) -> int:
        """Records' worth of gradient by which neighbours differ."""
        return self.records * (2 if self.neighbours == "replace" else 1)

    def hold(self, x: FloatArray) -> FloatArray:
        """Rows of x within the bounds; entries on both sides."""
        held = np.clip(np.asarray(x, np.float64), -self.largest, self.largest)
        length = np.sqrt(np.einsum("ij,ij->i", held, held))
        return held * np.minimum(1.0, self.row / np.maximum(length, 1e-300))[:, None]


def checked(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows and responses as numbers, all finite."""
    rows, held = np.asarray(x), np.asarray(y)
    if rows.dtype.kind not in "buif" or held.dtype.kind not in "buif":
        raise DataError("x and y must be numbers; code categories as columns of 0 and 1")
    if rows.ndim != 2 or held.shape != (len(rows),):
        raise DataError("x must be a table of rows and columns, and y one number for each row")
    rows, held = rows.astype(np.float64), held.astype(np.float64)
    if not (np.isfinite(rows).all() and np.isfinite(held).all()):
        raise DataError("x or y holds missing or infinite values; leave those records out, or fill them")
    return rows, held
