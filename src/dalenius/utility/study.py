"""Whether one score of the microdata stands in for the tables made of it later (Kolb et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.option import one_of
from dalenius.core.result import Interval
from dalenius.counts.pair import Pair
from dalenius.utility.tables import table_utility


def relative_improvement(means: Sequence[float], base: Literal["best", "worst"] = "worst") -> float:
    """Largest relative gain between settings, of the worst or (as the paper's formula has it) of the best.

    Examples
    --------
    >>> relative_improvement([0.2, 0.25, 0.4], "best"), relative_improvement([0.2, 0.25, 0.4])
    (1.0, 0.5)
    """
    one_of("base", base, ["best", "worst"])
    if not means:
        return math.nan
    low, high = min(means), max(means)
    bottom = low if base == "best" else high
    return (high - low) / bottom if bottom > 0 else math.nan


def correlation(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> tuple[float, Interval | None]:
    """Pearson's correlation over settings with Fisher's interval; NaN without variation, no interval below four.

    Examples
    --------
    >>> value, interval = correlation([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    >>> round(value, 2), str(interval)
    (0.9, '[0.0861, 0.993]')
    """
    if len(x) != len(y):
        raise DataError("a correlation needs as many values of one measure as of the other")
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan, None
    value = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if len(a) < 4:
        return value, None
    middle = math.atanh(min(max(value, -1 + 1e-15), 1 - 1e-15))
    half = NormalDist().inv_cdf(0.5 + level / 2) / math.sqrt(len(a) - 3)
    return value, Interval(math.tanh(middle - half), math.tanh(middle + half), level)


def table_study(
    settings: Mapping[str, Sequence[Pair]],
    tables: Sequence[Sequence[str]],
    score: Callable[[Pair], float],
    statistic: str = "Hellinger",
) -> pl.DataFrame:
    """For each table: how its quality over several settings goes with one score of the microdata.

    Parameters
    ----------
    settings
        By name, the pairs of the files made with that setting (all of one original); figures are means over files.
    tables
        Which tables, for example `all_tables`.
    score
        Microdata score of a pair, for example ``lambda pair: tree_propensity(pair, repeats=0).figures.pMSE``.
    statistic
        What is computed for each table (`table_utility`).

    Examples
    --------
    >>> original = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> files = {str(n): [Pair(original, {**original, "b": ["u"] * n + ["v"] * (100 - n)})] for n in (50, 60, 80, 90)}
    >>> found = table_study(files, [("a", "b")], lambda pair: pair.protected.to_frame()["b"].count("u") / 100)
    >>> found.columns
    ['table', 'columns', 'correlation', 'low', 'high', 'improvement']
    """
    x = [fmean(score(pair) for pair in pairs) for pairs in settings.values()]
    wanted = [tuple(table) for table in tables]
    ratios: dict[str, list[float]] = {" × ".join(table): [] for table in wanted}
    for pairs in settings.values():
        scores = [
            dict(table_utility(pair, wanted, statistics=[statistic]).select("table", statistic).iter_rows())
            for pair in pairs
        ]
        for name, values in ratios.items():
            values.append(fmean(one[name] for one in scores))
    rows = []
    for table, (name, values) in zip(wanted, ratios.items(), strict=True):
        value, interval = correlation(x, values)
        rows.append(
            {"table": name, "columns": len(table), "correlation": value, "low": interval.low if interval else None,
             "high": interval.high if interval else None, "improvement": relative_improvement(values)}
        )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})
