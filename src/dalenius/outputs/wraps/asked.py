"""From one pandas call to its outputs: a question for each column of values, and the usual object back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.edges import bins_of, laid
from dalenius.outputs.output import Output, Values
from dalenius.outputs.query import ALL, Dimension, Query
from dalenius.outputs.wraps.columns import dimension, numbers
from dalenius.outputs.wraps.grids import Grid, places_of
from dalenius.outputs.wraps.sources import name_of, units_of
from dalenius.outputs.wraps.tables import (
    FROM_EVIDENCE,
    form_facts,
    grid_query,
    register_name,
    structural_cells,
    take_table,
)

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


def each(
    desk: Desk, data: Any, keys: Sequence[tuple[str, Any]], wanted: Sequence[Any], stats: Sequence[str], raw: Any,
    index: int, call: str, fix: str | None, margins: str | None = None, gaps: bool = False,
    shares: Sequence[int] | None = None, way: str = "linear",
) -> Any:  # fmt: skip
    """One output for each column of values; fixes are put into the one pandas object they share."""
    dims = [dimension(column, name, keep_missing=gaps) for name, column in keys]
    unit, notes = units_of(desk, data)
    shown = raw
    told = ", ".join(name for name, _ in keys)
    for name in wanted:
        values = None
        if name is not None:
            values = _amounts(desk, data, name, stats, f"{call}({told}; {'/'.join(stats)} of {name})")
            if values is None:
                continue
        of = "" if name is None else f"; {'/'.join(stats)} of {name}"
        query = Query(
            ", ".join(register_name(s) for s in stats), tuple(dims), len(data), values,
            None if name is None else str(name),
            unit[0], unit[1], margins is not None, facts=form_facts(stats, way), command=f"{call}({told}{of})",
        )  # fmt: skip
        several = len(wanted) > 1 and isinstance(shown, pd.DataFrame)
        only = places_of(shown.columns, name, wanted) if several else None
        grid = Grid(query, index, margins or ALL, shown, only)
        if shares is not None:
            grid.query = query = as_shares(query, shares)
        shown = taken(desk, query, stats, grid, None, fix, notes, shares=shares is not None)
    return shown


def _amounts(desk: Desk, data: Any, name: Any, stats: Sequence[str], command: str) -> Any:
    """The numbers of a column; of texts only how many there are can be checked, the rest is for a person."""
    column = data[name]
    if pd.api.types.is_numeric_dtype(column):
        return numbers(column, str(name))
    if set(stats) <= {"count", "nunique"}:
        return np.where(pd.isna(column), np.nan, 1.0)
    desk.declare(f"{'/'.join(stats)} of texts", command=command)
    return None


def taken(
    desk: Desk, query: Query, stats: Sequence[str], grid: Grid, structural: Any, fix: str | None, notes: Sequence[str],
    shares: bool = False,
) -> Any:  # fmt: skip
    """Check one table and give the usual object back."""
    query = replace(query, structural=structural_cells(structural, query.names))
    values: Values | None = None
    if shares or any(s not in FROM_EVIDENCE for s in stats):
        values = grid.read()
    out: Output = take_table(desk, query, stats, values=values, render=grid.draw, fix=fix, notes=notes)
    return out.shown


def one_way(
    desk: Desk, series: Any, raw: Any, gaps: bool = False, shares: bool = False, bins: Any = None
) -> Any:
    """Counts or shares of one column, or of bins of it."""
    name, (unit, notes) = name_of(series), units_of(desk, series)
    dim = dimension(series, name, keep_missing=gaps) if bins is None else _bins(series, name, raw.index, gaps)
    told = f"value_counts({name}{'' if bins is None else '; bins'})"
    query = grid_query(desk, [dim], None, None, ["count"], unit, len(series), told)
    query = as_shares(query, (0,)) if shares else query
    if bins is not None:
        edges_laid(desk, series, query.dimensions[0].labels, isinstance(bins, int))
    return taken(desk, query, ["count"], Grid(query, 1, ALL, raw), None, None, notes, shares=shares)


def as_shares(query: Query, over: Sequence[int]) -> Query:
    """A table of shares that add up to 1 over some of its dimensions: a missing one follows from the others."""
    return replace(query, facts={**query.facts, "shares": tuple(over)})


def _bins(series: Any, name: str, bins: Any, gaps: bool) -> Dimension:
    """A column by the bins that pandas made of it."""
    edges = pd.IntervalIndex(bins[~bins.isna()]).sort_values()
    codes = np.asarray(edges.get_indexer(numbers(series, name)), np.int32)
    lost = (codes < 0) & gaps
    labels = (*edges, *(["missing"] if lost.any() else []))
    return Dimension(name, np.where(lost, len(edges), codes).astype(np.int32), labels)


def edges_laid(desk: Desk, series: Any, bins: Any, by_data: bool) -> None:
    """Remember the edges of bins that pandas made of a column (a ``cut``, or counts of bins)."""
    (unit, ids), _ = units_of(desk, series)
    query = Query("min", rows=len(series), value=numbers(series, name_of(series)), unit=unit, ids=ids)
    laid(desk, query, bins_of([str(b) for b in bins]), by_data)
