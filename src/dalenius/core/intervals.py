"""Intervals for shares of records."""

from __future__ import annotations

import math
from statistics import NormalDist

from dalenius.core.result import Interval


def wilson(successes: float, trials: float, level: float = 0.95, scale: float = 1.0) -> Interval:
    """Wilson score interval of a proportion, times ``scale`` (100 for per cent).

    It behaves at 0 and at 1, where the usual normal interval has no width (Wilson 1927).

    Examples
    --------
    >>> print(wilson(0, 100, scale=100))
    [0, 3.7]
    """
    if trials <= 0:
        return Interval(0.0, scale, level)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Interval(low * scale, high * scale, level)
