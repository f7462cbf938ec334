"""`mirror`: a column of numbers turned round between its ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table


@step
@dataclass(frozen=True)
class Mirror(Step):
    """The smallest number becomes the largest, and so on.

    Examples
    --------
    >>> Mirror("pay").apply(Table.from_frame({"pay": [10, 20, 40]})).table.to_frame()
    {'pay': [40, 30, 10]}
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="mirror",
        title="Mirror",
        meaning="Turns a column of numbers round between its smallest and its largest.",
        plain="What was much becomes little, and what was little much.",
        guarantee="none: whoever knows the trick undoes it",
        reference="An example, not a method",
        example_options={"column": "income"},
    )
    reversible: ClassVar[bool] = False
    column: str

    def faults(self, table: Table) -> list[str]:
        """Only numbers can be turned round."""
        wrong = super().faults(table)
        fits = wrong or table[self.column].is_number
        return wrong or ([] if fits else [f"column {self.column!r} is no number"])

    def _apply(self, table: Table, seed: Seed) -> Masked:
        held = table[self.column]
        there = held.present & np.isfinite(held.data)  # gaps and infinite numbers stay where they are
        if not there.any():
            return Masked.of(table, table)
        data = held.data.copy()
        data[there] = data[there].min() + data[there].max() - data[there]
        return Masked.of(table, table.with_vectors(replace(held, data=data)), perturbed=[self.column])
