"""`aim`: private margins chosen one after the other where the model is worst.

Start from the columns alone. In each round choose a margin that the present model gets most wrong for what
measuring it would cost, measure it, fit again; spend more per round when the last one taught nothing. (McKenna,
Mullins, Sheldon and Miklau 2022, AIM; the model is kept within a memory limit that opens as the budget is
spent.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError
from dalenius.core.random import generator
from dalenius.core.registry import MethodInfo
from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique
from dalenius.counts.tree_table import TreeTable
from dalenius.synth.base import register
from dalenius.synth.joint.base import Task
from dalenius.synth.joint.margins import cells_of, count_margins
from dalenius.synth.joint.measured import Measured
from dalenius.synth.joint.merged import Merged
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.mst import MarginalSynthesizer

CHOICE = 0.1
"""Share of a round that goes to the choice, the rest to the measurement (as in the paper)."""
LOOK = 200_000
"""Most rows drawn from the model to see what it says about every margin."""


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
        Margins that may be chosen cross 2 to so many columns.
    max_cells
        Cells of the junction tree; larger models fit better and take longer.
    rounds
        Rounds planned at the start; fewer are needed when the method spends faster. Default: 4 for each column.
    max_iter
        Rounds of fitting after each choice (three times as many at the end).

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"sex": ["f", "m"] * 200, "tall": ["no", "yes"] * 200, "old": ["y", "n"] * 200})
    >>> AIM(epsilon=2.0, domain="from-data").fit(table).sample(seed=1).rows
    400
    """

    order: int = 2
    max_cells: int = 2**17
    rounds: int | None = None
    max_iter: int = 10

    info = MethodInfo(
        name="aim",
        title="Adaptive private margins (AIM)",
        meaning="Records drawn from noisy margins chosen one by one where the model was worst, within a budget.",
        guarantee="(ε, δ)-differential privacy, if the levels and bounds of the columns are public",
        reference="McKenna, Mullins, Sheldon and Miklau 2022 (AIM)",
        seedable=False,
        example_options={"domain": "from-data"},
    )
    model = AIMModel

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            self.order < 2
            or self.max_cells < 1
            or self.max_iter < 1
            or (self.rounds is not None and self.rounds < 1)
        ):
            raise OptionError("order must be 2 or more, and max_cells, rounds and max_iter 1 or more")

    def _fit_task(self, task: Task) -> Merged:
        columns = len(task.sizes)
        planned = self.rounds or 4 * columns
        each = task.share / (planned + columns)
        if columns == 1:
            measured = Measured.one_way(task, task.share)
            return Merged(measured.fit(2), measured.mergings)
        measured = Measured.one_way(task, each * columns)
        candidates = [
            m for k in range(2, min(self.order, columns) + 1) for m in combinations(range(columns), k)
        ]
        table, rest, taken = measured.fit(2), task.share - each * columns, 0
        while rest > 1e-9 * task.share:
            # Too little for two more rounds: put it all into this one.
            price = rest if rest < 2 * each else each
            room = self.max_cells * max(1 - rest / task.share, 0.1)
            open_margins = [
                m for m in candidates if measured.tree(m).cells <= max(room, measured.tree().cells)
            ]
            if not open_margins:
                break
            expected = self._expected(table, task, candidates, taken)
            margin = self._choose(measured, open_margins, expected, price)
            before = expected[margin]
            noise = float(np.sqrt(measured.measure(margin, (1 - CHOICE) * price)))
            rest, taken = rest - price, taken + 1
            table = measured.fit(self.max_iter)
            if (
                np.abs(task.total * table.margin(margin) - before).sum()
                <= np.sqrt(2 / np.pi) * noise * before.size
            ):
                each *= 2  # nothing was learnt beyond noise: fewer and better measurements
        if rest > 1e-9 * task.share:
            self._spend_rest(measured, rest)
        task.note(f"{taken} rounds; largest clique {table.tree.largest:,} cells, {table.tree.cells:,} in all")
        return Merged(measured.fit(3 * self.max_iter), measured.mergings)

    def _spend_rest(self, measured: Measured, rest: float) -> None:
        """No margin fits in memory: measure the columns again with what is left."""
        for v in range(len(measured.sizes)):
            measured.measure((v,), rest / len(measured.sizes))

    def _expected(
        self, table: TreeTable, task: Task, margins: list[Clique], turn: int
    ) -> dict[Clique, FloatArray]:
        """What the model says about each margin, seen in a large sample of it."""
        rows = int(min(LOOK, 20_000 + 6 * task.total))
        drawn = table.sample(rows, generator(task.seed, "aim", turn))
        sizes = table.tree.sizes
        small = [c.astype(np.uint16) if s < 2**16 else c for c, s in zip(drawn, sizes, strict=True)]
        counted = count_margins(small, sizes, margins)
        scale = task.total / rows
        return {m: t.astype(np.float64) * scale for m, t in zip(margins, counted, strict=True)}

    def _choose(
        self, measured: Measured, margins: list[Clique], expected: dict[Clique, FloatArray], price: float
    ) -> Clique:
        """Exponential mechanism on how wrong the model is, less what noise would add."""
        weights = np.array([float(sum(len(set(m) & set(other)) for other in expected)) for m in margins])
        weights /= weights.max()
        budget = measured.task.budget
        paid = (1 - CHOICE) * price
        factor = budget.factor if budget is not None else 1
        noise = (
            np.sqrt(factor / (2 * paid))
            if budget is not None and budget.accounting == "zcdp"
            else np.sqrt(2) * factor / paid
        )
        wrong = np.array([float(np.abs(measured.true_counts(m) - expected[m]).sum()) for m in margins])
        penalty = np.array([np.sqrt(2 / np.pi) * noise * cells_of(m, measured.sizes) for m in margins])
        at = measured.choose(
            "choice of a margin", weights * (wrong - penalty), float(weights.max()), CHOICE * price
        )
        return margins[at]

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
