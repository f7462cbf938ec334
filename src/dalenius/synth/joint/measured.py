"""Noisy tables of one private run, and the model that fits them: the part that MST and AIM share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique, JunctionTree
from dalenius.counts.tree_table import TreeTable, fit_tree
from dalenius.data.vector import IntArray
from dalenius.dp.noise import choose
from dalenius.dp.repair import consistent
from dalenius.synth.joint.base import Task
from dalenius.synth.joint.margins import count_margins
from dalenius.synth.joint.merged import Merging


@dataclass
class Measured:
    """What was measured so far, over merged levels.

    Attributes
    ----------
    task
        The columns, the rows and the budget.
    mergings, sizes, codes
        How levels were merged, and the columns after it.
    tables, variances
        Noisy tables and the variance of their noise.
    """

    task: Task
    mergings: list[Merging] = field(default_factory=list)
    sizes: tuple[int, ...] = ()
    codes: list[IntArray] = field(default_factory=list)
    tables: dict[Clique, FloatArray] = field(default_factory=dict)
    variances: dict[Clique, float] = field(default_factory=dict)
    counted: dict[Clique, IntArray] = field(default_factory=dict)

    @classmethod
    def one_way(cls, task: Task, price: float) -> Measured:
        """Measure every column alone for ``price`` together, and merge what is too small to tell from noise."""
        made = cls(task)
        singles = count_margins(task.codes, task.sizes, [(v,) for v in range(len(task.sizes))])
        for v, table in enumerate(singles):
            noisy, variance = task.measure(task.names[v], table, price / len(singles))
            merging = Merging.of(noisy.astype(np.float64), float(np.sqrt(variance)))
            made.mergings.append(merging)
            made.tables[(v,)] = merging.fold(noisy)
            made.variances[(v,)] = variance
        made.sizes = tuple(m.size for m in made.mergings)
        made.codes = [
            m.into[c].astype(np.uint16 if m.size < 2**16 else np.int64)
            for m, c in zip(made.mergings, task.codes, strict=True)
        ]
        return made

    def true_counts(self, margin: Clique) -> IntArray:
        """Confidential counts of a margin; for scores and measurements only."""
        if margin not in self.counted:
            self.counted[margin] = count_margins(self.codes, self.sizes, [margin])[0]
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
        budget = self.task.budget
        if budget is None:
            return int(np.argmax(scores))
        if budget.accounting == "zcdp":
            epsilon = float(np.sqrt(8 * price))
            budget.spend(what, rho=price, noise="exponential mechanism", part=self.task.part)
        else:
            epsilon = price
            budget.spend(what, epsilon=price, noise="exponential mechanism", part=self.task.part)
        return choose(scores, sensitivity * budget.factor, epsilon)

    def tree(self, *more: Clique) -> JunctionTree:
        """Junction tree of everything measured, and perhaps of more."""
        return JunctionTree.of(self.sizes, [*self.tables, *more])

    def fit(self, max_iter: int) -> TreeTable:
        """Model of what was measured: the nearest consistent tables, fitted on the junction tree."""
        total = max(self.task.total, 1.0)
        agreed = consistent(self.tables, self.variances, total)
        tree = self.tree()
        margins = [m for m in agreed if not any(set(m) < set(other) for other in agreed)]
        margins.sort(key=lambda m: (tree.home(m), m))
        targets = [agreed[m] / total for m in margins]
        return fit_tree(TreeTable.uniform(tree), margins, targets, tol=1e-2 / total, max_iter=max_iter).table
