"""Numbers as histograms of up to 50 bins in both files; a bin that few original records are in joins the next one.

Bins have round ends and the outermost are open, so that no end is anybody's value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray, Vector
from dalenius.evaluation.columns import Bars, round_step
from dalenius.evaluation.withheld import Mask, withheld_codes

MOST_BINS = 48
TAIL = 0.5
"""Per cent of the records beyond the outermost ends, on each side."""
DAY = 86_400_000_000
"""Microseconds of a day, the finest bin of dates."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of a number: their ends, and the code of each original and protected record (gaps are one more code)."""

    column: str
    ends: AnyArray
    original: AnyArray
    protected: AnyArray
    moments: bool = False

    @property
    def size(self) -> int:
        """Codes, that of the gaps included."""
        return len(self.ends) + 2

    def label(self, place: int) -> str:
        """A bin in words."""
        shown = [self._end(end) for end in self.ends]
        if place == len(shown) + 1:
            return "no number"
        if place == 0:
            return f"below {shown[0]}"
        return f"from {shown[-1]}" if place == len(shown) else f"{shown[place - 1]} to below {shown[place]}"

    def _end(self, end: float) -> str:
        return str(np.datetime64(int(end), "us").astype("datetime64[D]")) if self.moments else f"{end:,.10g}"


def bins_of(pair: Pair, name: str) -> Bins | None:
    """Bins of a column of numbers; None for other columns, and where there is nothing to cut.

    Examples
    --------
    >>> pair = Pair({"age": list(range(100))}, {"age": list(range(0, 200, 2))})
    >>> bins = bins_of(pair, "age")
    >>> bins.label(0), bins.label(1), len(bins.ends) < 50
    ('below 10', '10 to below 20', True)
    """
    first, second = pair.original[name], pair.protected[name]
    if not (first.is_number and second.is_number) or first.column.kind is Kind.POINT:
        return None
    values = np.asarray(first.values, np.float64)
    values = values[np.isfinite(values)]
    if len(values) < 2 * pair.threshold or values.min() == values.max():
        return None
    moments = first.column.kind is Kind.DATETIME
    low, high = np.percentile(values, [TAIL, 100 - TAIL])
    unit = float(DAY * (1000 if first.column.decimals == 9 else 1)) if moments else 1.0
    step = round_step((high - low) / unit / MOST_BINS) * unit
    step = max(step, unit) if moments or first.column.kind is Kind.INTEGER else step
    ends = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    kept = ends[_starts(_codes(first, ends), len(ends) + 1, pair.threshold)[1:] - 1]
    if not len(kept):
        return None
    return Bins(name, kept, _codes(first, kept), _codes(second, kept), moments)


def _codes(vector: Vector, ends: AnyArray) -> AnyArray:
    """The bin of every row; what is no number comes last."""
    codes = np.searchsorted(ends, vector.data.astype(np.float64), side="right").astype(np.int64)
    codes[~vector.present] = len(ends) + 1
    return codes


def _starts(codes: AnyArray, size: int, threshold: int) -> AnyArray:
    """The first bin of each group of neighbours, every group holding enough records."""
    counts = np.bincount(codes, minlength=size + 1)[:size]
    starts, held = [0], int(counts[0])
    for place in range(1, size):
        if held >= threshold and counts[place:].sum() >= threshold:
            starts.append(place)
            held = 0
        held += int(counts[place])
    return np.array(starts)


def histogram_bars(pair: Pair, bins: Sequence[Bins]) -> Mapping[str, Bars]:
    """Shares of each bin in both files; what would tell about few records, also by subtraction, is left out.

    Examples
    --------
    >>> pair = Pair({"age": list(range(100))}, {"age": list(range(0, 200, 2))})
    >>> bars = histogram_bars(pair, [bins_of(pair, "age")])["age"]
    >>> bars.data["share"].sum() > 1.5
    True
    """
    if not bins:
        return {}
    hidden = withheld_codes(pair, {b.column: b.original for b in bins}, {b.column: b.size for b in bins})
    return {b.column: _bars(b, hidden[b.column]) for b in bins}


def _bars(bins: Bins, hidden: Mask) -> Bars:
    step = float(np.median(np.diff(bins.ends))) if len(bins.ends) > 1 else 1.0
    lows = np.array([bins.ends[0] - 2 * step, *bins.ends])
    highs = np.array([*bins.ends, bins.ends[-1] + 2 * step])
    rows: list[dict[str, Any]] = []
    for file, codes in (("original", bins.original), ("protected", bins.protected)):
        counts = np.bincount(codes, minlength=bins.size)
        shares = counts / max(int(counts.sum()), 1)
        for place in range(bins.size - 1):
            share = None if hidden[place] else float(shares[place])
            width = (highs[place] - lows[place]) / step
            rows.append(
                {
                    "file": file, "value": bins.label(place), "share": share, "order": place,
                    "low": float(lows[place]), "high": float(highs[place]),
                    "height": None if share is None else share / width,
                }
            )  # fmt: skip
    data = pl.DataFrame(rows, infer_schema_length=None)
    if bins.moments:
        data = data.with_columns(pl.col("low", "high") / 1000)
    seen = data.filter(pl.col("share").is_not_null())
    return Bars(bins.column, seen, int(hidden[:-1].sum()), "moments" if bins.moments else "numbers")


def histogram_chart(bars: Bars, protected: str, width: int = 210, height: int = 80) -> alt.TopLevelMixin:
    """Original as dark bars, the protected file as a line over them; bins of different width by their area."""
    kind = "T" if bars.form == "moments" else "Q"
    base = alt.Chart(bars.data.to_arrow()).properties(width=width, height=height)
    plain = "d" if kind == "Q" and _years(bars.data) else alt.Undefined
    axis = alt.Axis(
        tickCount=4, labelOverlap="greedy", labelSeparation=8, grid=False, labelFlush=True, format=plain
    )
    share = alt.Axis(format="~%", tickCount=3, domain=False)
    tip = [alt.Tooltip("value:N"), alt.Tooltip("file:N"), alt.Tooltip("share:Q", format=".1%")]
    first = (
        base.transform_filter("datum.file == 'original'")
        .mark_bar(color=ORIGINAL, opacity=0.75, stroke="white", strokeWidth=0.3)
        .encode(
            x=alt.X(f"low:{kind}", title=None, axis=axis, scale=alt.Scale(zero=False, nice=False)),
            x2=alt.X2("high"),
            y=alt.Y("height:Q", title=None, axis=share),
            y2=alt.Y2Datum(0),
            tooltip=tip,
        )
    )
    second = (
        base.transform_filter("datum.file == 'protected'")
        .mark_rule(color=PROTECTED, strokeWidth=2.4)
        .encode(x=alt.X(f"low:{kind}"), x2=alt.X2("high"), y=alt.Y("height:Q"), tooltip=tip)
    )
    return alt.layer(first, second)


def _years(data: pl.DataFrame) -> bool:
    """Whether numbers look like years, which nobody writes with a comma."""
    low, high = (float(end) for end in (data["low"].min(), data["high"].max()))  # type: ignore[arg-type]
    return 1500 <= low < high <= 2150 and high - low <= 300
