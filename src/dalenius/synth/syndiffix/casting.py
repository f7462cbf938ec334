"""From columns to codes on the grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.option import real_number
from dalenius.data.schema import Column, Kind
from dalenius.data.vector import MISSING, NAN, SPECIAL, VALUE, AnyArray, Vector
from dalenius.synth.syndiffix.axis import Axis, Codes
from dalenius.synth.syndiffix.moments import resolution, to_natural
from dalenius.synth.syndiffix.snapping import snap, snap_whole

Snapping = Literal["data", "minmax"]
INSIDE = 0.9999
"""The min-max frame ends here, so that the maximum lies inside the half-open cell [0, 1)."""
LARGEST = 2.0**1020
FEW = 5
"""So many values at each end, and one in a hundred, may lie outside of the frame."""
FAR = 2.0**45
"""They may where they are so many times farther apart than the others."""


@dataclass(frozen=True)
class Casting:
    """How columns are put on the grid.

    Attributes
    ----------
    snapping
        "data": grid in the units of the data, whose cells do not move when a few people come or go; "minmax": the
        reference's frame between the smallest and largest value, for comparisons.
    precision
        Finest width per column; it is snapped to the next smaller power of two.

    Examples
    --------
    >>> axis, codes = Casting().cast(Vector(Column("age", Kind.INTEGER), np.array([17, 90, 30])))
    >>> axis.base, axis.exponent, axis.wholes(codes).tolist()
    (0, 7, [17, 90, 30])
    """

    snapping: Snapping = "data"
    precision: Mapping[str, float] = field(default_factory=dict)

    def cast(self, vector: Vector) -> tuple[Axis, Codes]:
        """The axis of a column and the code of every row."""
        present, gaps = vector.present, _gaps(vector)
        values, axis = self._numbers(vector, gaps)
        axis = replace(axis, gaps=gaps) if gaps else axis.rooted(1, 0)
        if vector.state is None:
            return axis, axis.encode(values)
        codes = np.zeros(len(vector), np.int64)
        codes[present] = axis.encode(values)
        for position, state in enumerate(gaps):
            codes[vector.state == state] = axis.gap_code(position)
        return axis, codes

    def _numbers(self, vector: Vector, gaps: tuple[int, ...]) -> tuple[AnyArray, Axis]:
        column, values = vector.column, vector.values
        plain = released(column)
        if not column.kind.is_number:
            order = rank_order(column)
            ranks = order[values.astype(np.int64)] if len(order) else values.astype(np.int64)
            return self._whole(ranks, Axis(plain, "levels", 0, 0, step=1.0), (0, max(len(order) - 1, 0)))
        if column.kind is Kind.DATETIME:
            micro = values // 1000 if column.decimals == 9 else values
            axis = Axis(plain, "moment", 0, 0, step=float(resolution(micro)))
            return self._whole(to_natural(micro), axis, None)
        if column.kind is Kind.INTEGER:
            width = self.width(column.name, whole=True)
            step = 1 if width is None else max(1, round(width))
            return self._whole(
                values // step * step, Axis(plain, "whole", 0, 0, step=float(step)), _bounds(column)
            )
        return self._real(vector, plain)

    def _whole(
        self, values: AnyArray, axis: Axis, bounds: tuple[float, float] | None
    ) -> tuple[AnyArray, Axis]:
        low, high = (int(end) for end in self._extent(values))
        if bounds is not None:
            low, high = math.floor(bounds[0]), math.ceil(bounds[1])
        if self.snapping == "minmax" and axis.kind != "moment":
            return values, replace(axis, scale=(float(low), INSIDE / (high - low) if high > low else 0.0))
        lower, power = snap_whole(low, high + 1)
        return values, replace(axis, base=2 * lower >> power, exponent=power)

    def _real(self, vector: Vector, plain: Column) -> tuple[AnyArray, Axis]:
        values = np.clip(vector.values.astype(np.float64), -LARGEST, LARGEST)
        width = self.width(plain.name, whole=False)
        if width is not None:
            values = np.floor(values / width) * width
        elif plain.decimals is not None:
            values = np.round(values, plain.decimals) + 0.0
        ends = self._extent(values)
        low, high = _bounds(plain) or (float(ends[0]), float(ends[1]))
        axis = Axis(plain, "real", 0, 0, step=width or 0.0)
        if self.snapping == "minmax":
            return values, replace(axis, scale=(low, INSIDE / (high - low) if high > low else 0.0))
        lower, power = snap(low, float(np.nextafter(high, np.inf)))
        if high == low:
            lower, power = snap(low, low + abs(low) / 2 or 1.0)
        # What lies outside goes to the ends of the frame, which are the grid's and nobody's value.
        values = np.clip(values, lower, np.nextafter(lower + math.ldexp(1.0, power), -np.inf))
        return values, replace(axis, base=round(math.ldexp(lower, 1 - power)), exponent=power)

    def _extent(self, values: AnyArray) -> tuple[float, float]:
        """Smallest and largest value that the frame must hold.

        A frame has 61 bits. Where a few values are so far out that these would be spent on the emptiness before them,
        and everybody else would fall into a few cells, the frame is made for the others.
        """
        if not len(values):
            return 0, 0
        low, high = values.min().item(), values.max().item()
        few = FEW + len(values) // 100
        if self.snapping == "minmax" or len(values) <= 4 * few:
            return low, high
        ordered = np.partition(values, (few, len(values) - 1 - few))
        inner = ordered[few].item(), ordered[len(values) - 1 - few].item()
        size = max(inner[1] - inner[0], abs(inner[0]), abs(inner[1]))
        return inner if size > 0 and high - low > FAR * size else (low, high)

    def width(self, name: str, whole: bool) -> float | None:
        """Finest width of a column, snapped to a power of two; None without one."""
        if name not in self.precision:
            return None
        wanted = self.precision[name]
        real_number(f"precision of column {name!r}", wanted)
        if not 0 < wanted < math.inf:
            raise OptionError(f"column {name!r}: precision must be a positive width")
        return math.ldexp(1.0, max(math.floor(math.log2(wanted)), 0 if whole else -1000))


def rank_order(column: Column) -> Codes:
    """Rank of each level: as declared for ordered columns and booleans, sorted by text otherwise."""
    levels = column.levels or ()
    if column.kind in (Kind.ORDERED, Kind.BOOLEAN):
        return np.arange(len(levels))
    if all(isinstance(level, str) for level in levels):
        order = sorted(range(len(levels)), key=lambda i: str(levels[i]))
    else:
        order = sorted(range(len(levels)), key=lambda i: _number_first(levels[i]))
    ranks = np.empty(len(levels), np.int64)
    ranks[order] = np.arange(len(levels))
    return ranks


def _number_first(level: object) -> tuple[int, float, str]:
    if isinstance(level, (int, float)):
        return 0, float(level), ""
    return 1, 0.0, str(level)


def released(column: Column) -> Column:
    """The column without what was read off the data: bounds, levels, counts in notes."""
    declared = column.domain == "declared"
    return replace(
        column,
        bounds=column.bounds if declared else None,
        levels=column.levels if declared or column.kind is Kind.BOOLEAN else None,
        note="",
    )


def _bounds(column: Column) -> tuple[float, float] | None:
    """Declared bounds; bounds inferred from the data are two people's exact values and do not count."""
    if column.bounds is None or column.domain != "declared":
        return None
    low, high = column.bounds
    return (
        (float(low), float(high))
        if isinstance(low, (int, float)) and isinstance(high, (int, float))
        else None
    )


def _gaps(vector: Vector) -> tuple[int, ...]:
    """States that occur; a special code is a gap of its own."""
    if vector.state is None:
        return ()
    states = set(np.unique(vector.state).tolist()) - {VALUE}
    known = [MISSING, NAN, *range(SPECIAL, SPECIAL + len(vector.column.special))]
    return tuple(state for state in known if state in states)
