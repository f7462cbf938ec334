"""Bounds as insiders see them: a contributor adds its own values to what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError
from dalenius.published.enough import Enough
from dalenius.published.intervals import Progress
from dalenius.published.region import Region
from dalenius.published.search import Goals, Programs, Search
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.intruders import inside_only
from dalenius.tables.model import Bools, Floats, Ints, beside


@dataclass(frozen=True, eq=False, repr=False)
class InsiderBounds:
    """Cells that an insider can bound more narrowly than asked for.

    Attributes
    ----------
    intruder
        Number of the contributor, or -1, -2, … for the coalitions.
    cell
        Place of the cell.
    low, high
        Its bounds as this insider sees them.
    solved
        Number of linear programs that had to be solved.
    """

    intruder: Ints
    cell: Ints
    low: Floats
    high: Floats
    solved: int = 0

    @classmethod
    def none(cls) -> InsiderBounds:
        """Nothing found."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, np.zeros(0), np.zeros(0))

    def with_more(
        self, who: int, places: Ints, narrow: Bools, low: Floats, high: Floats, solved: int
    ) -> InsiderBounds:
        """The same with the narrow bounds of one more insider."""
        return InsiderBounds(
            np.append(self.intruder, np.full(int(narrow.sum()), who)),
            np.append(self.cell, places[narrow]),
            np.append(self.low, low[narrow]),
            np.append(self.high, high[narrow]),
            self.solved + solved,
        )

    def table(self, cells: pl.DataFrame) -> pl.DataFrame:
        """One row per insider and cell. Confidential."""
        return beside(cells[self.cell], intruder=self.intruder, low=self.low, high=self.high)


def insider_bounds(
    table: Disclosed,
    places: Ints,
    enough: Enough,
    people: Mapping[int, Ints],
    *,
    nonnegative: bool = True,
    progress: Progress | None = None,
) -> InsiderBounds:
    """Find the cells that insiders can bound more narrowly than ``enough`` asks for.

    Parameters
    ----------
    table
        The table.
    places, enough
        Cells to look at and how wide their bounds must be.
    people
        Insider → inner cells whose values it knows.
    nonnegative
        Whether everybody knows that inner cells are not negative.

    Examples
    --------
    >>> from dalenius.tables import Disclosed, Requirement, define, protect, FewContributors
    >>> from dalenius.published.enough import enough_for
    >>> firms = {"a": ["x", "y", "z"], "firm": ["A", "B", "C"], "v": [4.0, 5.0, 9.0]}
    >>> result = protect(define(firms, by="a", value="v", contributor="firm"), FewContributors(1))
    >>> table, cells = Disclosed.of(result), np.flatnonzero(result.primary)
    >>> asked = enough_for(table.amounts[cells], table.above[cells], Requirement(range_min=10))
    >>> insider_bounds(table, cells, asked, {3: np.array([2])}).high.tolist()  # C knows 9 of 18
    [9.0, 9.0]
    """
    if table.inner is None:
        raise DataError(
            "bounds as contributors see them need the inner cells; audit the table where it was made"
        )
    matrix = sp.csc_matrix(table.matrix)
    known, cells = np.flatnonzero(table.published), matrix[:, places]
    region = Region.of(matrix[:, known], table.amounts[known], nonnegative=nonnegative)
    goals, programs = Goals.of(region, cells), Programs(region)
    truth = np.asarray(table.inner, np.float64)[region.free]
    found = InsiderBounds.none()
    for number, (who, rows) in enumerate(people.items()):
        if progress is not None and number % 16 == 0:
            progress(number, len(people))
        mine = np.flatnonzero(np.isin(region.free, rows))
        programs.pin(mine, truth[mine])
        search = Search(programs, goals, truth, enough=enough)
        found = found.with_more(
            who, places, *_narrow(search, enough, inside_only(cells, rows)), search.solved
        )
    if progress is not None:
        progress(len(people), len(people))
    return found


def _narrow(search: Search, enough: Enough, own: Bools) -> tuple[Bools, Floats, Floats]:
    """Which sums that are not one's own have too narrow bounds, and all bounds as far as they were looked for."""
    search.done |= own
    waiting = ~search.done
    order = search.goals.order
    for i in order[waiting[order]].tolist():
        search.bound(i)
    low, high = search.low + search.goals.constant, search.high + search.goals.constant
    return waiting & ~enough.met(low, high), low, high
