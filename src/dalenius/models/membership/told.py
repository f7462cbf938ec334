"""A membership attack on a model as a result with its yardstick, and as a curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import QUIET
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.measures import MODEL_MEASURES
from dalenius.risk.membership.curve import Curve

POINTS = 200


def told(
    name: str,
    by: str,
    case: ModelCase,
    members: AnyArray,
    strangers: AnyArray,
    doubt: str = "",
    compared: int = 1,
) -> Result:
    """The result of scores, higher meaning "the model was fitted on him"; one score a unit."""
    curve = Curve(members, strangers)
    auc, found, floor = curve.auc, curve.tpr_at(0.01), curve.epsilon_floor()
    spread = curve.interval(1 - 0.05 / compared)
    text = (
        f"Told by {by}, a person the model was fitted on looks more like one than a stranger does with chance "
        f"{figure(auc)} (0.5 is a coin). Accusing 1 % of strangers finds {figure(100 * found, '%')} "
        f"of the people it was "
        "fitted on (1 % is a coin)"
    )
    text += f"; no guarantee stronger than ε = {figure(floor)} can hold." if floor > 0 else "."
    return Result(
        name=name,
        value=auc,
        sentence=text + doubt,
        interval=spread,
        yardsticks={"coin": 0.5},
        outside=0.5,
        added_interval=replace(spread, low=spread.low - 0.5, high=spread.high - 0.5),
        values={"found at 1 % false accusations": found, "ε at least": floor, "people": float(len(members)),
                "strangers": float(len(strangers))},
        table=curve.table(),
        counts=WHOLE,
        trusted=not doubt,
        chart=lambda: curve_chart({by: curve}),
        records=_exposed(case, members),
    ).with_info(MODEL_MEASURES[name])  # fmt: skip


def _exposed(case: ModelCase, members: AnyArray) -> pl.DataFrame:
    """Most exposed first: row numbers, for whoever holds the data."""
    units = case.units
    first = np.arange(units.count) if units.codes is None else np.unique(units.codes, return_index=True)[1]
    return pl.DataFrame({"row": first, "score": members}).sort("score", "row", descending=[True, False])


def curve_chart(curves: Mapping[str, Curve]) -> Any:
    """Members found against strangers accused, both on a logarithmic axis, beside what a coin finds."""
    lines = []
    for name, curve in curves.items():
        rates = np.unique(np.geomspace(max(1 / max(len(curve.outsiders), 1), 1e-4), 1, POINTS))
        cut = np.sort(curve.outsiders)[::-1]
        ranked = np.sort(curve.members)
        level = cut[np.minimum((rates * len(cut)).astype(int), len(cut) - 1)]
        share = 1 - np.searchsorted(ranked, level, "right") / max(len(ranked), 1)
        share = np.where(rates >= 1, 1.0, share)
        lines.append(
            pl.DataFrame(
                {"attack": name, "strangers accused": rates, "people found": np.maximum(share, 1e-4)}
            )
        )
    frame = pl.concat(lines)
    scale = alt.Scale(type="log", domain=[float(str(frame["strangers accused"].min())), 1.0], nice=False)
    base = alt.Chart(frame.to_arrow()).properties(width=420, height=300)
    coin = base.mark_line(color=QUIET, strokeDash=[4, 4]).encode(
        x=alt.X("strangers accused:Q", scale=scale, axis=alt.Axis(format="~%")),
        y=alt.Y("strangers accused:Q"),
    )
    drawn = base.mark_line(strokeWidth=2).encode(
        x=alt.X("strangers accused:Q", scale=scale, title="strangers falsely accused"),
        y=alt.Y("people found:Q", scale=alt.Scale(type="log", domain=[1e-3, 1.0], clamp=True), title="people found",
                axis=alt.Axis(format="~%")),
        color=alt.Color("attack:N", title=None, legend=alt.Legend(orient="bottom", labelLimit=400, columns=1)),
    )  # fmt: skip
    return alt.layer(coin, drawn)
