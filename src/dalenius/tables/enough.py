"""`Enough`: how wide the bounds of protected cells must be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.tables.model import Bools, Floats, Ints

TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Enough:
    """How far the bounds of each cell must reach: down to ``low``, up to ``high`` and at least ``width`` apart."""

    low: Floats
    high: Floats
    width: Floats

    def met(self, low: Floats, high: Floats) -> Bools:
        """Which cells have bounds as wide as asked for (to a relative accuracy of 10⁻⁷)."""
        slack = TOLERANCE * np.maximum(1.0, np.abs(np.nan_to_num(self.high, posinf=1.0, neginf=1.0)))
        with np.errstate(invalid="ignore"):
            width = high - low
        return (
            (low <= self.low + slack)
            & (high >= self.high - slack)
            & (width >= self.width - slack)
            & (width > slack)
        )

    def of(self, cells: Ints | Bools) -> Enough:
        """The same for some of the cells.

        Examples
        --------
        >>> Enough(np.zeros(2), np.array([1.0, 5.0]), np.zeros(2)).of(np.array([1])).high.tolist()
        [5.0]
        """
        return Enough(self.low[cells], self.high[cells], self.width[cells])
