"""How far noise moves a figure, "within ±x in 95 % of draws": by the law of the noise, not by looking at the data."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

LEVEL = 0.95


def laplace_within(scale: float, level: float = LEVEL) -> int:
    """Smallest x such that discrete Laplace noise stays within ±x with chance ``level`` or more.

    P(abs(Z) > x) = 2 p^(x+1) / (1 + p) with p = exp(-1 / scale).

    Examples
    --------
    >>> laplace_within(10.0)
    30
    """
    p = math.exp(-1 / scale)
    if p == 0:
        return 0
    # The slack forgives rounding where the bound is met exactly.
    return max(0, math.ceil(scale * (math.log(2 / (1 + p)) - math.log1p(-level)) - 1 - 1e-9))


def gaussian_within(scale: float, level: float = LEVEL) -> int:
    """Smallest x such that discrete Gaussian noise stays within ±x with chance ``level`` or more.

    Examples
    --------
    >>> gaussian_within(10.0)
    20
    """
    reach = math.ceil(40 * scale) + 1
    chances = np.exp(-(np.arange(reach) ** 2) / (2 * scale**2))
    inside = (2 * np.cumsum(chances) - chances[0]) / (2 * chances.sum() - chances[0])
    return int(np.searchsorted(inside, level - 1e-12))


def normal_within(deviation: float, shift: float = 0.0, level: float = LEVEL) -> float:
    """The x such that a normal error with this deviation, around ``shift``, stays within ±x with chance ``level``.

    Examples
    --------
    >>> round(normal_within(1.0), 2), round(normal_within(1.0, shift=1.0), 2)
    (1.96, 2.65)
    """
    if deviation == 0:
        return abs(shift)
    low, high = 0.0, abs(shift) + 10 * deviation
    for _ in range(60):
        middle = (low + high) / 2
        inside = special.ndtr((middle - shift) / deviation) - special.ndtr((-middle - shift) / deviation)
        low, high = (low, middle) if inside >= level else (middle, high)
    return high
