"""Snapping: ranges come only from a fixed grid of powers of two, whatever the data."""

from __future__ import annotations

import math


def snap(low: float, high: float) -> tuple[float, int]:
    """Smallest snapped range that holds [low, high]: its lower bound and the power of two of its size.

    The size is a power of two and the lower bound a multiple of half of it, so that a range says nothing about the
    exact extremes.

    Examples
    --------
    >>> snap(11, 21)
    (8.0, 4)
    >>> snap(0.66, 0.9)
    (0.5, -1)
    >>> snap(-6, 2)
    (-8.0, 4)
    """
    width = high - low
    power = 0 if width == 0 else _next_power(width)
    lower = _floor(low, power - 1)
    # A range across a multiple of its half needs the next size; two rounds always suffice.
    while math.ldexp(1.0, power) < high - lower:
        power = _next_power(high - lower)
        lower = _floor(lower, power - 1)
    return lower, power


def snap_whole(low: int, end: int) -> tuple[int, int]:
    """The same for whole numbers low … end - 1, in exact arithmetic.

    Examples
    --------
    >>> snap_whole(17, 91)
    (0, 7)
    >>> snap_whole(2**60, 2**60 + 1)
    (1152921504606846976, 0)
    """
    power = (end - low - 1).bit_length()
    lower = low
    while True:
        half = max((1 << power) >> 1, 1)
        lower = lower // half * half
        if lower + (1 << power) >= end:
            return lower, power
        power = (end - lower - 1).bit_length()


def _next_power(width: float) -> int:
    fraction, power = math.frexp(width)
    return power - 1 if fraction == 0.5 else power


def _floor(value: float, power: int) -> float:
    """Multiple of 2 ** power at or below a value; values already coarser than that stay."""
    try:
        return math.ldexp(math.floor(math.ldexp(value, -power)), power)
    except OverflowError:
        return value
