"""`saturated`: the whole cross-tabulation as the model (synthpop's catall), with a prior, and with noise if wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError
from dalenius.core.registry import MethodInfo
from dalenius.counts.keys import ravel, unravel
from dalenius.counts.memory import tally
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.repair import clip, simplex
from dalenius.synth.base import register
from dalenius.synth.joint.base import JointSynthesizer, Task
from dalenius.synth.joint.cells import Cells
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.sparse_noise import noisy_pool

Size = Literal["fixed", "poisson"]
NOISED_CELLS = 2**18
"""Up to so many cells each gets its own draw of noise; beyond, the empty ones are drawn by their law."""


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
    pool
        With a budget and more than 262,144 cells: how many records the model holds, the most that can be sampled.

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

    prior: float = 1.0
    size: Size = "fixed"
    adjust: Literal["clip", "simplex"] = "clip"
    pool: int | None = None

    info = MethodInfo(
        name="saturated",
        title="Saturated model (catall)",
        meaning="Records drawn from the cross-tabulation of all columns, numbers grouped; a prior for unseen cells.",
        guarantee="none without epsilon; with it, differential privacy as the ledger says",
        reference="Raab 2022 (PSD); synthpop: catall",
    )
    model = SaturatedModel

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.prior < math.inf:
            raise OptionError(f"prior must be 0 or more, got {self.prior}")
        if self.size not in get_args(Size):
            raise OptionError(f"unknown size {self.size!r}; use one of {', '.join(get_args(Size))}")
        if self.adjust not in ("clip", "simplex"):
            raise OptionError(f"unknown adjust {self.adjust!r}; use clip or simplex")

    def _poisson(self) -> bool:
        return self.size == "poisson"

    def _fit_task(self, task: Task) -> Cells:
        keys, counts = (
            tally(task.codes, task.sizes, task.rows, None) if task.codes[0].size else _nothing(task)
        )
        possible = task.structure.cells(task.sizes)
        if possible == 0 and task.rows:
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
        if possible > NOISED_CELLS or math.prod(task.sizes) > 4 * NOISED_CELLS:
            return self._pool(task, keys, counts, possible)
        full = np.zeros(math.prod(task.sizes), np.int64)
        full[keys] = counts
        every = np.arange(len(full))
        kept = every[task.structure.allows(_columns(every, task.sizes))] if task.structure.masks else every
        noisy, _ = task.measure("full table", full[kept], task.share)
        raised = noisy.astype(np.float64) + self.prior / max(possible, 1)
        fair = clip(raised) if self.adjust == "clip" else simplex(raised, max(task.total, 1.0))
        if not fair.sum() > 0:
            fair = np.ones(len(fair))
            task.note("the noise left no positive cell: the model is uniform", warn=True)
        return Cells(task.sizes, _columns(kept, task.sizes), fair, 0.0, task.structure)

    def _pool(self, task: Task, keys: IntArray, counts: AnyArray, possible: int) -> Cells:
        records = self.pool if self.pool is not None else 4 * int(task.total) + 1000
        if task.budget is None or task.budget.accounting == "zcdp":
            raise OptionError(
                f"the full table has {possible:,} cells, too many for Gaussian noise; leave delta out, "
                "or use loglinear, mst or aim"
            )
        task.note(
            f"{possible:,} cells: noise on the empty ones is drawn by its law, and the model is a pool of "
            f"{records:,} records; at this size most of them come from noise alone, so consider loglinear, mst or aim",
            warn=True,
        )
        listed = Cells(task.sizes, _columns(keys, task.sizes), counts.astype(np.float64), 0.0, task.structure)
        noisy, _ = task.measure("full table", counts, task.share)
        scale = task.budget.factor / task.share
        return noisy_pool(listed, noisy, scale, possible, records)

    def cost(self, shape: Shape) -> Cost:
        """A sort of the rows; with a budget also a draw of noise per cell."""
        noise = 0.0
        if self.epsilon is not None:
            noise = 1e-5 * min(math.prod(min(size, self.groups + 2) for size in shape.levels), NOISED_CELLS)
        cells = shape.rows * shape.columns
        return Cost(seconds=0.02 + 2e-7 * cells + noise, bytes=60.0 * shape.rows + 20.0 * cells)


def _columns(keys: IntArray, sizes: tuple[int, ...]) -> list[IntArray]:
    return [unravel(keys, sizes, i) for i in range(len(sizes))]


def _nothing(task: Task) -> tuple[IntArray, AnyArray]:
    empty = [np.zeros(0, np.int64) for _ in task.sizes]
    return ravel(empty, task.sizes, 0), np.zeros(0, np.int64)
