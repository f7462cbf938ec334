"""Concentration figures of a column, checked: linear ones like means, the others by the number of units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.core.errors import OptionError
from dalenius.outputs.checks import Finding, finding
from dalenius.outputs.concentration import gini, herfindahl, lorenz, top_share
from dalenius.outputs.evidence import collect
from dalenius.outputs.judge import judge
from dalenius.outputs.output import Output
from dalenius.outputs.query import Dimension, Floats, Query
from dalenius.outputs.wraps.columns import dimension, numbers
from dalenius.outputs.wraps.sources import given_units, noted, units_of
from dalenius.outputs.wraps.tables import take_table

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
    (who, ids), notes = units_of(desk, values) if unit is None else given_units(desk, unit)
    ids = range(len(amounts)) if ids is None else ids
    name = str(getattr(values, "name", None) or "values")
    if statistic == "lorenz":
        return _curve(desk, amounts, who, ids, steps, name, notes)
    if statistic not in (*WAYS, "top n share"):
        raise OptionError(f"statistic is 'gini', 'lorenz', 'herfindahl' or 'top n share', not {statistic!r}")
    told = f"; {top} largest" if statistic == "top n share" else ""
    query = Query(
        statistic, dims, len(amounts), amounts, name, who, ids, command=f"{statistic}({name}{told})"
    )
    cells = query.cell
    held = [
        _by_unit(amounts[cells == c], None if who is None else who[cells == c]) for c in range(query.cells)
    ]
    found = [top_share(h, top) if statistic == "top n share" else WAYS[statistic](h) for h in held]
    judged = judge(query, desk.policy).with_findings(*(_largest(desk, query, top) if told else []))
    return take_table(
        desk, query, [statistic], values={statistic: np.array(found)}, fix=fix, notes=notes, judged=judged
    )


def _largest(desk: Desk, query: Query, top: int) -> list[Finding]:
    """The share of one or two is theirs; so is the difference of two shares, of four and of five units."""
    fewest, evidence = desk.policy.concentration_n, collect(query)
    cells = np.ones(len(evidence.cells), np.bool_)
    if top < fewest:
        words = f"the share of fewer than {fewest} units is nearly their own value"
        return [finding("few_largest", evidence, cells, words)]
    before = [e for e in desk.memory.earlier() if e.variable == query.variable and " largest)" in e.command]
    if any(e.command != query.command for e in before):
        words = "the share of another number of units was shown before: the difference is that of few"
        return [finding("few_largest", evidence, cells, words)]
    return []


def _by_unit(values: Floats, unit: Any) -> Floats:
    """What each unit has, its rows added up."""
    return _sums(values, unit)[0]


def _sums(values: Floats, unit: Any) -> tuple[Floats, Any]:
    there = ~np.isnan(values)
    if unit is None:
        return values[there], np.flatnonzero(there)
    who, place = np.unique(unit[there], return_inverse=True)
    return np.asarray(np.bincount(place.ravel(), values[there]), np.float64), who


def _curve(
    desk: Desk, amounts: Floats, unit: Any, ids: Any, steps: int, name: str, notes: Sequence[str]
) -> Output:
    """A Lorenz curve: every step is a sum over its units."""
    held, who = _sums(amounts, unit)
    order = np.argsort(held, kind="stable")
    held = held[order]
    people, share = lorenz(held, steps)
    ends = np.round(people * len(held)).astype(np.int64)
    step = np.searchsorted(ends, np.arange(len(held)), side="right")
    labels = tuple(f"{100 * p:.3g} %" for p in people)
    query = Query(
        "lorenz", (Dimension("units", step, labels),), len(held), held, name, who[order], ids, facts={"steps": steps},
        command=f"lorenz({name})",
    )  # fmt: skip
    evidence = collect(query)
    judged = judge(query, desk.policy, evidence).with_findings(*noted(notes, evidence))
    return desk.take(
        query, judged=judged, values={"share of the total": share}, shown=pd.Series(share, index=people)
    )
