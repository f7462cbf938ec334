"""Small cells: what rests on few original records is not shown, and this is the one place where it is taken out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

THRESHOLD = 10
"""Fewest original records behind anything that is shown, unless a pair is given another number."""


def withhold(table: pl.DataFrame, counts: Sequence[str], threshold: int) -> pl.DataFrame:
    """Rows of a table that rest on no record or on enough of them; ``counts`` are its columns of original records.

    Examples
    --------
    >>> table = pl.DataFrame({"group": ["a", "b"], "rows": [16, 90], "median": [71.5, 40.0]})
    >>> withhold(table, ["rows"], 60)["group"].to_list()
    ['b']
    """
    few = [(pl.col(name) > 0) & (pl.col(name) < threshold) for name in counts]
    return table.filter(~pl.any_horizontal(few)) if few else table
