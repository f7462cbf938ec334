"""When an intruder is sure: evidence nearer than protected records usually are to one another.

He sees the protected file, so he knows how near its records come to each other. A protected record much nearer to a
person than that is worth believing; a far one is not, and he keeps silent. This costs him few right guesses and most of
the lucky ones, so that what remains tells more.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.random import Seed, some_rows
from dalenius.risk.distance.space import Index, Points

SURE = 0.25
ENOUGH = 1000


def sure_distance(index: Index, protected: Points, share: float, seed: Seed) -> float:
    """Distance within which a share of the protected records have a fellow (all of them: no limit).

    Examples
    --------
    >>> from dalenius import Pair
    >>> from dalenius.risk.distance.space import Space
    >>> space = Space.of(Pair({"x": [0.0, 10.0]}, {"x": [0.0, 1.0, 4.0, 9.0]}))
    >>> sure_distance(Index(space, space.protected), space.protected, 0.5, 1)
    0.2
    """
    if share == 1 or len(protected) < 2:
        return float("inf")
    rows = some_rows(len(protected), ENOUGH, seed, "sure")
    found = index.search(protected.take(rows), 2)
    # a record finds itself first, unless a twin stands before it: the second is then the distance to a fellow too
    return float(np.quantile(found.distance[:, 1], share))
