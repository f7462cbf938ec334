"""`audit`: is a suppressed table safe? Independent of how it was suppressed, also for tables made by others."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.core.result import Result
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.enough import Enough, Requirement, enough_for
from dalenius.tables.insiders import InsiderBounds, insider_bounds
from dalenius.tables.intervals import Intervals, Progress, feasibility_intervals
from dalenius.tables.intruders import Exposure, exposure, inner_cells_of, numbered
from dalenius.tables.model import Bools, Ints, beside

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression


@dataclass(frozen=True, eq=False)
class Audit:
    """What the audit found.

    Attributes
    ----------
    table
        The table that was audited.
    intervals
        Bounds of the protected cells.
    enough
        How far the bounds had to reach.
    exposed
        What can be computed exactly, by outsiders and by single contributors.
    exact, notes
        Whether bounds are exact; plain sentences for the reader.
    differences
        Which of the table's further sums are given away.
    insiders
        Cells that a contributor can bound too narrowly with its own values (`contributors="intervals"`).
    """

    table: Disclosed
    intervals: Intervals
    enough: Enough
    exposed: Exposure
    exact: bool
    notes: tuple[str, ...] = ()
    differences: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    insiders: InsiderBounds = field(default_factory=InsiderBounds.none)

    def __repr__(self) -> str:
        return f"<Audit: {self.sentence}>"

    @property
    def met(self) -> Bools:
        """Which of the audited cells have a wide enough interval."""
        return self.enough.met(self.intervals.low, self.intervals.high)

    @property
    def _at_stake(self) -> Bools:
        """Protected cells that have inner cells; one without any cannot hold anything, and its 0 is no secret."""
        return self.table.primary & (np.diff(sp.csc_matrix(self.table.matrix).indptr) > 0)

    @property
    def failing(self) -> Ints:
        """Places of protected cells that are at risk: computable, or with too narrow an interval."""
        narrow = self.intervals.cells[~self.met]
        computable = np.flatnonzero(self.exposed.outsider & self._at_stake)
        insiders = [cells[self.table.primary[cells]] for cells in self.exposed.insiders]
        return np.unique(np.concatenate([narrow, computable, *insiders, self.insiders.cell]))

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return len(self.failing) == 0 and not self.differences.any()

    @property
    def cells(self) -> pl.DataFrame:
        """Bounds cell by cell, with what was asked for. Confidential."""
        places = self.intervals.cells
        exposed = np.zeros(len(self.table.primary), np.int64)
        for found in self.exposed.insiders:
            exposed[found] += 1
        return beside(
            self.table.cells[places],
            low=self.intervals.low,
            high=self.intervals.high,
            value=self.table.amounts[places],
            wide_enough=self.met,
            computable=self.exposed.outsider[places],
            contributors_who_can_compute=exposed[places],
        )

    @property
    def at_risk(self) -> pl.DataFrame:
        """The cells at risk by code only; safe to show to whoever may see the table."""
        places = self.failing
        seen = set(np.flatnonzero(self.exposed.outsider).tolist())
        inside = {int(c) for cells in self.exposed.insiders for c in cells}
        narrow = set(self.intervals.cells[~self.met].tolist())
        reason = ["can be computed exactly" if p in seen else "a contributor can compute it" if p in inside
                  else "its interval is too narrow" if p in narrow
                  else "its interval is too narrow for a contributor" for p in places.tolist()]  # fmt: skip
        return beside(self.table.cells[places], reason=pl.Series(reason, dtype=pl.String))

    @property
    def sentence(self) -> str:
        """One plain sentence."""
        checked, primary = len(self.intervals.cells), self._at_stake
        if self.passed:
            return (
                "No protected cell can be computed from the published ones, "
                f"and all {checked:,} intervals are as wide as asked for."
            )
        shown = int(self.exposed.outsider[primary].sum()) + int(self.differences.sum())
        single = sum(bool(primary[cells].any()) for cells in self.exposed.by_contributor.values())
        pooled = sum(bool(primary[cells].any()) for cells in self.exposed.by_coalition.values())
        narrow, near = int((~self.met).sum()), len(np.unique(self.insiders.intruder))
        parts = (
            (shown, f"{shown:,} protected cells or differences can be computed exactly by anybody"),
            (single, f"{single:,} single contributors can compute a protected cell of somebody else"),
            (pooled, f"{pooled:,} coalitions can compute a protected cell of somebody else"),
            (narrow, f"{narrow:,} of {checked:,} intervals are too narrow"),
            (near, f"{near:,} contributors or coalitions see too narrow an interval of somebody else's cell"),
        )
        return "; ".join(text for count, text in parts if count).capitalize() + "."

    def __str__(self) -> str:
        return " ".join([self.sentence, *self.notes])

    @property
    def result(self) -> Result:
        """The outcome as a `Result`, for reports: the share of protected cells at risk."""
        protected = max(int(self.table.primary.sum()), 1)
        share = 100.0 * len(self.failing) / protected
        return Result("table-audit", share, str(self), unit="%", table=self.at_risk)

    def _repr_html_(self) -> str:
        head = "Audit passed" if self.passed else "Audit found cells at risk"
        return f"<section><h4>{head}</h4><p>{html.escape(str(self))}</p>{self.at_risk.head(20)._repr_html_()}</section>"


def audit(
    result: Suppression | Disclosed,
    *,
    intervals: Literal["check", "exact", "none"] = "check",
    cells: Literal["primary", "suppressed"] = "primary",
    requirement: Requirement | None = None,
    contributors: bool | Literal["intervals"] = True,
    coalitions: Sequence[Sequence[str]] = (),
    nonnegative: bool | None = None,
    prior: float | None = None,
    integer: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Audit a suppressed table.

    Parameters
    ----------
    result
        From `protect`, or a table somebody else suppressed (`read_suppressed`).
    intervals
        "check" looks only as far as needed to see that the interval of a cell is wide enough, "exact" finds the exact
        bounds, "none" leaves intervals out.
    cells
        Which cells get an interval.
    requirement
        Widths to ask for besides those of the primary rules.
    contributors
        Whether contributors who are alone in an inner cell are tried as intruders who know their own values: what
        they can compute exactly, and with "intervals" also the bounds each of them sees.
    coalitions
        Contributors (by their codes) who pool what they know; they are tried like single ones.
    nonnegative
        Whether everybody knows that values are not negative; by default true unless an inner cell is negative.
    prior
        Intruders know every inner cell to within this percentage of its value before they see the table (100: between
        nothing and twice the value); works with negative values too.
    integer
        Exact whole-number bounds for counts (slower).

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> data = {"age": ["y"] * 3 + ["o"] * 3, "geo": list("IPSIPS"), "n": [0, 0, 5, 6, 3, 4]}
    >>> model = define(data, by=["age", "geo"], freq="n")
    >>> print(protect(model, SmallCount(0)).audit())
    No protected cell can be computed from the published ones, and all 2 intervals are as wide as asked for.
    >>> print(protect(model, SmallCount(0), small="none", repair=False).audit())
    2 of 2 intervals are too narrow.
    """
    if intervals not in ("check", "exact", "none") or cells not in ("primary", "suppressed"):
        raise OptionError("intervals is 'check', 'exact' or 'none', and cells is 'primary' or 'suppressed'")
    if contributors not in (True, False, "intervals"):
        raise OptionError(f"contributors is True, False or 'intervals', not {contributors!r}")
    table = result if isinstance(result, Disclosed) else Disclosed.of(result)
    positive, notes = _sign(table, nonnegative)
    pooled = numbered(coalitions, table.contributors)
    owners = table.owners if contributors else None
    exposed = exposure(table.matrix, table.suppressed, owners, hidden=table.hidden, coalitions=pooled)
    places = _places(table, cells) if intervals != "none" else np.zeros(0, np.int64)
    enough = enough_for(table.amounts[places], table.above[places], requirement or Requirement())
    wanted = enough if intervals == "check" else None
    if prior is not None:
        bounds = _with_prior(table, places, wanted, prior, integer, progress)
    else:
        bounds = feasibility_intervals(
            table.matrix, table.amounts, table.published, places, inner=table.inner, nonnegative=positive,
            integer=integer, enough=wanted, progress=progress,
        )  # fmt: skip
    seen = InsiderBounds.none()
    if contributors == "intervals" and table.owners is not None:
        people = inner_cells_of(table.owners, pooled)
        seen = insider_bounds(table, places, enough, people, nonnegative=positive, progress=progress)
    given_away = _known_differences(table, positive)
    return Audit(table, bounds, enough, exposed, intervals == "exact", notes, given_away, seen)


def _places(table: Disclosed, cells: str) -> Ints:
    """Protected cells, or all suppressed ones, that have inner cells."""
    places = np.flatnonzero(table.primary if cells == "primary" else table.suppressed)
    return places[np.diff(sp.csc_matrix(table.matrix).indptr)[places] > 0]


def _sign(table: Disclosed, nonnegative: bool | None) -> tuple[bool, tuple[str, ...]]:
    """Whether intruders may count on values of at least 0, and what to say about it."""
    if nonnegative is not None:
        return nonnegative, ()
    known = table.amounts[table.published] if table.inner is None else table.inner
    if bool((known >= 0).all()):
        return True, ()
    return False, ("Some values are negative, so intervals do not use that values are at least 0.",)


def _with_prior(
    table: Disclosed,
    places: Ints,
    enough: Enough | None,
    prior: float,
    integer: bool,
    progress: Progress | None,
) -> Intervals:
    """Bounds for intruders who know every inner cell to within a percentage.

    What an inner cell exceeds its lower bound by, and what it misses its upper bound by, are both not negative and add
    up to the width: with these as inner cells the program is the usual one.
    """
    if table.inner is None:
        raise OptionError("prior= needs the true inner cells, which a table read from a file does not have")
    if not 0 < prior < float("inf"):
        raise OptionError("prior is a percentage above 0")
    low, high = (table.inner + sign * prior / 100.0 * np.abs(table.inner) for sign in (-1, 1))
    inner = len(low)
    matrix = sp.vstack([table.matrix, sp.csc_matrix((inner, table.matrix.shape[1]), dtype=np.int64)]).tocsc()
    widths = sp.vstack([sp.identity(inner, np.int64), sp.identity(inner, np.int64)]).tocsc()
    shift = np.asarray(sp.csc_matrix(table.matrix).T @ low, np.float64)
    asked = (
        None
        if enough is None
        else Enough(enough.low - shift[places], enough.high - shift[places], enough.width)
    )
    found = feasibility_intervals(
        matrix, table.amounts - shift, table.published, places, extra=(widths, high - low),
        inner=np.concatenate([table.inner - low, high - table.inner]), enough=asked, integer=integer, progress=progress,
    )  # fmt: skip
    return Intervals(found.cells, found.low + shift[places], found.high + shift[places], found.solved)


def _known_differences(table: Disclosed, nonnegative: bool) -> Bools:
    """Which of the sums that must stay unknown are given away."""
    differences = table.differences
    if differences is None or not differences.shape[1]:
        return np.zeros(0, np.bool_)
    matrix = sp.hstack([table.matrix, differences]).tocsc()
    count = differences.shape[1]
    known = np.concatenate([table.published, np.zeros(count, np.bool_)])
    amounts = np.concatenate([table.amounts, np.zeros(count)])
    places = np.arange(matrix.shape[1] - count, matrix.shape[1])
    anything = Enough(np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count))
    found = feasibility_intervals(
        matrix, amounts, known, places, inner=table.inner, enough=anything, nonnegative=nonnegative
    )
    return ~anything.met(found.low, found.high)
