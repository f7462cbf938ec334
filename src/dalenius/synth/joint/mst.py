"""`mst`: a private tree of two-way tables.

Measure every column, choose a spanning tree of the pairs that the columns alone explain worst, measure these
pairs, fit and sample (McKenna, Miklau and Sheldon 2021, the winner of the NIST 2018 challenge).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError
from dalenius.core.registry import MethodInfo
from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique
from dalenius.counts.tree_table import TreeTable
from dalenius.synth.base import register
from dalenius.synth.joint.base import JointSynthesizer, Task
from dalenius.synth.joint.measured import Measured
from dalenius.synth.joint.merged import Merged
from dalenius.synth.joint.model import JointModel


class MSTModel(JointModel):
    """A tree of noisy two-way tables."""

    method = "mst"
    contents = "noisy two-way tables of a tree of columns; the guarantee of the ledger covers the file"


@dataclass(frozen=True)
class MarginalSynthesizer(JointSynthesizer):
    """Options of the methods that choose margins within the budget."""

    epsilon: float | None = 1.0
    delta: float = 1e-9

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None:
            raise OptionError(f"{self.info.name} is a differentially private method: give epsilon")
        if self.structural_zeros:
            raise OptionError(f"{self.info.name} does not take structural zeros; use loglinear or saturated")


@register
@dataclass(frozen=True)
class MST(MarginalSynthesizer):
    """Draw records from a tree of noisy two-way tables, chosen and measured within a privacy budget.

    A third of the budget goes to the columns alone, a third to the choice of the tree, a third to its tables.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"sex": ["f", "m"] * 200, "tall": ["no", "yes"] * 200, "old": ["y", "n"] * 200})
    >>> model = MST(epsilon=2.0, domain="from-data").fit(table)
    >>> model.sample(seed=1).rows
    400
    >>> print(model.ledger)
    privacy budget: ε = 2, δ = 1e-09, add-remove neighbours, zcdp accounting
      sex: ρ = ...
    """

    info = MethodInfo(
        name="mst",
        title="Private spanning tree (MST)",
        meaning="Records drawn from a tree of noisy two-way tables, chosen and measured within a privacy budget.",
        guarantee="(ε, δ)-differential privacy, if the levels and bounds of the columns are public",
        reference="McKenna, Miklau and Sheldon 2021 (Winning the NIST contest)",
        seedable=False,
        example_options={"domain": "from-data"},
    )
    model = MSTModel

    def _fit_task(self, task: Task) -> Merged:
        columns = len(task.sizes)
        third = task.share / 3 if columns > 1 else task.share
        measured = Measured.one_way(task, third)
        alone = one_way_chances(measured)
        edges = choose_tree(measured, alone, third) if columns > 1 else []
        for edge in edges:
            measured.measure(edge, third / len(edges))
        table = measured.fit(max_iter=20)
        shown = [" × ".join(task.names[v] for v in edge) for edge in edges]
        task.note(
            f"tree of {len(edges)} two-way tables"
            + (f": {', '.join(shown[:8])}{' …' if len(shown) > 8 else ''}" if shown else "")
        )
        return Merged(table, measured.mergings)

    def cost(self, shape: Shape) -> Cost:
        """Counting all pairs of columns, and a draw of noise per cell of the tree's tables."""
        pairs = shape.columns * max(shape.columns - 1, 1) / 2
        levels = [min(size, self.groups + 2) if size > 200 else size for size in shape.levels]
        mean = sum(levels) / max(len(levels), 1)
        noise = 2e-5 * (sum(levels) + shape.columns * mean**2)
        return Cost(
            seconds=0.2 + 3e-9 * shape.rows * pairs + noise,
            bytes=8.0 * pairs * mean**2 + 10.0 * shape.rows * shape.columns,
        )


def one_way_chances(measured: Measured) -> list[FloatArray]:
    """Distribution of each column from its noisy table."""
    table: TreeTable = Measured(
        measured.task, measured.mergings, measured.sizes, [],
        {m: t for m, t in measured.tables.items() if len(m) == 1}, measured.variances,
    ).fit(max_iter=2)  # fmt: skip
    return [table.margin((v,)) for v in range(len(measured.sizes))]


def choose_tree(measured: Measured, alone: list[FloatArray], price: float) -> list[Clique]:
    """Spanning tree of the pairs that independence explains worst, edge by edge with the exponential mechanism.

    The score of a pair is the L1 distance between its table and the product of its columns; one record changes it by at
    most 1, because the product is already public.
    """
    columns = len(measured.sizes)
    scores = {
        (a, b): float(
            np.abs(measured.true_counts((a, b)) - measured.task.total * np.outer(alone[a], alone[b])).sum()
        )
        for a, b in combinations(range(columns), 2)
    }
    component = list(range(columns))
    edges: list[Clique] = []
    while len(edges) < columns - 1:
        open_pairs = [pair for pair in scores if component[pair[0]] != component[pair[1]]]
        at = measured.choose(
            "edge of the tree", np.array([scores[p] for p in open_pairs]), 1.0, price / (columns - 1)
        )
        a, b = open_pairs[at]
        edges.append((a, b))
        component = [component[a] if c == component[b] else c for c in component]
    return edges
