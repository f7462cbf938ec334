"""Pairs of columns: SDMetrics' pair trends, and associations of every kind side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import polars as pl

from dalenius.core.later import stats
from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.counts import Counts
from dalenius.counts.measure import measure
from dalenius.counts.memory import count_codes_many
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Categories
from dalenius.utility.cells import paired, table_statistics
from dalenius.utility.charts import square_map
from dalenius.utility.distributions import shape_scores
from dalenius.utility.summary import Summary
from dalenius.utility.tables import BATCH

Correlation = Literal["pearson", "spearman", "kendall"]
Names = tuple[str, str]
_FIELDS = ("method", "score", "original", "strong")
STRONG_CORRELATION, STRONG_ASSOCIATION = 0.5, 0.3
"""SDMetrics 0.32 leaves weaker pairs out of its average."""


def pair_trends_table(
    pair: Pair, columns: Sequence[str] | None = None, *, own_edges: bool = True
) -> pl.DataFrame:
    """SDMetrics' score of every pair of columns: 1 is best.

    Two numbers: 1 − |difference of Pearson correlations| / 2; otherwise 1 − TVD of the joint table, a number cut into
    ten equal intervals of *each file's own* range (as SDMetrics does: an outlier in one file moves its intervals), or
    with ``own_edges`` off, both into those of the original.
    ``original`` is the correlation or Cramér's V in the original; SDMetrics' report averages ``strong`` pairs only.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}, {"a": ["x", "y"] * 50, "b": ["u"] * 50 + ["v"] * 50})
    >>> pair_trends_table(pair)["score"].to_list()
    [0.5]
    """
    used = list(columns) if columns is not None else pair.columns
    numbers = [name for name in used if pair.original[name].is_number]
    both = [names for names in combinations(used, 2) if set(names) <= set(numbers)]
    crossed = [names for names in combinations(used, 2) if not set(names) <= set(numbers)]
    scores: dict[Names, tuple[str, float, float, bool]] = {}
    weights = [pair.designs.weights(file) for file in ("original", "protected")]
    real, synthetic = (
        _correlations(table, numbers, weights=w)
        for table, w in zip((pair.original, pair.protected), weights, strict=True)
    )
    for a, b in both:
        i, j = numbers.index(a), numbers.index(b)
        score = 1 - abs(real[i, j] - synthetic[i, j]) / 2
        scores[a, b] = (
            "correlation",
            float(score),
            float(real[i, j]),
            bool(abs(real[i, j]) > STRONG_CORRELATION),
        )
    sides = _categories(pair, used, own_edges)
    if crossed:
        counted = [count_codes_many(side, crossed, w) for side, w in zip(sides, weights, strict=True)]
        for a, b in crossed:
            tvd = table_statistics(*paired(counted[0][a, b], counted[1][a, b]), ranked=False)["TVD"]
            strength = cramers_v(counted[0][a, b])
            scores[a, b] = ("contingency", 1 - tvd, strength, strength > STRONG_ASSOCIATION)
    rows = [
        {"first": a, "second": b, **dict(zip(_FIELDS, scores[a, b], strict=True))}
        for a, b in combinations(used, 2)
    ]
    schema = {
        "first": pl.String,
        "second": pl.String,
        "method": pl.String,
        "score": pl.Float64,
        "original": pl.Float64,
        "strong": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema)


def _categories(
    pair: Pair, columns: Sequence[str], own_edges: bool
) -> tuple[dict[str, Categories], dict[str, Categories]]:
    first: dict[str, Categories] = {}
    second: dict[str, Categories] = {}
    for name in columns:
        if pair.original[name].is_number:
            ruler = pair.protected if own_edges else pair.original
            first[name] = _tenths(pair.original, pair.original, name)
            second[name] = _tenths(pair.protected, ruler, name)
        else:
            aligned = pair.categories(name, grouped=False)
            first[name], second[name] = aligned.original, aligned.protected
    return first, second


def _tenths(table: Table, ruler: Table, name: str) -> Categories:
    """Number of the interval of each row, out of ten between the smallest and largest value of ``ruler``."""
    values = table[name].floats()
    known = ruler[name].floats()
    known = known[np.isfinite(known)]
    if len(known) == 0:
        return Categories(np.zeros(len(values), np.uint8), range(12))
    edges = np.histogram_bin_edges(known)
    codes = np.minimum(np.searchsorted(edges, values, side="right"), 11)
    return Categories(codes.astype(np.uint8), range(12))


def _correlations(
    table: Table, names: Sequence[str], method: Correlation = "pearson", weights: AnyArray | None = None
) -> AnyArray:
    """Correlation of every pair of numbers, over the rows that have both; NaN when one is constant."""
    size = len(names)
    result = np.full((size, size), np.nan)
    if size == 0:
        return result
    data = np.stack([table[name].floats() for name in names], axis=1).copy(order="F")
    data[~np.isfinite(data)] = np.nan
    if method == "spearman":
        data = np.stack([_ranks(column, weights) for column in data.T], axis=1)
    complete = not np.isnan(data).any()
    for i in range(size):
        for j in range(i):
            x, y, w = data[:, i], data[:, j], weights
            if not complete:
                both = ~(np.isnan(x) | np.isnan(y))
                x, y, w = x[both], y[both], None if w is None else w[both]
            result[i, j] = result[j, i] = _kendall(x, y) if method == "kendall" else _pearson(x, y, w)
    return result


def _pearson(x: AnyArray, y: AnyArray, weights: AnyArray | None = None) -> float:
    if len(x) < 2 or (weights is not None and not weights.any()):
        return float("nan")
    a, b = _scaled(x - np.average(x, weights=weights)), _scaled(y - np.average(y, weights=weights))
    if weights is not None:
        a, b = a * np.sqrt(weights), b * np.sqrt(weights)
    # Plain sums: for vectors of this size the threads of a matrix library cost more than they bring.
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    flat = np.ptp(x) == 0 or np.ptp(y) == 0 or size == 0
    return float("nan") if flat else float(np.clip(np.sum(a * b) / size, -1, 1))


def _scaled(centred: AnyArray) -> AnyArray:
    """Numbers of at most 1, so that squares stay in range."""
    return centred / (float(np.abs(centred).max()) or 1.0)


def _kendall(x: AnyArray, y: AnyArray) -> float:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(stats.kendalltau(x, y).statistic)


def _ranks(column: AnyArray, weights: AnyArray | None = None) -> AnyArray:
    """Ranks, or how many people of the population are at or below, ties in the middle."""
    known = ~np.isnan(column)
    ranks = np.full(len(column), np.nan)
    if weights is None:
        ranks[known] = stats.rankdata(column[known])
        return ranks
    _, place = np.unique(column[known], return_inverse=True)
    held = np.bincount(place, weights[known])
    ranks[known] = (np.cumsum(held) - held / 2)[place]
    return ranks


@measure(
    name="pair-trends",
    title="Pair trends",
    family="utility",
    meaning="How alike the relations between pairs of columns are, averaged: 1 is the same.",
    better="higher",
    bounds=(0, 1),
    reference="SDMetrics: QualityReport, Column Pair Trends",
    weighs=True,
)
def pair_trends(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean of SDMetrics' pair trend scores; with column shapes it makes their quality score.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> pair_trends(Pair(data, data)).values["quality score"]
    1.0
    """
    used = list(columns) if columns is not None else pair.columns
    table = pair_trends_table(pair, used).sort("score", nulls_last=True)
    summary, strong = Summary.of(table, "score"), Summary.of(table.filter("strong"), "score")
    shapes = Summary.of(pl.DataFrame({"shape": list(shape_scores(pair, used).values())}), "shape")
    parts = [part.mean for part in (shapes, strong) if part.worst is not None]
    text = "There is no pair of columns to compare."
    if summary.worst is not None:
        text = (
            f"Pairs of columns agree by {figure(100 * summary.mean, '%')} on average; the least alike are "
            f"{summary.worst['first']!r} and {summary.worst['second']!r}."
        )
    drawn = table.with_columns((1 - pl.col("score")).alias("distance"))
    return Result(
        name="pair-trends",
        value=summary.mean,
        sentence=text,
        yardsticks={"the original itself": 1.0},
        values={
            "quality score": float(np.mean(parts)) if parts else summary.mean,
            "strong pairs": strong.mean,
            "lowest": summary.lowest,
        },
        table=table,
        counts=WHOLE,
        chart=lambda: square_map(drawn, used, "distance", "distance"),
    )


def associations(
    table: Table, crossed: Mapping[Names, float], columns: Sequence[str], method: Correlation,
    weights: AnyArray | None = None,
) -> AnyArray:  # fmt: skip
    """Association of every pair of columns of one file: correlation of numbers, otherwise Cramér's V (``crossed``)."""
    numbers = [name for name in columns if table[name].is_number]
    correlation = _correlations(table, numbers, method, weights)
    result = np.full((len(columns), len(columns)), np.nan)
    place = {name: k for k, name in enumerate(numbers)}
    for i, j in combinations(range(len(columns)), 2):
        a, b = columns[i], columns[j]
        value = correlation[place[a], place[b]] if a in place and b in place else crossed[a, b]
        result[i, j] = result[j, i] = value
    return result


def cramers_v(table: Counts) -> float:
    """Cramér's V of a two-way table, √(χ² / (n (min(r, c) − 1))); 0 when a margin is constant.

    Examples
    --------
    >>> cramers_v(Counts.from_dense(np.array([[5, 0], [0, 5]]), ["a", "b"], [range(2), range(2)]))
    1.0
    """
    cells, n = table.cells, float(table.total)
    margins = [np.bincount(cells[:, i], weights=table.counts) for i in (0, 1)]
    small = min(int(np.count_nonzero(m)) for m in margins) - 1
    if small < 1 or n == 0:
        return 0.0
    expected = margins[0][cells[:, 0]] * margins[1][cells[:, 1]] / n
    chi = float(np.sum(table.counts.astype(np.float64) ** 2 / expected)) - n
    return float(np.sqrt(max(chi, 0.0) / (n * small)))


def association_table(
    pair: Pair, columns: Sequence[str] | None = None, method: Correlation = "pearson"
) -> pl.DataFrame:
    """Associations of both files and their difference, pair by pair; numbers in groups when crossed with categories.

    A correlation that the original has is 0 in a protected file where one of the numbers is constant.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}, {"a": ["x", "y"] * 50, "b": ["u"] * 50 + ["v"] * 50})
    >>> association_table(pair).select("original", "protected", "difference").row(0)
    (1.0, 0.0, -1.0)
    """
    one_of("method", method, get_args(Correlation))
    used = list(columns) if columns is not None else pair.columns
    tables = [names for names in combinations(used, 2) if _crosses(pair, names)]
    both = [
        associations(table, _crossed(pair, tables, side), used, method, pair.designs.weights(side))
        for table, side in ((pair.original, "original"), (pair.protected, "protected"))
    ]
    # a number that no longer varies goes together with nothing
    both[1] = np.where(np.isnan(both[1]) & ~np.isnan(both[0]), 0.0, both[1])
    rows = [
        {
            "first": used[i],
            "second": used[j],
            "kind": _kind(pair, used[i], used[j], method),
            "original": float(both[0][i, j]),
            "protected": float(both[1][i, j]),
            "difference": float(both[1][i, j] - both[0][i, j]),
        }
        for i, j in combinations(range(len(used)), 2)
    ]
    schema = {"first": pl.String, "second": pl.String, "kind": pl.String, "original": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"protected": pl.Float64, "difference": pl.Float64})


def _crosses(pair: Pair, names: Names) -> bool:
    """Whether two columns are crossed in one of the files, being not both numbers there."""
    return not all(table[name].is_number for table in (pair.original, pair.protected) for name in names)


def _crossed(pair: Pair, tables: Sequence[Names], side: str) -> dict[Names, float]:
    """Cramér's V of the tables of one file, with its weights where there are some."""
    found: dict[Names, float] = {}
    for begin in range(0, len(tables), BATCH):
        batch = tables[begin : begin + BATCH]
        held = pair.weigh_many(batch) if pair.designs else pair.count_many(batch)
        for names, both in held.items():
            counts = getattr(both, side).counts if pair.designs else getattr(both, side)
            found[names] = cramers_v(counts)  # type: ignore[index]
    return found


def _kind(pair: Pair, a: str, b: str, method: Correlation) -> str:
    numbers = pair.original[a].is_number and pair.original[b].is_number
    return method if numbers else "Cramér's V"


@measure(
    name="associations",
    title="Difference of associations",
    family="utility",
    meaning="Mean absolute difference between the files in how strongly pairs of columns go together (correlation "
    "of numbers, Cramér's V otherwise): 0 is the same.",
    better="lower",
    bounds=(0, 2),
    reference="Kolb, Tang, Giessing 2024; SDNIST: pairwise correlation difference",
    weighs=True,
)
def association_difference(
    pair: Pair, columns: Sequence[str] | None = None, method: Correlation = "pearson"
) -> Result:
    """Mean absolute difference of associations over all pairs of columns.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> association_difference(Pair(data, data)).value
    0.0
    """
    used = list(columns) if columns is not None else pair.columns
    table = association_table(pair, used, method).with_columns(pl.col("difference").abs().alias("size"))
    table = table.sort("size", descending=True, nulls_last=True)
    summary = Summary.of(table, "size")
    worst = summary.worst
    text = "There is no pair of columns whose association could be compared."
    if worst is not None:
        text = (
            f"How strongly columns go together differs by {figure(summary.mean)} on average (0 is the same, 1 a lot); "
            f"most for {worst['first']!r} and {worst['second']!r}: {figure(worst['original'])} in the original, "
            f"{figure(worst['protected'])} in the protected file."
        )
    return Result(
        name="associations",
        value=summary.mean,
        sentence=text,
        yardsticks={"the original itself": 0.0},
        values={"median": summary.median},
        table=table.drop("size"),
        counts=WHOLE,
        chart=lambda: square_map(table.drop_nans("size"), used, "size", "absolute difference"),
    )
