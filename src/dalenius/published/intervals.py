"""Feasibility intervals: the smallest and largest value a suppressed cell can have, given what is published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.counts.memory import thread_count
from dalenius.published.arrays import Bools, Floats, Ints
from dalenius.published.enough import TOLERANCE, Enough
from dalenius.published.region import Region
from dalenius.published.search import Goals, Programs, Search

Progress = Callable[[int, int], None]

LANES = 2
"""Searches side by side for exact bounds; a fixed number, so that results do not depend on the threads."""

WORTH_LANES = 200
"""Cells from which on a second search pays for its own start."""


@dataclass(frozen=True, eq=False, repr=False)
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
        What everybody knows about the inner cells. Whole numbers make exact bounds for counts at a higher price.

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
    region = Region.of(given, sums, nonnegative=nonnegative)
    goals = Goals.of(region, matrix[:, wanted])
    start = None if inner is None else np.asarray(inner, np.float64)[region.free]
    lanes = LANES if enough is None and len(wanted) >= WORTH_LANES else 1
    searches = [Search(Programs(region), goals, start, enough=enough, integer=integer) for _ in range(lanes)]
    _share(searches, progress)
    low = np.minimum.reduce([search.low for search in searches]) + goals.constant
    high = np.maximum.reduce([search.high for search in searches]) + goals.constant + 0.0
    if integer:
        low, high = np.ceil(low - TOLERANCE) + 0.0, np.floor(high + TOLERANCE) + 0.0
    return Intervals(wanted, low, high, sum(search.solved for search in searches))


def _share(searches: Sequence[Search], progress: Progress | None) -> None:
    """Deal the cells to the searches; who gets which does not depend on the number of threads."""
    order = searches[0].goals.order
    done = [0] * len(searches)

    def play(lane: int) -> None:
        for i in order[lane :: len(searches)].tolist():
            searches[lane].bound(i)
            done[lane] += 1
            if lane == 0 and progress is not None and done[0] % 64 == 0:
                progress(sum(done), len(order))

    if len(searches) == 1 or thread_count() == 1:
        for lane in range(len(searches)):
            play(lane)
    else:
        with ThreadPoolExecutor(len(searches) - 1) as pool:
            others = [pool.submit(play, lane) for lane in range(1, len(searches))]
            play(0)
            for other in others:
                other.result()
    if progress is not None:
        progress(len(order), len(order))
