"""`poisson`: saturated count models. Every cell becomes a random count around its own, raised by a pseudo-count α."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.counts.keys import unravel
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.dp.budget import Budget
from dalenius.dp.count_laws import CountLaw, NegativeBinomial, Poisson, PoissonInverseGaussian
from dalenius.dp.count_privacy import calibrate_alpha, delta, delta_without_zeros, reading
from dalenius.synth.base import register
from dalenius.synth.joint.base import READ_OFF, Domain, JointSynthesizer
from dalenius.synth.joint.cells import Cells
from dalenius.synth.joint.margins import largest_columns
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.task import Task

Size = Literal["fixed", "poisson"]
Law = Literal["poisson", "negative-binomial", "poisson-inverse-gaussian"]
SHOWN_EPSILONS = (1.0, 2.0, 3.0)
LISTED_CELLS = 2**22
"""Overdispersed laws draw a mean for every cell, so the cells must be listed; and so many records α may invent."""


class PoissonModel(JointModel):
    """The expected count of every cell."""

    method = "poisson"
    contents = (
        "every combination of values, with its count; drawn already where α is above 0 (the notes say what that "
        "protects), and otherwise the original one: treat the file like the confidential data"
    )


@register
@dataclass(frozen=True)
class PoissonCounts(JointSynthesizer):
    """Draw every cell of the full table as a count around the original one plus α.

    Parameters
    ----------
    law
        "poisson", "negative-binomial" or "poisson-inverse-gaussian".
    dispersion
        Of the last two: variance μ + dispersion · μ².
    alpha
        Pseudo-count of every possible cell. Above 0 the model supports an (ε, δ) statement: the table is then drawn
        when the model is fitted, with randomness of the operating system, and whatever is drawn from the model later
        (more rows, more files) says no more than that table. The columns must be declared, and values are drawn within
        their groups. How many records there are is drawn as well, so ``seed`` does not repeat such a file.
    calibrate
        (ε, δ) wanted: α is then the smallest that gives it (exact differential privacy).
    draws
        Tables drawn at the fit, for files that are to vary as the law says: δ is that of all of them together.
    size
        "fixed": as many rows as asked for; "poisson": their number is drawn too (as it always is with α above 0).

    Notes
    -----
    δ is large for this family; the notes say when it is no guarantee.

    Examples
    --------
    >>> from dalenius.data import Column, Kind, Schema, Table
    >>> schema = Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")), Column("smokes", Kind.BOOLEAN))).declare()
    >>> table = Table.from_frame({"sex": ["f", "m"] * 20, "smokes": [True, False, False, False] * 10}, schema)
    >>> model = PoissonCounts(alpha=1.0).fit(table)
    >>> print(model.notes[-1])
    δ = 0.00463 at ε = 3: no guarantee, a δ of at most 1e-06 would be one
    """

    law: Law = "poisson"
    dispersion: Annotated[float, Option(above=0)] = 0.5
    alpha: Annotated[
        float,
        Option(
            at_least=0,
            title="Weight of combinations nobody has",
            meaning="Added to every count before a random count is drawn around it. More: safer, further from the "
            "data.",
            knob=True,
        ),
    ] = 0.0
    calibrate: tuple[float, float] | None = None
    draws: Annotated[int, Option(at_least=1)] = 1
    size: Size = "fixed"

    epsilon: float | None = None  # no knobs here: the noise is the law's own
    domain: Domain = "declared"

    info = MethodInfo(
        name="poisson",
        title="Count model (Poisson and relatives)",
        meaning="Every cell of the full table drawn as a random count around its own, raised by a pseudo-count.",
        guarantee="none with alpha = 0; above it an (ε, δ) statement, with a δ usually too large for a guarantee",
        plain="The program counts every combination of answers, numbers put into groups, and replaces each count by a "
        "random one near it.",
        reference="Jackson, Mitra, Francis and Dove 2024; Jackson, Mitra, Francis and Dove 2022 (JRSS A)",
    )
    model = PoissonModel

    def conflicts(self) -> list[str]:
        """No noise that a budget could set, and one way to say what α is."""
        if self.epsilon is not None:
            return [
                "it adds no noise that epsilon could set; give calibrate=(epsilon, delta), or use saturated"
            ]
        wrong = super().conflicts()
        if self.calibrate is not None and self.alpha:
            wrong.append("give alpha or calibrate, not both")
        if self.draws > 1 and (not self.private or self.law != "poisson"):
            wrong.append(
                "several draws are accounted for with the Poisson law and alpha above 0; leave draws out"
            )
        return wrong

    @property
    def count_law(self) -> CountLaw:
        """The law of the counts."""
        if self.law == "negative-binomial":
            return NegativeBinomial(self.dispersion)
        return (
            PoissonInverseGaussian(self.dispersion) if self.law == "poisson-inverse-gaussian" else Poisson()
        )

    @property
    def private(self) -> bool:
        """Whether an (ε, δ) statement is made."""
        return self.alpha > 0 or self.calibrate is not None

    @property
    def _alpha(self) -> float:
        return self.alpha or calibrate_alpha(
            *(self.calibrate or (1.0, 1.0)), law=self.count_law, copies=self.draws
        )

    def _stated(self, budget: Budget | None) -> Budget | None:
        """The (ε, δ) that was asked for, or the first that is told about α."""
        if not self.private:
            return None
        epsilon = self.calibrate[0] if self.calibrate is not None else SHOWN_EPSILONS[0]
        least = delta(epsilon, self._alpha, law=self.count_law, copies=self.draws)
        return Budget(epsilon, least, accounting="approximate" if least else "pure")

    def _poisson(self) -> bool:
        return self.size == "poisson" and not self.private

    def _fit(self, table: Table, seed: Seed) -> JointModel:
        model = super()._fit(table, seed)
        if not self.private:
            return model
        owner = owner_column(table.schema)
        if owner is not None:
            model.notes.append(
                f"the (ε, δ) statement is for one record, not for all records of column {owner!r}"
            )
        if self.domain == "from-data":
            model.notes.append(f"no (ε, δ) statement covers {READ_OFF}")
        model.even = True  # the table that was drawn is the file; nothing is drawn a second time
        model.rows = round(model.rows / self.draws)
        return model

    def _fit_task(self, task: Task) -> Cells:
        possible = task.structure.cells(task.sizes)
        if self.private:
            return self._drawn(task, possible)
        if task.rows == 0:
            return Cells(
                task.sizes, [np.zeros(0, np.int64) for _ in task.sizes], np.zeros(0), 0.0, task.structure
            )
        cells = _counted(task)
        self._say_bare(task, possible, len(cells.weights), int(cells.weights.min()))
        if self.law == "poisson":
            return cells
        # A random mean for every cell: a fixed number of rows then falls into cells in proportion to it.
        means = self.count_law.draw(cells.weights, generator(task.seed, "means")).astype(np.float64)
        return cells if not means.any() else replace(cells, weights=means)

    def _drawn(self, task: Task, possible: int) -> Cells:
        """The table as it is released: a count drawn for every cell, with randomness that nobody can repeat."""
        law = self.count_law
        alpha = self._alpha
        listed = possible if self.law != "poisson" else self.draws * alpha * possible
        if listed > LISTED_CELLS:
            raise DataError(
                f"the full table has {possible:,} cells ({largest_columns(task)}); α = {alpha:g} would draw for about "
                f"{int(listed):,} of them; use fewer columns or groups, or a smaller alpha (at most {LISTED_CELLS:,})"
            )
        rng = np.random.default_rng()  # fresh entropy of the operating system: a seed could be tried out
        cells = _counted(task)
        drawn = law.draw(self.draws * (cells.weights + alpha), rng)
        empty = possible - len(cells.weights)
        if self.law == "poisson":
            others = cells.empty_cells(int(rng.poisson(self.draws * alpha * empty)) if empty else 0, rng)
            more = np.ones(len(others[0]))
        else:
            others = cells.empty_cells(empty, rng, different=True)
            more = law.draw(np.full(empty, alpha), rng).astype(np.float64)
        codes = [np.concatenate([c, o]) for c, o in zip(cells.codes, others, strict=True)]
        weights = np.concatenate([drawn.astype(np.float64), more])
        task.total = float(weights.sum())
        self._say(task, alpha, possible)
        return Cells(task.sizes, [c[weights > 0] for c in codes], weights[weights > 0], 0.0, task.structure)

    def _say(self, task: Task, alpha: float, possible: int) -> None:
        drawn = f", {self.draws} tables together" if self.draws > 1 else ""
        task.note(
            f"{self.law} counts with α = {alpha:g} on {possible:,} cells{drawn}: about {alpha * possible:.3g} records "
            "of each file come from α alone"
        )
        for epsilon in SHOWN_EPSILONS if self.calibrate is None else self.calibrate[:1]:
            task.note(reading(epsilon, delta(epsilon, alpha, law=self.count_law, copies=self.draws)))

    def _say_bare(self, task: Task, possible: int, occupied: int, smallest: int) -> None:
        task.note(f"{self.law} counts with α = 0 on {possible:,} cells")
        if occupied < possible:
            task.note("α = 0 and some cells are empty: no (ε, δ) statement is possible")
        else:
            least = delta_without_zeros(smallest, 2.0)["one person more"]
            task.note(
                f"α = 0: δ = {least:.3g} at ε = 2 for this table; it depends on the data and is no guarantee"
            )

    def cost(self, shape: Shape) -> Cost:
        """A sort of the rows."""
        cells = shape.rows * shape.columns
        return Cost(seconds=0.02 + 2e-7 * cells, bytes=60.0 * shape.rows + 20.0 * cells)


def _counted(task: Task) -> Cells:
    """The cells that occur, with their counts."""
    if task.rows == 0:
        return Cells(
            task.sizes, [np.zeros(0, np.int64) for _ in task.sizes], np.zeros(0), 0.0, task.structure
        )
    keys, counts = task.records.cells()
    codes = [unravel(keys, task.sizes, i) for i in range(len(task.sizes))]
    return Cells(task.sizes, codes, counts.astype(np.float64), 0.0, task.structure)
