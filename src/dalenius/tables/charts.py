"""Pictures of a protected table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.style import RISK, configured

if TYPE_CHECKING:
    from dalenius.tables.dimensions import Dimension
    from dalenius.tables.suppression import Suppression

COLOURS = {
    "published": "#EBEBEB",
    "secondary": "#F0A79E",
    "primary": RISK,
    "forced": "#2166AC",
    "hidden": "#FFFFFF",
}
MOST_CELLS = 4000


def suppression_chart(result: Suppression) -> Any:
    """Map of the first two dimensions, one field a cell; values of suppressed cells are not in it.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> suppression_chart(result).to_dict()["description"]
    'Map of the table a, one field a cell: of 4 cells 2 published, 1 secondary, 1 primary.'
    """
    model = result.model
    first = model.dimensions[0]
    second = model.dimensions[1] if len(model.dimensions) > 1 else None
    keep = np.ones(len(model.cells), np.bool_)
    for d in model.dimensions[2:]:
        keep &= (model.cells[d.name] == d.hierarchy.total).to_numpy()
    shown = [
        None if s else v
        for v, s in zip(model.amount.tolist(), result.suppressed | result.hidden, strict=True)
    ]
    # Names of our own: a dimension may be called "status", and a dot in a name means something to Vega.
    columns = {"down": model.cells[first.name], "status": pl.Series(result.status)}
    columns["shown"] = pl.Series(shown, dtype=pl.Float64)
    x = alt.X("status:N")
    if second is not None:
        columns["across"] = model.cells[second.name]
        x = alt.X(
            "across:N", sort=list(second.hierarchy.codes), axis=alt.Axis(title=second.name, titlePadding=24)
        )
    frame = pl.DataFrame(columns).filter(pl.Series(keep)).head(MOST_CELLS)
    tips = [alt.Tooltip("down:N", title=first.name)]
    tips += [alt.Tooltip("across:N", title=second.name)] if second is not None else []
    kinds = [kind for kind in COLOURS if kind in set(frame["status"])]
    chart = (
        alt.Chart(frame)
        .mark_rect(stroke="white")
        .encode(
            x=x,
            y=alt.Y("down:N", sort=list(first.hierarchy.codes), title=first.name),
            color=alt.Color(
                "status:N",
                scale=alt.Scale(domain=kinds, range=[COLOURS[kind] for kind in kinds]),
                title="status",
            ),
            tooltip=[*tips, alt.Tooltip("status:N"), alt.Tooltip("shown:Q", title="published value")],
        )
        .properties(title="Cells by status", description=_words(frame, first, second))
    )
    return configured(chart)


def _words(frame: pl.DataFrame, first: Dimension, second: Dimension | None) -> str:
    """What the picture shows, for people who do not see it."""
    across = f" by {second.name}" if second else ""
    counts = dict(frame["status"].value_counts().rows())
    kinds = ", ".join(f"{counts[kind]:,} {kind}" for kind in COLOURS if kind in counts)
    return f"Map of the table {first.name}{across}, one field a cell: of {len(frame):,} cells {kinds}."
