"""`loglinear`.

The log-linear model that has some margins of the data (synthpop's ipf), with noise on them if wanted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError
from dalenius.core.option import Option
from dalenius.core.registry import MethodInfo
from dalenius.core.result import figure
from dalenius.counts.ipf import Fit, FloatArray, fit_dense
from dalenius.counts.junction import Clique, JunctionTree
from dalenius.counts.tree_table import TreeFit, TreeTable, fit_tree
from dalenius.data.vector import IntArray
from dalenius.dp.repair import clip, consistent, simplex
from dalenius.synth.base import register
from dalenius.synth.joint.base import JointSynthesizer, Prior
from dalenius.synth.joint.margins import (
    Weighted,
    asked_for,
    cells_of,
    named_columns,
    refuse_large,
    strongest,
    with_all_columns,
)
from dalenius.synth.joint.measured import EXACT, say_accuracy
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.task import Task

Adjust = Literal["clip", "simplex", "consistent"]
DENSE_CELLS = 2**20
"""Up to so many cells the table is fitted in full, beyond on its junction tree."""
AUTO_CELLS = 2**18
"""Size of the junction tree when the margins are chosen by the method."""


class LogLinearModel(JointModel):
    """The fitted table, as cliques."""

    method = "loglinear"
    contents = "the chances of all combinations under the fitted model (noisy if a budget was given)"


@register
@dataclass(frozen=True)
class LogLinear(JointSynthesizer):
    """Draw records from the log-linear model with the given margins.

    Parameters
    ----------
    margins
        "two-way" (all pairs), "three-way", a number, or a list of tuples of columns. "auto" is all pairs where the full
        table has at most 2^20 cells; beyond that, and without a budget, the strongest pairs that keep the model small.
    prior
        Number of records spread over the cells of each margin.
    shares
        Relative share of each margin in epsilon, by its columns; 1 where not named.
    adjust
        Repair of noisy margins: "consistent" (agreement and simplex), "simplex", or plain "clip" as in the paper.
    floor
        With "clip", the value of a cell that was negative.
    tol, max_iter
        When the fit stops: largest change of a cell (as a chance; default a thousandth of a record), and rounds.
    max_cells
        Largest clique allowed.
    engine
        "dense", "tree", or "auto": dense up to 2^20 cells.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> smokes, old = [True] * 40 + [False] * 60, ["y"] * 50 + ["n"] * 50
    >>> table = Table.from_frame({"sex": ["f", "m"] * 50, "smokes": smokes, "old": old})
    >>> model = LogLinear().fit(table)
    >>> model.notes[0]
    'fitted in full: 3 margins, 8 cells'
    >>> model.sample(10, seed=1).rows
    10
    """

    margins: str | int | Sequence[Sequence[str]] = "auto"
    prior: Prior = 1.0
    shares: Annotated[Weighted | None, Option(above=0)] = None
    adjust: Adjust = "consistent"
    floor: Annotated[float, Option(at_least=0)] = 0.0
    tol: Annotated[float | None, Option(above=0)] = None
    max_iter: Annotated[int, Option(at_least=1)] = 500
    max_cells: Annotated[int, Option(at_least=1)] = 2**26
    engine: Literal["auto", "dense", "tree"] = "auto"

    info = MethodInfo(
        name="loglinear",
        title="Log-linear model (ipf)",
        meaning="Records drawn from the table that has the two-way (or other) margins of the data and nothing else.",
        guarantee="none without epsilon; with it, differential privacy as the ledger says",
        plain="The program learns how often each pair of answers occurs together, and makes up new people who agree "
        "with these counts and with nothing else.",
        reference="Raab 2022; synthpop: ipf; Deming and Stephan 1940",
    )
    model = LogLinearModel

    def _fit_task(self, task: Task) -> TreeTable:
        asked = self._margins(task)
        margins = with_all_columns([*asked, *(m for m in task.exact if m not in asked)], task)
        tree = JunctionTree.of(task.sizes, [*margins, *task.structure.masks])
        refuse_large(tree, task, self.max_cells)
        if task.rows == 0 and task.budget is None:
            return TreeTable.uniform(tree)
        # The order of the tree makes news travel little, and gives both engines the same fit where margins contradict.
        margins = sorted(margins, key=lambda m: (tree.home(m), m))
        counted = task.records.count(margins)
        targets = self._targets(task, margins, counted)
        return self._fitted(task, tree, margins, targets)

    def _margins(self, task: Task) -> list[Clique]:
        if self.margins != "auto":
            return asked_for(self.margins, task.names)
        if task.budget is not None or cells_of(tuple(range(len(task.sizes))), task.sizes) <= DENSE_CELLS:
            return asked_for("two-way", task.names)
        chosen = strongest(task, AUTO_CELLS)
        total = math.comb(len(task.names), 2)
        task.note(
            f"all {total} two-way margins would need too large a table: the {len(chosen)} strongest are fitted"
        )
        return chosen

    def _targets(self, task: Task, margins: list[Clique], counted: list[IntArray]) -> list[FloatArray]:
        """Margins as chances; with a budget noisy and repaired."""
        masks = [task.structure.over(m, t.shape) for m, t in zip(margins, counted, strict=True)]
        raised = [mask * (self.prior / max(mask.sum(), 1)) for mask in masks]
        if task.budget is None:
            return [
                (table + extra) / (table.sum() + extra.sum())
                for table, extra in zip(counted, raised, strict=True)
            ]
        weights = self._weights(margins, task.names) * [margin not in task.exact for margin in margins]
        prices = task.share * weights / (weights.sum() or 1.0)
        noisy: dict[Clique, FloatArray] = {}
        variances: dict[Clique, float] = {}
        for margin, table, price, mask, extra in zip(margins, counted, prices, masks, raised, strict=True):
            what = " × ".join(task.names[v] for v in margin)
            measured, variances[margin] = (
                (table, EXACT) if margin in task.exact else task.measure(what, table, float(price))
            )
            noisy[margin] = measured * mask + extra
        task.learn_total(noisy.values(), variances.values())
        total = max(task.total, 1.0)
        if self.adjust == "consistent":
            repaired = consistent(noisy, variances, total)
            say_accuracy(task, noisy, variances, repaired, shrink=True)
        elif self.adjust == "simplex":
            repaired = {m: simplex(t, total) for m, t in noisy.items()}
        else:
            repaired = {m: clip(t, total, self.floor) for m, t in noisy.items()}
        return [_masked(repaired[m] * mask) for m, mask in zip(margins, masks, strict=True)]

    def _weights(self, margins: Sequence[Clique], columns: Sequence[str]) -> FloatArray:
        """Relative share of each margin in the budget."""
        named = [frozenset(columns[v] for v in margin) for margin in margins]
        weights = dict.fromkeys(named, 1.0)
        for held, weight in (self.shares or {}).items():
            margin = frozenset(named_columns(held, columns))
            if margin not in weights:
                raise OptionError(
                    f"shares name {' × '.join(sorted(margin))}, which is not fitted; name margins of the model"
                )
            weights[margin] = float(weight)
        return np.array([weights[margin] for margin in named])

    def _fitted(
        self, task: Task, tree: JunctionTree, margins: list[Clique], targets: list[FloatArray]
    ) -> TreeTable:
        options: dict[str, Any] = {
            "tol": self.tol if self.tol is not None else 1e-3 / max(task.total, 1.0), "max_iter": self.max_iter,
        }  # fmt: skip
        full = cells_of(tuple(range(len(task.sizes))), task.sizes)
        if self.engine == "dense" or (self.engine == "auto" and full <= DENSE_CELLS):
            return self._in_full(task, margins, targets, full, options)
        fit = fit_tree(TreeTable.uniform(tree, task.structure.masks), margins, targets, **options)
        shown = ", ".join(task.names[v] for v in tree.widest[:6])
        task.note(
            f"fitted on a junction tree: {len(margins)} margins, {len(tree.cliques)} cliques, "
            f"the largest with {tree.largest:,} cells ({shown})"
        )
        _say_convergence(task, fit)
        return fit.table

    def _in_full(
        self,
        task: Task,
        margins: list[Clique],
        targets: list[FloatArray],
        full: int,
        options: Mapping[str, Any],
    ) -> TreeTable:
        """The whole table, fitted as one clique."""
        whole = tuple(range(len(task.sizes)))
        one = JunctionTree(task.sizes, (whole,), (-1,))
        refuse_large(one, task, self.max_cells)
        start = task.structure.over(whole, task.sizes)
        if task.structure.masks and not start.any():
            raise OptionError("structural zeros leave no possible cell; allow at least one combination")
        fit = fit_dense(start / max(start.sum(), 1.0), margins, targets, **options)
        task.note(f"fitted in full: {len(margins)} margins, {full:,} cells")
        _say_convergence(task, fit)
        return TreeTable(one, [fit.table], [np.ones(())])

    def cost(self, shape: Shape) -> Cost:
        """Counting the margins, and a pass over the table for each margin and round."""
        sizes = [min(size, self.groups + 2) if size > 50 else size for size in shape.levels]
        cells = min(float(math.prod(sizes)), float(DENSE_CELLS))
        pairs = max(math.comb(shape.columns, 2), 1)
        noise = 1e-5 * sum(sizes) ** 2 / 2 if self.epsilon is not None else 0.0
        return Cost(
            seconds=0.05 + 4e-9 * shape.rows * pairs + 2e-9 * cells * pairs * 60 + noise,
            bytes=30.0 * cells + 24.0 * shape.rows * 2 + 9.0 * shape.rows * shape.columns,
        )


def _masked(table: FloatArray) -> FloatArray:
    held = table.sum()
    return table / held if held > 0 else np.full(table.shape, 1.0 / max(table.size, 1))


def _say_convergence(task: Task, fit: Fit | TreeFit) -> None:
    error = max(fit.errors, default=0.0)
    gap = f"largest difference from a margin {figure(100 * error)} % of the records"
    if not fit.converged:
        task.note(
            f"the fit did not settle in {fit.iterations} rounds (cells still move by {fit.change:.1e}; {gap})",
            warn=True,
        )
    elif error * task.total > 0.1:
        task.note(f"the fit settled, but the margins contradict each other ({gap})")
    else:
        task.note("the fit settled on all margins")
