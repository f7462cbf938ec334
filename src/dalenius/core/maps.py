"""The risk–utility map: utility to the right, risk downwards, so the best corner is bottom right."""

from __future__ import annotations

import altair as alt
import polars as pl

from dalenius.core.style import ORIGINAL, QUIET, RISK


def risk_utility_map(points: pl.DataFrame, width: int = 560, height: int = 320) -> alt.LayerChart:
    """Candidates as points with intervals; the ones nobody beats in both ways are filled and joined.

    Columns: candidate, risk, risk_low, risk_high, utility, risk_title, utility_title, utility_better, original_risk.
    """
    first = points.row(0, named=True)
    marked = points.with_columns(pl.Series("best", frontier(points)))
    better_left = first["utility_better"] == "lower"
    x = alt.X(
        "utility:Q",
        title=f"{first['utility_title']}  →  better",
        scale=alt.Scale(type="symlog", reverse=better_left, nice=True, padding=20),
        axis=alt.Axis(tickCount=6, format="~g"),
    )
    y = alt.Y("risk:Q", title=f"{first['risk_title']}, %  ↓  better", scale=alt.Scale(type="symlog", nice=True, padding=10))
    base = alt.Chart(marked.to_arrow()).properties(width=width, height=height)
    layers = []
    if first["original_risk"] is not None:
        level = alt.Chart(points.head(1).to_arrow()).mark_rule(color=ORIGINAL, strokeDash=[2, 3]).encode(y="original_risk:Q")
        word = (
            alt.Chart(points.head(1).to_arrow())
            .mark_text(align="left", dx=4, dy=-6, color=ORIGINAL, text="the original itself")
            .encode(y="original_risk:Q", x=alt.value(0))
        )
        layers += [level, word]
    layers.append(
        base.transform_filter("datum.best")
        .mark_line(color=RISK, strokeDash=[5, 4], opacity=0.5)
        .encode(x=x, y=y, order=alt.Order("utility:Q"))
    )
    layers.append(base.mark_rule(color=QUIET).encode(x=x, y=alt.Y("risk_low:Q", title=None), y2="risk_high:Q"))
    layers.append(
        base.mark_point(size=90, strokeWidth=2).encode(
            x=x,
            y=y,
            color=alt.condition("datum.best", alt.value(RISK), alt.value(QUIET)),
            fill=alt.condition("datum.best", alt.value(RISK), alt.value("white")),
            tooltip=["candidate", alt.Tooltip("risk:Q", format=".3g"), alt.Tooltip("utility:Q", format=".3g")],
        )
    )
    layers.append(
        base.mark_text(align="left", dx=10, dy=-8, fontSize=12, fontWeight=600).encode(x=x, y=y, text="candidate:N")
    )
    return alt.layer(*layers)


def frontier(points: pl.DataFrame) -> list[bool]:
    """Which candidates nobody beats in risk and utility at once.

    Examples
    --------
    >>> points = pl.DataFrame({"risk": [1, 2, 3], "utility": [9, 5, 6], "utility_better": ["lower"] * 3})
    >>> frontier(points)
    [True, True, False]
    """
    sign = 1 if points["utility_better"][0] == "lower" else -1
    pairs = [(float(r), sign * float(u)) for r, u in zip(points["risk"], points["utility"], strict=True)]
    return [
        not any(r <= mine[0] and u <= mine[1] and (r, u) != mine for r, u in pairs)
        for mine in pairs
    ]
