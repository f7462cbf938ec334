"""Coefficient plot: estimates with their intervals, original beside synthetic."""

from __future__ import annotations

import polars as pl

from dalenius.core import style
from dalenius.core.later import altair as alt


def coefficient_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the table of a comparison, in standard errors of the original so that all coefficients share an axis."""
    scaled = [
        table.select(
            "coefficient",
            pl.lit(label).alias("file"),
            *((pl.col(c) / pl.col("original_se")).alias(new) for c, new in columns.items()),
        )
        for label, columns in (
            ("original", {"original": "estimate", "original_low": "low", "original_high": "high"}),
            ("synthetic", {"synthetic": "estimate", "low": "low", "high": "high"}),
        )
    ]
    data = pl.concat(scaled).to_arrow()
    colour = alt.Color(
        "file:N",
        scale=alt.Scale(domain=["original", "synthetic"], range=[style.ORIGINAL, style.PROTECTED]),
        title=None,
    )
    y = alt.Y("coefficient:N", sort=table["coefficient"].to_list(), title=None)
    offset = alt.YOffset("file:N", sort=["original", "synthetic"])
    base = alt.Chart(data).encode(y=y, yOffset=offset, color=colour)
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="estimate in standard errors of the original"), x2=alt.X2("high:Q")
    )
    points = base.mark_point(filled=True, size=50).encode(
        x=alt.X("estimate:Q"),
        tooltip=[alt.Tooltip("coefficient"), alt.Tooltip("file"), alt.Tooltip("estimate:Q", format=".3g")],
    )
    zero = (
        alt.Chart(pl.DataFrame({"x": [0]}).to_arrow())
        .mark_rule(color="#999999", strokeDash=[4, 3])
        .encode(x=alt.X("x:Q"))
    )
    return alt.layer(zero, lines, points).properties(width=420, height=alt.Step(14))
