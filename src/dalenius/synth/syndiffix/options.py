"""The constants of the method, with the defaults of the reference implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from dalenius.core.errors import OptionError
from dalenius.core.option import Option, check_fields

NotNegative = Annotated[float, Option(at_least=0)]
Pair = Annotated[tuple[int, int], Option(at_least=1)]


@dataclass(frozen=True)
class Anonymity:
    """How strongly counts are protected.

    Attributes
    ----------
    low, gap, spread
        A node with fewer than ``low`` distinct units is always suppressed; one with more is suppressed when its number
        of units is below a threshold drawn from N(low + gap * spread, spread), the same for the same set of units.
    layer
        Standard deviation of each of the two noise layers of a count (1.41 in all by default).
    outlier, top
        Bounds for how many of the largest contributors are cut down to the mean of how many next ones, where a unit
        may own several rows.

    Examples
    --------
    >>> Anonymity().low, Anonymity.off().layer
    (3, 0.0)
    """

    low: Annotated[int, Option(at_least=2)] = 3  # a value of a single unit must never come out
    gap: NotNegative = 2.0
    spread: NotNegative = 1.0
    layer: NotNegative = 1.0
    outlier: Pair = (2, 5)
    top: Pair = (2, 5)

    def __post_init__(self) -> None:
        check_fields("anonymity", self)
        if any(low > high for low, high in (self.outlier, self.top)):
            raise OptionError("outlier and top are pairs: the smallest, then the largest")

    @classmethod
    def off(cls) -> Anonymity:
        """No noise: only for tests and for looking at structure; suppression at 3 units stays."""
        return cls(spread=0.0, layer=0.0, outlier=(2, 2), top=(2, 2))

    @classmethod
    def exploring(cls) -> Anonymity:
        """The weaker setting for measuring dependence on a sample of rows; no count of it is ever released."""
        return cls(low=2, gap=1.0, spread=0.5, layer=0.0)


@dataclass(frozen=True)
class Growth:
    """How deep trees grow.

    Attributes
    ----------
    singular_low, range_low
        A node with fewer units than this (plus the noisy gap) is no reason to keep splitting higher-dimensional cells;
        the first is for single values, the second for ranges.
    depth, row_fraction
        One-dimensional trees split below ``depth`` only where a node has at least 1/``row_fraction`` of the rows.
    any_stub
        The paper's stricter stub rule (one weak subnode is enough); by default all must be weak, as in the reference.

    Examples
    --------
    >>> Growth().range_low
    15
    """

    singular_low: Annotated[int, Option(at_least=0)] = 5
    range_low: Annotated[int, Option(at_least=0)] = 15
    depth: Annotated[int, Option(at_least=-1)] = 15  # -1: not even the root, unless it has the rows
    row_fraction: Annotated[int, Option(at_least=1)] = 10_000
    any_stub: bool = False

    def __post_init__(self) -> None:
        check_fields("growth", self)
