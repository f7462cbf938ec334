"""Means, medians and standard deviations of numbers, compared on the scale of the original's range.

SDMetrics' StatisticSimilarity: 1 is the same figure, 0 a difference as large as the whole range of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl

from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.utility.charts import plain_bars
from dalenius.utility.summary import Summary
from dalenius.utility.yardstick import held_out

Statistic = Literal["mean", "median", "std"]


Weights = AnyArray | None


def _spread(values: AnyArray, weights: Weights) -> float:
    if len(values) < 2:
        return float("nan")
    if weights is None:
        return float(np.std(values, ddof=1))
    middle = np.average(values, weights=weights)
    return float(
        np.sqrt(np.average((values - middle) ** 2, weights=weights) * len(values) / (len(values) - 1))
    )


def _median(values: AnyArray, weights: Weights) -> float:
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    low, high = (int(np.searchsorted(reached, half, side=side)) for side in ("left", "right"))
    last = len(order) - 1
    return float(values[order[min(low, last)]] + values[order[min(high, last)]]) / 2


_STATISTICS: Mapping[str, Callable[[AnyArray, Weights], float]] = {
    "mean": lambda values, weights: float(np.average(values, weights=weights)),
    "median": _median,
    "std": _spread,
}
_WORDS = {"mean": "means", "median": "medians", "std": "standard deviations"}


def statistic_table(
    original: Table, other: Table, columns: Sequence[str], statistic: Statistic = "mean",
    weights: tuple[Weights, Weights] = (None, None),
) -> pl.DataFrame:  # fmt: skip
    """One statistic of every number in two files, and how alike they are; the least alike first.

    A column that is constant in the original has no range to compare with: its score is NaN. One that has values in the
    original and none in the other file has lost everything: 0.

    Examples
    --------
    >>> first, second = (Table.from_frame({"age": ages}) for ages in ([20, 30, 40], [20, 30, 55]))
    >>> statistic_table(first, second, ["age"]).row(0)
    ('age', 30.0, 35.0, 0.75)
    """
    one_of("statistic", statistic, get_args(Statistic))
    rows = []
    for name in columns:
        a, b = (table[name].floats() for table in (original, other))
        known = [np.isfinite(side) for side in (a, b)]
        of = [None if w is None else w[there] for w, there in zip(weights, known, strict=True)]
        a, b = a[known[0]], b[known[1]]
        values = [
            _STATISTICS[statistic](side, w) if len(side) and (w is None or w.any()) else float("nan")
            for side, w in zip((a, b), of, strict=True)
        ]
        spread = float(a.max() - a.min()) if len(a) else 0.0
        score = float("nan") if spread == 0 else max(0.0, 1 - abs(values[0] - values[1]) / spread)
        if spread > 0 and np.isnan(values[1]):
            score = 0.0
        rows.append((name, *values, score))
    schema = {"column": pl.String, "original": pl.Float64, "protected": pl.Float64, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("score", nulls_last=True)


@measure(
    name="statistic-similarity",
    title="Means alike",
    family="utility",
    meaning="How close the mean (or median, or standard deviation) of each number is, averaged: 1 is the same, 0 "
    "is off by the whole range of the original.",
    better="higher",
    bounds=(0, 1),
    reference="SDMetrics: StatisticSimilarity",
    default=False,
    sees_dependence=False,
    weighs=True,
)
def statistic_similarity(
    pair: Pair, columns: Sequence[str] | None = None, statistic: Statistic = "mean"
) -> Result:
    """Mean over the numbers of SDMetrics' StatisticSimilarity.

    Examples
    --------
    >>> statistic_similarity(Pair({"age": [20, 30, 40]}, {"age": [20, 30, 55]}), statistic="median").value
    1.0
    """
    numbers = [n for n in (columns if columns is not None else pair.columns) if pair.original[n].is_number]
    table = statistic_table(pair.original, pair.protected, numbers, statistic, _weights(pair))
    scores = Summary.of(table, "score")
    text = "There is no number whose values vary in the original, so nothing can be compared."
    if scores.worst is not None:
        text = (
            f"The {_WORDS[statistic]} of the numbers differ by {figure(100 * (1 - scores.mean), '%')} of their range "
            f"on average; the most moved is {scores.worst['column']!r}, from {figure(scores.worst['original'])} to "
            f"{figure(scores.worst['protected'])}."
        )
    beside = {"the original itself": 1.0}
    held = held_out(pair)
    if held is not None and scores.worst is not None:
        other = statistic_table(held.original, held.protected, numbers, statistic, _weights(held))
        beside["holdout"] = Summary.of(other, "score").mean
    return Result(
        name="statistic-similarity",
        value=scores.mean,
        sentence=text,
        yardsticks=beside,
        values={"lowest": scores.lowest},
        table=table,
        counts=WHOLE,
        chart=lambda: plain_bars(table, "column", "score", f"similarity of {_WORDS[statistic]}"),
    )


def _weights(pair: Pair) -> tuple[Weights, Weights]:
    return pair.designs.weights("original"), pair.designs.weights("protected")
