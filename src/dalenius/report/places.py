"""Where the rows of a file lie, as shares of map cells beside the original's; no point is ever drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import counted
from dalenius.core.later import altair as alt
from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.counts.pair import Pair
from dalenius.data.places import place_columns
from dalenius.data.steps.places import SIDES, Floats
from dalenius.data.table import Table
from dalenius.preparation.places import places

FEWEST, MOST = 5, 20
"""Cells along the longer side of the map, or up to twice as many: their size is a round number."""
MOST_AREAS = 60
WIDTH = 300


def places_picture(pair: Pair, file: str, public: bool = False) -> dict[str, Any] | None:
    """A map of both files in cells, or of the protected file alone, with the outlines of its own areas.

    A public one shows the protected file alone, and no cell that fewer rows than the threshold share.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> homes = {"lon": rng.normal(7, 0.1, 500), "lat": rng.normal(50, 0.1, 500)}
    >>> places_picture(Pair(homes, homes), "a copy")["words"]
    'Rows lie in 270 cells of the map; the file has rows in all of them, and in no cell beyond.'
    """
    names = place_columns(pair.schema)
    sides = [(file, pair.protected)] if public else [("original", pair.original), (file, pair.protected)]
    held = [(title, at) for title, table in sides if (at := _points(table, names)) is not None and len(at)]
    if len(held) < len(sides):
        return None
    step = _step(held[-1][1] if public else held[0][1])
    least = pair.threshold if public else 1
    cells = [_cells(at, step, least, title) for title, at in held]
    if not all(len(part) for part in cells):
        return None
    outlines = _outlines(pair.protected if public else pair.original)
    return {"chart": _drawn(cells, outlines, step, names), "words": _words(cells, public)}


def _points(table: Table, names: tuple[str, str]) -> Floats | None:
    if not all(name in table and table[name].is_number for name in names):
        return None
    at = np.column_stack([table[name].floats() for name in names])
    return at[np.isfinite(at).all(axis=1)]


def _step(points: Floats) -> float:
    """Side of a cell: 1, 2 or 5 times a power of ten, so that its edges are nobody's coordinates."""
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    along = np.clip(np.sqrt(len(points)) / 2, FEWEST, MOST)
    wide = float(max((high - low).max(), 1e-6) / along)
    power = 10.0 ** np.floor(np.log10(wide))
    return float(power * max(part for part in (1, 2, 5) if part * power <= wide * (1 + 1e-9)))


def _cells(points: Floats, step: float, least: int, title: str) -> pl.DataFrame:
    """Shares of rows by cell, in per cent."""
    corner, rows = np.unique(np.floor(points / step + 1e-9), axis=0, return_counts=True)
    shown = rows >= least
    low = corner[shown] * step
    return pl.DataFrame(
        {
            "file": [title] * int(shown.sum()), "x": low[:, 0], "y": low[:, 1], "x2": low[:, 0] + step,
            "y2": low[:, 1] + step, "share": 100 * rows[shown] / max(len(points), 1),
        }
    )  # fmt: skip


def _outlines(table: Table) -> pl.DataFrame | None:
    """Outlines of areas as far as they may be known (see `KeepPlace`); none where there are too many to tell apart."""
    step = places(table)
    if step is None or len(step.levels) > MOST_AREAS:
        return None
    centres = np.array(step.centres).reshape(-1, 2)[1:]
    reach = np.array(step.reach).reshape(-1, SIDES)[1:]
    turn = np.append(np.arange(SIDES), 0)
    angle = turn * 2 * np.pi / SIDES
    x = centres[:, :1] + reach[:, turn] * np.cos(angle)
    y = centres[:, 1:] + reach[:, turn] * np.sin(angle)
    size = len(turn)
    return pl.DataFrame(
        {
            "area": np.repeat(np.arange(len(centres)), size), "corner": np.tile(np.arange(size), len(centres)),
            "x": x.ravel(), "y": y.ravel(),
        }
    )  # fmt: skip


def _drawn(
    cells: list[pl.DataFrame], outlines: pl.DataFrame | None, step: float, names: tuple[str, str]
) -> Any:
    both = pl.concat(cells)
    ends = [(float(both[axis].min()), float(both[f"{axis}2"].max())) for axis in ("x", "y")]  # type: ignore[arg-type]
    middle = sum(ends[1]) / 2
    degrees = max(abs(end) for pair in ends for end in pair) <= 180
    narrow = np.cos(np.radians(middle)) if degrees and abs(middle) < 85 else 1.0
    tall = (ends[1][1] - ends[1][0]) / ((ends[0][1] - ends[0][0]) * narrow)
    size = {"width": WIDTH, "height": int(np.clip(WIDTH * tall, 120, 420))}
    x, y = (
        alt.X("x:Q", title=names[0], scale=alt.Scale(domain=ends[0], nice=False), axis=alt.Axis(tickCount=5)),
        alt.Y("y:Q", title=names[1], scale=alt.Scale(domain=ends[1], nice=False), axis=alt.Axis(tickCount=5)),
    )
    top = float(both["share"].max())  # type: ignore[arg-type]
    panels = []
    for place, part in enumerate(cells):
        colour = ORIGINAL if place == 0 and len(cells) > 1 else PROTECTED
        scale = alt.Scale(range=["#f2f2f2", colour], domain=[0, top])
        legend = alt.Legend(title="% of rows", orient="bottom", gradientLength=140)
        squares = (
            alt.Chart(part.to_arrow(), title=part["file"][0])
            .mark_rect()
            .encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"),
                    color=alt.Color("share:Q", scale=scale, legend=legend),
                    tooltip=[alt.Tooltip("share:Q", format=".2g", title="% of rows")])
        )  # fmt: skip
        layers = [squares]
        if outlines is not None:
            lines = alt.Chart(outlines.to_arrow()).mark_line(color="#888888", strokeWidth=0.7)
            layers.append(
                lines.encode(
                    x=alt.X("x:Q"), y=alt.Y("y:Q"), detail=alt.Detail("area:N"), order=alt.Order("corner:Q")
                )
            )
        panels.append(alt.layer(*layers).properties(**size))
    return alt.hconcat(*panels).resolve_scale(color="independent") if len(panels) > 1 else panels[0]


def _words(cells: list[pl.DataFrame], public: bool) -> str:
    if public:
        return (
            f"Rows of the file by cell of a map, {counted(len(cells[0]), 'cell')}; emptier ones are left out."
        )
    first, second = (set(part.select("x", "y").iter_rows()) for part in cells)
    both, beyond = len(first & second), len(second - first)
    of = "all of them" if both == len(first) else f"{both:,} of them"
    more = "no cell" if not beyond else counted(beyond, "cell")
    return f"Rows lie in {counted(len(first), 'cell')} of the map; the file has rows in {of}, and in {more} beyond."
