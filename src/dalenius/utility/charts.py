"""Charts of the utility measures: maps that say at one glance what is good, usable and bad."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.style import HEAT, ORIGINAL, PROTECTED, QUIET, UTILITY

LIMITS = (3.0, 10.0, 30.0)
SHADES = (HEAT[0], "#F2C4BE", "#EE7B72", HEAT[1])
"""Four steps of heat; the words of the legend and the marks in the cells survive grey print."""
WORDS = ("very good (below 3)", "good (below 10)", "usable (below 30)", "bad (30 or more)")
MARKS = ("", "", "○", "●")


def _reading(value: str, table: pl.DataFrame) -> pl.Expr:
    """Words of the legend for a column of S_pMSE; a table that was read as usable for a lost cell stays so."""
    held = (pl.col("reading") == "usable") if "reading" in table.columns else pl.lit(False)
    words = pl.when(held & (pl.col(value) < LIMITS[2])).then(pl.lit(WORDS[2]))
    words = words.when(pl.col(value) < LIMITS[0]).then(pl.lit(WORDS[0]))  # type: ignore[assignment]
    words = words.when(pl.col(value) < LIMITS[1]).then(pl.lit(WORDS[1]))  # type: ignore[assignment]
    return (
        words.when(pl.col(value) < LIMITS[2])
        .then(pl.lit(WORDS[2]))
        .otherwise(pl.lit(WORDS[3]))
        .alias("reading")
    )


MOST_MAPPED = 30
"""Columns a map shows: those with the worst pairs, so that every label can be read."""


def worst_columns(table: pl.DataFrame, columns: Sequence[str], value: str) -> list[str]:
    """The columns of the worst pairs, as many as a map can show, in their own order.

    Examples
    --------
    >>> pairs = pl.DataFrame({"first": ["a", "a"], "second": ["b", "c"], "S_pMSE": [2.0, 40.0]})
    >>> worst_columns(pairs, ["a", "b", "c"], "S_pMSE")
    ['a', 'b', 'c']
    """
    if len(columns) <= MOST_MAPPED:
        return list(columns)
    named = [table.select(pl.col(side).alias("column"), pl.col(value)) for side in ("first", "second")]
    held = pl.concat(named).group_by("column").agg(pl.col(value).max(), pl.col(value).mean().alias("mean"))
    worst = held.sort(value, "mean", "column", descending=[True, True, False])
    chosen = set(worst["column"].head(MOST_MAPPED))
    return [name for name in columns if name in chosen]


def heat_map(table: pl.DataFrame, columns: Sequence[str], value: str = "S_pMSE") -> alt.TopLevelMixin:
    """Two-way utility as a map: grey is good, red is bad; usable pairs carry a ring, bad ones a disc."""
    order = worst_columns(table, columns, value)
    table = table.filter(pl.col("first").is_in(order) & pl.col("second").is_in(order))
    place = {name: i for i, name in enumerate(order)}
    data = table.with_columns(
        _reading(value, table),
        pl.format("{} × {}", "first", "second").alias("pair"),
    ).with_columns(pl.col("reading").replace_strict(dict(zip(WORDS, MARKS, strict=True))).alias("mark"))
    later = pl.col("first").replace_strict(place, default=0) > pl.col("second").replace_strict(
        place, default=0
    )
    data = data.with_columns(
        pl.when(later).then("second").otherwise("first").alias("x"),
        pl.when(later).then("first").otherwise("second").alias("y"),
    )
    side = max(160, min(620, 26 * len(order)))
    base = (
        alt.Chart(data.to_arrow())
        .encode(
            x=alt.X("x:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
            y=alt.Y("y:N", sort=order, title=None),
            tooltip=[alt.Tooltip("pair"), alt.Tooltip(f"{value}:Q", format=".3g"), alt.Tooltip("reading")],
        )
        .properties(width=side, height=side)
    )
    colour = alt.Color("reading:N", title=value, scale=alt.Scale(domain=list(WORDS), range=list(SHADES)))
    return alt.layer(
        base.mark_rect(stroke="white", strokeWidth=1).encode(color=colour),
        base.mark_text(fontSize=11, color="white").encode(text=alt.Text("mark:N")),
    )


def ranked_bars(
    table: pl.DataFrame, name: str = "table", value: str = "S_pMSE", limit: int = 25, width: int = 420
) -> alt.TopLevelMixin:
    """The worst rows of a table as bars, with the two limits drawn."""
    shown = table.head(limit).with_columns(
        _reading(value, table),
        pl.col(value).clip(lower_bound=0.1).alias("shown"),
    )
    scale = alt.Scale(type="log", domainMin=0.1)  # a logarithmic axis has no zero
    bars = (
        alt.Chart(shown.to_arrow())
        .mark_bar()
        .encode(
            x=alt.X("shown:Q", title=value, scale=scale, stack=None),
            y=alt.Y(f"{name}:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)),
            color=alt.Color(
                "reading:N",
                title=None,
                scale=alt.Scale(domain=list(WORDS), range=list(SHADES)),
                legend=alt.Legend(orient="bottom", columns=2, labelLimit=160),
            ),
            tooltip=[alt.Tooltip(name), alt.Tooltip(f"{value}:Q", format=".3g"), alt.Tooltip("reading")],
        )
        .properties(width=width)
    )
    limits = alt.Chart(pl.DataFrame({"limit": [10.0, 30.0]}).to_arrow()).mark_rule(
        color=QUIET, strokeDash=[3, 3]
    )
    return alt.layer(bars, limits.encode(x=alt.X("limit:Q", scale=scale)))


def plain_bars(table: pl.DataFrame, name: str, value: str, title: str, limit: int = 25) -> alt.Chart:
    """A few figures as bars, in the order given."""
    return (
        alt.Chart(table.head(limit).to_arrow())
        .mark_bar(color=UTILITY)
        .encode(
            x=alt.X(f"{value}:Q", title=title),
            y=alt.Y(f"{name}:N", sort=None, title=None),
            tooltip=[alt.Tooltip(name), alt.Tooltip(f"{value}:Q", format=".3g")],
        )
        .properties(width=420)
    )


ENOUGH = 0.2
"""A difference from which on a pair is drawn in the full colour, unless many are larger."""


def square_map(table: pl.DataFrame, columns: Sequence[str], value: str, title: str) -> alt.Chart:
    """A square of figures between 0 and 1, one per pair of columns, darker where worse."""
    order = worst_columns(table, columns, value)
    table = table.filter(pl.col("first").is_in(order) & pl.col("second").is_in(order))
    side = max(160, min(620, 26 * len(order)))
    # one extreme pair must not take the colour from all others
    top = (
        max(ENOUGH, float(table[value].drop_nulls().drop_nans().quantile(0.95) or 0.0))
        if len(table)
        else ENOUGH
    )
    scale = alt.Scale(range=list(HEAT), domain=[0, top], clamp=True)
    return (
        alt.Chart(table.to_arrow())
        .mark_rect(stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("first:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
            y=alt.Y("second:N", sort=order, title=None),
            color=alt.Color(f"{value}:Q", title=title, scale=scale),
            tooltip=[alt.Tooltip("first"), alt.Tooltip("second"), alt.Tooltip(f"{value}:Q", format=".3g")],
        )
        .properties(width=side, height=side)
    )


def two_files(table: pl.DataFrame, name: str, title: str) -> alt.Chart:
    """Original and protected figure of each row side by side, as two points joined by a line.

    The table has the columns ``original`` and ``protected``.
    """
    long = table.unpivot(on=["original", "protected"], index=name, variable_name="file", value_name="value")
    return (
        alt.Chart(long.to_arrow())
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("value:Q", title=title),
            y=alt.Y(f"{name}:N", sort=None, title=None),
            color=alt.Color(
                "file:N",
                title=None,
                scale=alt.Scale(domain=["original", "protected"], range=[ORIGINAL, PROTECTED]),
            ),
            shape=alt.Shape(
                "file:N",
                title=None,
                scale=alt.Scale(domain=["original", "protected"], range=["circle", "square"]),
            ),
            tooltip=[name, alt.Tooltip("file"), alt.Tooltip("value:Q", format=".4g")],
        )
        .properties(width=420)
    )
