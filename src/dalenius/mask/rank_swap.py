"""Rank swapping: numbers exchanged between rows of similar rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Kind
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.mask._kernels.swaps import rank_partners
from dalenius.mask.microaggregation import strata_of
from dalenius.mask.needs import one_draw_each


@step
@dataclass(frozen=True)
class RankSwap(Step):
    """Each value exchanged with one whose rank is at most ``share`` of the rows away; the values stay in the column.

    Examples
    --------
    >>> pay = Table.from_frame({"pay": [float(x) + 0.5 for x in range(20)]})
    >>> made = RankSwap(("pay",), share=0.1).apply(pay, 1)
    >>> moved = made.table["pay"].data - pay["pay"].data
    >>> sorted(made.table["pay"].data.tolist()) == pay["pay"].data.tolist(), bool(abs(moved).max() <= 2)
    (True, True)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="rank-swap",
        title="Rank swapping",
        meaning="Exchanges values between rows of similar rank.",
        plain="People with nearly the same amount exchange it; all amounts stay in the file.",
        guarantee="none",
        reference="Moore 1996",
        example_options={"variables": ["income"], "share": 0.05},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...],
        Option(title="Columns", meaning="numbers or ordered values that are swapped", knob=True),
    ]
    share: Annotated[
        float,
        Option(
            above=0, at_most=1, title="Range", meaning="how far ranks may lie apart: more is safer", knob=True
        ),
    ] = 0.05
    top: Annotated[
        float, Option(at_least=0, below=0.5, title="Top", meaning="share of the largest made one value")
    ] = 0.0
    bottom: Annotated[
        float, Option(at_least=0, below=0.5, title="Bottom", meaning="the same of the smallest")
    ] = 0.0
    strata: Annotated[tuple[str, ...], Option(title="Strata", meaning="values stay within these")] = ()

    def conflicts(self) -> list[str]:
        """Columns to swap."""
        return [] if self.variables else ["variables names none; say which columns are swapped"]

    def faults(self, table: Table) -> list[str]:
        """Values with an order."""
        wrong = super().faults(table)
        for name in [] if wrong else self.variables:
            vector = table[name]
            if not vector.is_number and vector.column.kind is not Kind.ORDERED:
                wrong.append(
                    f"column {name!r} is {vector.column.kind}; an order is needed: numbers or ordered levels"
                )
            elif np.count_nonzero(vector.present) < 2:
                wrong.append(f"column {name!r} has fewer than two values; leave it out")
        return wrong

    def _apply(self, table: Table, seed: Seed) -> Masked:
        stratum, strata = strata_of(table, self.strata)
        made = []
        for name in self.variables:
            vector = table[name]
            data = vector.data.copy()
            for s in range(strata):
                here = np.flatnonzero(vector.present & (stratum == s))
                data[here] = self._swapped(vector.data[here], seed, name, s)
            made.append(replace(vector, data=data))
        note = f"Values changed places with others at most {100 * self.share:g} % of the ranks away."
        made = one_draw_each(table, made)
        return Masked.of(table, table.with_vectors(*made), perturbed=self.variables, notes=[note])

    def _swapped(self, values: IntArray, seed: Seed, name: str, stratum: int) -> IntArray:
        rows = len(values)
        rng = generator(seed, name, stratum)
        order = np.lexsort((rng.random(rows), values))  # equal values in a random order
        ranked = values[order]
        for size, end in ((int(self.bottom * rows), slice(0, int(self.bottom * rows))),
                          (int(self.top * rows), slice(rows - int(self.top * rows), rows))):  # fmt: skip
            if size:
                ranked[end] = np.rint(ranked[end].mean()) if ranked.dtype.kind in "iu" else ranked[end].mean()
        window = max(1, int(self.share * rows))
        partner = rank_partners(rows, window, rng.random(2 * rows + 1))
        made = np.empty_like(values)
        made[order] = ranked[partner]
        return made
