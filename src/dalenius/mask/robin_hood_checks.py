"""What Robin Hood masking is judged by: who gains privacy, what imputation undoes, and what becomes of disparities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, no_column
from dalenius.core.later import altair as alt
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector
from dalenius.mask.neighbours import Floats
from dalenius.mask.robin_hood import Classes, effective_k
from dalenius.utility.inference.glm import solve_glm

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)")


def privacy_by_group(
    original: Table, masked: Table, keys: Sequence[str], column: str, links: IntArray | None = None
) -> Result:
    """Who gains privacy and who gives it: mean effective k of each group before and after, and what share is emptied.

    Examples
    --------
    >>> from dalenius.mask.robin_hood import RobinHood
    >>> table = Table.from_frame({"sex": ["f"] * 10, "group": ["M"] * 7 + ["m"] * 3})
    >>> made = RobinHood(("sex", "group"), fairness="group", k=4).apply(table, 1)
    >>> privacy_by_group(table, made.table, ["sex", "group"], "group").table.select("group", "before", "after").rows()
    [('M', 7.0, 7.428571428571429), ('m', 3.0, 4.0)]
    """
    own, empty = _followed(original, masked, column, links)
    classes = Classes.of(own, list(keys), column)
    c = np.bincount(classes.ids[empty], minlength=len(classes.sizes)).astype(float)
    pool = np.bincount(classes.pools, c)
    after = effective_k(classes.sizes.astype(float), c, pool[classes.pools] - c)
    size = classes.sizes.astype(float)
    labels = own[column].categories.labels
    rows = np.bincount(classes.levels, size, minlength=len(labels))
    there = np.flatnonzero(rows)
    frame = pl.DataFrame(
        {
            "group": [str(labels[i]) for i in there.tolist()],
            "rows": rows[there].astype(np.int64),
            "before": (np.bincount(classes.levels, size * size, minlength=len(labels)) / np.maximum(rows, 1))[there],
            "after": (np.bincount(classes.levels, size * after, minlength=len(labels)) / np.maximum(rows, 1))[there],
            "emptied in %": (100 * np.bincount(classes.levels, c, minlength=len(labels)) / np.maximum(rows, 1))[there],
        }
    )  # fmt: skip
    frame = frame.with_columns(gain=pl.col("after") - pl.col("before"))
    best = frame.sort("gain", "group", descending=[True, False]).row(0, named=True)
    value = float(min(after, default=0.0))
    return Result(
        "privacy-by-group",
        value,
        f"Who looks for somebody has to expect as many attempts as among {figure(value)} or more; group "
        f"{best['group']!r} gains most, from {figure(best['before'])} to {figure(best['after'])}.",
        table=frame,
        chart=lambda: _by_group(frame),
        counts=WHOLE,
    )


def _by_group(frame: pl.DataFrame) -> alt.TopLevelMixin:
    long = frame.unpivot(["before", "after"], index="group", variable_name="when", value_name="effective k")
    bars = alt.Chart(long.to_arrow()).mark_bar()
    return bars.encode(
        alt.Y("group:N", sort=None, title=None),
        alt.X("effective k:Q", title="mean effective k"),
        alt.Color(
            "when:N", sort=["before", "after"], scale=alt.Scale(range=[ORIGINAL, PROTECTED]), title=None
        ),
        alt.YOffset("when:N", sort=["before", "after"]),
    ).properties(width=420)


def imputation_attack(
    original: Table, masked: Table, keys: Sequence[str], column: str, links: IntArray | None = None
) -> Result:
    """Effective k when emptied cells are guessed from the other released columns, the likeliest records first.

    A logistic model learns the column from records that show it. Who looks for somebody goes through the shown records,
    then through the emptied ones in the order of their chance to be of that group; equal chances count by their mean
    place. Where the other columns tell nothing, the figure is the effective k itself.

    Examples
    --------
    >>> from dalenius.mask.robin_hood import RobinHood
    >>> group = (["M"] * 70 + ["m"] * 30) * 2
    >>> table = Table.from_frame({"sex": ["f", "m"] * 100, "group": group, "tell": [2.5 * (g == "m") for g in group]})
    >>> made = RobinHood(("sex", "group"), fairness="group", k=40).apply(table, 1)
    >>> found = imputation_attack(table, made.table, ["sex", "group"], "group")
    >>> bool(found.value < found.yardsticks["without imputation"])
    True
    """
    own, empty = _followed(original, masked, column, links)
    classes = Classes.of(own, list(keys), column)
    c = np.bincount(classes.ids[empty], minlength=len(classes.sizes)).astype(float)
    size = classes.sizes.astype(float)
    pool = np.bincount(classes.pools, c)
    plain = effective_k(size, c, pool[classes.pools] - c)
    place = np.zeros(len(size))
    rows = np.flatnonzero(empty)
    if len(rows):
        chances, levels = _guessed(masked, column, rows)
        mean = _mean_places(
            chances, classes.pools[classes.ids[rows]], own[column].categories.codes[rows], levels
        )
        place = np.bincount(classes.ids[rows], mean, minlength=len(size)) / np.maximum(c, 1)
    shown = size - c
    attempts = shown / size * (shown + 1) / 2 + c / size * (shown + place)
    found = 2 * attempts - 1
    value, usual = float(found.min(initial=np.inf)), float(plain.min(initial=np.inf))
    return Result(
        "imputation-attack",
        value,
        f"If emptied cells are guessed from the other columns, the smallest effective k is {figure(value)}; it is "
        f"{figure(usual)} if they are not.",
        yardsticks={"without imputation": usual},
    )


def _followed(original: Table, masked: Table, column: str, links: IntArray | None) -> tuple[Table, Any]:
    if column not in original or column not in masked:
        raise DataError(no_column([column], original.names))
    own = original if links is None else original.take(links)
    if own.rows != masked.rows or not own.rows:
        raise DataError(f"{own.rows:,} original and {masked.rows:,} masked rows; give the links of the lens")
    return own, ~masked[column].present & own[column].present


def _guessed(masked: Table, column: str, rows: IntArray) -> tuple[Floats, IntArray]:
    """For each emptied row the chance of each level, and which levels those are."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 (loading it takes a second)

    features = np.column_stack([np.ones((masked.rows, 1)), *(
        _features(masked[name]) for name in masked.names if name != column
    )])  # fmt: skip
    shown = masked[column].present
    codes = masked[column].data[shown].astype(np.int64)
    if len(np.unique(codes)) < 2:
        return np.ones((len(rows), 1)), np.unique(codes)
    model = LogisticRegression(max_iter=300).fit(features[shown], codes)
    return np.asarray(model.predict_proba(features[rows])), np.asarray(model.classes_)


def _features(vector: Vector) -> Floats:
    """A column as predictors: numbers in standard deviations, categories one by one (at most fifty of them)."""
    if vector.is_number:
        values = vector.floats()
        known = values[np.isfinite(values)]
        middle, width = (known.mean(), known.std() or 1.0) if len(known) else (0.0, 1.0)
        return np.nan_to_num((values - middle) / width, posinf=0.0, neginf=0.0)[:, None]
    codes = vector.categories.codes
    common = np.argsort(-np.bincount(codes, minlength=vector.categories.size), kind="stable")[:50]
    return (codes[:, None] == common).astype(float)


def _mean_places(chances: Floats, pools: IntArray, codes: IntArray, levels: IntArray) -> Floats:
    """Place of each emptied row among those of its pool, the likeliest for its own level first; ties by their mean."""
    places = np.zeros(len(pools))
    for at, level in enumerate(levels.tolist()):  # a few levels
        mine = np.round(chances[:, at], 12)
        order = np.lexsort((-mine, pools))
        starts = np.searchsorted(pools[order], pools[order])
        rank = np.arange(len(order)) - starts + 1
        tie = np.concatenate([[0], np.cumsum((np.diff(mine[order]) != 0) | (np.diff(pools[order]) != 0))])
        mean = np.bincount(tie, rank) / np.bincount(tie)
        own = codes[order] == level
        places[order[own]] = mean[tie[own]]
    unseen = ~np.isin(codes, levels)  # nobody shown has that level: nothing was learnt about it
    sizes = np.bincount(pools)
    places[unseen] = (sizes[pools[unseen]] + 1) / 2
    return places


def disparity_odds_ratios(
    table: Table, outcome: str, group: str, baseline: str, covariates: Sequence[str] = (),
    merged: Mapping[str, str] | None = None,
) -> dict[str, float]:  # fmt: skip
    """Odds ratio of an outcome for each group against one of them, by logistic regression on complete rows.

    Parameters
    ----------
    covariates
        Numbers as they are, ranges such as 20-29 by their middle, other categories one by one.
    merged
        For groups that were merged the name they have in this file: each gets the merged group's ratio. A group that
        is not in the file gets 1.

    Examples
    --------
    >>> sick = ["y"] * 10 + ["n"] * 90 + ["y"] * 20 + ["n"] * 80
    >>> table = Table.from_frame({"sick": sick, "group": ["M"] * 100 + ["m"] * 100})
    >>> round(disparity_odds_ratios(table, "sick", "group", "M")["m"], 3)
    2.25
    """
    absent = [name for name in (outcome, group, *covariates) if name not in table]
    if absent:
        raise DataError(no_column(absent, table.names))
    full = np.all([table[name].present for name in (outcome, group, *covariates)], axis=0)
    used = table.take(np.flatnonzero(full))
    labels = [str(label) for label in used[group].levels]
    if baseline not in labels:
        raise DataError(f"column {group!r} has no such baseline group; name one of its levels")
    codes = used[group].data.astype(np.int64)
    seen = np.bincount(codes, minlength=len(labels)) > 0
    others = [i for i, label in enumerate(labels) if label != baseline and seen[i]]
    parts = [np.ones((used.rows, 1)), *((codes == i)[:, None].astype(float) for i in others)]
    x = np.column_stack([*parts, *(_covariate(used[name]) for name in covariates)])
    y = used[outcome].categories.codes
    hit = (
        (y == y.max(initial=0)).astype(float)
        if not used[outcome].is_number
        else (used[outcome].data > 0) * 1.0
    )
    fit = solve_glm(x, np.asarray(hit, np.float64), "binomial")
    ratios = {labels[i]: float(np.exp(fit.estimates[1 + at])) for at, i in enumerate(others)}
    ratios |= {label: 1.0 for i, label in enumerate(labels) if not seen[i] and label != baseline}
    for old, new in (merged or {}).items():
        ratios[old] = 1.0 if new == baseline else ratios.get(new, 1.0)
    return ratios


def _covariate(vector: Vector) -> Floats:
    if vector.is_number:
        return vector.floats()[:, None]
    ranges = [_RANGE.fullmatch(str(level)) for level in vector.levels]
    if vector.column.kind is Kind.ORDERED and ranges and all(ranges):
        middles = np.array([(float(r[1]) + float(r[2])) / 2 for r in ranges if r])
        return np.asarray(middles[vector.data])[:, None]
    used = np.unique(vector.data)[1:]
    return (vector.data[:, None] == used).astype(float)
