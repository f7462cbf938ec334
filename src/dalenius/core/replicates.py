"""One figure from several: the same measure on several files made in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from statistics import fmean, stdev
from typing import Literal

from dalenius.core.later import stats
from dalenius.core.result import Interval, Result

Spread = Literal["range", "confidence"]


def mean_result(results: Sequence[Result], spread: Spread = "confidence", level: float = 0.95) -> Result:
    """Mean of one measure over replicates, with an interval; table and chart are the first replicate's.

    Where the worst of several targets is another in another replicate, a mean would belong to none of them: then the
    figure is that of the replicate that adds most, with its own target, yardsticks and interval.

    Parameters
    ----------
    results
        The same measure's results, at least one.
    spread
        "confidence": Student's interval for the mean over all files the method could have made; "range": the smallest
        and the largest value seen. A single result keeps its own interval; there is none where a value is missing.

    Examples
    --------
    >>> runs = [Result("demo", value, "As it is.") for value in (1.0, 2.0, 3.0)]
    >>> print(mean_result(runs).interval, mean_result(runs, "range").interval)
    [-0.484, 4.48] [1, 3]
    """
    first = results[0]
    if len(results) == 1:
        return first
    if len({result.part for result in results}) > 1:
        return replace(max(results, key=_weight), trusted=all(result.trusted for result in results))
    values = [result.value for result in results]
    shared = [name for name in first.yardsticks if all(name in r.yardsticks for r in results)]
    further = [name for name in first.values if all(name in r.values for r in results)]
    return replace(
        first,
        value=fmean(values),
        interval=_interval(first, values, spread, level),
        yardsticks={name: fmean(r.yardsticks[name] for r in results) for name in shared},
        values={name: fmean(r.values[name] for r in results) for name in further},
        level=_mean([r.level for r in results]),
        outside=_mean([r.outside for r in results]),
        added_interval=_interval(first, [r.added for r in results], spread, level),
        trusted=all(result.trusted for result in results),
    )


def _weight(result: Result) -> tuple[float, float]:
    """By how much a replicate is worse than another: by what it adds, then by its figure."""
    return (result.added if result.added is not None else 0.0, result.value)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _interval(
    first: Result, measured: Sequence[float | None], spread: Spread, level: float
) -> Interval | None:
    values = [value for value in measured if value is not None and isfinite(value)]
    if len(values) < len(measured):
        return None  # a file that could not be measured leaves nothing to say about the spread
    if spread == "range":
        return Interval(min(values), max(values), 1.0, "range over replicates")
    return _student(first, values, level)


def _student(first: Result, values: Sequence[float], level: float) -> Interval:
    half = float(stats.t.ppf(0.5 + level / 2, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    low, high = first.info.bounds if first.info is not None else (float("-inf"), float("inf"))
    middle = fmean(values)
    return Interval(
        max(low, middle - half), min(high, middle + half), level, f"mean of {len(values)} replicates"
    )
