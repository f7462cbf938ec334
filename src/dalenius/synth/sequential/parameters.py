"""The parameters of a fitted sequence, as a table to print: coefficients of regressions, sizes of other models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.data.schema import Column, Schema
from dalenius.data.vector import SPECIAL
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.column import ColumnModel
from dalenius.synth.sequential.design import Terms
from dalenius.synth.sequential.fitted import Fitted
from dalenius.synth.sequential.grouped import Grouped

SCHEMA = {
    "column": pl.String, "part": pl.String, "model": pl.String, "class": pl.String, "term": pl.String,
    "value": pl.Float64,
}  # fmt: skip


def parameter_table(
    columns: Mapping[str, ColumnModel], visit: Sequence[str], coders: Sequence[Coder], schema: Schema
) -> pl.DataFrame:
    """One row a parameter; numbers among the predictors are centred and scaled, as the terms say.

    ``part`` is "value" or, of a number with gaps, special codes or spikes, "kind": which of them a row has. A model
    without coefficients (a tree) has one row with the term "no coefficients".
    """
    rows: list[dict[str, Any]] = []
    for name, model in columns.items():
        for part, fitted in (("kind", model.split), ("value", model.value)):
            if fitted is None:
                continue
            whole = fitted.models[-1] if isinstance(fitted, Grouped) else fitted
            for line in _lines(whole, visit, coders, schema, model.column if part == "value" else None):
                rows.append({"column": name, "part": part, "model": whole.name, **line})
    return pl.DataFrame(rows, schema=SCHEMA)


def _lines(
    fitted: Fitted, visit: Sequence[str], coders: Sequence[Coder], schema: Schema, own: Column | None
) -> Iterator[dict[str, Any]]:
    terms, beta = getattr(fitted, "terms", None), getattr(fitted, "beta", None)
    if not isinstance(terms, Terms) or beta is None:
        yield {"class": "", "term": "no coefficients", "value": None}
        return
    names = term_names(terms, visit, coders, schema)
    table = np.asarray(beta).reshape(len(beta), -1)
    cuts = getattr(fitted, "cuts", None)
    if cuts is not None:
        names = names[1:]  # cut points stand in for the intercept
    classes = _classes(fitted, own, table.shape[1])
    for j, label in enumerate(classes):
        for term, value in zip(names, table[:, j], strict=True):
            yield {"class": label, "term": term, "value": float(value)}
    for i, cut in enumerate(() if cuts is None else cuts):
        yield {"class": "", "term": f"cut {i + 1}", "value": float(cut)}
    if hasattr(fitted, "sigma"):
        yield {"class": "", "term": "residual standard deviation", "value": float(fitted.sigma)}


def term_names(terms: Terms, visit: Sequence[str], coders: Sequence[Coder], schema: Schema) -> list[str]:
    """Names of the terms of a regression, the intercept first."""
    names = ["(Intercept)"]
    for i, place in enumerate(terms.places):
        name, coder = visit[place], coders[place]
        if coder.edges is not None:
            names.append(f"({name} - {terms.centre[i]:.6g}) / {terms.scale[i]:.6g}")
        names += [f"{name} = {_label(schema[name], coder, code)}" for code in terms.levels[i]]
    return names


def _label(column: Column, coder: Coder, code: int) -> str:
    """What a code of a column stands for."""
    if code < SPECIAL - 1:
        return ("empty", "NaN")[min(code, 1)]
    if code < coder.gaps:
        return f"code {column.special[code - SPECIAL + 1]}"
    level = code - coder.gaps
    known = column.levels or ()
    return str(known[level]) if coder.folded is None and level < len(known) else f"level {level}"


def _classes(fitted: Fitted, own: Column | None, columns: int) -> list[str]:
    """What the columns of coefficients are about: every class but the first."""
    held = getattr(fitted, "classes", None)
    if held is None or columns != len(held) - 1:
        return [""] * columns
    gaps = 0 if own is None else SPECIAL - 1 + len(own.special)
    levels = () if own is None or own.levels is None else own.levels
    return [
        str(levels[int(c) - gaps]) if 0 <= int(c) - gaps < len(levels) else f"class {int(c)}"
        for c in held[1:]
    ]
