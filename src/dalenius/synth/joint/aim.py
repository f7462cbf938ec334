"""`aim`: private margins chosen one after the other where the model is worst.

Start from the columns alone. In each round choose a margin that the present model gets most wrong for what
measuring it would cost, measure it, fit again; spend more per round when the last one taught nothing. (McKenna,
Mullins, Sheldon and Miklau 2022, AIM; the model is kept within a memory limit that opens as the budget is
spent.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.option import Option
from dalenius.core.registry import MethodInfo
from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique
from dalenius.synth.base import register
from dalenius.synth.joint.margins import cells_of, refuse_large
from dalenius.synth.joint.measured import LOOK, MarginalSynthesizer, Measured
from dalenius.synth.joint.merged import Merged
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.task import Task

CHOICE = 0.1
"""Share of a round that goes to the choice, the rest to the measurement (as in the paper)."""
MEAN_NOISE = float(np.sqrt(2 / np.pi))
"""Mean size of noise in standard deviations."""


class AIMModel(JointModel):
    """Noisy margins of the columns that needed them, fitted on a junction tree."""

    method = "aim"
    contents = "noisy margins as tables over cliques of columns; the guarantee of the ledger covers the file"


@register
@dataclass(frozen=True)
class AIM(MarginalSynthesizer):
    """Draw records from noisy margins that were chosen adaptively within a privacy budget.

    Parameters
    ----------
    order
        Margins that may be chosen cross 2 to so many columns; with a workload, those within its tables may be chosen.
    rounds
        Rounds planned at the start; fewer are needed when the method spends faster. Default: 4 for each column.
    max_iter
        Rounds of fitting after each choice (three times as many at the end).

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"sex": ["f", "m"] * 200, "tall": ["no", "yes"] * 200, "old": ["y", "n"] * 200})
    >>> AIM(epsilon=2.0, domain="from-data", neighbours="replace").fit(table).sample(seed=1).rows
    400
    """

    order: Annotated[int, Option(at_least=2)] = 2
    rounds: Annotated[int | None, Option(at_least=1)] = None
    max_iter: Annotated[int, Option(at_least=1)] = 10

    info = MethodInfo(
        name="aim",
        title="Adaptive private margins (AIM)",
        meaning="Records drawn from noisy margins chosen one by one where the model was worst, within a budget.",
        guarantee="(ε, δ)-differential privacy, if the levels and bounds of the columns are public",
        plain="The program adds chance to those counts that matter most, so that no single person shows, and makes up "
        "new people from the blurred counts.",
        reference="McKenna, Mullins, Sheldon and Miklau 2022 (AIM)",
        seedable=False,
        example_options={"domain": "from-data", "neighbours": "replace"},
    )
    model = AIMModel

    def _fit_task(self, task: Task) -> Merged:
        columns = len(task.sizes)
        each = task.share / ((self.rounds or 4 * columns) + columns)
        one_way = each * columns if columns > 1 else task.share
        measured = Measured.one_way(task, one_way)
        refuse_large(measured.tree(), task, max(self.max_cells, 2**20))
        rest, taken = self._rounds(measured, task.share - one_way, each)
        if rest > 1e-9 * task.share:
            # No margin fits in memory: measure the columns again with what is left.
            for v in range(columns):
                measured.measure((v,), rest / columns)
        table = measured.fit(3 * self.max_iter)
        measured.say_accuracy(table)
        task.note(f"{taken} rounds; largest clique {table.tree.largest:,} cells, {table.tree.cells:,} in all")
        return Merged(table, measured.mergings)

    def _rounds(self, measured: Measured, rest: float, each: float) -> tuple[float, int]:
        """Choose, measure and fit until the budget is spent; what is left of it, and how many rounds there were."""
        task, columns = measured.task, len(measured.sizes)
        workload = self._wanted(task.names) or dict.fromkeys(
            [m for k in range(2, min(self.order, columns) + 1) for m in combinations(range(columns), k)], 1.0
        )
        candidates = sorted({p for m in workload for k in range(2, len(m) + 1) for p in combinations(m, k)})
        if measured.records is not None:
            measured.records.prepare(candidates)
        table, taken = measured.fit(2), 0
        while rest > 1e-9 * task.share:
            # Too little for two more rounds: put it all into this one.
            price = rest if rest < 2 * each else each
            room = max(self.max_cells * max(1 - rest / task.share, 0.1), measured.tree().cells)
            open_margins = measured.within(candidates, room)
            if not open_margins:
                break
            expected = measured.expected(table, candidates, taken)
            margin = self._choose(measured, open_margins, expected, workload, price)
            noise = float(np.sqrt(measured.measure(margin, (1 - CHOICE) * price)))
            rest, taken = rest - price, taken + 1
            table = measured.fit(self.max_iter)
            learnt = np.abs(task.total * table.margin(margin) - expected[margin]).sum()
            if learnt <= MEAN_NOISE * noise * expected[margin].size:
                each *= 2  # nothing was learnt beyond noise: fewer and better measurements
        return rest, taken

    def _choose(
        self, measured: Measured, margins: list[Clique], expected: dict[Clique, FloatArray],
        workload: dict[Clique, float], price: float,
    ) -> Clique:  # fmt: skip
        """Exponential mechanism on how wrong the model is, less what noise would add."""
        weights = np.array([sum(w * len(set(m) & set(t)) for t, w in workload.items()) for m in margins])
        weights /= weights.max()
        noise = measured.task.deviation((1 - CHOICE) * price)
        wrong = np.array([measured.distance(m, expected[m]) for m in margins])
        penalty = np.array([MEAN_NOISE * noise * cells_of(m, measured.sizes) for m in margins])
        # Where noise prevails all scores are negative, and a weight on them would be one against what is wanted.
        scores = weights * wrong - penalty if self.workload else weights * (wrong - penalty)
        return margins[measured.choose("choice of a margin", scores, 1.0, CHOICE * price)]

    def cost(self, shape: Shape) -> Cost:
        """Rounds of sampling, counting all candidates and fitting."""
        rounds = self.rounds or 4 * shape.columns
        pairs = shape.columns * max(shape.columns - 1, 1) / 2
        per_round = (
            4e-9 * LOOK * pairs + 3e-8 * LOOK * shape.columns + 1e-8 * self.max_cells * self.max_iter * 20
        )
        return Cost(
            seconds=0.5 + 3e-9 * shape.rows * pairs + rounds * per_round,
            bytes=60.0 * self.max_cells + 16.0 * LOOK * shape.columns + 10.0 * shape.rows * shape.columns,
        )
