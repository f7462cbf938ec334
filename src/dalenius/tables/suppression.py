"""`Suppression`: the outcome of `protect`, as data, as text and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.result import Result
from dalenius.tables.formats.tablefile import TableFile
from dalenius.tables.gauss import COMBINATION, CONTRIBUTOR, ELSEWHERE, SMALL, VIRTUAL
from dalenius.tables.model import Bools, Ints, TableModel, beside
from dalenius.tables.render import cross_table, cross_table_html
from dalenius.tables.whose import whose_rows

if TYPE_CHECKING:
    import altair as alt

    from dalenius.tables.audit import Audit
    from dalenius.tables.protection import PrimaryRule

STATUS = ("published", "primary", "secondary", "forced", "hidden")
LETTERS = {"published": "s", "primary": "u", "secondary": "x", "forced": "z", "hidden": "w"}
"""Status letters of sdcTable and τ-ARGUS: s safe, u primary, x secondary, z must be published, w never published."""

REASONS = {
    SMALL: "a sum of small counts",
    CONTRIBUTOR: "a contributor who knows its own value",
    ELSEWHERE: "another table, or the width of an interval",
    VIRTUAL: "a sum that must stay unknown",
    COMBINATION: "a combination of one or two contributors' cells",
}


@dataclass(frozen=True, eq=False)
class Suppression:
    """Which cells are published and which are not.

    Attributes
    ----------
    model
        The table.
    primary, secondary, forced, hidden
        Masks over the cells.
    unsafe
        Primary cells that the forced cells give away.
    marks
        Rule name → mask of the cells it hit, all rules side by side.
    order
        The order in which cells were tried.
    notes
        Plain sentences about anything a reader should know.
    checked
        The audit it went through, if any.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> result.cells.to_dicts()[2]["status"]
    'secondary'
    >>> print(result.cross_table())
    a     Total
    Total    17
    x         ×
    y         ×
    z         9
    """

    model: TableModel
    primary: Bools
    secondary: Bools
    forced: Bools
    hidden: Bools
    unsafe: Bools
    marks: Mapping[str, Bools]
    cause: Ints
    order: Ints
    notes: tuple[str, ...] = ()
    rules: tuple[PrimaryRule, ...] = ()
    differences: Any | None = None
    checked: Audit | None = None

    def __repr__(self) -> str:
        return f"<Suppression: {self.sentence}>"  # the parameters of rules stay confidential

    @property
    def suppressed(self) -> Bools:
        """Cells without a published value."""
        return self.primary | self.secondary

    @property
    def status(self) -> list[str]:
        """Status of every cell in words."""
        code = np.zeros(len(self.primary), np.int64)
        for value, mask in enumerate((self.primary, self.secondary, self.forced, self.hidden), 1):
            code[mask] = value
        return [STATUS[i] for i in code]

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row a cell: codes, count, value, status, rules that hit it, and the cell it protects. Confidential."""
        model, status = self.model, self.status
        named = [" : ".join(row) for row in model.cells.iter_rows()]
        protects = [self._protects(i, named) for i in range(len(named))]
        hit = [
            ", ".join(name for name, mask in self.marks.items() if mask[i]) or None for i in range(len(named))
        ]
        value = {"value": model.amount} if model.is_magnitude else {}
        return beside(
            model.cells,
            freq=model.frequency,
            **value,
            status=status,
            letter=[LETTERS[s] for s in status],
            rule=pl.Series(hit, dtype=pl.String),
            protects=pl.Series(protects, dtype=pl.String),
        )

    def _protects(self, i: int, named: list[str]) -> str | None:
        if not self.secondary[i]:
            return None
        why = int(self.cause[i])
        return named[why] if why >= 0 else REASONS.get(why)

    @property
    def is_safe(self) -> bool:
        """Whether the audit passed; a table that was not audited is audited now.

        Examples
        --------
        >>> from dalenius.tables import define, protect, SmallCount
        >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
        >>> protect(model, SmallCount(3)).is_safe
        True
        """
        return (self.audit() if self.checked is None else self.checked).passed

    def to_frame(self, mark: str | None = None, *, force: bool = False) -> pl.DataFrame:
        """What may be published: codes, the value or nothing, and the status letter. Safe to hand out.

        A table whose audit fails is refused; ``force`` hands it out with a column that says so. A column of ours that
        is called like a dimension gets an underscore.

        Examples
        --------
        >>> from dalenius.tables import define, protect, SmallCount
        >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
        >>> result.to_frame()["freq"].to_list()
        [17, None, None, 9]
        """
        frame = TableFile.of(self, force=force).frame(text=mark is not None)
        if mark is None:
            return frame
        shown = frame.columns[self.model.cells.width]
        return frame.with_columns(pl.col(shown).fill_null(mark))

    @property
    def sentence(self) -> str:
        """One plain sentence about the outcome."""
        cells, first, second = len(self.primary), int(self.primary.sum()), int(self.secondary.sum())
        if not first + second:
            return f"All {cells:,} cells can be published."
        rules = ", ".join(f"{name} {int(mask.sum()):,}" for name, mask in self.marks.items() if mask.any())
        asked = f"{first:,} because a rule asks for it" + (f" ({rules})" if rules else "")
        them = "it" if first == 1 else "them"
        further = f", {second:,} to protect {them}" if second else "; no further cell is needed"
        return f"{first + second:,} of {cells:,} cells are suppressed: {asked}{further}."

    def __str__(self) -> str:
        return " ".join(text for text in (self.sentence, *self.notes, whose_rows(self.model)) if text)

    def under(self, rules: tuple[PrimaryRule, ...]) -> Suppression:
        """The same outcome with only these rules counted as primary; what other rules added becomes secondary."""
        marks = dict(list(self.marks.items())[: len(rules)])
        asked = np.logical_or.reduce(list(marks.values())) & ~self.forced & ~self.hidden
        cause = np.where(self.primary & ~asked, ELSEWHERE, self.cause)
        return replace(
            self, primary=asked, secondary=self.suppressed & ~asked, marks=marks, rules=rules, cause=cause
        )

    @property
    def result(self) -> Result:
        """The outcome as a `Result`, for reports."""
        share = 100.0 * float(self.suppressed.mean())
        by = {name: 100.0 * float(mask.mean()) for name, mask in self.marks.items()}
        return Result("table-suppression", share, str(self), unit="%", values=by, chart=self.chart)

    def audit(self, **options: Any) -> Audit:
        """Check the published table independently; see `audit`."""
        from dalenius.tables.audit import audit  # noqa: PLC0415 (the audit reads suppressions)

        return audit(self, **options)

    def cross_table(
        self, rows: str | None = None, columns: str | None = None, mark: str = "×", **at: str
    ) -> str:
        """The table as text, suppressed cells marked; dimensions that are not shown are at their total or at ``at``."""
        return cross_table(self, rows, columns, mark, at)

    def chart(self) -> alt.TopLevelMixin:
        """Picture of the protected table."""
        from dalenius.tables.charts import suppression_chart  # noqa: PLC0415 (Altair is loaded when a chart is drawn)

        return suppression_chart(self)

    def _repr_html_(self) -> str:
        return cross_table_html(self)
