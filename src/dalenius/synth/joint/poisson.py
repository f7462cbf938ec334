"""`poisson`: saturated count models. Every cell becomes a random count around its own, raised by a pseudo-count α."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, OptionError
from dalenius.core.option import one_of
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.counts.keys import unravel
from dalenius.counts.memory import tally
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.dp.count_laws import CountLaw, NegativeBinomial, Poisson, PoissonInverseGaussian
from dalenius.dp.count_privacy import calibrate_alpha, delta, delta_without_zeros, reading
from dalenius.synth.base import register
from dalenius.synth.joint.base import JointSynthesizer, Task
from dalenius.synth.joint.cells import Cells
from dalenius.synth.joint.margins import largest_columns
from dalenius.synth.joint.model import JointModel

Size = Literal["fixed", "poisson"]
Law = Literal["poisson", "negative-binomial", "poisson-inverse-gaussian"]
SHOWN_EPSILONS = (1.0, 2.0, 3.0)
LISTED_CELLS = 2**22
"""Overdispersed laws draw a mean for every cell, so the cells must be listed."""


class PoissonModel(JointModel):
    """The expected count of every cell."""

    method = "poisson"
    contents = (
        "every combination of values that occurs, with its count: treat the file like the confidential data"
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
        Pseudo-count of every possible cell. Above 0 the model supports an (ε, δ) statement.
    calibrate
        (ε, δ) wanted: α is then the smallest that gives it (exact differential privacy, for one synthetic file).
    size
        "fixed": as many rows as asked for; "poisson": their number is drawn too, as a count model has it.

    Notes
    -----
    A fixed number of rows is a random subset of a larger draw of the table, which is post-processing. Each
    further file drawn from the model is a further release. δ is large for this family; the notes of the model
    say when it is no guarantee.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"sex": ["f", "m"] * 20, "smokes": [True, False, False, False] * 10})
    >>> model = PoissonCounts(alpha=1.0).fit(table)
    >>> print(model.notes[-1])
    δ = 0.00463 at ε = 3: below 1 in 40 records, as is asked of a guarantee
    """

    law: Law = "poisson"
    dispersion: float = 0.5
    alpha: float = 0.0
    calibrate: tuple[float, float] | None = None
    size: Size = "fixed"

    info = MethodInfo(
        name="poisson",
        title="Count model (Poisson and relatives)",
        meaning="Every cell of the full table drawn as a random count around its own, raised by a pseudo-count.",
        guarantee="none with alpha = 0; above it an (ε, δ) statement, with a δ usually too large for a guarantee",
        reference="Jackson, Mitra, Francis and Dove 2024; 2022 (JRSS A)",
    )
    model = PoissonModel

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None:
            raise OptionError(
                "poisson adds no noise that epsilon could set; give calibrate=(epsilon, delta), or use saturated"
            )
        if self.law not in get_args(Law):
            raise OptionError(f"unknown law {self.law!r}; use one of {', '.join(get_args(Law))}")
        one_of("size", self.size, get_args(Size))
        if not 0 < self.dispersion < math.inf:
            raise OptionError(f"dispersion must be above 0, got {self.dispersion}")
        if self.calibrate is not None and (
            not isinstance(self.calibrate, Sequence) or len(self.calibrate) != 2
        ):
            raise OptionError("calibrate is a pair: (epsilon, delta)")
        if not 0 <= self.alpha < math.inf:
            raise OptionError(f"alpha must be 0 or more, got {self.alpha}")
        if self.calibrate is not None and self.alpha:
            raise OptionError("give alpha or calibrate, not both")

    @property
    def count_law(self) -> CountLaw:
        """The law of the counts."""
        if self.law == "negative-binomial":
            return NegativeBinomial(self.dispersion)
        return (
            PoissonInverseGaussian(self.dispersion) if self.law == "poisson-inverse-gaussian" else Poisson()
        )

    def _poisson(self) -> bool:
        return self.size == "poisson"

    def _fit(self, table: Table, seed: Seed) -> JointModel:
        model = super()._fit(table, seed)
        owner = owner_column(table.schema)
        if owner is not None and (self.alpha > 0 or self.calibrate is not None):
            model.notes.append(
                f"the (ε, δ) statement is for one record, not for all records of column {owner!r}"
            )
        return model

    def _fit_task(self, task: Task) -> Cells:
        law = self.count_law
        alpha = calibrate_alpha(*self.calibrate, law=law) if self.calibrate is not None else self.alpha
        possible = task.structure.cells(task.sizes)
        if task.rows == 0:
            return Cells(
                task.sizes, [np.zeros(0, np.int64) for _ in task.sizes], np.zeros(0), 0.0, task.structure
            )
        keys, counts = tally(task.codes, task.sizes, task.rows, None)
        codes = [unravel(keys, task.sizes, i) for i in range(len(task.sizes))]
        cells = Cells(task.sizes, codes, counts + alpha, alpha * (possible - len(counts)), task.structure)
        self._say(task, alpha, possible, len(counts), int(counts.min()))
        return cells if isinstance(law, Poisson) else self._overdispersed(task, cells, law, alpha, possible)

    def _overdispersed(self, task: Task, cells: Cells, law: CountLaw, alpha: float, possible: int) -> Cells:
        """A random mean for every cell: a fixed number of rows then falls into cells in proportion to it."""
        empty = possible - len(cells.weights) if alpha > 0 else 0
        if empty > LISTED_CELLS:
            raise DataError(
                f"the full table has {possible:,} cells ({largest_columns(task)}), and the {self.law} law needs a draw "
                f'for each; use law="poisson", fewer columns, or alpha = 0 (at most {LISTED_CELLS:,} empty cells)'
            )
        rng = generator(task.seed, "means")
        others = cells.empty_cells(empty, rng, different=True)
        means = np.concatenate([cells.weights, np.full(empty, alpha)])
        drawn = law.draw(means, rng).astype(np.float64)
        if not drawn.any():
            drawn = means
        codes = [np.concatenate([c, o]) for c, o in zip(cells.codes, others, strict=True)]
        return Cells(task.sizes, codes, drawn, 0.0, task.structure)

    def _say(self, task: Task, alpha: float, possible: int, occupied: int, smallest: int) -> None:
        inflation = alpha * possible / max(task.rows, 1)
        task.note(f"{self.law} counts with α = {alpha:g} on {possible:,} cells")
        if inflation > 0.01:
            task.note(
                f"a full draw of the table has {100 * inflation:.3g} % more records than the data, all of them from α; "
                "a file of the "
                "original size holds that share of invented records",
                warn=inflation > 1,
            )
        if alpha > 0:
            for epsilon in SHOWN_EPSILONS if self.calibrate is None else self.calibrate[:1]:
                task.note(reading(epsilon, delta(epsilon, alpha, law=self.count_law), task.rows))
        elif occupied < possible:
            task.note("α = 0 and some cells are empty: no (ε, δ) statement is possible")
        else:
            found = delta_without_zeros(smallest, 2.0)["one person more"]
            task.note(
                f"α = 0: δ = {found:.3g} at ε = 2 for this table; it depends on the data and is not a DP guarantee"
            )

    def cost(self, shape: Shape) -> Cost:
        """A sort of the rows."""
        cells = shape.rows * shape.columns
        return Cost(seconds=0.02 + 2e-7 * cells, bytes=60.0 * shape.rows + 20.0 * cells)
