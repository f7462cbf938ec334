"""One small chart per column: how often each value occurs in the original and in the protected file.

Only counts are drawn. A value that fewer original records have than the threshold of the pair is not named, nor are the
others that keep it from following by subtraction: they go into one bar, and that bar is left out too when it is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.style import FILES, ORIGINAL
from dalenius.counts.pair import Pair
from dalenius.data.grouping import Grouping
from dalenius.data.vector import AnyArray
from dalenius.evaluation.withheld import Mask, withheld_values

MOST_BARS = 16


@dataclass(frozen=True)
class Bars:
    """Shares of one column, ready to draw."""

    column: str
    data: pl.DataFrame
    hidden: int
    """Values that are not named: too few original records have them, or others would follow by subtraction."""
    form: str = "values"
    """What is drawn: values, or bins of numbers or of moments."""


def column_bars(pair: Pair, column: str, hidden: Mask | None = None) -> Bars:
    """Shares of each value of a column in both files, rare values merged.

    ``hidden`` are the values that must not be shown, where other columns are shown too (`withheld_values`).

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 20 + ["y"] * 15 + ["rare"]}, {"a": ["x"] * 10 + ["y"] * 10})
    >>> bars = column_bars(pair, "a")
    >>> bars.data["value"].to_list(), bars.hidden
    (['x', '2 other values', 'x', '2 other values'], 2)
    """
    aligned, threshold = pair.categories(column), pair.threshold
    labels = [str(label) for label in aligned.original.labels]
    counts = [
        np.bincount(side.codes.astype(np.int64), minlength=len(labels))
        for side in (aligned.original, aligned.protected)
    ]
    if hidden is None:
        hidden = withheld_values(pair, [column])[column]
    kept = np.flatnonzero((counts[0] >= threshold) & ~hidden)
    if len(kept) > MOST_BARS:
        kept = np.sort(kept[np.argsort(-counts[0][kept], kind="stable")[:MOST_BARS]])
    rest = np.setdiff1d(np.flatnonzero((counts[0] > 0) | (counts[1] > 0)), kept)
    rows: list[dict[str, Any]] = []
    for word, count in zip(("original", "protected"), counts, strict=True):
        total = max(int(count.sum()), 1)
        rows += [
            {"file": word, "value": labels[i], "share": count[i] / total, "order": n}
            for n, i in enumerate(kept)
        ]
        if counts[0][rest].sum() >= threshold:
            name = f"{len(rest)} other values"
            rows.append({"file": word, "value": name, "share": count[rest].sum() / total, "order": len(kept)})
    schema = {"file": pl.String, "value": pl.String, "share": pl.Float64, "order": pl.Int64}
    return Bars(column, pl.DataFrame(rows, schema=schema), int(np.count_nonzero(hidden)))


def public_pair(pair: Pair) -> Pair:
    """The pair with numbers grouped at round breaks: a quantile may be the exact value of one person.

    Examples
    --------
    >>> pair = Pair({"x": [float(i * 13) for i in range(100)]}, {"x": [1.0, 2.0]})
    >>> public_pair(pair).grouping.breaks["x"].tolist()
    [0.0, 300.0, 500.0, 800.0, 1000.0, 1300.0]
    """
    held = {name: pair.grouping.breaks[name] for name in pair.columns if name in pair.grouping}
    breaks = {name: np.unique(np.round(edges / step) * step) for name, edges, step in _steps(held)}
    whole = {name: edges if len(edges) > 1 else held[name] for name, edges in breaks.items()}
    return Pair(
        pair.original, pair.protected, schema=pair.schema.select(pair.original.names), keys=[], targets=[],
        grouping=Grouping(whole), threshold=pair.threshold,
    )  # fmt: skip


def _steps(held: Mapping[str, AnyArray]) -> Iterator[tuple[str, AnyArray, float]]:
    """Breaks with the round number (1, 2 or 5 and zeros) they are moved to multiples of: a twentieth of the span."""
    for name, edges in held.items():
        yield name, edges, round_step(float(edges[-1] - edges[0]) / 20)


def round_step(size: float) -> float:
    """The smallest of 1, 2 and 5, with zeros, that is not below a size.

    Examples
    --------
    >>> round_step(4.75), round_step(64.35), round_step(0.013)
    (5.0, 100.0, 0.02)
    """
    if size <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(size))
    return next(float(f"{m * power:.12g}") for m in (1, 2, 5, 10) if m * power >= size * (1 - 1e-12))


def column_words(bars: Bars) -> str:
    """The chart of a column in words, for those who cannot see it: its largest values.

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 20 + ["y"] * 15}, {"a": ["x"] * 10 + ["y"] * 10})
    >>> column_words(column_bars(pair, "a"))
    'Shares of the values of a, original and protected: x 57 % and 50 %; y 43 % and 50 %'
    """
    wide = bars.data.pivot("file", index=["value", "order"], values="share").sort("original", descending=True)
    rows = wide.head(6).select("value", "original", "protected").iter_rows()
    said = "; ".join(f"{value} {100 * a:.0f} % and {100 * b:.0f} %" for value, a, b in rows)
    return f"Shares of the values of {bars.column}, original and protected: {said}"


def column_chart(bars: Bars | Sequence[Bars], protected: str | Sequence[str], width: int = 170) -> alt.Chart:
    """Draw the bars of one column: original dark, each protected file in a lighter colour of its own."""
    several = [bars] if isinstance(bars, Bars) else list(bars)
    names = [protected] if isinstance(protected, str) else list(protected)
    first = several[0].data.filter(pl.col("file") == "original")
    parts = [first] + [
        b.data.filter(pl.col("file") == "protected").with_columns(file=pl.lit(name))
        for b, name in zip(several, names, strict=True)
    ]
    data = pl.concat(parts)
    if len(several) > 1:  # each file merges its own rare values
        data = data.with_columns(pl.col("value").str.replace(r"^\d+ other values$", "other values"))
    order = data.sort("order")["value"].unique(maintain_order=True).to_list()
    step = 7 if len(names) > 1 or len(order) > 8 else 11
    scale = alt.Scale(domain=["original", *names], range=[ORIGINAL, *FILES[: len(names)]])
    return (
        alt.Chart(data.to_arrow())
        .mark_bar(height={"band": 0.9})
        .encode(
            y=alt.Y(
                "value:N", sort=order, title=None, axis=alt.Axis(labelLimit=120, ticks=False, domain=False)
            ),
            yOffset=alt.YOffset("file:N", sort=["original", *names]),
            x=alt.X(
                "share:Q",
                title=None,
                axis=alt.Axis(format="%", tickCount=4, labelOverlap="greedy", labelSeparation=6),
            ),
            color=alt.Color("file:N", title=None, scale=scale, legend=None),
            tooltip=[alt.Tooltip("value"), alt.Tooltip("file"), alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=width, height={"step": step})
    )
