"""Small cells: what rests on few original records is not shown, and this is the one place where it is taken out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.subtraction import Sum, withheld

THRESHOLD = 10
"""Fewest original records behind anything that is shown, unless a pair is given another number."""


def withhold(table: pl.DataFrame, counts: Sequence[str], threshold: int) -> pl.DataFrame:
    """Rows of a table that rest on no record or on enough of them; ``counts`` are its columns of original records.

    Whoever knows how many records there are in all gets no other row by subtraction: the smallest go with it.

    Examples
    --------
    >>> table = pl.DataFrame({"group": ["a", "b", "c"], "rows": [6, 40, 90], "median": [71.5, 40.0, 35.5]})
    >>> withhold(table, ["rows"], 10)["group"].to_list()
    ['c']
    """
    hidden = np.zeros(len(table), bool)
    for name in counts:
        held = table[name].fill_null(0).to_numpy()
        hidden |= withheld(held, [Sum(np.arange(len(held)))], threshold)
    return table.filter(~hidden) if hidden.any() else table
