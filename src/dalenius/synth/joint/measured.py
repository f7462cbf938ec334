"""Noisy tables of one private run, and the model that fits them: the part that MST and AIM share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from dalenius.core.option import Option
from dalenius.core.random import generator
from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique, JunctionTree
from dalenius.counts.tree_table import TreeTable, fit_tree
from dalenius.data.exit import releasable
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray
from dalenius.dp.noise import choose
from dalenius.dp.repair import cell_errors, consistent
from dalenius.synth.base import absent
from dalenius.synth.joint.base import JointSynthesizer
from dalenius.synth.joint.margins import Weighted, count_margins, named_columns
from dalenius.synth.joint.merged import Merging
from dalenius.synth.joint.records import Records
from dalenius.synth.joint.task import Task

EXACT = 1e-6
"""Variance that stands for no noise, on tables that are kept exactly because the user said so."""
LOOK = 200_000
"""Most rows drawn from a model to see what it says about every margin."""


@dataclass(frozen=True)
class MarginalSynthesizer(JointSynthesizer):
    """Options of the methods that choose margins within the budget.

    Parameters
    ----------
    workload
        Tables that matter: a list of lists of columns, or weights by table (``{"sex × age": 5, "sex × job": 1}``).
        They are chosen first and measured best; other tables only as far as the model needs them. Default: all pairs
        alike.
    max_cells
        Cells of the junction tree; larger models fit better and take longer.
    """

    epsilon: Annotated[
        float | None,
        Option(
            title="Privacy budget (ε)",
            meaning="How much one person may change the result. Below 1 is strong, 1 to 10 is usual, above 10 promises "
            "little.",
            knob=True,
        ),
    ] = 1.0
    delta: float = 1e-9
    workload: Annotated[Sequence[Sequence[str]] | Weighted | None, Option(above=0)] = None
    max_cells: Annotated[int, Option(at_least=1)] = 2**17

    def faults_for(self, table: Table) -> list[str]:
        """Tables of the workload whose columns are not there."""
        kept = releasable(table)
        wanted = {name for held in self.workload or () for name in named_columns(held, kept.names)}
        return [*super().faults_for(table), *absent("workload", sorted(wanted), kept)]

    def _wanted(self, columns: Sequence[str]) -> dict[Clique, float]:
        """Weights of the tables that matter; empty where all matter alike."""
        given = self.workload or {}
        weights = given.items() if isinstance(given, Mapping) else [(tuple(held), 1.0) for held in given]
        # Columns that are strata are not within the model.
        inner = [
            ([c for c in named_columns(held, columns) if c in columns], weight) for held, weight in weights
        ]
        return {
            tuple(sorted({columns.index(c) for c in held})): float(weight) for held, weight in inner if held
        }

    def conflicts(self) -> list[str]:
        """A budget is needed."""
        given = [] if self.epsilon is not None else ["it is a differentially private method; give epsilon"]
        return given or super().conflicts()


@dataclass(repr=False)
class Measured:
    """What was measured so far, over merged levels.

    Attributes
    ----------
    task
        The columns, the rows and the budget.
    mergings, sizes, records
        How levels were merged, and the columns and rows after it.
    tables, variances
        Noisy tables and the variance of their noise.
    """

    task: Task
    mergings: list[Merging] = field(default_factory=list)
    sizes: tuple[int, ...] = ()
    records: Records | None = None
    tables: dict[Clique, FloatArray] = field(default_factory=dict)
    variances: dict[Clique, float] = field(default_factory=dict)
    counted: dict[Clique, IntArray] = field(default_factory=dict)

    @classmethod
    def one_way(cls, task: Task, price: float) -> Measured:
        """Measure every column alone for ``price`` together, and merge what is too small to tell from noise.

        Columns that structural zeros or exact tables speak of keep their levels, so that these keep their meaning.
        """
        made = cls(task)
        raw: list[tuple[IntArray, float]] = []
        ruled = {v for columns in (*task.structure.masks, *task.exact) for v in columns}
        singles = task.records.count([(v,) for v in range(len(task.sizes))])
        for v, table in enumerate(singles):
            if (v,) in task.exact:
                noisy, variance = table, EXACT
            else:
                noisy, variance = task.measure(task.names[v], table, price / len(singles))
            deviation = float(np.sqrt(variance))
            merging = (
                Merging.nothing(len(noisy)) if v in ruled else Merging.of(noisy.astype(np.float64), deviation)
            )
            made.mergings.append(merging)
            made.tables[(v,)] = merging.fold(noisy)
            made.variances[(v,)] = variance
            raw.append((noisy, variance))
        made.sizes = tuple(m.size for m in made.mergings)
        made.records = task.records.merged([m.into for m in made.mergings], made.sizes)
        task.learn_total(*zip(*raw, strict=True))
        for margin in task.exact:
            made.tables[margin] = made.true_counts(margin).astype(np.float64)
            made.variances[margin] = EXACT
        return made

    def true_counts(self, margin: Clique) -> IntArray:
        """Confidential counts of a margin; for scores and measurements only."""
        if margin not in self.counted:
            assert self.records is not None
            self.counted[margin] = self.records.count([margin])[0]
        return self.counted[margin]

    def measure(self, margin: Clique, price: float) -> float:
        """Measure a margin; repeated measurements are averaged by their variances. Gives the variance of this one."""
        what = " × ".join(self.task.names[v] for v in margin)
        noisy, variance = self.task.measure(what, self.true_counts(margin), price)
        if margin in self.tables:
            first, second = 1 / self.variances[margin], 1 / variance
            self.tables[margin] = (first * self.tables[margin] + second * noisy) / (first + second)
            self.variances[margin] = 1 / (first + second)
        else:
            self.tables[margin], self.variances[margin] = noisy.astype(np.float64), variance
        return variance

    def choose(self, what: str, scores: FloatArray, sensitivity: float, price: float) -> int:
        """Exponential mechanism for ``price``; the sensitivity is that of one record that comes or goes."""
        budget = self.task.spend(what, price, "exponential mechanism")
        epsilon = float(np.sqrt(8 * price)) if budget.accounting == "zcdp" else price
        return choose(scores, sensitivity * budget.sensitivity, epsilon)

    def tree(self, *more: Clique) -> JunctionTree:
        """Junction tree of everything measured and of the structural zeros, and perhaps of more."""
        return JunctionTree.of(self.sizes, [*self.tables, *self.task.structure.masks, *more])

    def within(self, margins: Iterable[Clique], room: float, *more: Clique) -> list[Clique]:
        """Margins whose junction tree, with everything measured and with ``more``, has at most ``room`` cells."""
        tree = self.tree(*more)
        return [
            m
            for m in margins
            if (len(m) == 2 and tree.cells_joining(*m) <= room) or self.tree(*more, m).cells <= room
        ]

    def expected(
        self, table: TreeTable, margins: Sequence[Clique], turn: int = 0
    ) -> dict[Clique, FloatArray]:
        """What a model says about each margin, seen in a large sample of it."""
        total = self.task.total
        rows = int(min(LOOK, 20_000 + 6 * total))
        drawn = table.sample(rows, generator(self.task.seed, "look", turn))
        sizes = table.tree.sizes
        small = [c.astype(np.uint16) if s < 2**16 else c for c, s in zip(drawn, sizes, strict=True)]
        counted = count_margins(small, sizes, margins)
        return {m: t.astype(np.float64) * (total / rows) for m, t in zip(margins, counted, strict=True)}

    def distance(self, margin: Clique, expected: FloatArray) -> float:
        """L1 distance of the confidential counts from what is expected; a score, with a sensitivity of 1."""
        return float(np.abs(self.true_counts(margin) - expected).sum())

    def say_accuracy(self, table: TreeTable) -> None:
        """Say how far the measured tables of a model may be off."""
        final = {margin: self.task.total * table.margin(margin) for margin in self.tables}
        say_accuracy(self.task, self.tables, self.variances, final, shrink=False)

    def fit(self, max_iter: int) -> TreeTable:
        """Model of what was measured: the nearest consistent tables, fitted on the junction tree."""
        total = max(self.task.total, 1.0)
        structure = self.task.structure
        possible = {m: t * structure.over(m, t.shape) for m, t in self.tables.items()}
        # Chosen pairs stand out of the noise: shrinking them would only blunt their few large cells.
        agreed = consistent(possible, self.variances, total, shrink=False)
        tree = self.tree()
        margins = [m for m in agreed if not any(set(m) < set(other) for other in agreed)]
        margins.sort(key=lambda m: (tree.home(m), m))
        targets = [agreed[m] * structure.over(m, agreed[m].shape) for m in margins]
        start = TreeTable.uniform(tree, structure.masks)
        return fit_tree(start, margins, targets, tol=1e-2 / total, max_iter=max_iter).table


def say_accuracy(
    task: Task, noisy: Mapping[Clique, FloatArray], variances: Mapping[Clique, float],
    final: Mapping[Clique, FloatArray], *, shrink: bool,
) -> None:  # fmt: skip
    """Say for the widest tables that were measured how far a count of the ``final`` ones may be off."""
    # Levels that nobody has are known to be nearly empty, once no cell is negative: their noise is gone.
    held = noisy if shrink else _without_empty(final, variances)
    errors = cell_errors(held, variances, task.unsure, task.peaked(task.share), shrink)
    agreed = consistent(noisy, variances, task.total, rounds=0, shrink=shrink)
    for margin in [m for m in noisy if not any(set(m) < set(other) for other in noisy)]:
        # What making all cells positive took off the large ones, which it adds to the small ones.
        large = np.maximum(agreed[margin], 0.0)
        shift = float((large * (final[margin] - agreed[margin])).sum() / max(large.sum(), 1.0))
        task.accurate(" × ".join(task.names[v] for v in margin), *errors[margin], shift)


def _without_empty(
    tables: Mapping[Clique, FloatArray], variances: Mapping[Clique, float]
) -> dict[Clique, FloatArray]:
    """Tables without the levels that hold less in each of them than noise would give them."""
    kept: dict[int, BoolArray] = {}
    for margin, table in tables.items():
        for axis, column in enumerate(margin):
            held = table.sum(axis=tuple(a for a in range(table.ndim) if a != axis))
            clear = held > np.sqrt(variances[margin] * table.size / len(held))
            kept[column] = kept.get(column, np.zeros(len(held), bool)) | clear
    places = {
        column: np.flatnonzero(clear) if clear.any() else np.arange(1) for column, clear in kept.items()
    }
    return {margin: table[np.ix_(*(places[c] for c in margin))] for margin, table in tables.items()}
