"""Concentration figures of a column, checked: linear ones like means, the others by the number of units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.core.errors import OptionError
from dalenius.outputs.concentration import gini, herfindahl, lorenz, top_share
from dalenius.outputs.evidence import collect
from dalenius.outputs.judge import judge
from dalenius.outputs.output import Output
from dalenius.outputs.query import Dimension, Floats, Query
from dalenius.outputs.wraps.columns import dimension, numbers, units

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

WAYS = {"gini": gini, "herfindahl": herfindahl}


def concentration_output(
    desk: Desk,
    values: Any,
    statistic: str,
    group: Any,
    unit: Any,
    *,
    top: int = 4,
    steps: int = 10,
    fix: str | None = None,
) -> Output:
    """Concentration by group; a unit's rows are added up first."""
    amounts = numbers(values, str(getattr(values, "name", None) or "values"))
    dims = () if group is None else (dimension(group, str(getattr(group, "name", None) or "group")),)
    who, ids = units(unit) if unit is not None else (None, getattr(values, "index", None))
    name = str(getattr(values, "name", None) or "values")
    if statistic == "lorenz":
        return _curve(desk, amounts, who, steps, name)
    if statistic not in (*WAYS, "top n share"):
        raise OptionError(f"statistic is 'gini', 'lorenz', 'herfindahl' or 'top n share', not {statistic!r}")
    query = Query(statistic, dims, len(amounts), amounts, name, who, ids, command=f"{statistic}({name})")
    cells = query.cell
    held = [
        _by_unit(amounts[cells == c], None if who is None else who[cells == c]) for c in range(query.cells)
    ]
    found = [top_share(h, top) if statistic == "top n share" else WAYS[statistic](h) for h in held]
    from dalenius.outputs.wraps.tables import take_table  # noqa: PLC0415 (tables know this file's neighbours)

    return take_table(desk, query, [statistic], values={statistic: np.array(found)}, fix=fix)


def _by_unit(values: Floats, unit: Any) -> Floats:
    if unit is None:
        return values[~np.isnan(values)]
    there = ~np.isnan(values)
    _, place = np.unique(unit[there], return_inverse=True)
    return np.asarray(np.bincount(place.ravel(), values[there]), np.float64)


def _curve(desk: Desk, amounts: Floats, unit: Any, steps: int, name: str) -> Output:
    """A Lorenz curve: every step is a sum over its units."""
    held = np.sort(_by_unit(amounts, unit))
    people, share = lorenz(held, steps)
    ends = np.round(people * len(held)).astype(np.int64)
    step = np.searchsorted(ends, np.arange(len(held)), side="right")
    labels = tuple(f"{100 * p:.3g} %" for p in people)
    query = Query(
        "lorenz",
        (Dimension("units", step, labels),),
        len(held),
        held,
        name,
        facts={"steps": steps},
        command=f"lorenz({name})",
    )
    judged = judge(query, desk.policy, collect(query))
    return desk.take(
        query, judged=judged, values={"share of the total": share}, shown=pd.Series(share, index=people)
    )
