"""`Output`: a result in the researcher's hands, with everything that is known about it."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.pictures import picture
from dalenius.core.small_table import small_table
from dalenius.outputs.checks import Verdict
from dalenius.outputs.judge import Judged
from dalenius.outputs.query import Bools, Floats, Query
from dalenius.outputs.record import Record
from dalenius.tables.model import beside

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

Values = Mapping[str, Floats]
"""Statistic → its figures, one a cell of the evidence; NaN where nothing is shown."""


@dataclass(eq=False, repr=False)
class Output:
    """One output: what is shown, what was found, what can be done.

    Attributes
    ----------
    record
        What is written down about it.
    query, judged
        What it asked of the data, and the findings. Confidential.
    values, frame
        Figures by cell (tables), or any other frame that would leave (models, tests).
    render
        Makes the usual object of the researcher's library out of (changed) values.
    exact
        False once noise or rounding is on it: differences then tell nothing exactly.
    rounded
        Whether its counts were rounded. One person less may still change what is shown.
    primary
        Cells that a fix took out because checks mark them, not to protect others.
    """

    desk: Desk
    record: Record
    query: Query
    judged: Judged
    values: Values | None = None
    frame: pl.DataFrame | None = None
    render: Callable[[Values], Any] | None = None
    shown: Any = None
    exact: bool = True
    rounded: bool = False
    primary: Bools | None = None
    merged: Query | None = None
    chart: Callable[[pl.DataFrame], Any] | None = None
    original: Values | None = field(default=None)

    def __repr__(self) -> str:
        return f"<Output {self.record.uid}: {self.record.summary}>"

    @property
    def status(self) -> Verdict:
        """The status: pass, review or fail."""
        return self.record.status

    @property
    def summary(self) -> str:
        """What was found, in words."""
        return self.record.summary

    @property
    def statbarn(self) -> str:
        """Letter of the statbarn."""
        return self.record.statbarn

    @property
    def form(self) -> bool:
        """Whether it is a model or a test: those tell no counts, but two of them what they are computed from."""
        barns = {barn.id for barn in self.judged.statbarns}
        return "figure" in self.query.facts or (bool(barns) and barns <= {"g", "h"})

    @property
    def unknown(self) -> bool:
        """Whether nobody knows what it tells: a name that no statbarn has, or a figure computed in a way of its own."""
        return "figure" in self.query.facts or any(p.statbarn is None for p in self.judged.places)

    @property
    def watched(self) -> bool:
        """Whether it is compared with earlier outputs and kept for later ones."""
        asked = any("differencing" in barn.checks for barn in self.judged.statbarns)
        return bool(self.query.rows) and (asked or self.unknown)

    @property
    def cells(self) -> pl.DataFrame:
        """Every cell with the checks that mark it."""
        return self.judged.cells

    @property
    def flagged(self) -> Bools:
        """Cells that a failing check marks."""
        size = len(self.judged.evidence.cells)
        masks = [f.flagged for f in self.judged.findings if f.verdict == "fail" and len(f.flagged) == size]
        return np.logical_or.reduce(masks) if masks else np.zeros(size, np.bool_)

    @property
    def hidden(self) -> Bools:
        """Cells that a fix took out."""
        size = len(self.judged.evidence.cells)
        if self.values is None or self.original is None:
            return np.zeros(size, np.bool_)
        first, now = next(iter(self.original.values())), next(iter(self.values.values()))
        return np.isnan(now) & ~np.isnan(first) if len(first) == len(now) else np.zeros(size, np.bool_)

    def table(self) -> pl.DataFrame:
        """What would leave, one row a cell."""
        if self.values is None:
            return pl.DataFrame() if self.frame is None else self.frame
        labels = (self.merged or self.query).frame()
        return beside(labels, **{name: _column(v) for name, v in self.values.items()})

    def suggest(self) -> pl.DataFrame:
        """All fixes of the statbarn with what comes of each: status and loss, the cheapest that passes first."""
        from dalenius.outputs.fixes import offers  # noqa: PLC0415 (fixes make outputs)

        return offers(self)

    def fix(self, way: str = "auto", **options: Any) -> Output:
        """Repair the output in place: "auto" takes the cheapest fix that passes."""
        from dalenius.outputs.fixes import repair  # noqa: PLC0415

        return repair(self, way, **options)

    def exception(self, reason: str) -> Output:
        """Ask for an exception; a reason is needed."""
        if not reason.strip():
            raise OptionError("an exception needs a reason: say why the output should leave nevertheless")
        self.record.exception = reason.strip()
        self.desk.memory.keep(self.desk.name, self)
        self.desk.note("exception", self.record.uid, reason=self.record.exception)
        return self

    def comment(self, text: str) -> Output:
        """Add a remark for the checker."""
        self.record.comments.append(str(text))
        self.desk.note("comment", self.record.uid, text=str(text))
        return self

    def _repr_html_(self) -> str:
        head = f"<h4>{html.escape(self.record.uid)}: {html.escape(self.summary)}</h4>"
        if self.status == "fail":
            body = small_table(self.cells.filter(pl.col("outcome") != "ok"))
        elif self.chart is not None and self.shown is not None:
            body = picture(self.shown, self.summary)
        else:
            body = small_table(self.table())
        return f"<section>{head}{body}</section>"


def _column(values: Floats) -> pl.Series:
    """Figures of a table, whole numbers as such."""
    column = pl.Series(values).fill_nan(None)
    there = column.drop_nulls()
    whole = bool((there.is_finite() & (there == there.round())).all())
    return column.cast(pl.Int64) if whole and column.drop_nulls().abs().max() is not None else column
