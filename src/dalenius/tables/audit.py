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
from dalenius.core.result import Result
from dalenius.tables.contributions import single_owners
from dalenius.tables.enough import Enough
from dalenius.tables.intervals import Intervals, Progress, feasibility_intervals
from dalenius.tables.intruders import Exposure, exposure
from dalenius.tables.model import Bools, Floats, Ints

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression


@dataclass(frozen=True)
class Requirement:
    """How wide the interval of a protected cell must be, besides what the primary rules ask for.

    ``range_min`` and ``range_percent`` (of the cell's value) set the least width, ``up_percent`` and
    ``down_percent`` how
    far the bounds must lie above and below the value. An interval of width 0 always fails.

    Examples
    --------
    >>> Requirement(range_min=5).width(np.array([100.0])).tolist()
    [5.0]
    """

    range_min: float = 0.0
    range_percent: float = 0.0
    up_percent: float = 0.0
    down_percent: float = 0.0

    def width(self, value: Floats) -> Floats:
        """Least width of the interval."""
        return np.maximum(self.range_min, self.range_percent / 100.0 * np.abs(value))

    def bounds(self, value: Floats, above: Floats) -> tuple[Floats, Floats]:
        """Where the lower and the upper bound must lie at least."""
        reach = np.maximum(above, self.up_percent / 100.0 * np.abs(value))
        return value - self.down_percent / 100.0 * np.abs(value), value + reach


@dataclass(frozen=True, eq=False)
class Disclosed:
    """A table as the audit sees it: what is published, what is not, and what must be protected.

    Attributes
    ----------
    cells
        Codes of the cells.
    matrix
        Inner cells × cells.
    amounts
        Values; those of suppressed cells may be NaN when nobody told us.
    suppressed, primary, hidden
        Masks; without knowledge of the rules all suppressed cells count as primary.
    above
        How far above the value the upper bound must lie, by the primary rules.
    owners
        Single contributors of the inner cells.
    inner
        The inner cells themselves, if known.
    differences
        Further sums that must stay unknown.
    """

    cells: pl.DataFrame
    matrix: Any
    amounts: Floats
    suppressed: Bools
    primary: Bools
    hidden: Bools
    above: Floats
    owners: Ints | None = None
    inner: Floats | None = None
    differences: Any | None = None
    is_count: bool = True

    @property
    def published(self) -> Bools:
        """Cells whose value everybody can read."""
        return ~self.suppressed & ~self.hidden

    @classmethod
    def of(cls, result: Suppression) -> Disclosed:
        """What a suppression publishes."""
        model = result.model
        above = np.zeros(len(model.cells))
        for rule in result.rules:
            if hasattr(rule, "upper"):
                above = np.maximum(above, np.where(result.primary, rule.upper(model), 0.0))
        inner = model.counts.astype(np.float64) if model.values is None else model.values
        owners = single_owners(model) if model.is_magnitude else None
        return cls(
            model.cells, model.matrix, model.amount, result.suppressed, result.primary, result.hidden, above, owners,
            inner, result.differences, not model.is_magnitude,
        )  # fmt: skip


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
    """

    table: Disclosed
    intervals: Intervals
    enough: Enough
    exposed: Exposure
    exact: bool
    notes: tuple[str, ...] = ()
    differences: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def met(self) -> Bools:
        """Which of the audited cells have a wide enough interval."""
        return self.enough.met(self.intervals.low, self.intervals.high)

    @property
    def failing(self) -> Ints:
        """Places of protected cells that are at risk: computable, or with too narrow an interval."""
        narrow = self.intervals.cells[~self.met]
        computable = np.flatnonzero(self.exposed.outsider & self.table.primary)
        insiders = [cells[self.table.primary[cells]] for cells in self.exposed.by_contributor.values()]
        return np.unique(np.concatenate([narrow, computable, *insiders]))

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return len(self.failing) == 0 and not self.differences.any()

    @property
    def cells(self) -> pl.DataFrame:
        """Bounds cell by cell, with what was asked for. Confidential."""
        places = self.intervals.cells
        exposed = np.zeros(len(self.table.primary), np.int64)
        for found in self.exposed.by_contributor.values():
            exposed[found] += 1
        return self.table.cells[places].with_columns(
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
        inside = {int(c) for cells in self.exposed.by_contributor.values() for c in cells}
        reason = ["can be computed exactly" if p in seen else "a contributor can compute it" if p in inside
                  else "its interval is too narrow" for p in places.tolist()]  # fmt: skip
        return self.table.cells[places].with_columns(reason=pl.Series(reason, dtype=pl.String))

    @property
    def sentence(self) -> str:
        """One plain sentence."""
        checked = len(self.intervals.cells)
        shown = int(self.exposed.outsider[self.table.primary].sum()) + int(self.differences.sum())
        insiders = sum(
            bool(self.table.primary[cells].any()) for cells in self.exposed.by_contributor.values()
        )
        if self.passed:
            return (
                "No protected cell can be computed from the published ones, "
                f"and all {checked:,} intervals are as wide as asked for."
            )
        parts = []
        if shown:
            parts.append(f"{shown:,} protected cells or differences can be computed exactly by anybody")
        if insiders:
            parts.append(f"{insiders:,} single contributors can compute a protected cell of somebody else")
        narrow = int((~self.met).sum())
        if narrow:
            parts.append(f"{narrow:,} of {checked:,} intervals are too narrow")
        return "; ".join(parts).capitalize() + "."

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
    contributors: bool = True,
    nonnegative: bool | None = None,
    integer: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Audit a suppressed table.

    Parameters
    ----------
    result
        From `protect`, or a table somebody else suppressed (`read_suppressed`).
    intervals
        "check" looks only as far as needed to see that the interval of a cell is wide enough, "exact" finds
        the exact
        bounds, "none" leaves intervals out.
    cells
        Which cells get an interval.
    requirement
        Widths to ask for besides those of the primary rules.
    contributors
        Whether single contributors are tried as intruders.
    nonnegative
        Whether everybody knows that values are not negative; by default true unless an inner cell is
        negative.
    integer
        Exact whole-number bounds for counts (slower).

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> data = {"age": ["y"] * 3 + ["o"] * 3, "geo": list("IPSIPS"), "n": [0, 0, 5, 6, 3, 4]}
    >>> model = define(data, by=["age", "geo"], freq="n")
    >>> print(protect(model, SmallCount(0)).audit())
    No protected cell can be computed from the published ones, and all 2 intervals are as wide as asked for.
    >>> print(protect(model, SmallCount(0), small="none").audit())
    2 of 2 intervals are too narrow.
    """
    if intervals not in ("check", "exact", "none") or cells not in ("primary", "suppressed"):
        raise OptionError("intervals is 'check', 'exact' or 'none', and cells is 'primary' or 'suppressed'")
    table = result if isinstance(result, Disclosed) else Disclosed.of(result)
    notes: list[str] = []
    if nonnegative is None:
        nonnegative = table.inner is None or bool((table.inner >= 0).all())
        if not nonnegative:
            notes.append("Some values are negative, so intervals do not use that values are at least 0.")
    exposed = exposure(
        table.matrix, table.suppressed, table.owners if contributors else None, hidden=table.hidden
    )
    places = np.flatnonzero(table.primary if cells == "primary" else table.suppressed)
    places = places[np.diff(sp.csc_matrix(table.matrix).indptr)[places] > 0]
    enough = _enough(table, places, requirement or Requirement())
    if intervals == "none":
        bounds = Intervals(places[:0], np.zeros(0), np.zeros(0), 0)
        enough = Enough(np.zeros(0), np.zeros(0), np.zeros(0))
    else:
        bounds = feasibility_intervals(
            table.matrix,
            table.amounts,
            table.published,
            places,
            inner=table.inner,
            enough=enough if intervals == "check" else None,
            nonnegative=nonnegative,
            integer=integer,
            progress=progress,
        )
    given_away = np.zeros(0, np.bool_)
    if table.differences is not None and table.differences.shape[1]:
        given_away = _known_differences(table, table.differences, nonnegative)
    return Audit(table, bounds, enough, exposed, intervals == "exact", tuple(notes), given_away)


def _enough(table: Disclosed, places: Ints, requirement: Requirement) -> Enough:
    value = table.amounts[places]
    unknown = np.isnan(value)
    low, high = requirement.bounds(np.nan_to_num(value), table.above[places])
    low, high = np.where(unknown, np.inf, low), np.where(unknown, -np.inf, high)
    return Enough(low, high, requirement.width(np.nan_to_num(value)))


def _known_differences(table: Disclosed, differences: Any, nonnegative: bool) -> Bools:
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


def exposed_by_publishing(result: Suppression, places: Sequence[int] | None = None) -> dict[int, Ints]:
    """For each secondary cell the primary cells that anybody could compute if it were published after all.

    An empty list means that the cell is not needed against exact computation; it may still be there because
    of small
    counts, single contributors or intervals.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> {cell: found.tolist() for cell, found in exposed_by_publishing(protect(model, SmallCount(3))).items()}
    {2: [1]}
    """
    from dalenius.tables._modular import product  # noqa: PLC0415 (compiled code is loaded when it is used)
    from dalenius.tables.nullspace import NullSpace  # noqa: PLC0415

    table = Disclosed.of(result)
    matrix = sp.csc_matrix(table.matrix)
    space = NullSpace(matrix[:, np.flatnonzero(table.published)], vectors=4)
    primary = np.flatnonzero(table.primary)
    changes = space.seen(matrix[:, primary])
    wanted = np.flatnonzero(result.secondary) if places is None else np.asarray(places, np.int64)
    shown = space.seen(matrix[:, wanted])
    found: dict[int, Ints] = {}
    for cell, change in zip(wanted.tolist(), shown, strict=True):
        left = product(changes, NullSpace.unchanging(change[None, :]))
        found[cell] = primary[~(left != 0).any(axis=1)]
    return found
