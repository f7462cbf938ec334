"""What a fit says along each predictor, as lines with bands; the other predictors stay where the schema puts them.

A number runs over its declared bounds, a category over its declared levels; the other numbers stay in the middle of
their bounds, the other categories at their first level. All of that is public, so lines of a private fit cost nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import expit

from dalenius.core.later import altair as alt
from dalenius.data.table import Table
from dalenius.dp.noise import FloatArray
from dalenius.dp.regression.design import Design, bounds_of, design_of, parse

if TYPE_CHECKING:
    import altair

POINTS = 21
"""Points of a line."""
REACH = 1.96
PRIVATE, EXACT = "private fit", "original, not private"
COLOURS = {PRIVATE: "#1f5f9f", EXACT: "#b03527"}


def profiles(table: Table, formula: str, terms: Sequence[str]) -> tuple[pl.DataFrame, FloatArray]:
    """Places along each predictor (``along``, and ``at`` a number or a ``level``), and the terms' values there."""
    _, predictors = parse(formula)
    where = {term: place for place, term in enumerate(terms)}
    usual = np.zeros(len(terms))
    usual[0] = 1.0
    numbers = {name: bounds for name in predictors if (bounds := bounds_of(table.schema[name])) is not None}
    for name, (low, high) in numbers.items():
        usual[where[name]] = (low + high) / 2
    keys: list[dict[str, Any]] = []
    rows = []
    for name in predictors:
        if name in numbers:
            for value in np.linspace(*numbers[name], POINTS):
                keys.append({"along": name, "at": float(value), "level": None})
                rows.append(usual.copy())
                rows[-1][where[name]] = value
        else:
            for level in map(str, table[name].levels):
                keys.append({"along": name, "at": None, "level": level})
                rows.append(usual.copy())
                if (place := where.get(f"{name}={level}")) is not None:
                    rows[-1][place] = 1.0
    schema = {"along": pl.String, "at": pl.Float64, "level": pl.String}
    return pl.DataFrame(keys, schema), np.array(rows).reshape(len(rows), len(terms))


def drawn_lines(
    table: Table, formula: str, design: Design, fits: Sequence[tuple[FloatArray, FloatArray | None]],
    taus: Sequence[float | None], *, yes_or_no: bool,
) -> pl.DataFrame:  # fmt: skip
    """Lines of fits, each coefficients in the data's units with or without simulated ones around them.

    Lines and bands end at the declared bounds of the response: nobody is beyond, and bounds are public.
    """
    keys, rows = profiles(table, formula, design.terms)
    ends = None if yes_or_no else bounds_of(table.schema[parse(formula)[0]])
    lines: list[dict[str, FloatArray]] = []
    for estimate, draws in fits:
        made = {"estimate": rows @ estimate}
        if draws is not None:
            low, high = (
                np.quantile(rows @ draws.T, (0.025, 0.975), axis=1) if len(rows) else (rows[:, 0],) * 2
            )
            made |= {"low": low, "high": high}
        lines.append(made if ends is None else {name: np.clip(held, *ends) for name, held in made.items()})
    return _stacked(keys, lines, taus, yes_or_no)


def exact_lines(table: Table, formula: str, family: str, taus: Sequence[float]) -> pl.DataFrame:
    """Lines of the fit without privacy, with the bands that sampling alone gives: for the people inside.

    statsmodels fits it; records and clipping to the bounds are as for the private fit.

    Examples
    --------
    >>> from dalenius.data import Column, Kind, Schema
    >>> schema = Schema((Column("age", Kind.INTEGER, bounds=(0, 100)),
    ...                  Column("pay", Kind.CONTINUOUS, bounds=(0, 1000)))).declare()
    >>> data = {"age": list(range(100)) * 5, "pay": [5.0 * age for age in range(100)] * 5}
    >>> exact_lines(Table.from_frame(data, schema), "pay ~ age", "linear", ())["estimate"].round(3).to_list()[10::10]
    [250.0, 500.0]
    """
    from statsmodels.genmod.families import Binomial  # noqa: PLC0415 (slow to load)
    from statsmodels.genmod.generalized_linear_model import GLM  # noqa: PLC0415
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415
    from statsmodels.regression.quantile_regression import QuantReg  # noqa: PLC0415

    design = design_of(table, formula, yes_or_no=family == "logistic")
    keys, rows = profiles(table, formula, design.terms)
    asked: list[float | None] = [*taus] if family == "quantile" else [None]
    lines = []
    for tau in asked:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a level without people, a fit that stopped early: told by wide bands
            if tau is not None:
                fit = QuantReg(design.y, design.x).fit(q=tau)
            else:
                fit = (
                    GLM(design.y, design.x, Binomial()) if family == "logistic" else OLS(design.y, design.x)
                ).fit()
        line = rows @ (design.scale @ np.asarray(fit.params) + design.shift)
        turned = rows @ design.scale
        off = REACH * np.sqrt(
            np.maximum(np.einsum("ij,jk,ik->i", turned, np.asarray(fit.cov_params()), turned), 0)
        )
        lines.append({"estimate": line, "low": line - off, "high": line + off})
    return _stacked(keys, lines, asked, family == "logistic")


def _stacked(
    keys: pl.DataFrame, drawn: Sequence[dict[str, FloatArray]], taus: Sequence[float | None], yes_or_no: bool
) -> pl.DataFrame:
    """Lines below one another; quantiles that cross are put in order, a yes or no is a probability."""
    order = np.argsort([0.0 if tau is None else tau for tau in taus])
    for name in drawn[0]:
        held = np.sort(np.stack([drawn[int(place)][name] for place in order]), axis=0)
        for rank, place in enumerate(order):
            drawn[int(place)][name] = expit(held[rank]) if yes_or_no else held[rank]
    made = []
    for tau, lines in zip(taus, drawn, strict=True):
        part = keys.with_columns(**{name: pl.Series(values) for name, values in lines.items()})
        made.append(
            part if tau is None else part.insert_column(0, pl.Series("tau", [float(tau)] * part.height))
        )
    return pl.concat(made)


def lines_chart(
    panels: dict[str, list[tuple[str, pl.DataFrame]]], along: str, response: str
) -> altair.TopLevelMixin:
    """Lines along one predictor, a panel for each title; each panel has named sets of lines (`PRIVATE`, `EXACT`)."""
    parts = [
        lines.filter(pl.col("along") == along).with_columns(panel=pl.lit(title), fit=pl.lit(name))
        for title, sets in panels.items()
        for name, lines in sets
    ]
    shown = pl.concat(parts, how="diagonal")
    if "tau" not in shown.columns:
        shown = shown.with_columns(tau=pl.lit("mean"))
    shown = shown.with_columns(pl.col("tau").cast(pl.String).alias("quantile"))
    counted = shown["level"].null_count() > 0
    axis: Any = (
        alt.X("at:Q", title=along, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5, labelFlush=False))
        if counted
        else alt.X("level:N", title=along)
    )
    names = [name for name in COLOURS if name in shown["fit"].unique().to_list()]
    colour = alt.Color(
        "fit:N", title=None, scale=alt.Scale(domain=names, range=[COLOURS[n] for n in names]),
        legend=alt.Legend(orient="top") if len(names) > 1 else None,
    )  # fmt: skip
    base = alt.Chart(shown).encode(x=axis, color=colour, detail=["quantile:N", "fit:N"])
    value = alt.Y("estimate:Q", title=response, scale=alt.Scale(zero=False))
    strokes = [[1, 0] if name == PRIVATE else [6, 4] for name in names]
    dash = alt.StrokeDash("fit:N", scale=alt.Scale(domain=names, range=strokes), legend=None)
    layers = []
    if "low" in shown.columns:
        ends = {"y": alt.Y("low:Q", title=response), "y2": alt.Y2("high:Q")}
        layers.append(
            base.mark_area(opacity=0.18).encode(**ends) if counted else base.mark_rule().encode(**ends)
        )
    marks = base.mark_line(strokeWidth=2) if counted else base.mark_point(filled=True, size=60)
    layers.append(marks.encode(y=value, **({"strokeDash": dash} if counted else {})))
    return alt.layer(*layers).properties(width=290, height=250).facet(
        alt.Facet("panel:N", title=None, sort=list(panels)), columns=3
    )  # fmt: skip
