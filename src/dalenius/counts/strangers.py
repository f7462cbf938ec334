"""Whether the people set aside are strangers: a holdout that holds people of the data is no yardstick.

Rows that look alike need not be one person's: in a file of few columns many people share a row. But if the two files
hold different people of one population, it is a matter of chance which of the rows that look alike are in the one and
which in the other, as in a deal of cards: of two equal rows both are in the same file about as often as one is in each.
Copied people are always in both, so that too many equal rows stand across the files. How many are too many follows from
the deal alone, whatever the columns are.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.later import stats
from dalenius.data.vector import IntArray

SIZES = (2, 4, 16, 64, 2**62)
"""Rows that look alike, up to so many: rare rows show copies of a few people, frequent ones those of many."""
BY_CHANCE = 1e-6
"""Chance that people of a holdout who are strangers are taken for people of the data."""
MOST = 0.05
"""Share of a holdout that may be in the data before nothing is measured with it."""


def in_both(original: IntArray, holdout: IntArray) -> float:
    """Share of the holdout that is in the data too, beyond what chance explains; 0 where it explains all.

    Parameters
    ----------
    original, holdout
        How often each distinct row is in the two files.

    Examples
    --------
    >>> once, never = np.ones(300, np.int64), np.zeros(300, np.int64)
    >>> in_both(once, once), in_both(np.append(once, never), np.append(never, once))
    (1.0, 0.0)
    >>> alike = np.full(3, 100)
    >>> in_both(alike, alike)  # three kinds of people, as many of each: that happens
    0.0
    """
    both = original + holdout
    total, aside = int(both.sum()), int(holdout.sum())
    if not 0 < aside < total:
        return 0.0
    across = 2 * aside / total * (1 - aside / total)  # the chance that two rows are dealt to different files
    share = 0.0
    for most in SIZES:
        some = (both > 1) & (both <= most)
        size = both[some].astype(np.float64)
        pairs = size * (size - 1) / 2
        crossed = (original[some].astype(np.float64) * holdout[some]).sum()
        more = crossed - across * pairs.sum()
        if more > 0 and _chance(crossed, size, across) < BY_CHANCE / len(SIZES):
            share = max(share, float(more / (1 - across) / aside))
    return min(share, 1.0)


def _chance(crossed: float, size: np.ndarray[tuple[int], np.dtype[np.float64]], across: float) -> float:
    """At most so likely are that many pairs across the files.

    Pairs of two rows are independent throws. Of larger groups the number of rows dealt to one file is binomial; the
    variance of its pairs comes from factorial moments, and Bernstein's inequality bounds the chance for all of them.
    """
    if size.max() == 2:
        return float(stats.binom.sf(crossed - 1, len(size), across))
    mean = size * (size - 1) / 2 * across
    half = across / 2
    square = (
        size * (size - 1) * ((size - 2) * (size - 3) * half**2 + (size - 2) * half + half)
    )  # of the pairs, expected
    variance = float((square - mean**2).sum())
    most = float((size**2 / 4 - mean).max())
    more = crossed - float(mean.sum())
    return math.exp(-(more**2) / (2 * (variance + most * more / 3)))
