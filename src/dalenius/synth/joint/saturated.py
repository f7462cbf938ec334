"""`saturated`: the whole cross-tabulation as the model (synthpop's catall), with a prior, and with noise if wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError
from dalenius.core.option import Option
from dalenius.core.registry import MethodInfo
from dalenius.counts.ipf import FloatArray
from dalenius.counts.keys import product, unravel
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.repair import clip, simplex
from dalenius.dp.sparse_noise import find_threshold, noisy_cells, refuse_unlistable
from dalenius.synth.base import register
from dalenius.synth.joint.base import JointSynthesizer, Prior
from dalenius.synth.joint.cells import Cells
from dalenius.synth.joint.margins import largest_columns
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.task import EXAMPLE_COUNT, Task

Size = Literal["fixed", "poisson"]
NOISED_CELLS = 2**18
"""Up to so many cells each gets its own draw of noise; beyond, only those that reach a threshold are drawn."""
CELLS_PER_ROW = 10
"""With more possible cells than this for each record most records are alone in theirs, and a draw repeats them."""
INVENTED = 0.05
"""Share of the records that noise on empty cells may invent when the threshold is chosen."""


class SaturatedModel(JointModel):
    """The cells of the full table."""

    method = "saturated"
    contents = "every combination of values that occurs, with its count (noisy if a budget was given)"


@register
@dataclass(frozen=True)
class Saturated(JointSynthesizer):
    """Draw whole records from the cross-tabulation of all columns.

    Parameters
    ----------
    prior
        Number of records spread evenly over all possible cells before drawing, so that unseen combinations can occur.
    size
        "fixed", or "poisson": the number of rows is drawn, which makes every cell an independent Poisson count.
    adjust
        What becomes of negative cells under a budget: "clip" or "simplex".
    threshold
        With a budget: noisy counts below it become 0. Default 1; with more than 262,144 cells the smallest one at which
        noise alone invents no more than a twentieth of the records, and only cells that reach it are drawn.

    Notes
    -----
    Without a budget this protects little: about 37 % of the records that are unique in the data are unique in
    the synthetic file as well, and sit in the same cell (Raab 2022).

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"sex": ["f", "m", "f", "f"], "smokes": [True, False, False, False]})
    >>> model = Saturated(prior=0).fit(table)
    >>> model.sample(1000, seed=1).rows
    1000
    """

    prior: Prior = 1.0
    size: Size = "fixed"
    adjust: Literal["clip", "simplex"] = "clip"
    threshold: Annotated[int | None, Option(at_least=1)] = None

    info = MethodInfo(
        name="saturated",
        title="Saturated model (catall)",
        meaning="Records drawn from the cross-tabulation of all columns, numbers grouped; a prior for unseen cells.",
        guarantee="none without epsilon; with it, differential privacy as the ledger says",
        plain="The program counts every combination of answers, numbers put into groups, and makes up new people by "
        "these counts.",
        reference="Raab 2022; synthpop: catall",
    )
    model = SaturatedModel

    def conflicts(self) -> list[str]:
        """A threshold needs a budget."""
        if self.threshold is not None and self.epsilon is None:
            return [*super().conflicts(), "threshold is for noisy counts; give epsilon too"]
        return super().conflicts()

    def _poisson(self) -> bool:
        return self.size == "poisson"

    def _fit_task(self, task: Task) -> Cells:
        if task.exact:
            raise OptionError(
                "saturated keeps no tables exactly but those of the strata; use loglinear, mst or aim"
            )
        keys, counts = task.records.cells()
        possible = task.structure.cells(task.sizes)
        if possible == 0 and task.structure.masks:
            raise OptionError("structural zeros leave no possible cell; allow at least one combination")
        task.note(
            f"{possible:,} possible cells, {len(counts):,} of them occur"
            if task.budget is None
            else f"{possible:,} possible cells"
        )
        if task.budget is not None:
            return self._private(task, keys, counts, possible)
        extra = self.prior / max(possible, 1)
        elsewhere = extra * (possible - len(counts))
        return Cells(task.sizes, _columns(keys, task.sizes), counts + extra, elsewhere, task.structure)

    def _private(self, task: Task, keys: IntArray, counts: AnyArray, possible: int) -> Cells:
        cells = product(task.sizes)
        sparse = possible > NOISED_CELLS or cells > 4 * NOISED_CELLS
        kept, noisy = (self._sparse if sparse else self._listed)(task, keys, counts, cells)
        positive = np.where(noisy >= (self.threshold or 1), noisy, 0).astype(np.float64)
        if not np.any(positive > 0):
            task.note("the noise left no positive cell: the model is uniform", warn=True)
            return Cells(task.sizes, _columns(kept[:0], task.sizes), np.zeros(0), 1.0, task.structure)
        raised = positive + self.prior / possible
        fair = clip(raised) if self.adjust == "clip" else simplex(raised, max(task.total, 1.0))
        elsewhere = self.prior * (1 - len(kept) / possible)
        if not sparse:
            self._say_accuracy(task, noisy, fair)
        return Cells(task.sizes, _columns(kept, task.sizes), fair, elsewhere, task.structure)

    def _say_accuracy(self, task: Task, noisy: IntArray, fair: FloatArray) -> None:
        """A cell has noise of its own; making all cells positive adds records, which the others lose again."""
        variance, total = task.deviation(task.share) ** 2, max(task.total, 1.0)
        left = 1.0
        if self.adjust == "clip":
            left = total / (total + float(fair.sum() - noisy.sum()))
            shift = EXAMPLE_COUNT * (left - 1)
        else:
            large = fair * (fair > np.sqrt(variance))
            moved = fair - noisy - (total - noisy.sum()) / noisy.size
            shift = float((large * moved).sum() / max(large.sum(), 1.0))
        fourth = task.peaked(task.share) * (left * variance) ** 2
        task.accurate("of all columns", left**2 * variance, left**2 * fourth, shift)

    def _listed(self, task: Task, keys: IntArray, counts: AnyArray, cells: int) -> tuple[IntArray, IntArray]:
        """Every possible cell with noise of its own."""
        full = np.zeros(cells, np.int64)
        full[keys] = counts
        every = np.arange(len(full))
        kept = every[task.structure.allows(_columns(every, task.sizes))] if task.structure.masks else every
        noisy, variance = task.measure("full table", full[kept], task.share)
        task.learn_total([noisy], [variance])
        return kept, noisy

    def _sparse(self, task: Task, keys: IntArray, counts: AnyArray, cells: int) -> tuple[IntArray, IntArray]:
        """The cells that reach a threshold, without drawing noise for the others."""
        if task.budget is None or task.budget.accounting == "zcdp":
            raise OptionError(
                f"the full table has {cells:,} cells ({largest_columns(task)}), too many for Gaussian noise; leave "
                "delta out, or use loglinear, mst or aim"
            )
        scale = task.budget.sensitivity / task.share
        threshold = self.threshold or find_threshold(cells, scale, INVENTED * max(task.total, 1.0))
        refuse_unlistable(cells, scale, threshold, largest_columns(task))
        task.spend("full table", task.share, f"discrete Laplace, scale {scale:.4g}, kept from {threshold} on")
        task.note(
            f"{cells:,} cells: noisy counts below {threshold} are 0, so that empty cells hold few records; rarer "
            "combinations are lost (consider loglinear, mst or aim)",
            warn=True,
        )
        kept, noisy = noisy_cells(keys, counts, cells, scale, threshold)
        if task.structure.masks:
            possible = task.structure.allows(_columns(kept, task.sizes))
            kept, noisy = kept[possible], noisy[possible]
        return kept, noisy

    @classmethod
    def suits(cls, shape: Shape) -> bool:
        """Whether records share the cells of the full table, numbers grouped."""
        sizes = (min(max(size, 1), cls.groups + 2) for size in shape.levels)  # a column may be empty
        return math.prod(sizes) <= CELLS_PER_ROW * shape.rows

    def cost(self, shape: Shape) -> Cost:
        """A sort of the rows; with a budget also a draw of noise per cell."""
        noise = 0.0
        if self.epsilon is not None:
            noise = 1e-5 * min(math.prod(min(size, self.groups + 2) for size in shape.levels), NOISED_CELLS)
        cells = shape.rows * shape.columns
        return Cost(seconds=0.02 + 2e-7 * cells + noise, bytes=60.0 * shape.rows + 20.0 * cells)


def _columns(keys: IntArray, sizes: tuple[int, ...]) -> list[IntArray]:
    return [unravel(keys, sizes, i) for i in range(len(sizes))]
