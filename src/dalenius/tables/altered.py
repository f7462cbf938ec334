"""`Altered`: a table whose values were changed instead of suppressed, with a proof of how good the change is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from dalenius.tables.formats.tablefile import TableFile
from dalenius.tables.model import Floats, TableModel


@dataclass(frozen=True, eq=False)
class Altered:
    """Changed values of all cells.

    Attributes
    ----------
    model
        The true table. Confidential.
    values
        What may be published, one number a cell.
    way
        How it was made.
    objective, bound
        What was made small, and what no solution can go below; None where nothing was made small.
    notes
        Plain sentences.

    Examples
    --------
    >>> from dalenius.tables import define, controlled_round
    >>> rounded = controlled_round(define({"a": ["x", "y", "z"], "n": [4, 4, 4]}, by="a", freq="n"), 5)
    >>> rounded.proved, rounded.not_additive
    (True, 0)
    """

    model: TableModel
    values: Floats
    way: str
    objective: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """How far the objective may be from the best one, as a share of it; 0 if it is the best."""
        if self.objective is None or self.bound is None:
            return float("nan")
        return max(0.0, self.objective - self.bound) / max(abs(self.objective), 1e-12)

    @property
    def proved(self) -> bool:
        """Whether nothing better exists (to one part in a million)."""
        return bool(self.gap <= 1e-6)

    @property
    def not_additive(self) -> int:
        """Cells that differ from the sum of their published parts."""
        from dalenius.tables.loss import information_loss  # noqa: PLC0415 (the loss reads altered tables)

        return int(information_loss(self.model, {self.way: self.values})["not_additive"][0])

    def to_file(self) -> TableFile:
        """The changed table for `write_table_file`; no cell is suppressed. Safe as far as the way protects."""
        flags, trees = [""] * len(self.values), {d.name: d.hierarchy for d in self.model.dimensions}
        said = (f"Values are changed: {self.way}.", *self.notes)
        return TableFile(
            self.model.cells, self.values, flags, self.model.measure, self.model.decimals, trees, said
        )

    def to_frame(self) -> pl.DataFrame:
        """Codes and changed values."""
        file = self.to_file()
        return file.frame().select(pl.nth(range(file.cells.width + 1)))

    def __str__(self) -> str:
        if self.objective is None:
            best = ""
        elif self.proved:
            best = " No better solution exists."
        else:
            best = (
                f" A better solution may exist: at most {100 * self.gap:.2g} % of the change could be saved."
            )
        change = np.abs(self.values - self.model.amount)
        moved = int((change > 1e-9).sum())
        said = (
            f"{self.way}: {moved:,} of {len(change):,} cells are changed, by {change.mean():.3g} on average."
        )
        return " ".join([said + best, *self.notes])
