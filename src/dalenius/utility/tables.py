"""Utility of tables: do cross-tabulations of the protected file look like those of the original?

For one table with original counts d and synthetic counts s, pMSE compares the two by how well a cell tells them apart;
S_pMSE divides by its expectation when both files come from one distribution, so that 1 means "as good as another sample".
Formulas: spec raab-dp-categorical 2.5 and synthpop's utility.tab (S_pMSE = VW / df for tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import altair as alt
import numpy as np
import polars as pl

from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result, figure
from dalenius.core.style import HEAT
from dalenius.counts.counts import Counts, align
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair

GOOD, USABLE = 10.0, 30.0
"""Readings of S_pMSE: below 10 useful, below 30 usable (Raab 2022, spec raab-dp-categorical 2.5)."""


def voas_williamson(original: Counts, protected: Counts) -> tuple[float, int]:
    """VW statistic of one table and its degrees of freedom; their ratio is S_pMSE.

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 30 + ["y"] * 70}, {"a": ["x"] * 50 + ["y"] * 50})
    >>> counted = pair.counts(["a"])
    >>> vw, df = voas_williamson(counted.original, counted.protected)
    >>> round(vw, 4), df
    (16.6667, 1)
    """
    _, (d, s) = align(original, protected)
    n, k = float(d.sum()), float(s.sum())
    share = k / (n + k)
    expected = (d + s) * share
    excess = s - d * (share / (1 - share))
    return float(np.sum(excess**2 / expected)), len(d) - 1


@measure(
    MeasureInfo(
        name="two-way-utility",
        title="Two-way tables (mean S_pMSE)",
        family="utility",
        meaning="How far the cross-tables of all pairs of columns differ from the original's, in units of what chance alone "
        "would do.",
        better="lower",
        bounds=(0, float("inf")),
        reference="Raab, Nowok, Dibben 2021; Raab 2022 (PSD); synthpop: utility.tables",
    )
)
def two_way_utility(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean S_pMSE over all two-way tables, numbers in groups; 1 is what another sample would give.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> two_way_utility(Pair(data, data)).value
    0.0
    """
    used = list(columns) if columns is not None else pair.columns
    tables = list(combinations(used, 2)) if len(used) > 1 else [(name,) for name in used]
    rows = []
    for names, counted in pair.count_many(tables).items():
        vw, df = voas_williamson(counted.original, counted.protected)
        rows.append({"first": names[0], "second": names[-1], "S_pMSE": vw / df if df else 0.0, "df": df})
    schema = {"first": pl.String, "second": pl.String, "S_pMSE": pl.Float64, "df": pl.Int64}
    table = pl.DataFrame(rows, schema=schema).sort("S_pMSE", descending=True)
    value = float(table["S_pMSE"].mean()) if len(table) else float("nan")  # type: ignore[arg-type]
    bad = table.filter(pl.col("S_pMSE") >= USABLE)
    usable = table.filter(pl.col("S_pMSE").is_between(GOOD, USABLE, closed="left"))
    return Result(
        name="two-way-utility",
        value=value,
        sentence=_sentence(value, len(table), len(usable), len(bad), table),
        yardsticks={"another sample": 1.0},
        values={"mean": value, "worst": float(table["S_pMSE"][0]) if len(table) else float("nan")},
        table=table,
        chart=lambda: heat_map(table, used),
    )


def _sentence(value: float, tables: int, usable: int, bad: int, table: pl.DataFrame) -> str:
    if tables == 0:
        return "There is no column to compare."
    reading = "close to" if value < GOOD else ("some way from" if value < USABLE else "far from")
    worst = table.row(0, named=True)
    text = (
        f"On average the {tables} two-way tables are {reading} the original's (mean S_pMSE {figure(value)}, where 1 is what "
        f"another sample of the same size would give); {tables - usable - bad} are good, {usable} usable, {bad} bad."
    )
    if worst["S_pMSE"] >= GOOD:
        text += f" The worst is {worst['first']!r} by {worst['second']!r}."
    return text


def heat_map(table: pl.DataFrame, columns: Sequence[str]) -> alt.Chart:
    """Two-way utility as a map: grey is good, red is bad."""
    order = list(columns)
    place = {name: i for i, name in enumerate(order)}
    data = table.with_columns(
        pl.col("S_pMSE").clip(1, 100).alias("shown"),
        pl.struct("first", "second")
        .map_elements(lambda r: f"{r['first']} × {r['second']}", return_dtype=pl.String)
        .alias("pair"),
    ).filter(pl.col("first").replace_strict(place, default=0) <= pl.col("second").replace_strict(place, default=0))
    side = max(160, min(560, 26 * len(order)))
    return (
        alt.Chart(data.to_arrow())
        .mark_rect()
        .encode(
            x=alt.X("first:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
            y=alt.Y("second:N", sort=order, title=None),
            color=alt.Color(
                "shown:Q",
                title="S_pMSE",
                scale=alt.Scale(type="log", range=list(HEAT), domain=[1, 100]),
                legend=alt.Legend(values=[1, 3, 10, 30, 100]),
            ),
            tooltip=["pair", alt.Tooltip("S_pMSE:Q", format=".3g"), "df"],
        )
        .properties(width=side, height=side)
    )
