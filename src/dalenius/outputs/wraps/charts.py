"""Charts drawn from checked numbers only: the table is checked first, and what it may not show is not drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.outputs.output import Output
from dalenius.outputs.position import tail_share
from dalenius.outputs.query import Dimension, Query
from dalenius.outputs.wraps.columns import column, dimension, numbers, rows_of
from dalenius.outputs.wraps.tables import table_output, take_table, unit_note, unit_of

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


class Charts:
    """Charts of a desk; each returns its `Output`, whose ``shown`` is the picture (drawn once it passes)."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def histogram(self, data: Any, value: str, bins: int | Sequence[float] = 10, **options: Any) -> Output:
        """Counts by bins of a column; a coarser one is a fix."""
        return self._binned(data, [value], [bins], "histogram", _bars, options)

    def scatter(self, data: Any, x: str, y: str, bins: int = 10, **options: Any) -> Output:
        """A scatter plot is a sparse table: it is drawn as counts in squares."""
        return self._binned(data, [x, y], [bins, bins], "scatter plot", _squares, options)

    def bar(
        self, data: Any, by: str, value: str | None = None, statistic: str | None = None, **options: Any
    ) -> Output:
        """Bars of counts, or of another statistic of a column."""
        stat = statistic or ("count" if value is None else "mean")
        return self._drawn(table_output(self._desk, data, by, value, stat, **options), _bars)

    def line(
        self, data: Any, by: str, value: str | None = None, statistic: str | None = None, **options: Any
    ) -> Output:
        """A line of counts, or of another statistic of a column."""
        stat = statistic or ("count" if value is None else "mean")
        return self._drawn(table_output(self._desk, data, by, value, stat, **options), _line)

    def heatmap(
        self,
        data: Any,
        x: str,
        y: str,
        value: str | None = None,
        statistic: str | None = None,
        **options: Any,
    ) -> Output:
        """A heat map of counts or of a statistic of a column: checked as what it shows."""
        stat = statistic or ("count" if value is None else "mean")
        return self._drawn(table_output(self._desk, data, [x, y], value, stat, **options), _squares)

    def box(self, data: Any, by: str, value: str, **options: Any) -> Output:
        """Boxes of quartiles; whiskers reach to the 5th and 95th percentile, never to single people.

        Where too few would lie beyond them they are shorter.
        """
        groups = dimension(column(data, by), by).codes.astype(np.int64)
        there = (groups >= 0) & ~np.isnan(numbers(column(data, value), value))
        share = min(tail_share(np.bincount(groups[there]), self._desk.policy.tail), 0.2)
        stats = [f"p{100 * share:g}", "p25", "median", "p75", f"p{100 * (1 - share):g}"]
        return self._drawn(table_output(self._desk, data, by, value, stats, **options), _boxes)

    def _binned(
        self, data: Any, names: list[str], bins: list[Any], statistic: str, draw: Any, options: dict[str, Any]
    ) -> Output:
        dims = tuple(_bins(numbers(column(data, n), n), n, b) for n, b in zip(names, bins, strict=True))
        unit, ids = unit_of(self._desk, data)
        query = Query(
            statistic, dims, rows_of(data), None, None, unit, ids, command=f"{statistic}({', '.join(names)})"
        )
        notes = unit_note(self._desk, data)
        return self._drawn(
            take_table(self._desk, query, ["count"], fix=options.get("fix"), notes=notes), draw
        )

    def _drawn(self, out: Output, draw: Any) -> Output:
        out.chart = draw
        out.shown = draw(out.table()) if out.status == "pass" else None
        return out


def _bins(values: Any, name: str, bins: int | Sequence[float]) -> Dimension:
    """Bins of equal width between round numbers, so that the outer edges are no single person's value."""
    there = values[~np.isnan(values)]
    edges = np.asarray(bins, float) if not isinstance(bins, int) else _round_edges(there, bins)
    code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    code = np.where(np.isnan(values) | (values < edges[0]) | (values > edges[-1]), -1, code)
    return Dimension(name, code.astype(np.int32), tuple(f"{a:g}–{b:g}" for a, b in pairwise(edges)))


def _round_edges(values: Any, bins: int) -> Any:
    if not len(values):
        return np.array([0.0, 1.0])
    low, high = float(values.min()), float(values.max())
    width = (high - low) / bins or 1.0
    unit = 10.0 ** np.floor(np.log10(width))
    step = next((k * unit for k in (1, 2, 2.5, 5) if k * unit >= width), 10 * unit)
    start, stop = np.floor(low / step), np.ceil(high / step)
    return np.round(np.arange(start, max(stop, start + 1) + 1) * step, 12)


def _names(table: pl.DataFrame) -> tuple[list[str], list[str]]:
    texts = [c for c in table.columns if table[c].dtype == pl.String]
    return texts, [c for c in table.columns if c not in texts]


def _bars(table: pl.DataFrame) -> Any:
    texts, figures = _names(table)
    return alt.Chart(table).mark_bar().encode(x=alt.X(texts[0], sort=None), y=figures[0])


def _line(table: pl.DataFrame) -> Any:
    texts, figures = _names(table)
    return alt.Chart(table).mark_line(point=True).encode(x=alt.X(texts[0], sort=None), y=figures[0])


def _squares(table: pl.DataFrame) -> Any:
    texts, figures = _names(table)
    x, y = alt.X(texts[0], sort=None), alt.Y(texts[1], sort=None)
    return alt.Chart(table).mark_rect().encode(x=x, y=y, color=figures[0])


def _boxes(table: pl.DataFrame) -> Any:
    texts, figures = _names(table)
    base = alt.Chart(table).encode(x=alt.X(texts[0], sort=None))
    whiskers = base.mark_rule().encode(y=figures[0], y2=figures[-1])
    boxes = base.mark_bar(size=18).encode(y=alt.Y("p25"), y2=alt.Y2("p75"))
    return whiskers + boxes + base.mark_tick(color="white", size=18).encode(y=alt.Y("median"))
