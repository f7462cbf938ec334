"""Columns of all kinds beside each other: correlation, correlation ratio and Theil's U in one matrix.

Two numbers have Pearson's r; a category and a number the correlation ratio η, the root of the share of the number's
spread that lies between the categories (Pearson 1905); two categories the uncertainty coefficient U(X|Y), the share of
the entropy of X that Y takes away (Theil 1970), which is another one the other way round. Miletic and Sariyar 2024
compare files by the distance of these matrices, and by the summed distance of `summed_distance`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.memory import count_codes_many
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Categories
from dalenius.utility.charts import plain_bars, square_map
from dalenius.utility.transport import transport_figures
from dalenius.utility.yardstick import held_out


def correlation_ratio(groups: AnyArray, values: AnyArray) -> float:
    """η of a number by groups (codes); 0 where the number does not vary.

    Examples
    --------
    >>> round(correlation_ratio(np.array([0, 0, 1, 1, 2, 2]), np.arange(1, 7)), 7)
    0.9561829
    """
    there = np.isfinite(values)
    groups, values = groups[there], np.asarray(values, np.float64)[there]
    if not len(values):
        return 0.0
    centred = values - values.mean()
    total = float(np.sum(centred**2))
    size = np.bincount(groups)
    sums = np.bincount(groups, centred)
    between = float(np.sum(sums[size > 0] ** 2 / size[size > 0]))
    return float(np.sqrt(min(between / total, 1.0))) if total > 0 else 0.0


def uncertainty(table: AnyArray) -> float:
    """Theil's U of the rows of a table of counts given its columns; 1 where the rows leave nothing open.

    Examples
    --------
    >>> table = np.array([[2, 1], [0, 3]])
    >>> round(uncertainty(table), 7), round(uncertainty(table.T), 7)
    (0.4591479, 0.5)
    """
    shares = np.asarray(table, np.float64) / max(float(np.sum(table)), 1.0)
    own, other = _entropy(shares.sum(axis=1)), _entropy(shares.sum(axis=0))
    return 1.0 if own <= 0 else float(np.clip((own - (_entropy(shares.ravel()) - other)) / own, 0, 1))


def _entropy(shares: AnyArray) -> float:
    known = shares[shares > 0]
    return float(-(known * np.log(known)).sum())


def mixed_matrix(table: Table, columns: Sequence[str], numbers: Sequence[str]) -> AnyArray:
    """Association of every two columns, the row's given the column's; 0 where one does not vary.

    Examples
    --------
    >>> table = Table.from_frame({"a": list("xxxyyy"), "b": list("ppqqqq")})
    >>> mixed_matrix(table, ["a", "b"], []).round(3).tolist()
    [[1.0, 0.459], [0.5, 1.0]]
    """
    values = {name: table[name].floats() for name in numbers}
    codes: dict[str, Categories] = {n: table[n].categories for n in columns if n not in values}
    crossed = [(a, b) for i, a in enumerate(codes) for b in list(codes)[i + 1 :]]
    counted = count_codes_many(codes, crossed)
    matrix = np.eye(len(columns))
    for i, a in enumerate(columns):
        for j, b in enumerate(columns[:i]):
            if a in values and b in values:
                found = (_pearson(values[a], values[b]),) * 2
            elif a in values or b in values:
                number, group = (a, b) if a in values else (b, a)
                found = (correlation_ratio(codes[group].codes, values[number]),) * 2
            else:
                held = counted[b, a]  # the earlier column stands for the rows
                dense = np.zeros((len(codes[b].labels), len(codes[a].labels)))
                dense[held.cells[:, 0], held.cells[:, 1]] = held.counts
                found = (uncertainty(dense.T), uncertainty(dense))
            matrix[i, j], matrix[j, i] = found
    return matrix


def _pearson(x: AnyArray, y: AnyArray) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    x, y = (v - v.mean() for v in (x, y))
    x, y = (v / float(np.abs(v).max()) for v in (x, y))  # squares stay in range
    return float(np.clip(np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y)), -1, 1))


def mixed_differences(pair: Pair, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Both matrices cell by cell, and how far apart they are; the cell furthest apart first.

    Examples
    --------
    >>> pair = Pair({"a": list("xxxyyy"), "b": list("ppqqqq")}, {"a": list("xxyyxy"), "b": list("pqpqqp")})
    >>> mixed_differences(pair).select("first", "second", pl.col("size").round(3)).row(0)
    ('b', 'a', 0.418)
    """
    used = list(columns) if columns is not None else pair.columns
    numbers = [name for name in used if pair.original[name].is_number]
    both = [mixed_matrix(table, used, numbers) for table in (pair.original, pair.protected)]
    rows = [
        (a, b, float(both[0][i, j]), float(both[1][i, j]), abs(float(both[1][i, j] - both[0][i, j])))
        for i, a in enumerate(used)
        for j, b in enumerate(used)
        if i != j
    ]
    schema = {"first": pl.String, "second": pl.String, "original": pl.Float64, "protected": pl.Float64}
    table = pl.DataFrame(rows, schema=schema | {"size": pl.Float64}, orient="row")
    return table.sort("size", "first", "second", descending=[True, False, False])


@measure(
    name="mixed-associations",
    title="Difference of associations, each kind of pair in its own way",
    family="utility",
    meaning="Mean absolute difference between the files' matrices of correlation (two numbers), correlation ratio "
    "(number and category) and Theil's U (two categories): 0 is the same.",
    better="lower",
    bounds=(0, 2),
    reference="Miletic and Sariyar 2024; Theil 1970 for U",
    default=False,
)
def mixed_associations(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Distance between the matrices of associations; ``values`` has the Frobenius norm, which the paper prints.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": [i % 40 for i in range(100)]}
    >>> mixed_associations(Pair(data, data)).value
    0.0
    """
    table = mixed_differences(pair, columns)
    if not len(table):
        return Result("mixed-associations", float("nan"), "There is no pair of columns to compare.")
    worst = table.row(0, named=True)
    value, norm = _distances(table)
    beside = {"the original itself": 0.0}
    held = held_out(pair)
    if held is not None:
        beside["holdout"] = _distances(mixed_differences(held, columns))[0]
    order = list(dict.fromkeys([*table["first"], *table["second"]]))
    return Result(
        name="mixed-associations",
        value=value,
        sentence=f"How strongly columns go together differs by {figure(value)} on average; most for "
        f"{worst['first']!r} given {worst['second']!r}: {figure(worst['original'])} in the original, "
        f"{figure(worst['protected'])} in the protected file.",
        yardsticks=beside,
        values={"Frobenius norm": norm},
        table=table,
        counts=WHOLE,
        chart=lambda: square_map(table, order, "size", "absolute difference"),
    )


def _distances(table: pl.DataFrame) -> tuple[float, float]:
    apart = table["size"].to_numpy()
    return float(apart.mean()), float(np.sqrt(np.sum(apart**2)))


def hellinger(first: AnyArray, second: AnyArray) -> float:
    """Hellinger distance of two vectors of counts over the same levels.

    Examples
    --------
    >>> round(hellinger(np.array([5, 3, 2]), np.array([4, 4, 2])), 7)
    0.0798514
    """
    p, q = (np.asarray(v, np.float64) / max(float(np.sum(v)), 1.0) for v in (first, second))
    return float(np.sqrt(max(1.0 - float(np.sum(np.sqrt(p * q))), 0.0)))


def hellinger_table(pair: Pair, columns: Sequence[str]) -> pl.DataFrame:
    """Hellinger distance of each category (gaps are a level), the furthest first."""
    rows = []
    for name in columns:
        aligned = pair.categories(name, grouped=False)
        size = len(aligned.original.labels)
        sides = [np.bincount(side.codes, minlength=size) for side in (aligned.original, aligned.protected)]
        rows.append((name, hellinger(sides[0], sides[1])))
    table = pl.DataFrame(rows, schema={"column": pl.String, "distance": pl.Float64}, orient="row")
    return table.sort("distance", "column", descending=[True, False])


@measure(
    name="summed-distance",
    title="Distance of numbers and of categories, added up",
    family="utility",
    meaning="How far records must be moved to make the numbers those of the other file, plus the mean Hellinger "
    "distance of the categories: 0 is the same.",
    better="lower",
    bounds=(0, float("inf")),
    reference="Miletic and Sariyar 2024",
    default=False,
    sees_dependence=False,
    random=True,
)
def summed_distance(
    pair: Pair, columns: Sequence[str] | None = None, most: int = 1000, repeats: int = 3
) -> Result:
    """Optimal transport of the numbers alone, and the Hellinger distance of each category on its own.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": [i % 40 for i in range(100)]}
    >>> summed_distance(Pair(data, data)).value
    0.0
    """
    used = list(columns) if columns is not None else pair.columns
    numbers = [name for name in used if pair.original[name].is_number]
    table = hellinger_table(pair, [name for name in used if name not in numbers])
    moved = transport_figures(pair, numbers, most=most, repeats=repeats) if numbers else {}
    apart = float(table["distance"].mean()) if len(table) else 0.0  # type: ignore[arg-type]
    beside = {what: float(values.mean()) for what, values in moved.items() if what == "holdout"}
    held = held_out(pair)
    if held is not None:
        levels = hellinger_table(held, table["column"].to_list())
        beside["holdout"] = beside.get("holdout", 0.0) + (
            float(levels["distance"].mean()) if len(levels) else 0.0  # type: ignore[arg-type]
        )
    else:
        beside = {}
    transported = float(moved["protected"].mean()) if moved else 0.0
    return Result(
        name="summed-distance",
        value=transported + apart,
        sentence=f"Numbers are {figure(transported)} apart (records moved, each column scaled to 1), categories "
        f"{figure(apart)} on average (Hellinger, 1 is nothing in common).",
        yardsticks={"the original itself": 0.0, **beside},
        values={"numbers": transported, "categories": apart},
        table=table,
        counts=WHOLE,
        chart=lambda: plain_bars(table, "column", "distance", "Hellinger distance"),
    )
