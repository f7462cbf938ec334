"""Why a cell is at risk, or suppressed, in one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dalenius.tables.audit import IN_SUM, Audit
from dalenius.tables.model import beside
from dalenius.tables.relations import relations

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression

MOST_TERMS = 8


def cell_label(result: Suppression, place: int) -> str:
    """A cell by its codes, without the totals.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> cell_label(result, 0), cell_label(result, 1)
    ('Total', 'x')
    """
    model = result.model
    codes = [
        model.cells[d.name][place]
        for d in model.dimensions
        if model.cells[d.name][place] != d.hierarchy.total
    ]
    return " : ".join(codes) or "Total"


def faults(result: Suppression, found: Audit, most: int = 50) -> pl.DataFrame:
    """The cells at risk, each with one sentence that says how it can be known. No value is shown.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> leaky = protect(model, SmallCount(3), forced=[0, 2, 3])
    >>> faults(leaky, leaky.checked)["why"].to_list()
    ['x is Total − y − z, and all of these are published.']
    """
    reasons = found.at_risk["reason"].to_list()
    rows = found.failing[:most]
    return beside(found.table.cells[rows], why=pl.Series(
        [_why(result, int(p), reason) for p, reason in zip(rows, reasons, strict=False)], dtype=pl.String))  # fmt: skip


def _why(result: Suppression, place: int, reason: str) -> str:
    name = cell_label(result, place)
    if reason == "can be computed exactly":
        closed = result.suppressed | result.hidden
        for whole, parts in relations(result.model, place):
            others = [p for p in (whole, *parts) if p != place]
            if not closed[others].any():
                return f"{name} is {_sum(result, whole, parts, place)}, and all of these are published."
        return f"{name} follows from the published cells of several sums taken together."
    if reason == "a contributor can compute it":
        return f"{name} can be computed by a single contributor who knows its own value."
    if reason == "its interval is too narrow":
        return f"{name} can be placed within a narrower interval than its rule allows."
    if reason == IN_SUM:
        return f"The sum of {name} and other suppressed cells follows from published ones and breaks a rule."
    return f"{name} can be placed too closely by a contributor who knows its own value."


def _sum(result: Suppression, whole: int, parts: list[int], place: int) -> str:
    if place == whole:
        named = [cell_label(result, p) for p in parts]
        return " + ".join(named[:MOST_TERMS]) + (
            f" + {len(named) - MOST_TERMS} more" if len(named) > MOST_TERMS else ""
        )
    named = [cell_label(result, p) for p in parts if p != place]
    more = f" − {len(named) - MOST_TERMS} more" if len(named) > MOST_TERMS else ""
    return " − ".join([cell_label(result, whole), *named[:MOST_TERMS]]) + more
