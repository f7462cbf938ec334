"""The risk–utility map: utility to the right, risk downwards, so the best corner is bottom right."""

from __future__ import annotations

import altair as alt
import polars as pl

from dalenius.core.style import ORIGINAL, QUIET, RISK


def risk_utility_map(points: pl.DataFrame, width: int = 560, height: int = 320) -> alt.TopLevelMixin:
    """Candidates as points with intervals; the ones nobody beats in both ways are filled and joined.

    Columns: candidate, risk, risk_low, risk_high, utility, risk_title, utility_title, utility_better, original_risk.
    """
    first = points.row(0, named=True)
    marked = points.with_columns(pl.Series("best", frontier(points)))
    better_left = first["utility_better"] == "lower"
    far = max(float(points["utility"].max() or 0), 1.0)  # type: ignore[arg-type]
    x = alt.X(
        "utility:Q",
        title=f"{first['utility_title']}  →  better",
        scale=alt.Scale(type="symlog", reverse=better_left, domain=[0, 1.25 * far]),
        axis=alt.Axis(values=_ticks(far), format=","),
    )
    top = max(float(points["risk"].max() or 0), float(first["original_risk"] or 0), 1.0)  # type: ignore[arg-type]
    scale = alt.Scale(type="symlog", domain=[0, 1.25 * top])
    axis = alt.Axis(values=_ticks(top), format=",")

    def y_of(name: str) -> alt.Y:
        return alt.Y(f"{name}:Q", title=[first["risk_title"], "↓ better"], scale=scale, axis=axis)

    y = y_of("risk")
    base = alt.Chart(marked.to_arrow()).properties(width=width, height=height)
    layers = []
    if first["original_risk"] is not None:
        level = (
            alt.Chart(points.head(1).to_arrow())
            .mark_rule(color=ORIGINAL, strokeDash=[2, 3])
            .encode(y=y_of("original_risk"))
        )
        word = (
            alt.Chart(points.head(1).to_arrow())
            .mark_text(align="left", dx=4, dy=-6, color=ORIGINAL, text="the original itself")
            .encode(y=y_of("original_risk"), x=alt.value(0))
        )
        layers += [level, word]
    layers.append(
        base.transform_filter("datum.best")
        .mark_line(color=RISK, strokeDash=[5, 4], opacity=0.5)
        .encode(x=x, y=y, order=alt.Order("utility:Q"))
    )
    layers.append(base.mark_rule(color=QUIET).encode(x=x, y=y_of("risk_low"), y2="risk_high:Q"))
    layers.append(
        base.mark_point(size=90, strokeWidth=2).encode(
            x=x,
            y=y,
            color=alt.condition("datum.best", alt.value(RISK), alt.value(QUIET)),
            fill=alt.condition("datum.best", alt.value(RISK), alt.value("white")),
            tooltip=[
                "candidate",
                alt.Tooltip("risk:Q", format=".3g"),
                alt.Tooltip("utility:Q", format=".3g"),
            ],
        )
    )
    layers.append(
        base.mark_text(align="left", dx=10, dy=-8, fontSize=12, fontWeight=600).encode(
            x=x, y=y, text="candidate:N"
        )
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
    return [not any(r <= mine[0] and u <= mine[1] and (r, u) != mine for r, u in pairs) for mine in pairs]


def _ticks(top: float) -> list[float]:
    """Round numbers that read well on a scale that is linear near zero and logarithmic beyond."""
    return [t for t in (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000) if t <= 1.25 * top]
