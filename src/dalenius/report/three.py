"""The three pictures of a file: shapes of the worst columns, the worst pairs, and who is exposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.result import Result, figure
from dalenius.core.style import HOLDOUT, RISK
from dalenius.counts.pair import Pair
from dalenius.evaluation import Evaluation
from dalenius.report.uses import tables_of
from dalenius.utility.charts import ranked_bars
from dalenius.utility.tables import GONE

WORST_COLUMNS, WORST_PAIRS, MOST_DRAWN = 6, 10, 60


@dataclass(frozen=True)
class Shape:
    """How much of a column's distribution is the same in both files, in per cent."""

    column: str
    overlap: float


def column_shapes(pair: Pair, columns: Sequence[str]) -> list[Shape]:
    """Overlap of each column's distribution in the two files, numbers in groups, the least alike first.

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 20, "b": ["u", "v"] * 10}, {"a": ["x"] * 20, "b": ["u"] * 20})
    >>> [(shape.column, shape.overlap) for shape in column_shapes(pair, ["a", "b"])]
    [('b', 50.0), ('a', 100.0)]
    """
    shapes = []
    for name in columns:
        held = pair.categories(name)
        size = len(held.original.labels)
        one, two = (
            np.bincount(side.codes.astype(np.int64), minlength=size) / max(len(side.codes), 1)
            for side in (held.original, held.protected)
        )
        shapes.append(Shape(name, round(100 * float(np.minimum(one, two).sum()), 1)))
    return sorted(shapes, key=lambda shape: shape.overlap)


def worst_pairs(evaluation: Evaluation) -> dict[str, Any] | None:
    """The two-way tables that are furthest off, as a chart with the two limits, and in words."""
    result = tables_of(evaluation.results)
    table = None if result is None else result.shown
    if table is None or not len(table) or not {"first", "second", "S_pMSE"} <= set(table.columns):
        return None
    if "reading" in table.columns:
        table = table.filter(pl.col("reading") != GONE)
    worst = table.sort("S_pMSE", descending=True, nulls_last=True).head(WORST_PAIRS)
    named = worst.select(pl.format("{} × {}", "first", "second").alias("pair"), "S_pMSE")
    said = "; ".join(f"{pair} {figure(value)}" for pair, value in named.head(4).iter_rows())
    return {
        "chart": ranked_bars(named, "pair", limit=WORST_PAIRS, width=230),
        "words": f"Furthest off: {said}",
    }


def exposed(evaluation: Evaluation) -> dict[str, Any] | None:
    """For each risk in per cent: of people in the data and of strangers, to how many it happens."""
    rows: list[dict[str, Any]] = []
    for result in evaluation.family("risk"):
        if result.unit != "%":
            continue
        rows.append(
            _row(result, "people in the data", result.value if result.level is None else result.level)
        )
        if result.outside is not None:
            rows.append(_row(result, "people who are not in it", result.outside))
    rows = [row for row in rows if np.isfinite(row["percent"])]
    if not rows:
        return None
    words = ["people in the data", "people who are not in it"]
    chart = (
        alt.Chart(pl.DataFrame(rows).to_arrow())
        .mark_bar(height={"band": 0.9})
        .encode(
            y=alt.Y("risk:N", sort=None, title=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False)),
            yOffset=alt.YOffset("of:N", sort=words),
            x=alt.X("percent:Q", title="per cent of people", scale=alt.Scale(domainMin=0)),
            color=alt.Color(
                "of:N", title=None, scale=alt.Scale(domain=words, range=[RISK, HOLDOUT]),
                legend=alt.Legend(orient="bottom", direction="vertical", labelLimit=240),
            ),
            tooltip=[alt.Tooltip("risk"), alt.Tooltip("of"), alt.Tooltip("percent:Q", format=".3g")],
        )
        .properties(width=150, height={"step": 10})
    )  # fmt: skip
    said = "; ".join(f"{row['risk']}, {row['of']}: {row['percent']:.3g} %" for row in rows)
    return {"chart": chart, "words": said}


def _row(result: Result, of: str, percent: float) -> dict[str, Any]:
    return {"risk": result.title, "of": of, "percent": float(percent)}
