"""Feasibility intervals: the smallest and largest value a suppressed cell can have, given what is published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.tables.model import Bools, Floats, Ints
from dalenius.tables.region import TOLERANCE, Region

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Enough:
    """How far the bounds of each cell must reach: down to ``low``, up to ``high`` and at least ``width`` apart."""

    low: Floats
    high: Floats
    width: Floats

    def met(self, low: Floats, high: Floats) -> Bools:
        """Which cells have bounds as wide as asked for (to a relative accuracy of 10⁻⁷)."""
        slack = TOLERANCE * np.maximum(1.0, np.abs(np.nan_to_num(self.high, posinf=1.0, neginf=1.0)))
        return (
            (low <= self.low + slack)
            & (high >= self.high - slack)
            & (high - low >= self.width - slack)
            & (high - low > slack)
        )

    def met_at(self, i: int, low: float, high: float) -> bool:
        """The same for one cell."""
        one = Enough(self.low[i : i + 1], self.high[i : i + 1], self.width[i : i + 1])
        return bool(one.met(np.array([low]), np.array([high]))[0])


@dataclass(frozen=True, eq=False)
class Intervals:
    """Lower and upper bounds of some cells.

    Attributes
    ----------
    cells
        Their places.
    low, high
        The bounds. With ``enough`` given to `feasibility_intervals` they are only as wide as was asked for.
    solved
        Number of linear programs that had to be solved.
    """

    cells: Ints
    low: Floats
    high: Floats
    solved: int

    @property
    def width(self) -> Floats:
        """Upper minus lower bound."""
        return self.high - self.low


def feasibility_intervals(
    matrix: Any,
    amounts: Floats,
    known: Bools,
    cells: Ints | None = None,
    *,
    extra: tuple[Any, Floats] | None = None,
    inner: Floats | None = None,
    enough: Enough | None = None,
    nonnegative: bool = True,
    integer: bool = False,
    progress: Progress | None = None,
) -> Intervals:
    """Bounds of cells by linear programming (HiGHS).

    Parameters
    ----------
    matrix, amounts
        Inner cells × cells, and the values of the known cells (others are not looked at).
    known
        Mask of the published cells.
    cells
        Cells to bound; by default all that are not known.
    extra
        Further sums an intruder knows: (inner cells × sums, values).
    inner
        The true inner cells, if known: a first point that fits, which saves work.
    enough
        Stop looking once the bounds of a cell are as wide as this; without it bounds are exact.
    nonnegative, integer
        What everybody knows about the inner cells. Whole numbers make exact bounds for counts at a higher
        price.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))
    >>> found = feasibility_intervals(x, np.array([10.0, 0, 0]), np.array([True, False, False]))
    >>> found.low.tolist(), found.high.tolist()
    ([0.0, 0.0], [10.0, 10.0])
    """
    matrix = sp.csc_matrix(matrix)
    wanted = np.flatnonzero(~known) if cells is None else np.asarray(cells, np.int64)
    given, sums = matrix[:, np.flatnonzero(known)], np.asarray(amounts, np.float64)[known]
    if extra is not None:
        given, sums = sp.hstack([given, extra[0]]).tocsc(), np.concatenate([sums, extra[1]])
    region = Region.of(given, sums, nonnegative=nonnegative, integer=integer)
    goals = matrix[:, wanted].astype(np.float64)
    constant = np.asarray(goals.T @ np.nan_to_num(region.value))
    goals = sp.csc_matrix(goals[region.free])
    search = _Search(region, goals, inner)
    for i in range(len(wanted)):
        search.bound(i, enough, constant)
        if progress is not None and i % 64 == 0:
            progress(i, len(wanted))
    if progress is not None:
        progress(len(wanted), len(wanted))
    low, high = search.low + constant, search.high + constant + 0.0
    if integer:
        low, high = np.ceil(low - TOLERANCE) + 0.0, np.floor(high + TOLERANCE) + 0.0
    return Intervals(wanted, low, high, search.solved)


class _Search:
    """Bounds cell by cell; every point found on the way widens the bounds of all other cells."""

    def __init__(self, region: Region, goals: Any, inner: Floats | None) -> None:
        self.region, self.goals = region, goals
        count = goals.shape[1]
        self.low, self.high = np.full(count, np.inf), np.full(count, -np.inf)
        self.solved = 0
        fixed = np.diff(goals.indptr) == 0
        self.low[fixed] = self.high[fixed] = 0.0
        finite = np.where(np.isfinite(region.ceiling), region.ceiling, 1e300)
        positive = (
            np.asarray(goals.min(axis=0).toarray()).ravel() >= 0 if goals.shape[0] else np.ones(count, bool)
        )
        self.top = np.where(positive, np.asarray(goals.T @ finite), np.inf)
        self.bottom = np.where(positive & region.nonnegative, 0.0, -np.inf)
        if inner is not None:
            self._visit(np.asarray(inner, np.float64)[region.free])

    def _visit(self, point: Floats) -> None:
        """Use a point that fits; NaN marks components it says nothing about."""
        missing = np.isnan(point)
        reached = np.asarray(self.goals.T @ np.where(missing, 0.0, point))
        if missing.any():
            partly = np.asarray(abs(self.goals).T @ missing.astype(np.float64)) > 0
            reached = np.where(partly, np.nan, reached)
        ok = ~np.isnan(reached)
        self.low[ok] = np.minimum(self.low[ok], reached[ok])
        self.high[ok] = np.maximum(self.high[ok], reached[ok])

    def bound(self, i: int, enough: Enough | None, constant: Floats) -> None:
        """Find the bounds of one cell, as far as they are not known yet."""
        part = slice(self.goals.indptr[i], self.goals.indptr[i + 1])
        if part.start == part.stop:
            return
        slack = TOLERANCE * max(1.0, min(abs(self.top[i]), 1e12))
        for sense in (-1, 1):
            reached, edge = (self.low[i], self.bottom[i]) if sense < 0 else (self.high[i], self.top[i])
            if abs(reached - edge) <= slack:
                continue
            if enough is not None and enough.met_at(i, self.low[i] + constant[i], self.high[i] + constant[i]):
                return
            goal = np.zeros(self.goals.shape[0])
            goal[self.goals.indices[part]] = self.goals.data[part]
            best, point = self.region.extreme(goal, sense)
            self.solved += 1
            self._visit(point)
            if sense < 0:
                self.low[i] = best
            else:
                self.high[i] = best
