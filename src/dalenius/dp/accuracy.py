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


def laplace_peak(scale: float) -> float:
    """Excess kurtosis of discrete Laplace noise, the difference of two geometric numbers.

    Examples
    --------
    >>> round(laplace_peak(10.0), 3)
    3.005
    """
    return 3 - math.expm1(-1 / scale) * math.expm1(1 / scale) / 2


def error_within(variance: float, fourth: float = 0.0, shift: float = 0.0, level: float = LEVEL) -> float:
    """The x such that an error of this variance and fourth cumulant, around ``shift``, stays within ±x so often.

    The quantile of a normal error, corrected for heavier tails (Cornish and Fisher 1938).

    Examples
    --------
    >>> round(error_within(1.0), 2), round(error_within(1.0, shift=1.0), 2), round(error_within(1.0, 3.0), 2)
    (1.96, 2.65, 2.17)
    """
    if variance == 0:
        return abs(shift)
    normal = float(special.ndtri((1 + level) / 2))
    deviation = math.sqrt(variance) * (1 + fourth / variance**2 * (normal**2 - 3) / 24)
    low, high = 0.0, abs(shift) + 10 * deviation
    for _ in range(60):
        middle = (low + high) / 2
        inside = special.ndtr((middle - shift) / deviation) - special.ndtr((-middle - shift) / deviation)
        low, high = (low, middle) if inside >= level else (middle, high)
    return high
