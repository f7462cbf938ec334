"""Who stands behind a figure beyond the number of people: what few of them make up although many are counted.

A column that is the same for all but few is about these few; a variance is a sum of squared deviations, and may be one
person's; a quantile is a value, and says whose it is where one person owns the rows around it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.outputs.position import rows_by_cell
from dalenius.outputs.query import Bools, Codes, Floats, Query

BLOCK = 1 << 18
"""Rows looked at at a time: no second copy of a large column."""
NEAR = 0.01
"""Values this close together, as a share of the largest deviation, are the same for `others_of`."""
EQUAL = 1e-9
"""Sums this close together, as a share of their size, are equal."""


def others_of(query: Query, cell: Codes, figures: Floats, few: int) -> Floats:
    """Units that are away from what (nearly) all others of the cell have; NaN where nobody could be.

    Values are nearly the same within 1 % of the largest deviation from their median.

    Examples
    --------
    >>> value = np.append(2000 + np.arange(40) / 1000, 3511.0)
    >>> query = Query("mean", rows=41, value=value)
    >>> figures = np.array([[41.0, value.sum(), value.min(), value.max()]])
    >>> others_of(query, query.cell, figures, 10).tolist()
    [1.0]
    """
    assert query.value is not None
    rows, total, low, high = figures.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(rows > 0, total / rows, 0.0)
    spread = _moments(cell, query.value, mean)
    # A few people who are far from all others leave no larger sum of squares than this.
    open_ones = (rows >= 2) & (high > low) & (spread <= few * np.square(np.where(rows > 0, high - low, 0.0)))
    found = np.full(len(rows), np.nan)
    if not open_ones.any():
        return found
    for c, at in rows_by_cell(cell, query.value, open_ones):
        value = query.value[at]
        away = np.abs(value - np.median(value))
        far = at[away > NEAR * away.max()]
        found[c] = len(far) if query.unit is None else len(np.unique(query.unit[far]))
    return found


def totals_apart(query: Query, cell: Codes, figures: Floats, usual: Bools | None = None) -> Floats:
    """Units whose total in the cell is another than that of most, where units have several rows; NaN elsewhere.

    Only cells that are ``usual`` are looked at: in others no total is that of nearly all.

    A column with what everybody lacks to a round sum beneath it is about those of whom it was left out.

    Examples
    --------
    >>> value = np.array([3.0, 5, 4, 7, 6, 5])
    >>> from dataclasses import replace
    >>> query = Query("sum", rows=6, value=value, unit=np.array([0, 1, 2, 0, 2, 1]), ids=range(3))
    >>> totals_apart(query, query.cell, np.array([[6.0, 3]])).tolist()
    [0.0]
    >>> totals_apart(replace(query, value=value + [0, 0, 0, 0, 0, 1.0]), query.cell, np.array([[6.0, 3]])).tolist()
    [1.0]
    """
    assert query.value is not None
    rows, units = figures.T
    found = np.full(len(rows), np.nan)
    several = (rows > units) & (True if usual is None else usual)
    if query.unit is None or not several.any():
        return found
    for c, at in rows_by_cell(cell, query.value, several):
        _, owner = np.unique(query.unit[at], return_inverse=True)
        total = np.bincount(owner.ravel(), query.value[at])
        middle = np.median(total)
        found[c] = int(
            (np.abs(total - middle) > EQUAL * max(abs(middle), np.abs(query.value[at]).max())).sum()
        )
    return found


def deviations(cell: Codes, value: Floats, figures: Floats, power: int) -> Floats:
    """Deviations from the mean of the cell to a power, record by record: what variances and the like are sums of."""
    rows, total = figures.T[:2]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(rows > 0, total / rows, 0.0)
    return np.asarray(np.where(cell >= 0, np.abs(value - mean[np.maximum(cell, 0)]) ** power, np.nan))


def owners_of(query: Query, cell: Codes, figures: Floats, quantiles: Sequence[float], few: int) -> Floats:
    """How many people own the rows around a quantile, the fewest of all quantiles; infinite with a row each.

    The rows nearest by rank are taken until they are of ``few`` people; the number is the effective one (Kish 1965), so
    that ten people of whom one has nearly all rows are hardly more than one.

    Examples
    --------
    >>> unit = np.append(np.zeros(900, int), np.arange(1, 60))
    >>> query = Query("median", rows=959, value=np.arange(959) % 97.0, unit=unit, ids=range(60))
    >>> bool(owners_of(query, query.cell, np.array([[959.0, 60]]), [0.5], 10)[0] < 2)
    True
    """
    assert query.value is not None
    rows, units = figures.T
    found = np.full(len(rows), np.inf)
    if query.unit is None or not (rows > units).any():
        return found
    for c, at in rows_by_cell(cell, query.value, rows > units):
        at = at[np.argsort(query.value[at], kind="stable")]  # noqa: PLW2901
        found[c] = min(_owners(query.value[at], query.unit[at], q, few) for q in quantiles)
    return found


def modal_of(query: Query, cell: Codes, cells: int) -> Floats:
    """How many people have the most frequent value of a cell, the smallest where several are.

    Examples
    --------
    >>> query = Query("mode", rows=5, value=np.array([3.0, 1, 3, 2, 9]))
    >>> modal_of(query, query.cell, 1).tolist()
    [2.0]
    """
    assert query.value is not None
    found = np.zeros(cells)
    for c, at in rows_by_cell(cell, query.value):
        values, times = np.unique(query.value[at], return_counts=True)
        own = at[query.value[at] == values[np.argmax(times)]]
        found[c] = len(own) if query.unit is None else len(np.unique(query.unit[own]))
    return found


def _owners(value: Floats, unit: Codes, share: float, few: int) -> float:
    """Effective number of people around one quantile of sorted values."""
    place = share * (len(value) - 1)
    at = value[int(place)]
    first, last = np.searchsorted(value, at, "left"), np.searchsorted(value, at, "right")
    if len(np.unique(unit[first:last])) >= few:
        return float("inf")  # a value that many have is nobody's
    width = 2 * few
    while True:
        start, stop = max(int(place) - width // 2, 0), int(place) + width // 2 + 1
        held = np.unique(unit[start:stop], return_counts=True)[1].astype(np.float64)
        if len(held) >= few or (start == 0 and stop >= len(value)):
            return float(held.sum() ** 2 / np.square(held).sum())
        width *= 2


def _moments(cell: Codes, value: Floats, mean: Floats) -> Floats:
    """Sum of squared deviations by cell."""
    found = np.zeros(len(mean) + 1)
    for start in range(0, len(value), BLOCK):
        codes, part = cell[start : start + BLOCK], value[start : start + BLOCK]
        square = np.square(part - mean[codes])  # code -1 reads the last mean, and is dropped below
        square[np.isnan(square)] = 0.0
        found += np.bincount(codes.astype(np.int64) + 1, square, len(found))
    return found[1:]
