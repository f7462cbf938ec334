"""How wide the bounds of protected cells must be: as asked for (`Requirement`), and cell by cell (`Enough`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import OptionError, names
from dalenius.published.arrays import Bools, Floats, Ints

TOLERANCE = 1e-7


@dataclass(frozen=True)
class Requirement:
    """How wide the interval of a protected cell must be, besides what the primary rules ask for.

    ``range_min`` and ``range_percent`` (of the cell's value) set the least width, ``up_percent`` and ``down_percent``
    how far the bounds must lie above and below the value. An interval of width 0 always fails.

    Examples
    --------
    >>> Requirement(range_min=5).width(np.array([100.0])).tolist()
    [5.0]
    """

    range_min: float = 0.0
    range_percent: float = 0.0
    up_percent: float = 0.0
    down_percent: float = 0.0

    def __post_init__(self) -> None:
        odd = [name for name, asked in vars(self).items() if not 0 <= asked < float("inf")]
        if odd:
            raise OptionError(f"{names(odd)} must be 0 or more")

    def width(self, value: Floats) -> Floats:
        """Least width of the interval."""
        return np.maximum(self.range_min, self.range_percent / 100.0 * np.abs(value))

    def bounds(self, value: Floats, above: Floats) -> tuple[Floats, Floats]:
        """Where the lower and the upper bound must lie at least."""
        reach = np.maximum(above, self.up_percent / 100.0 * np.abs(value))
        return value - self.down_percent / 100.0 * np.abs(value), value + reach


@dataclass(frozen=True, eq=False, repr=False)
class Enough:
    """How far the bounds of each cell must reach: down to ``low``, up to ``high`` and at least ``width`` apart.

    Of ``whole`` numbers only those between the bounds count: 0.5 to 1 holds one, so everybody knows it.
    """

    low: Floats
    high: Floats
    width: Floats
    whole: bool = False

    def met(self, low: Floats, high: Floats) -> Bools:
        """Which cells have bounds as wide as asked for (to a relative accuracy of 10⁻⁷)."""
        slack = TOLERANCE * np.maximum(1.0, np.abs(np.nan_to_num(self.high, posinf=1.0, neginf=1.0)))
        if self.whole:
            low, high = np.ceil(low - slack), np.floor(high + slack)
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
        return Enough(self.low[cells], self.high[cells], self.width[cells], self.whole)


def enough_for(value: Floats, above: Floats, requirement: Requirement, whole: bool = False) -> Enough:
    """What a requirement asks of cells with these values, and ``above`` them by the primary rules.

    A value that nobody told us (NaN) asks for a width only.

    Examples
    --------
    >>> enough_for(np.array([100.0]), np.array([5.0]), Requirement(up_percent=10)).high.tolist()
    [110.0]
    """
    unknown = np.isnan(value)
    low, high = requirement.bounds(np.nan_to_num(value), above)
    low, high = np.where(unknown, np.inf, low), np.where(unknown, -np.inf, high)
    return Enough(low, high, requirement.width(np.nan_to_num(value)), whole)
