"""Seeded samples of rows, so that heavy measures stay affordable and repeat exactly."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import IntArray

SEED = 20240925
"""Seed of measures that draw samples, when the caller gives none: the same file gets the same figure."""


def some_rows(rows: int, most: int | None, seed: Seed, *path: str | int) -> IntArray:
    """At most so many of the rows, in their order.

    Examples
    --------
    >>> some_rows(3, 10, 1).tolist(), len(some_rows(100, 10, 1))
    ([0, 1, 2], 10)
    """
    if most is not None and most < 1:
        raise OptionError(f"{most} rows or people are too few to measure; use 1 or more")
    if most is None or rows <= most:
        return np.arange(rows)
    return np.sort(generator(seed, *path).choice(rows, most, replace=False))
