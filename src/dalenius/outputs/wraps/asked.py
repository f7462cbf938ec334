"""From one pandas call to its outputs: a question for each column of values, and the usual object back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.output import Output, Values
from dalenius.outputs.query import ALL, Query
from dalenius.outputs.wraps.columns import dimension, numbers
from dalenius.outputs.wraps.grids import Grid
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
            unit[0], unit[1], margins is not None, facts=form_facts(stats), command=f"{call}({told}{of})",
        )  # fmt: skip
        grid = Grid(query, index, margins or ALL, shown, only=name if len(wanted) > 1 else None)
        shown = taken(desk, query, stats, grid, None, fix, notes)
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


def one_way(desk: Desk, series: Any, raw: Any, gaps: bool = False) -> Any:
    """Counts of one column."""
    name = name_of(series)
    query = grid_query(
        desk,
        [dimension(series, name, keep_missing=gaps)],
        None,
        None,
        ["count"],
        units_of(desk, series)[0],
        len(series),
        f"value_counts({name})",
    )
    return taken(desk, query, ["count"], Grid(query, 1, ALL, raw), None, None, units_of(desk, series)[1])
