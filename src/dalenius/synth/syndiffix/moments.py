"""Moments on natural boundaries: year, month, day, hour, minute and second as bit fields of one whole number.

Each field is as wide as the next power of two allows (12 months in 16 places), so every cell of a power-of-two grid
over these numbers starts and ends at a natural boundary: a year, a month, a day, eight hours.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dalenius.data.vector import AnyArray

Whole = npt.NDArray[np.int64]
FIELDS = (4, 5, 5, 6, 6, 20)
"""Bits for month, day, hour, minute, second, microsecond; the year is above them."""
SECOND = 1_000_000
UNITS = (86_400 * SECOND, 3600 * SECOND, 60 * SECOND, SECOND, 1)
"""Resolutions a column may have, coarsest first, in microseconds."""
UNIT_BITS = dict(zip(UNITS, (37, 32, 26, 20, 0), strict=True))
"""Bits of a natural number below each resolution."""


def to_natural(microseconds: AnyArray) -> Whole:
    """Natural number of moments given as microseconds since 1970.

    Examples
    --------
    >>> bin(int(to_natural(np.array([0]))[0]) >> 46)  # the year 1970
    '0b11110110010'
    """
    stamps = microseconds.astype("datetime64[us]")
    months = stamps.astype("datetime64[M]")
    days = stamps.astype("datetime64[D]")
    month_number = months.astype(np.int64) + 1970 * 12
    in_day = (stamps - days).astype(np.int64)
    fields = (
        month_number % 12,
        (days - months.astype("datetime64[D]")).astype(np.int64),
        in_day // (3600 * SECOND),
        in_day // (60 * SECOND) % 60,
        in_day // SECOND % 60,
        in_day % SECOND,
    )
    result = month_number // 12
    for bits, part in zip(FIELDS, fields, strict=True):
        result = (result << bits) | part
    return result


def from_natural(natural: AnyArray) -> Whole:
    """First moment at or after a natural number; places that no calendar has (month 13) mean what comes next.

    Examples
    --------
    >>> moments = np.array(["2024-02-29T23:59", "1969-07-20T20:17"], "datetime64[us]").astype(np.int64)
    >>> bool(np.all(from_natural(to_natural(moments)) == moments))
    True
    """
    rest = natural.astype(np.int64)
    parts = []
    for bits in reversed(FIELDS):
        parts.append(rest & ((1 << bits) - 1))
        rest = rest >> bits
    micro, second, minute, hour, day, month = parts
    months = (rest - 1970) * 12 + np.minimum(month, 12)
    over = month >= 12
    start = months.astype("datetime64[M]")
    length = ((start + 1).astype("datetime64[D]") - start.astype("datetime64[D]")).astype(np.int64)
    result = start.astype("datetime64[us]").astype(np.int64)
    for value, limit, unit in (
        (day, length, UNITS[0]),
        (hour, 24, UNITS[1]),
        (minute, 60, UNITS[2]),
        (second, 60, UNITS[3]),
        (micro, SECOND, 1),
    ):
        # Once a coarser field has run over, the finer ones no longer count.
        result = np.where(over, result, result + np.minimum(value, limit) * unit)
        over = over | (value >= limit)
    return result


def resolution(microseconds: AnyArray) -> int:
    """Coarsest of day, hour, minute, second, microsecond that all moments are multiples of.

    Examples
    --------
    >>> resolution(np.array([0, 86_400_000_000]))
    86400000000
    """
    for unit in UNITS:
        if np.all(microseconds % unit == 0):
            return unit
    return 1
