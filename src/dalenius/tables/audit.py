"""`audit`: is a suppressed table safe? Independent of how it was suppressed, also for tables made by others."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.core.option import need, one_of
from dalenius.core.result import WHOLE, Result
from dalenius.core.small_table import small_table
from dalenius.published.enough import Enough, Requirement, enough_for
from dalenius.published.intervals import Intervals, Progress, feasibility_intervals
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.insiders import InsiderBounds, insider_bounds
from dalenius.tables.intruders import NOBODY, Exposure, exposure, inner_cells_of, numbered
from dalenius.tables.model import Bools, Ints, beside
from dalenius.tables.unions import Unions, failing_unions

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression

MOST_WHOLE = 1000
"""Inner cells up to which whole-number programs are solved unasked."""

IN_SUM = "its sum with others is known and breaks a rule"
BY_LINE = (
    "In a table of this size sums of suppressed cells were looked at line by line, and not in every combination: "
    "one that breaks a rule on contributors may still follow from published cells."
)
LEFT_OUT = "Whole-number programs were left out for a table of this size; integer=True runs them."


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
    unions
        Sums of suppressed cells that follow from published ones and break a rule themselves.
    """

    table: Disclosed
    intervals: Intervals
    enough: Enough
    exposed: Exposure
    exact: bool
    notes: tuple[str, ...] = ()
    differences: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    insiders: InsiderBounds = field(default_factory=InsiderBounds.none)
    unions: Unions = field(default_factory=lambda: Unions.none(0))

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
        """Places of cells at risk: computable, too narrowly known, or part of a known sum that breaks a rule."""
        inside = self.unions.cells(self.table.matrix, self.table.suppressed) if self.unions.count else NOBODY
        return np.unique(np.concatenate([self.alone, inside]))

    @property
    def alone(self) -> Ints:
        """Places of protected cells that are at risk by themselves: computable, or with too narrow an interval."""
        narrow = self.intervals.cells[~self.met]
        computable = np.flatnonzero(self.exposed.outsider & self._at_stake)
        insiders = [cells[self.table.primary[cells]] for cells in self.exposed.insiders]
        return np.unique(np.concatenate([narrow, computable, *insiders, self.insiders.cell]))

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return len(self.alone) == 0 and not self.differences.any() and not self.unions.count

    @property
    def cells(self) -> pl.DataFrame:
        """Bounds cell by cell, with what was asked for. Confidential."""
        places = self.intervals.cells
        exposed = np.zeros(len(self.table.primary), np.int64)
        for computed in self.exposed.insiders:
            exposed[computed] += 1
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
        narrow, near = set(self.intervals.cells[~self.met].tolist()), set(self.insiders.cell.tolist())
        reason = ["can be computed exactly" if p in seen else "a contributor can compute it" if p in inside
                  else "its interval is too narrow" if p in narrow
                  else "its interval is too narrow for a contributor" if p in near
                  else IN_SUM for p in places.tolist()]  # fmt: skip
        return beside(self.table.cells[places], reason=pl.Series(reason, dtype=pl.String))

    @property
    def sentence(self) -> str:
        """One plain sentence."""
        checked, primary = len(self.intervals.cells), self._at_stake
        if self.passed and not checked and not primary.any():
            return "No cell is protected, so there is none to compute."
        if self.passed:
            return (
                "No protected cell can be computed from the published ones, "
                f"and all {checked:,} intervals are as wide as asked for."
            )
        shown = int(self.exposed.outsider[primary].sum()) + int(self.differences.sum())
        single = sum(bool(primary[cells].any()) for cells in self.exposed.by_contributor.values())
        pooled = sum(bool(primary[cells].any()) for cells in self.exposed.by_coalition.values())
        narrow, near = int((~self.met).sum()), len(np.unique(self.insiders.intruder))
        sums = self.unions.count
        parts = (
            (shown, f"{shown:,} protected cells or differences can be computed exactly by anybody"),
            (single, f"{single:,} single contributors can compute a protected cell of somebody else"),
            (pooled, f"{pooled:,} coalitions can compute a protected cell of somebody else"),
            (narrow, f"{narrow:,} of {checked:,} intervals are too narrow"),
            (near, f"{near:,} contributors or coalitions see too narrow an interval of somebody else's cell"),
            (sums, f"{sums:,} sums of suppressed cells follow from published ones and break a rule"),
        )
        return "; ".join(text for count, text in parts if count).capitalize() + "."

    def __str__(self) -> str:
        return " ".join([self.sentence, *self.notes])

    @property
    def result(self) -> Result:
        """The outcome as a `Result`, for reports: the share of protected cells at risk."""
        protected = max(int(self.table.primary.sum()), 1)
        share = 100.0 * len(self.failing) / protected
        return Result("table-audit", share, str(self), unit="%", table=self.at_risk, counts=WHOLE)

    def _repr_html_(self) -> str:
        passed = "Audit passed" if self.unions.complete else "Audit found nothing where it looked"
        head = passed if self.passed else "Audit found cells at risk"
        return f"<section><h4>{head}</h4><p>{html.escape(str(self))}</p>{small_table(self.at_risk, 20)}</section>"


def audit(
    result: Suppression | Disclosed, *, intervals: Literal["check", "exact", "none"] = "check",
    cells: Literal["primary", "suppressed"] = "primary", requirement: Requirement | None = None,
    contributors: bool | Literal["intervals"] = True, coalitions: Sequence[Sequence[str]] = (),
    nonnegative: bool | None = None, prior: float | None = None, integer: bool | None = None, unions: bool = True,
    progress: Progress | None = None,
) -> Audit:  # fmt: skip
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
        Bounds over whole inner cells (slower): everybody knows that counts are whole. By default done for counts of up
        to 1,000 inner cells; in larger tables an interval must hold two whole numbers, but whether both can occur is
        not looked at, and a note says so.
    unions
        Whether sums of suppressed cells that follow from published ones are held against the rules on contributors
        (`failing_unions`); only for tables of sums whose records are known.

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
    _check_words(intervals, cells, contributors)
    table = result if isinstance(result, Disclosed) else Disclosed.of(result)
    positive, notes = _sign(table, nonnegative)
    notes = (*table.notes, *notes)
    pooled = numbered(coalitions, table.contributors)
    owners = table.owners if contributors else None
    exposed = exposure(table.matrix, table.suppressed, owners, hidden=table.hidden, coalitions=pooled)
    places = _places(table, cells) if intervals != "none" else np.zeros(0, np.int64)
    whole = table.whole and prior is None
    enough = enough_for(table.amounts[places], table.above[places], requirement or Requirement(), whole)
    if integer is None:
        integer, left_out = _solved_whole(table, enough, prior, len(places))
        notes += left_out
    asked: dict[str, Any] = {"integer": integer, "progress": progress}
    bounds = _bounds(table, places, prior, positive, enough=enough if intervals == "check" else None, **asked)
    seen = InsiderBounds.none()
    if contributors == "intervals" and table.owners is not None:
        people = inner_cells_of(table.owners, pooled)
        seen = insider_bounds(table, places, enough, people, nonnegative=positive, progress=progress)
    given_away = _known_differences(table, positive, integer)
    sums = _sums_that_follow(result) if unions else Unions.none(0)
    notes += () if sums.complete else (BY_LINE,)
    return Audit(table, bounds, enough, exposed, intervals == "exact", notes, given_away, seen, sums)


def _sums_that_follow(result: Suppression | Disclosed) -> Unions:
    """Sums of suppressed cells that fail a rule; of somebody else's table nobody knows the contributors."""
    if isinstance(result, Disclosed):
        return Unions.none(0)
    return failing_unions(result.model, result.suppressed, result.hidden, result.rules)


def _solved_whole(
    table: Disclosed, enough: Enough, prior: float | None, places: int
) -> tuple[bool, tuple[str, ...]]:
    """Whether bounds over whole numbers are worth their time unasked, and what to say where they were left out."""
    counts = enough.whole and table.owners is None
    small = table.matrix.shape[0] <= MOST_WHOLE and prior is None
    return counts and small, (LEFT_OUT,) if counts and places and not small else ()


def _bounds(
    table: Disclosed, places: Ints, prior: float | None, nonnegative: bool, **asked: Any
) -> Intervals:
    """What everybody can work out about the cells at some places."""
    if prior is not None:
        return _with_prior(table, places, prior, **asked)
    sums = (table.matrix, table.amounts, table.published, places)
    return feasibility_intervals(*sums, inner=table.inner, nonnegative=nonnegative, **asked)


def _check_words(intervals: str, cells: str, contributors: object) -> None:
    one_of("intervals", intervals, ("check", "exact", "none"))
    one_of("cells", cells, ("primary", "suppressed"))
    need("contributors", contributors, bool | Literal["intervals"])


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
    table: Disclosed, places: Ints, prior: float, *, enough: Enough | None, **asked: Any
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
    if enough is not None:
        enough = Enough(enough.low - shift[places], enough.high - shift[places], enough.width)
    intervals = feasibility_intervals(
        matrix, table.amounts - shift, table.published, places, extra=(widths, high - low),
        inner=np.concatenate([table.inner - low, high - table.inner]), enough=enough, **asked,
    )  # fmt: skip
    return Intervals(
        intervals.cells, intervals.low + shift[places], intervals.high + shift[places], intervals.solved
    )


def _known_differences(table: Disclosed, nonnegative: bool, integer: bool) -> Bools:
    """Which of the sums that must stay unknown are given away."""
    differences = table.differences
    if differences is None or not differences.shape[1]:
        return np.zeros(0, np.bool_)
    matrix = sp.hstack([table.matrix, differences]).tocsc()
    count = differences.shape[1]
    known = np.concatenate([table.published, np.zeros(count, np.bool_)])
    amounts = np.concatenate([table.amounts, np.zeros(count)])
    places = np.arange(matrix.shape[1] - count, matrix.shape[1])
    anything = Enough(np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count), table.whole)
    intervals = feasibility_intervals(
        matrix,
        amounts,
        known,
        places,
        inner=table.inner,
        enough=anything,
        nonnegative=nonnegative,
        integer=integer,
    )
    return ~anything.met(intervals.low, intervals.high)
