"""Numbers given another column: medians and densities inside each group, in both files.

A file can keep every single distribution and every correlation and still have the incomes of one region wrong. For each
number and each other column the rows are split by that column (numbers in groups), and inside every group the medians
and the whole distributions are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.later import altair as alt
from dalenius.core.result import Result, figure
from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.utility._kernels import inside_groups

FEWEST = 10
"""Rows that a group, and a drawn piece of a density, stands for at least."""
BINS = 12
SHOWN = 6
FRESH = 0.8687
"""Expected distance of two samples of one population: this times √(1/n + 1/k) (Kolmogorov: √(π/2) ln 2)."""


def conditional_table(
    pair: Pair, columns: Sequence[str] | None = None, given: Sequence[str] | None = None
) -> pl.DataFrame:
    """Medians of each number inside the groups of each other column, and how far the distributions are apart.

    ``shift`` is the difference of medians in interquartile ranges of the whole original column, ``KS`` the largest
    difference between the two distribution functions inside the group, ``fresh`` what it would be for a fresh sample of
    that size. Groups with fewer than ten rows in either file are left out.

    Examples
    --------
    >>> data = {"pay": [1.5, 2.5, 3.5, 4.5] * 10, "sex": ["f", "f", "m", "m"] * 10}
    >>> moved = {"pay": [1.5, 2.5, 4.5, 5.5] * 10, "sex": ["f", "f", "m", "m"] * 10}
    >>> conditional_table(Pair(data, moved), given=["sex"]).select("group", "original", "protected", "KS").rows()
    [('f', 2.0, 2.0, 0.0), ('m', 4.0, 5.0, 0.5)]
    """
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for name in columns if columns is not None else _numbers(pair):
        if not pair.original[name].is_number:
            raise DataError(f"column {name!r} is {pair.original[name].column.kind}; medians need a number")
        walk = _Walk.of(*(table[name].floats() for table in (pair.original, pair.protected)))
        others = [other for other in (given if given is not None else pair.columns) if other != name]
        rows = [row for other in others for row in _groups(pair, name, other, walk)]
        parts.append(pl.DataFrame(rows, schema=_SCHEMA))  # a thousand columns have millions of groups
    return pl.concat(parts)


_SCHEMA = {
    "column": pl.String, "given": pl.String, "group": pl.String, "rows": pl.Int64, "original": pl.Float64,
    "protected": pl.Float64, "shift": pl.Float64, "KS": pl.Float64, "fresh": pl.Float64,
}  # fmt: skip


def _numbers(pair: Pair) -> list[str]:
    kinds = (Kind.INTEGER, Kind.CONTINUOUS)
    return [name for name in pair.columns if pair.original[name].column.kind in kinds]


def _spread(values: AnyArray) -> float:
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 1.0
    low, high = np.quantile(known, [0.25, 0.75])
    return float(high - low) or float(known.std()) or 1.0


class _Walk(NamedTuple):
    """A number of both files, one after the other; ``order`` has the rows with a value by ascending value."""

    values: AnyArray
    order: IntArray
    split: int
    scale: float

    @classmethod
    def of(cls, first: AnyArray, second: AnyArray) -> _Walk:
        values = np.concatenate([first, second])
        known = np.flatnonzero(np.isfinite(values)).astype(np.int32)
        return cls(values, known[np.argsort(values[known], kind="stable")], len(first), _spread(first))


def _groups(pair: Pair, name: str, other: str, walk: _Walk) -> Iterator[dict[str, object]]:
    aligned = pair.categories(other)
    labels = aligned.original.labels
    codes = np.concatenate([aligned.original.codes, aligned.protected.codes]).astype(np.int32, copy=False)
    rows, medians, distance = inside_groups(walk.order, walk.values, codes, walk.split, len(labels))
    for group in np.flatnonzero(rows.min(axis=0) >= FEWEST).tolist():
        n, k = rows[:, group].tolist()
        a, b = medians[:, group].tolist()
        yield {
            "column": name, "given": other, "group": str(labels[group]), "rows": n, "original": a, "protected": b,
            "shift": (b - a) / walk.scale, "KS": float(distance[group]),
            "fresh": min(1.0, FRESH * float(np.sqrt(1 / n + 1 / k))),
        }  # fmt: skip


@measure(
    name="conditionals",
    title="Conditional distributions (KS)",
    family="utility",
    meaning="How far numbers are apart inside the groups of every other column, averaged: 0 is the same, 1 has "
    "nothing in common.",
    better="lower",
    bounds=(0, 1),
    reference="Kolmogorov, Smirnov; conditional medians and densities as in Thees, Novák, Templ 2024",
)
def conditional_distributions(
    pair: Pair, columns: Sequence[str] | None = None, given: Sequence[str] | None = None
) -> Result:
    """Mean distance between the distributions of numbers inside groups, with all conditional medians.

    Examples
    --------
    >>> data = {"pay": [1.5, 2.5, 3.5, 4.5] * 10, "sex": ["f", "f", "m", "m"] * 10}
    >>> conditional_distributions(Pair(data, data)).value
    0.0
    """
    table = conditional_table(pair, columns, given)
    if not len(table):
        text = "There is no number to compare inside groups of another column."
        return Result("conditionals", float("nan"), text)
    means = _by_pair(table)
    value = float(means["KS"].mean())  # type: ignore[arg-type]
    worst = means.row(0, named=True)
    text = (
        f"Inside groups the distributions of numbers differ by {figure(value)} on average (0 is the same, 1 no "
        f"overlap); most {worst['column']!r} given {worst['given']!r}, where medians move by "
        f"{figure(worst['shift'])} interquartile ranges."
    )
    return Result(
        name="conditionals",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 0.0, "a fresh sample at most": float(means["fresh"].mean())},  # type: ignore[arg-type]
        values={"mean shift of medians": float(means["shift"].mean()), "worst": float(means["KS"].max())},  # type: ignore[arg-type]
        table=table.sort(pl.col("shift").abs(), descending=True, maintain_order=True),
        counts=("rows",),
        chart=lambda: density_chart(pair, worst["column"], worst["given"]),
    )


def _by_pair(table: pl.DataFrame) -> pl.DataFrame:
    """One row per number and condition, groups weighted by their rows; first what is most beyond a fresh sample."""
    weight = pl.col("rows") / pl.col("rows").sum()
    return (
        table.group_by("column", "given")
        .agg((pl.col(name).abs() * weight).sum().alias(name) for name in ("KS", "shift", "fresh"))
        .sort(pl.col("KS") - pl.col("fresh"), "column", "given", descending=[True, False, False])
    )


def density_chart(pair: Pair, column: str, given: str) -> alt.TopLevelMixin:
    """Densities of a number inside the largest groups of another column, both files, with their medians.

    Pieces of a density that stand for fewer than ten rows are left out.
    """
    data, medians = _densities(pair, column, given)
    files = ["original", "protected"]
    colour = alt.Color("file:N", title=None, scale=alt.Scale(domain=files, range=[ORIGINAL, PROTECTED]))
    dash = alt.StrokeDash("file:N", title=None, scale=alt.Scale(domain=files, range=[[1, 0], [4, 2]]))
    # Both frames are one, because a facet wants one source of data.
    joined = pl.concat([data, medians], how="diagonal")
    base = alt.Chart(joined.to_arrow())
    lines = (
        base.mark_line(interpolate="step-after")
        .encode(
            x=alt.X("value:Q", title=column),
            y=alt.Y("share:Q", title="share of rows", stack=None),
            color=colour,
            strokeDash=dash,
        )
        .transform_filter("isValid(datum.share)")
    )
    rules = (
        base.mark_rule(size=2)
        .encode(x=alt.X("median:Q"), color=colour, strokeDash=dash)
        .transform_filter("isValid(datum.median)")
    )
    return (
        alt.layer(lines, rules)
        .properties(width=210, height=110)
        .facet(facet=alt.Facet("group:N", title=f"{column} given {given}", sort=None), columns=2)
    )


def _densities(pair: Pair, column: str, given: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    aligned = pair.categories(given)
    own = pair.original[column].floats()
    known = own[np.isfinite(own)]
    low, high = np.quantile(known, [0.005, 0.995]) if len(known) else (0.0, 1.0)
    edges = np.linspace(low, max(high, low + 1e-9), BINS + 1)
    size = np.bincount(aligned.original.codes, minlength=len(aligned.original.labels))
    frames, medians = [], []
    for code in np.argsort(-size, kind="stable")[:SHOWN].tolist():
        label = str(aligned.original.labels[code])
        for file, table, rows in (
            ("original", pair.original, aligned.original.codes == code),
            ("protected", pair.protected, aligned.protected.codes == code),
        ):
            values = _known(table[column].floats(), rows)
            if len(values) < pair.threshold:
                continue
            counts = np.histogram(values, edges)[0]
            seen = counts >= pair.threshold
            part = {"value": edges[:-1][seen], "share": counts[seen] / len(values)}
            frames.append(pl.DataFrame(part).with_columns(group=pl.lit(label), file=pl.lit(file)))
            medians.append({"group": label, "file": file, "median": float(np.median(values))})
    schema = {"value": pl.Float64, "share": pl.Float64, "group": pl.String, "file": pl.String}
    drawn = pl.concat(frames) if frames else pl.DataFrame(schema=schema)
    return drawn, pl.DataFrame(medians, schema={"group": pl.String, "file": pl.String, "median": pl.Float64})


def _known(values: AnyArray, rows: BoolArray) -> AnyArray:
    chosen = values[rows]
    return chosen[np.isfinite(chosen)]
