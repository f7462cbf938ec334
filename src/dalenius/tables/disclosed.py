"""`Disclosed`: a table as the audit sees it, whoever suppressed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.tables.contributions import single_owners
from dalenius.tables.model import Bools, Floats, Ints

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression


@dataclass(frozen=True, eq=False, repr=False)
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
    owners, contributors
        Number (1 …) of the contributor of inner cells that have just one, 0 elsewhere; and their names, confidential.
    inner
        The inner cells themselves, if known.
    differences
        Further sums that must stay unknown.
    notes
        Plain sentences about how the table was read.
    """

    cells: pl.DataFrame
    matrix: Any
    amounts: Floats
    suppressed: Bools
    primary: Bools
    hidden: Bools
    above: Floats
    owners: Ints | None = None
    contributors: tuple[str, ...] = ()
    inner: Floats | None = None
    differences: Any | None = None
    notes: tuple[str, ...] = ()

    @property
    def published(self) -> Bools:
        """Cells whose value everybody can read."""
        return ~self.suppressed & ~self.hidden

    @property
    def whole(self) -> bool:
        """Whether all that is known are whole numbers, as counts are."""
        known = self.amounts[self.published] if self.inner is None else self.inner
        return bool(np.array_equal(known, np.rint(known)))

    @classmethod
    def of(cls, result: Suppression) -> Disclosed:
        """What a suppression publishes."""
        model = result.model
        above = np.zeros(len(model.cells))
        for rule in result.rules:
            above = np.maximum(above, np.where(result.primary, rule.protects(model).upper, 0.0))
        return cls(
            model.cells,
            model.matrix,
            model.amount,
            result.suppressed,
            result.primary,
            result.hidden,
            above,
            owners=single_owners(model) if model.is_magnitude else None,
            contributors=() if model.records is None else model.records.labels,
            inner=model.counts.astype(np.float64) if model.values is None else model.values,
            differences=result.differences,
        )
