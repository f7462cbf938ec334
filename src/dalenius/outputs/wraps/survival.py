"""Kaplan–Meier tables: checked by the exits of each reported step, released in merged steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.core.errors import DataError
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.judge import judge
from dalenius.outputs.output import Output
from dalenius.outputs.query import Query
from dalenius.outputs.survival import Curve
from dalenius.outputs.wraps.columns import dimension, numbers, units

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
    query = Query(statistic, facts={"curves": curves}, command=f"survival({len(curves)} curves)")
    evidence = steps_evidence(curves)
    judged = judge(query, desk.policy, evidence)
    values = curve_values(curves)
    out = desk.take(
        query, judged=judged, values=values, frame=None, render=lambda v: _frame(curves, v), fix=None
    )
    out.merged = Query(statistic, command=query.command)
    out.shown = _frame(curves, values)
    wanted = desk.fix if fix is None else fix
    if wanted and out.status == "fail":
        out.fix(wanted)
    return out


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
