"""Which table gives most away: every table of a planned release dropped or coarsened, and the rest attacked again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from dalenius.published import Margin, Published, fit
from dalenius.published.margin import NO_LIMIT

NAMES = {
    "change": pl.String, "table": pl.String, "column": pl.String, "people proved": pl.Int64, "people alone": pl.Int64,
    "fewer proved": pl.Int64, "fewer alone": pl.Int64,
}  # fmt: skip


def rank_tables(published: Published, *, coarsen: bool = True, seed: int = 1) -> pl.DataFrame:
    """For each table, how many people are proved without it, or without one of its columns; the best change first.

    Coarsened is a table that is summed over one of its columns: "sex × age × town" without town is "sex × age". The
    change that proves fewest people comes first; among equals one that leaves more of the table.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "f", "m"], "town": ["A", "B", "B", "A"], "job": ["x", "x", "y", "x"]}
    >>> out = Published.count(people, [["sex", "town"], ["sex", "job"], ["job"]])
    >>> rank_tables(out).select("change", "table", "column", "people proved").row(0)
    ('coarsened', 'sex × job', 'job', 0)
    """
    whole = fit(published, bounds=False, seed=seed)
    changes = [("dropped", name, "") for name in dict.fromkeys(m.name for m in published.margins)]
    if coarsen:
        crossed = dict.fromkeys((m.name, c) for m in published.margins for c in m.columns)
        changes += [("coarsened", name, column) for name, column in crossed]
    lines = []
    for change, name, column in changes:
        rest = published.without(name) if change == "dropped" else coarsened(published, name, column)
        if not rest.margins:
            continue
        fitted = fit(rest, bounds=False, seed=seed)
        fewer = whole.people_proved - fitted.people_proved, whole.alone - fitted.alone
        lines.append((change, name, column, fitted.people_proved, fitted.alone, *fewer))
    frame = pl.DataFrame(lines, schema=NAMES, orient="row")
    return frame.sort("people proved", "people alone", "change", "table", "column")


def coarsened(published: Published, name: str, column: str) -> Published:
    """The same with one table summed over one of its columns.

    Examples
    --------
    >>> out = Published.count({"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}, [["sex", "town"]])
    >>> coarsened(out, "sex × town", "town").margins[0].low.tolist()
    [2, 1]
    """
    margins = [
        _without(m, column) if m.name == name and column in m.columns else m for m in published.margins
    ]
    return replace(published, margins=tuple(m for m in margins if m is not None))


def _without(margin: Margin, column: str) -> Margin | None:
    """A table summed over a column; None where it covers only part of the column, so that its sums are of others."""
    at = margin.columns.index(column)
    if (margin.maps[at] < 0).any():
        return None
    kept = [i for i in range(len(margin.columns)) if i != at]
    shape = tuple(margin.shape[i] for i in kept)
    codes = np.unravel_index(margin.keys, margin.shape)
    places = (
        np.ravel_multi_index(tuple(codes[i] for i in kept), shape)
        if kept
        else np.zeros(len(margin.keys), np.int64)
    )
    keys, to = np.unique(places, return_inverse=True)
    to = np.asarray(to).ravel()
    low, high, value, square = np.zeros((4, len(keys)))
    for made, parts in (
        (low, margin.low),
        (high, margin.high),
        (value, margin.value),
        (square, margin.scale**2),
    ):
        np.add.at(made, to, parts)
    full = np.bincount(to, minlength=len(keys)) == margin.shape[at]
    # where a part is not listed, nothing is known above
    limited = (full | margin.complete) & (high < NO_LIMIT)
    return replace(
        margin,
        columns=tuple(margin.columns[i] for i in kept),
        groups=tuple(margin.groups[i] for i in kept),
        maps=tuple(margin.maps[i] for i in kept),
        keys=keys.astype(np.int64),
        low=low.astype(np.int64),
        high=np.where(limited, high, NO_LIMIT).astype(np.int64),
        value=np.where(limited | (square > 0), value, np.nan),
        scale=np.sqrt(square),
    )
