"""`Axis`: how a column lies on the grid.

Every value of a column is a 62-bit code. The lower half of the code range is for values, the upper half for what is
not a value (missing, NaN, special codes): missing cells lie next to the range, never in it. The grid cell of a code
at depth g is its first g bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from dalenius.data.schema import Column
from dalenius.data.vector import AnyArray
from dalenius.synth._store import stored

BITS = 62
HALF = BITS - 1
TOP = 1 << HALF
"""First code of the upper half: codes from here on are gaps."""
Codes = npt.NDArray[np.int64]
AxisKind = Literal["whole", "real", "moment", "levels"]


@stored
@dataclass(frozen=True)
class Axis:
    """The grid of one column.

    Attributes
    ----------
    column
        The column as it may be released: no levels, bounds or notes read off the data.
    kind
        Whole numbers, real numbers, moments (natural numbers of `moments`) or levels (ranks).
    base, exponent
        The value half of the grid is [base * 2 ** (exponent - 1), … + 2 ** exponent).
    gaps
        States (missing, NaN, special codes) in the upper half, in order.
    scale
        Smallest value and factor of the min-max frame; None for a grid in units of the data.
    step
        Precision: singular values stand for [value, value + step). 1 for whole numbers, 0 for exact reals; for
        moments the resolution in microseconds.
    level, offset
        Where the root of the column's trees lies in the frame, after pushing down.
    """

    column: Column
    kind: AxisKind
    base: int
    exponent: int
    gaps: tuple[int, ...] = ()
    scale: tuple[float, float] | None = None
    step: float = 0.0
    level: int = 0
    offset: int = 0

    def encode(self, values: AnyArray) -> Codes:
        """Codes of ordinary values (numbers, natural numbers or ranks)."""
        if self.scale is not None:
            scaled = (values.astype(np.float64) - self.scale[0]) * self.scale[1]
            return _clip(np.floor(np.ldexp(scaled, HALF)))
        if self.kind != "real":
            shift = HALF - self.exponent
            lower = self._lower()
            apart = np.clip(values.astype(np.int64), lower, lower + (1 << self.exponent) - 1) - lower
            # Ranges of 2^63 and more are exact as unsigned numbers.
            return (
                apart << shift if shift >= 0 else (apart.view(np.uint64) >> np.uint64(-shift)).view(np.int64)
            )
        lower = np.ldexp(float(self.base), self.exponent - 1)
        if abs(self.base) <= 2:  # the range may straddle zero: scale first, subtract whole numbers
            return _clip(np.floor(np.ldexp(values, HALF - self.exponent)) - float(self.base << (HALF - 1)))
        return _clip(np.floor(np.ldexp(values - lower, HALF - self.exponent)))

    def _lower(self) -> int:
        return (self.base << self.exponent) >> 1

    def gap_code(self, position: int) -> int:
        """Code of the gap at a position of ``gaps``: evenly spread over the upper half."""
        bits = max(len(self.gaps) - 1, 0).bit_length()
        return TOP + (position << (HALF - bits))

    def gap_of(self, codes: Codes) -> npt.NDArray[np.intp]:
        """Position in ``gaps`` of codes of the upper half."""
        bits = max(len(self.gaps) - 1, 0).bit_length()
        return np.minimum((codes - TOP) >> (HALF - bits), len(self.gaps) - 1).astype(np.intp)

    def to_frame(self, codes: Codes) -> Codes:
        """Codes below the pushed-down root as codes of the whole frame."""
        return (codes >> self.level) + (self.offset << (BITS - self.level) if self.level else 0)

    def wholes(self, codes: Codes) -> Codes:
        """Whole numbers (or ranks, natural numbers) at or below frame codes."""
        shift = HALF - self.exponent
        return (codes >> shift if shift >= 0 else codes << -shift) + self._lower()

    def reals(self, codes: Codes) -> npt.NDArray[np.float64]:
        """Real numbers of frame codes."""
        if self.scale is not None:
            return np.ldexp(codes.astype(np.float64), -HALF) / (self.scale[1] or 1.0) + self.scale[0]
        lower = np.ldexp(float(self.base), self.exponent - 1)
        return np.ldexp(codes.astype(np.float64), self.exponent - HALF) + lower

    def rooted(self, level: int, offset: int) -> Axis:
        """The axis with its root moved down."""
        return replace(self, level=level, offset=offset)


def _clip(codes: npt.NDArray[np.float64]) -> Codes:
    """Codes of the value half; the largest float below 2 ** 61 keeps the maximum inside."""
    return np.clip(codes, 0.0, float(TOP - 512)).astype(np.int64)
