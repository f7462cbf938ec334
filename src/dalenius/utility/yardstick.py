"""The yardstick of people outside the data: how far real people would be from the original, were they the file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.core.random import DEFAULT_SEED, generator
from dalenius.counts.pair import Pair


def held_out(pair: Pair) -> Pair | None:
    """The original beside as many people of the holdout as the protected file has records.

    People are drawn with all their rows, but for the last, who has as many as there is room for. A small file is
    further from the original by chance alone, so that a holdout smaller than the protected file is no yardstick for it:
    None.

    Examples
    --------
    >>> pair = Pair({"a": [1, 2, 3]}, {"a": [1, 2]}, {"a": [3, 4, 5]})
    >>> held_out(pair).protected.rows
    2
    >>> held_out(Pair({"a": [1, 2, 3]}, {"a": [1, 2]}, {"a": [3]})) is None
    True
    """
    rows = pair.protected.rows
    if pair.holdout is None or not rows or pair.holdout.rows < rows:
        return None
    owners = pair.holdout_units
    turn = generator(DEFAULT_SEED, "held out").permutation(owners.count)
    if owners.codes is not None:  # rows in the order in which their people are drawn
        place = np.argsort(turn)
        turn = np.argsort(place[owners.codes], kind="stable")
    some = np.sort(turn[:rows])
    beside = Pair(pair.original, pair.holdout.take(some), grouping=pair.grouping)
    beside.unmasked, beside.units = pair.unmasked, pair.units
    held = pair.designs.holdout
    beside.designs = replace(pair.designs, protected=None if held is None else held.take(some), holdout=None)
    return beside
