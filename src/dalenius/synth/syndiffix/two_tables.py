"""`stitch_tables`: two finished synthetic tables joined on the columns that they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, generator
from dalenius.data.table import Table
from dalenius.synth.syndiffix.stitching import ROOF, Drawn, join

LEFT, RIGHT = -1, -2
"""Columns that say which row of either table a joined row came from."""


def stitch_tables(left: Any, right: Any, *, shared: bool = True, seed: Seed = None) -> Table:
    """Rows of two synthetic tables side by side, matched by their common columns.

    No row of one belongs to a row of the other: rows are matched where the common columns agree or are near, so that
    the tables say together what follows from their common columns.

    Parameters
    ----------
    left, right
        Tables or frames of any kind with at least one column in common.
    shared
        Take common columns from both tables in turn, and as many rows as both have on average; otherwise rows and
        common columns of the left one.

    Examples
    --------
    >>> left = {"sex": ["f", "m"] * 30, "work": ["yes", "no"] * 30}
    >>> right = {"sex": ["f", "m"] * 30, "dress": ["skirt", "suit"] * 30}
    >>> made = stitch_tables(left, right, seed=1).to_frame("polars")
    >>> made.select("work", "dress").unique().sort("work").rows()
    [('no', 'suit'), ('yes', 'skirt')]
    """
    first, second = (Table.from_frame(side).to_frame("polars") for side in (left, right))
    common = [name for name in first.columns if name in second.columns]
    if not common:
        raise DataError("the tables have no column in common; stitch tables that share one")
    if not first.height or not second.height:
        raise DataError("a table without rows cannot be stitched; draw some rows")
    codes = [_codes(first[name], second[name]) for name in common]
    sides = []
    for number, (mark, frame) in enumerate(((LEFT, first), (RIGHT, second))):
        held = {i: pair[number] for i, pair in enumerate(codes)} | {mark: np.arange(frame.height)}
        sides.append(Drawn(held, {i: np.full(frame.height, -1, np.int64) for i in held}))
    made = join(sides[0], sides[1], range(len(common)), shared, generator(seed, "stitch")).codes
    one, two = first[made[LEFT]], second[made[RIGHT]]
    odd = pl.Series(np.arange(one.height) % 2 == 1) & shared
    turn = [two[name].cast(one[name].dtype).zip_with(odd, one[name]).alias(name) for name in common]
    return Table.from_frame(one.with_columns(turn).hstack(two.drop(common)))


def _codes(first: pl.Series, second: pl.Series) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Both columns on one scale that keeps the order of their values; gaps lie at its beginning."""
    if not (first.dtype.is_numeric() and second.dtype.is_numeric()) and first.dtype != second.dtype:
        first, second = first.cast(pl.String), second.cast(pl.String)
    ranks = pl.concat([first.to_frame(), second.to_frame()], how="vertical_relaxed").to_series().rank("dense")
    places = ranks.fill_null(0).to_numpy().astype(np.int64) * (ROOF // (int(ranks.max() or 0) + 1))  # type: ignore[arg-type]
    return places[: len(first)], places[len(first) :]
