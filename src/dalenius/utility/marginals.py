"""The k-marginal score of NIST's de-identification challenges (SDNIST), with its per-group breakdown.

For each margin L = Σ |share in the original − share in the protected file| over its cells, between 0 and 2; the score
is 500 (2 − mean L): 1000 for the same tables, 0 for tables with nothing in common (Francis 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.option import at_least
from dalenius.core.random import Seed, generator
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import withhold
from dalenius.counts.counts import align
from dalenius.counts.keys import unravel
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair, PairDesigns
from dalenius.data.grouping import Grouping
from dalenius.data.table import Table
from dalenius.utility.charts import plain_bars
from dalenius.utility.tables import one_table, table_utility
from dalenius.utility.yardstick import held_out

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Subsamples that the score is compared with, as SDNIST does."""
COUNTS = ("original rows",)
"""Columns of a table of groups that say how many records a row rests on."""


def percentile_grouping(table: Table, columns: Sequence[str], bins: int = 20) -> Grouping:
    """Group numbers by percentile rank as SDNIST does: twenty groups, tied values together, closed on the right.

    Examples
    --------
    >>> table = Table.from_frame({"age": list(range(100))})
    >>> len(percentile_grouping(table, ["age"], bins=4).breaks["age"])
    5
    """
    breaks = {}
    for name in columns:
        values = np.sort(table[name].values.astype(np.float64))
        distinct, first, count = np.unique(values, return_index=True, return_counts=True)
        if len(distinct) == 0:
            continue
        rank = (first + (count + 1) / 2) / len(values)  # average rank of tied values
        group = np.where(rank < 1, np.floor(bins * rank), bins - 1).astype(np.int64)
        last = np.flatnonzero(np.diff(group, append=bins + 1))
        upper = distinct[last][:-1]
        inner = np.nextafter(upper, np.inf)  # a value equal to the bound belongs below it
        breaks[name] = np.concatenate([[-np.inf], inner, [np.inf]]).clip(distinct[0] - 1, distinct[-1] + 1)
    return Grouping(breaks)


def margins(columns: Sequence[str], order: int, by: str | None) -> list[tuple[str, ...]]:
    """All sets of ``order`` columns in alphabetical order, each crossed with ``by`` when that is given.

    Examples
    --------
    >>> margins(["c", "a", "b"], 2, None)
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    at_least("order", order, 1)
    features = sorted(name for name in columns if name != by)
    chosen = list(combinations(features, min(order, len(features))))
    return [(by, *names) for names in chosen] if by is not None else chosen


def k_marginal_score(
    pair: Pair, columns: Sequence[str] | None = None, *, order: int = 2, by: str | None = None
) -> tuple[float, pl.DataFrame]:
    """Score between 0 and 1000, and the margins with their L, the worst first.

    Examples
    --------
    >>> original = {"a": ["0", "0", "1", "1"], "b": ["0", "1", "0", "1"]}
    >>> k_marginal_score(Pair(original, {**original, "b": ["0", "0", "0", "1"]}))[0]
    750.0
    """
    wanted = margins(columns if columns is not None else pair.columns, order, by)
    if not wanted or not wanted[0]:
        return float("nan"), pl.DataFrame(schema={"table": pl.String, "L": pl.Float64})
    table = table_utility(pair, wanted, statistics=["TVD"]).select("table", (2 * pl.col("TVD")).alias("L"))
    return 500 * (2 - float(table["L"].mean())), table  # type: ignore[arg-type]


def group_scores(
    pair: Pair, by: str, columns: Sequence[str] | None = None, *, order: int = 2
) -> pl.DataFrame:
    """Score of each group, for example of each area: 1000 (1 − mean over margins of its capped L).

    The part of L inside a group is capped at the group's share, so that a score lies between 0 and 1000.

    Examples
    --------
    >>> data = {"area": ["n", "n", "s", "s"], "a": ["0", "1", "0", "1"], "b": ["0", "1", "1", "1"]}
    >>> group_scores(Pair(data, data), "area").rows()
    [('n', 2, 1000.0), ('s', 2, 1000.0)]
    """
    if by not in pair.original:
        raise OptionError(f"no column {by!r} to break the score down by")
    labels = pair.categories(by).original.labels
    codes = pair.categories(by).original.codes
    rows = np.bincount(codes, minlength=len(labels))
    shares = np.bincount(codes, pair.designs.weights("original"), minlength=len(labels)) / pair.original.rows
    total, count = np.zeros(len(labels)), 0
    for names in margins(columns if columns is not None else pair.columns, order, by):
        original, protected, _ = one_table(pair, names)
        keys, (d, s) = align(original, protected)
        group = unravel(keys, original.sizes, 0)  # the grouping column comes first
        apart = np.bincount(group, np.abs(d / d.sum() - s / s.sum()), minlength=len(labels))
        total += np.minimum(apart, shares) / np.where(shares > 0, shares, 1.0)
        count += 1
        pair._counts.pop((tuple(names), True), None)
    kept = shares > 0
    return pl.DataFrame(
        {
            "group": [str(label) for label, keep in zip(labels, kept, strict=True) if keep],
            "original rows": rows[kept],
            "score": 1000 * (1 - total[kept] / max(count, 1)),
        }
    ).sort("score", maintain_order=True)


def sampling_equivalent(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    order: int = 2,
    by: str | None = None,
    draws: int = 3,
    seed: Seed = 0,
) -> tuple[float, pl.DataFrame]:
    """Fraction of the original whose plain subsample scores closest, and the scores of all fractions tried.

    Examples
    --------
    >>> data = {"a": ["0", "1"] * 200, "b": ["0", "1", "1", "1"] * 100}
    >>> sampling_equivalent(Pair(data, data), draws=1)[0]
    0.9
    """
    at_least("draws", draws, 1)
    score, _ = k_marginal_score(pair, columns, order=order, by=by)
    rows = []
    for fraction in FRACTIONS:
        size = max(1, round(fraction * pair.original.rows))
        shares = []
        for draw in range(draws):
            chosen = generator(seed, "subsample", str(fraction), draw).permutation(pair.original.rows)[:size]
            some = np.sort(chosen)
            sample = Pair(pair.original, pair.original.take(some), grouping=pair.grouping)
            own = pair.designs.original
            sample.designs = PairDesigns(own, None if own is None else own.take(some))
            shares.append(k_marginal_score(sample, columns, order=order, by=by)[0])
        rows.append({"fraction": fraction, "score": float(np.mean(shares))})
    table = pl.DataFrame(rows)
    return float(table["fraction"][int((table["score"] - score).abs().arg_min() or 0)]), table


@measure(
    name="k-marginal",
    title="k-marginal score",
    family="utility",
    meaning="How alike all tables of two columns are: 1000 for the same shares in every cell, 0 for nothing in "
    "common.",
    better="higher",
    bounds=(0, 1000),
    reference="NIST SDNIST; Francis 2024",
    reads="counts",
    weighs=True,
)
def k_marginal(
    pair: Pair,
    columns: Sequence[str] | None = None,
    order: int = 2,
    by: str | None = None,
    equivalent: bool = False,
) -> Result:
    """SDNIST's k-marginal score; scores are comparable only over the same margins.

    With ``by`` (an area, for example) every margin is crossed with that column and each of its groups of ten or more
    original rows gets a score;
    ``equivalent`` also asks which subsample of the original would score the same.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> k_marginal(Pair(data, data)).value
    1000.0
    """
    value, table = k_marginal_score(pair, columns, order=order, by=by)
    worst = f"; the least alike is {table['table'][0]}" if len(table) and float(table["L"][0]) > 0.05 else ""
    yardsticks = {"the original itself": 1000.0}
    held = held_out(pair)
    if held is not None:
        yardsticks["holdout"] = k_marginal_score(held, columns, order=order, by=by)[0]
    text = f"The {len(table)} tables of {order} columns score {figure(value)} of 1000{worst}."
    if not len(table):
        text = "There is no table to compare."
    values: dict[str, float] = {}
    if equivalent:
        share = sampling_equivalent(pair, columns, order=order, by=by)[0]
        values["sampling equivalent, %"] = 100 * share
        text += f" A plain subsample of {figure(100 * share, '%')} of the original scores about the same."
    groups = None
    if by is not None:  # who is in a small group must not be told by its name
        groups = withhold(group_scores(pair, by, columns, order=order), COUNTS, pair.threshold)
    if groups is not None and len(groups):
        values["lowest group"] = float(groups["score"][0])
        text += f" Lowest is {groups['group'][0]} with {figure(float(groups['score'][0]))}."
    return Result(
        name="k-marginal",
        value=value,
        sentence=text,
        yardsticks=yardsticks,
        values=values,
        table=table if groups is None else groups,
        counts=COUNTS if groups is not None else (),
        chart=(lambda: plain_bars(table, "table", "L", "difference of shares, 0 to 2"))
        if groups is None
        else (lambda: plain_bars(groups, "group", "score", "score of the group, 0 to 1000")),
    )
