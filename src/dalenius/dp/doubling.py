"""Ends of a number that nobody declared: counts of doubling intervals, noised, of which the outermost clear ones count.

Intervals ±[2^k, 2^(k+1)) are the same for every column, so they say nothing about the data; an end is a power of two
and no one's value.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.data.vector import IntArray
from dalenius.dp.accuracy import laplace_within
from dalenius.dp.noise import FloatArray

_POWERS = np.arange(-20, 61)
EDGES: FloatArray = np.concatenate([-(2.0 ** _POWERS[::-1]), [0.0], 2.0**_POWERS])
CELLS = len(EDGES) - 1
RARE = 0.01
"""Chance that any of the empty intervals stands out."""


def doubling_counts(values: FloatArray) -> IntArray:
    """How many numbers lie in each interval; those beyond the last count in it.

    Examples
    --------
    >>> counts = doubling_counts(np.array([3.0, 3.5, -1.0]))
    >>> [(float(EDGES[i]), int(counts[i])) for i in np.flatnonzero(counts)]
    [(-1.0, 1), (2.0, 2)]
    """
    places = np.clip(np.searchsorted(EDGES, np.asarray(values, np.float64), side="right") - 1, 0, CELLS - 1)
    return np.bincount(places, minlength=CELLS)


def clear_ends(noisy: IntArray, within: float) -> tuple[float, float] | None:
    """Ends of the outermost intervals whose count is beyond the noise; None where none is.

    Examples
    --------
    >>> clear_ends(50 * doubling_counts(np.array([3.0, 20.0])), 10)
    (2.0, 32.0)
    """
    clear = np.flatnonzero(noisy > within)
    return (float(EDGES[clear[0]]), float(EDGES[clear[-1] + 1])) if len(clear) else None


def sum_within(scale: float, draws: int, level: float) -> float:
    """How far the sum of several draws of Laplace noise goes with chance ``level`` or more.

    The smaller of two bounds: each draw within its own share, or Chan, Shi and Song 2011, Lemma 2.8.

    Examples
    --------
    >>> sum_within(10.0, 1, 0.95) == laplace_within(10.0, 0.95), sum_within(10.0, 100, 0.95) < 100 * 30
    (True, True)
    """
    each = draws * laplace_within(scale, 1 - (1 - level) / draws)
    tail = math.log(2 / (1 - level))
    return min(float(each), scale * math.sqrt(8 * tail) * max(math.sqrt(draws), math.sqrt(tail)))
