"""People in the data beside people outside it: what every figure of shares says of both, in per cent."""

from __future__ import annotations

from typing import TypedDict

from dalenius.core.intervals import Share
from dalenius.core.result import Interval


class Compared(TypedDict, total=False):
    """Fields of a result that tell a share inside the data, outside it, and what being in it adds."""

    interval: Interval
    outside: float
    added_interval: Interval


def compared(inside: Share, outside: Share | None, several: int = 1) -> Compared:
    """Ranges of a share and of its difference from people outside; the worst of several is told more carefully.

    Examples
    --------
    >>> import numpy as np
    >>> alone = np.arange(100)
    >>> told = compared(Share.of(alone < 22, alone), Share.of(alone < 20, alone + 100))
    >>> round(told["outside"]), print(told["added_interval"])
    [-9.31, 13.3]
    (20, None)
    """
    told = Compared(interval=inside.interval(scale=100))
    if outside is not None and outside.trials > 0:
        told["outside"] = 100 * outside.value
        told["added_interval"] = inside.above(outside, 1 - 0.05 / several, 100)
    return told
