"""The table of two columns in the original and in a protected file, without its small cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.style import HEAT
from dalenius.core.subtraction import Sum, withheld
from dalenius.counts.pair import Pair

MOST_LEVELS, FEW_LEVELS = 14, 6


@dataclass(frozen=True)
class Cells:
    """Shares of the cells of a two-way table in both files; a cell that few original records have is not there."""

    columns: tuple[str, str]
    data: pl.DataFrame
    hidden: int
    """Cells left out because too few original records are in them, or others would follow by subtraction."""


def pair_cells(pair: Pair, first: str, second: str) -> Cells:
    """Cells of the table of two columns that enough original records share, by the threshold of the pair.

    Whoever knows the counts of both columns gets no other cell by subtraction.

    Examples
    --------
    >>> data = {"a": ["x"] * 30 + ["y"] * 20, "b": ["u"] * 29 + ["v"] * 21}
    >>> cells = pair_cells(Pair(data, data), "a", "b")
    >>> cells.data["original"].to_list(), cells.hidden
    ([], 3)
    """
    counted = pair.counts([first, second])
    labels = counted.original.labels
    dense = [np.asarray(side.dense(), dtype=np.float64) for side in (counted.original, counted.protected)]
    kept = [_frequent(dense[0].sum(axis=1 - axis)) for axis in (0, 1)]
    shares = [table / max(table.sum(), 1.0) for table in dense]
    rows: list[dict[str, Any]] = []
    places = np.arange(dense[0].size).reshape(dense[0].shape)
    sums = [Sum(line) for line in (*places, *places.T)]
    codes = [pair.categories(name).original.codes.astype(np.int64) for name in (first, second)]
    owners = pair.units.owners(codes[0] * dense[0].shape[1] + codes[1], dense[0].size)
    hidden = withheld(dense[0].ravel(), sums, pair.threshold, owners).reshape(dense[0].shape)
    for i in kept[0]:
        for j in kept[1]:
            if dense[0][i, j] > 0 and not hidden[i, j]:
                shown = {"original": shares[0][i, j], "protected": shares[1][i, j]}
                rows.append({"first": str(labels[0][i]), "second": str(labels[1][j]), **shown})
    schema = {"first": pl.String, "second": pl.String, "original": pl.Float64, "protected": pl.Float64}
    there = int(np.count_nonzero(hidden[np.ix_(*kept)]))
    return Cells((first, second), pl.DataFrame(rows, schema=schema), there)


def _frequent(counts: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    order = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    return sorted(int(i) for i in order if counts[i] > 0)


def cells_chart(cells: Cells, side: str, highest: float, width: int = 400) -> alt.LayerChart:
    """One file's shares as a heat map; the same colours mean the same shares in every file."""
    first, second = cells.columns
    orders = [cells.data[name].unique(maintain_order=True).to_list() for name in ("first", "second")]
    few = len(orders[1]) <= FEW_LEVELS
    base = alt.Chart(cells.data.to_arrow()).encode(
        x=alt.X(
            "second:N",
            sort=orders[1],
            title=second,
            axis=alt.Axis(labelLimit=90, labelAngle=0 if few else -40, orient="top", ticks=False),
        ),
        y=alt.Y("first:N", sort=orders[0], title=first, axis=alt.Axis(labelLimit=110, ticks=False)),
        tooltip=[
            alt.Tooltip("first:N", title=first),
            alt.Tooltip("second:N", title=second),
            alt.Tooltip("original:Q", format=".1%"),
            alt.Tooltip("protected:Q", format=".1%"),
        ],
    )
    scale = alt.Scale(range=list(HEAT), domain=[0, highest])
    heat = base.mark_rect(stroke="white").encode(color=alt.Color(f"{side}:Q", scale=scale, legend=None))
    figures = base.mark_text(fontSize=11).encode(
        text=alt.Text(f"{side}:Q", format=".1%" if few else ".0%"),
        color=alt.condition(f"datum.{side} > {0.55 * highest}", alt.value("white"), alt.value("#1B2733")),
    )
    return (heat + figures).properties(width=width, height={"step": 26})
