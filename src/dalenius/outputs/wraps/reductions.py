"""Whole columns made into single figures: ``series.mean()``, ``frame.sum()``, ``series.agg([...])``.

A column of true and false is a condition: its sum and its mean say how many people meet it, so that it is checked as
the count of those who do and those who do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.query import Dimension, Query
from dalenius.outputs.wraps.grids import described
from dalenius.outputs.wraps.sources import functions, name_of, stat_of, units_of
from dalenius.outputs.wraps.tables import take_table

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

REDUCTIONS = ("mean", "sum", "median", "min", "max", "std", "var", "sem", "skew", "kurt", "kurtosis", "count",
              "nunique", "prod", "product", "mode", "idxmax", "idxmin")  # fmt: skip
"""Calls that make one figure of a column."""
SAME = {"kurt": "kurtosis", "product": "prod"}
SHARES = ("mean", "sum", "count")


def reduced(desk: Desk, source: Any, asked: Any, usual: Callable[[], Any]) -> Any:
    """Check what a call makes of a column or frame, and give its figures back."""
    stats = [SAME.get(s, s) for s in map(stat_of, functions(asked))]
    frame = source.to_frame(name_of(source)) if source.ndim == 1 else source
    columns = [c for c in frame.columns if c != desk.unit]
    if columns and set(stats) <= set(SHARES) and all(frame[c].dtype == bool for c in columns):
        return _condition(desk, source, frame, columns, stats, usual())
    return aggregated(desk, source, stats, usual)


def aggregated(
    desk: Desk, source: Any, stats: Sequence[str], usual: Callable[[], Any], interpolation: str = "linear"
) -> Any:
    """The same for numbers; figures of texts are for a person, but for how many there are."""
    frame = pd.DataFrame({name_of(source): pd.Series(source)}) if source.ndim == 1 else pd.DataFrame(source)
    if set(stats) <= {"count", "nunique"}:
        there = [c for c in frame.columns if c != desk.unit and not pd.api.types.is_numeric_dtype(frame[c])]
        frame = frame.assign(**{str(c): np.where(frame[c].isna(), np.nan, 1.0) for c in there})
    if list(stats) == ["mode"] and len(raw := usual()) > 1:  # with ties it lists values, perhaps all of them
        desk.declare("mode with ties", command=f"mode({', '.join(map(str, frame.columns))})")
        return raw
    name = f"{'/'.join(stats)}({', '.join(str(c) for c in frame.columns if c != desk.unit)})"
    owner = units_of(desk, source)
    return described(desk, frame, owner, usual, stats, command=name, interpolation=interpolation)


def _condition(
    desk: Desk, source: Any, frame: Any, columns: Sequence[Any], stats: Sequence[str], raw: Any
) -> Any:
    """How many meet conditions, and how many do not: one row of a table for each."""
    met = np.concatenate([pd.DataFrame(frame)[c].to_numpy(np.int64) for c in columns])
    which = np.repeat(np.arange(len(columns)), len(frame))
    (unit, ids), notes = units_of(desk, source)
    if unit is None and ids is not None:
        ids = np.tile(np.asarray(ids), len(columns))
    query = Query(
        "count", (Dimension("condition", which, tuple(map(str, columns))), Dimension("met", met, ("no", "yes"))),
        len(met), unit=None if unit is None else np.tile(unit, len(columns)), ids=ids,
        command=f"{'/'.join(stats)} of a condition ({', '.join(map(str, columns))})",
    )  # fmt: skip
    out = take_table(
        desk, query, ["count"], render=lambda v: raw if not _gone(v) else raw * np.nan, notes=notes
    )
    return out.shown


def _gone(values: Any) -> bool:
    return bool(np.isnan(np.concatenate(list(values.values()))).any())
