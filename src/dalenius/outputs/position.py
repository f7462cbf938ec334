"""What quantiles tell: a value, and how many people lie on either side of it.

A quantile is always near somebody's own value, or is one. Nobody knows whose as long as enough people lie beyond it and
between it and the next one. So quantiles are looked at as the cuts they are: people of a cell by the interval they lie
in, which is a table of counts whose cells must not be small, alone or together with what was released before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.outputs.query import Codes, Floats, Ints, Query


def asked(query: Query) -> list[float]:
    """The quantiles that an output shows, in order."""
    return sorted({float(q) for q in query.facts.get("quantiles", ())})


def between(query: Query) -> Any:
    """How a quantile between two values is computed."""
    return query.facts.get("interpolation", "linear")


def cuts(value: Floats, quantiles: Sequence[float], way: Any = "linear") -> Ints:
    """How many of sorted values lie before each cut; those that share the value at a cut stay together.

    They go to the smaller side: a value that many have is nobody's.

    Examples
    --------
    >>> cuts(np.arange(10.0), [0.5]).tolist(), cuts(np.array([0.0] * 8 + [1, 2]), [0.1, 0.5]).tolist()
    ([5], [8, 8])
    """
    at = np.quantile(value, quantiles, method=way)
    before, through = np.searchsorted(value, at, "left"), np.searchsorted(value, at, "right")
    return np.where(before < len(value) - through, through, before).astype(np.int64)


def intervals(query: Query, cell: Codes) -> Codes:
    """Interval of each record between the quantiles of its cell; 0 where it has no cell or no value.

    Examples
    --------
    >>> query = Query("median", rows=4, value=np.array([3.0, 1, 2, 9]), facts={"quantiles": [0.5]})
    >>> intervals(query, query.cell).tolist()
    [1, 0, 0, 1]
    """
    assert query.value is not None
    found = np.zeros(query.rows, np.int16 if len(asked(query)) < 2**15 else np.int32)
    for _, at in rows_by_cell(cell, query.value):
        at = at[np.argsort(query.value[at], kind="stable")]  # noqa: PLW2901
        ends = cuts(query.value[at], asked(query), between(query))
        found[at] = np.searchsorted(ends, np.arange(len(at)), "right")
    return found


def fewest_between(query: Query, cell: Codes, cells: int) -> Floats:
    """Fewest people beyond a quantile or between two of them, by cell; infinite where nobody is.

    Examples
    --------
    >>> query = Query("percentile", rows=100, value=np.arange(100.0), facts={"quantiles": [0.05, 0.5]})
    >>> fewest_between(query, query.cell, 1).tolist()
    [5.0]
    """
    assert query.value is not None
    width = len(asked(query)) + 1
    inside = np.flatnonzero((cell >= 0) & ~np.isnan(query.value))
    place = cell[inside].astype(np.int64) * width + intervals(query, cell)[inside]
    if query.unit is not None:  # a person with several rows counts once in an interval
        number = int(query.unit.max(initial=0)) + 1
        place = np.unique(place * number + query.unit[inside]) // number
    held = np.bincount(place, minlength=cells * width).reshape(cells, width)
    fewest = np.asarray(np.where(held > 0, held, np.inf).min(axis=1), np.float64)
    for code, at in rows_by_cell(cell, query.value):
        fewest[code] = min(fewest[code], _told_twice(np.sort(query.value[at]), asked(query), between(query)))
    return fewest


def _told_twice(value: Floats, quantiles: Sequence[float], way: Any) -> float:
    """Fewest people who have a value that two figures between the same two of sorted values give away."""
    after = np.floor((len(value) - 1) * np.asarray(quantiles)).astype(np.int64)
    same = after[:-1][(np.diff(after) == 0) & (np.diff(np.quantile(value, quantiles, method=way)) > 0)]
    ends = value[np.concatenate([same, same + 1])]
    people = np.searchsorted(value, ends, "right") - np.searchsorted(value, ends, "left")
    return float(people.min(initial=len(value)))


def tail_share(number: Ints, least: int) -> float:
    """The smallest share, 5 % or more, beyond which at least so many people lie in every cell that has any.

    In whole percent, and at most a quarter.

    Examples
    --------
    >>> tail_share(np.array([1000, 0, 150]), 10), tail_share(np.array([12]), 10)
    (0.08, 0.25)
    """
    fewest = int(number[number > 0].min()) if (number > 0).any() else 1
    return min(max(5, int(np.ceil(100 * (least + 1) / fewest))), 25) / 100


def rows_by_cell(cell: Codes, value: Floats, wanted: Any = None) -> list[tuple[int, Ints]]:
    """Rows of each (wanted) cell that hold a value."""
    held = (cell >= 0) & ~np.isnan(value)
    if wanted is not None:
        held &= wanted[cell]
    inside = np.flatnonzero(held)
    inside = inside[np.argsort(cell[inside], kind="stable")]
    codes, starts = np.unique(cell[inside], return_index=True)
    return list(zip(codes.tolist(), np.split(inside, starts[1:]), strict=True))
