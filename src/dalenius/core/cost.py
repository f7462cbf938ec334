"""Forecasts: what a method will cost in time and memory on a table, asked before it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from dalenius.core.errors import DaleniusError


@dataclass(frozen=True)
class Shape:
    """What a forecast may look at: rows, columns and the number of levels of each column.

    Examples
    --------
    >>> Shape(rows=1000, levels=(2, 90)).columns
    2
    """

    rows: int
    levels: tuple[int, ...]

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.levels)


@dataclass(frozen=True)
class Cost:
    """Expected CPU seconds and peak bytes beyond the table itself.

    Examples
    --------
    >>> print(Cost(seconds=90, bytes=3 * 2**30))
    about 90 s of CPU and 3.0 GB of memory
    """

    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"about {duration(self.seconds)} of CPU and {size(self.bytes)} of memory"

    def __add__(self, other: Cost) -> Cost:
        """Run one after the other: time adds up, memory is the larger of the two."""
        return Cost(self.seconds + other.seconds, max(self.bytes, other.bytes))

    def check(self, what: str, available: float | None = None) -> None:
        """Raise when the memory needed is not there.

        Examples
        --------
        >>> Cost(1, 2e9).check("cart", available=1e9)
        Traceback (most recent call last):
        ...
        dalenius.core.errors.DaleniusError: cart needs about 1.9 GB of memory and 954 MB are free; use fewer rows or
        columns, or run with force=True (--force)
        """
        free = free_bytes() if available is None else available
        if self.bytes > free:
            raise DaleniusError(
                f"{what} needs about {size(self.bytes)} of memory and {size(free)} are free; "
                "use fewer rows or columns, or run with force=True (--force)"
            )


def free_bytes() -> float:
    """Memory that is free.

    Examples
    --------
    >>> free_bytes() > 0
    True
    """
    return float(psutil.virtual_memory().available)


def duration(seconds: float) -> str:
    """Seconds for a person to read.

    Examples
    --------
    >>> duration(0.34), duration(45), duration(600), duration(9000)
    ('0.3 s', '45 s', '10 min', '2.5 h')
    """
    if seconds < 1:
        return f"{seconds:.1g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes for a person to read.

    Examples
    --------
    >>> size(900), size(3 * 2**30)
    ('900 bytes', '3.0 GB')
    """
    for unit, factor in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= factor:
            value = count / factor
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{count:.0f} bytes"


def extrapolate(rows: Sequence[float], seconds: Sequence[float], wanted: float) -> float:
    """Seconds for ``wanted`` rows from trials with ever more rows.

    A line through the last two trials (a fixed part, and a part for each row); where the growth slackens from trial to
    trial, as with fits that need no more rounds for more rows, a power of the rows instead. Never less than the last
    trial took.

    Examples
    --------
    >>> extrapolate([100, 400], [0.2, 0.5], 1000)
    1.1
    >>> extrapolate([100, 400, 1600], [0.1, 0.5, 0.5], 6400)
    0.5
    """
    last = seconds[-1]
    if len(rows) < 2 or wanted <= rows[-1]:
        return last
    slopes = [(t - s) / (m - n) for n, m, s, t in zip(rows, rows[1:], seconds, seconds[1:], strict=False)]
    if slopes[-1] <= 0 or seconds[-2] <= 0:
        return last
    if len(slopes) > 1 and slopes[-1] < slopes[-2] / 2:
        power = math.log(last / seconds[-2]) / math.log(rows[-1] / rows[-2])
        return last * (wanted / rows[-1]) ** power
    return last + slopes[-1] * (wanted - rows[-1])
