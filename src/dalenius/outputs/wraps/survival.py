"""Kaplan–Meier tables: checked by the exits of each reported step, released in merged steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.core.errors import DataError
from dalenius.outputs.checks import finding
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.judge import judge
from dalenius.outputs.output import Output
from dalenius.outputs.query import Dimension, Query
from dalenius.outputs.survival import Curve
from dalenius.outputs.wraps.columns import dimension, numbers, units
from dalenius.outputs.wraps.sources import given_units, noted, units_of

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


def survival_output(
    desk: Desk, time: Any, event: Any, group: Any = None, unit: Any = None, *, statistic: str = "kaplan meier",
    fix: str | None = None,
) -> Output:  # fmt: skip
    """Check the table of a survival curve, one curve a group."""
    times, events = numbers(time, "time"), numbers(event, "event")
    if len(times) != len(events):
        raise DataError("time and event differ in length; give one of each per person")
    if np.isnan(times).any() or np.isnan(events).any():
        raise DataError("column 'time' or 'event' has missing values; leave these people out")
    if not np.isin(events, (0, 1)).all():
        raise DataError("column 'event' must be 1 (it happened) or 0 (censored)")
    if unit is not None and len(np.unique(units(unit)[0])) < len(times):
        raise DataError("some people have several rows; a survival table needs one row per person")
    groups = dimension(group, "group") if group is not None else None
    curves = _curves(times, events, groups)
    (who, ids), notes = units_of(desk, time) if unit is None else given_units(desk, unit)
    people = Query(
        statistic, (Dimension("group", np.zeros(len(times), np.int32) if groups is None else groups.codes, ("",)),),
        len(times), times, "time", who, range(len(times)) if ids is None else ids,
        facts={"curves": curves, "parts": (events.astype(np.int64), 2)},  # events are shown beside exits
        command=f"survival({len(curves)} curves)",
    )  # fmt: skip
    query = steps_query(people, curves)
    judged = judge(query, desk.policy, steps_evidence(curves))
    judged = judged.with_findings(*noted(notes, judged.evidence))
    if who is not None and len(np.unique(who)) < len(times):
        words = "some people have several rows: a survival table needs one row per person"
        judged = judged.with_findings(
            finding("unit", judged.evidence, np.ones(1, np.bool_), words, verdict="review")
        )
    values = curve_values(curves)
    query = replace(query, facts={**query.facts, "people": people})
    return desk.take(
        query, judged=judged, values=values, shown=_frame(curves, values), render=lambda v: _frame(curves, v), fix=fix,
    )  # fmt: skip


def steps_query(people: Query, curves: Sequence[tuple[str, Curve]]) -> Query:
    """The table that curves are: people by the step in which they leave."""
    assert people.value is not None
    step, start, names = np.full(people.rows, -1, np.int64), 0, list(dict(people.facts["curves"]))
    for name, curve in curves:
        own = np.flatnonzero(people.dimensions[0].codes == names.index(name))
        at = np.searchsorted(curve.time, people.value[own])
        step[own] = np.where(at < len(curve.time), at + start, -1)
        start += len(curve.time)
    words = [f"{g}: to {t:g}" if len(curves) > 1 else f"to {t:g}" for g, c in curves for t in c.time]
    return replace(people, dimensions=(Dimension("step", step, tuple(words)),), value=None, variable=None)


def _curves(times: Any, events: Any, groups: Any) -> list[tuple[str, Curve]]:
    if groups is None:
        return [("all", Curve.of(times, events))]
    return [
        (str(v), Curve.of(times[groups.codes == i], events[groups.codes == i]))
        for i, v in enumerate(groups.labels)
    ]


def steps_evidence(curves: Sequence[tuple[str, Curve]]) -> Evidence:
    """Exits of each step, and who is left after it."""
    cells = pl.concat(
        [
            pl.DataFrame(
                {"group": [g] * len(c.time), "time": [f"{t:g}" for t in c.time]},
                schema={"group": pl.String, "time": pl.String},
            )
            for g, c in curves
        ]
    )
    figures = {
        "exits": np.concatenate([c.exits for _, c in curves]).astype(float),
        "left": np.concatenate([c.left for _, c in curves]).astype(float),
    }
    figures["units"] = figures["exits"]
    return Evidence(cells, (len(cells),), figures, np.zeros((len(cells), 2)), np.zeros(len(cells), np.bool_))


def curve_values(curves: Sequence[tuple[str, Curve]]) -> dict[str, Any]:
    """Figures of the curves, step by step."""
    columns = ("time", "at_risk", "events", "exits", "survival")
    return {
        name: np.concatenate([np.asarray(getattr(c, name), float) for _, c in curves]) for name in columns
    }


def _frame(curves: Sequence[tuple[str, Curve]], values: Any) -> pd.DataFrame:
    frame = pd.DataFrame({k: np.asarray(v) for k, v in values.items()})
    names = [g for g, c in curves for _ in c.time]
    if len(curves) > 1 and len(names) == len(frame):
        frame.insert(0, "group", names)
    return frame.set_index("time") if len(curves) == 1 else frame
