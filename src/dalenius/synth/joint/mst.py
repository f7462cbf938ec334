"""`mst`: a private tree of two-way tables, and some more where the tree is wrong.

Measure every column, choose a spanning tree of the pairs that the columns alone explain worst, measure these
pairs, fit and sample (McKenna, Miklau and Sheldon 2021, the winner of the NIST 2018 challenge). Noise is then the
smaller part of the error: most of it is in pairs that the tree says nothing about. So a second look follows, in which
the pairs that the tree gets most wrong are chosen and measured too, as many as keep the model small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.option import Option
from dalenius.core.registry import MethodInfo
from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique
from dalenius.counts.tree_table import TreeTable
from dalenius.synth.base import register
from dalenius.synth.joint.margins import refuse_large
from dalenius.synth.joint.measured import MarginalSynthesizer, Measured
from dalenius.synth.joint.merged import Merged
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.task import Task

ONE_WAY, TREE_CHOICE, MORE_CHOICE = 0.15, 0.1, 0.1
"""Shares of the budget for the columns alone and for the two choices; the rest is for the chosen tables."""

OTHERS = 0.05
"""Weight of a pair that no table of a workload holds, beside the heaviest: it may still be needed to join columns."""


class MSTModel(JointModel):
    """A tree of noisy two-way tables, and some more."""

    method = "mst"
    contents = "noisy two-way tables over cliques of columns; the guarantee of the ledger covers the file"


@register
@dataclass(frozen=True)
class MST(MarginalSynthesizer):
    """Draw records from noisy two-way tables, chosen and measured within a privacy budget.

    Parameters
    ----------
    more
        Pairs measured beyond the spanning tree, where the tree is most wrong. Default: as many as there are columns.
        0 is the method of the paper, with a third of the budget for each of its three steps.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"sex": ["f", "m"] * 200, "tall": ["no", "yes"] * 200, "old": ["y", "n"] * 200})
    >>> model = MST(epsilon=2.0, domain="from-data", neighbours="replace").fit(table)
    >>> model.sample(seed=1).rows
    400
    >>> print(model.ledger)
    privacy budget: ε = 2, δ = 1e-09, replace neighbours, zcdp accounting
      sex: ρ = ...
    """

    more: Annotated[int | None, Option(at_least=0)] = None

    info = MethodInfo(
        name="mst",
        title="Private spanning tree (MST)",
        meaning="Records drawn from noisy two-way tables, chosen and measured within a privacy budget.",
        guarantee="(ε, δ)-differential privacy, if the levels and bounds of the columns are public",
        plain="The program adds chance to counts of pairs of answers, so that no single person shows, and makes up new "
        "people from the blurred counts.",
        reference="McKenna, Miklau and Sheldon 2021 (Winning the NIST contest)",
        seedable=False,
        example_options={"domain": "from-data", "neighbours": "replace"},
    )
    model = MSTModel

    def _fit_task(self, task: Task) -> Merged:
        columns = len(task.sizes)
        more = min(columns if self.more is None else self.more, (columns - 1) * (columns - 2) // 2)
        one_way, choice, second = (ONE_WAY, TREE_CHOICE, MORE_CHOICE) if more else (1 / 3, 1 / 3, 0.0)
        if columns == 1:
            one_way = 1.0
        measured = Measured.one_way(task, one_way * task.share)
        refuse_large(measured.tree(), task, max(self.max_cells, 2**20))
        if columns > 1:
            tables = (1 - one_way - choice - second) * task.share
            each = tables / (columns - 1 + more)
            weights = self._weights(columns, task.names)
            edges = choose_tree(measured, choice * task.share, weights)
            _measure(measured, edges, each * len(edges), weights)
            if more:
                self._look_again(measured, more, second * task.share, each * more, weights)
        table = measured.fit(max_iter=20)
        measured.say_accuracy(table)
        pairs = [" × ".join(task.names[v] for v in m) for m in measured.tables if len(m) == 2]
        task.note(
            f"{len(pairs)} two-way tables, largest clique {table.tree.largest:,} cells"
            + (f": {', '.join(pairs[:8])}{' …' if len(pairs) > 8 else ''}" if pairs else "")
        )
        return Merged(table, measured.mergings)

    def _weights(self, columns: int, names: list[str]) -> dict[Clique, float]:
        """How much each pair matters: 1 for those of the heaviest table of the workload."""
        wanted = self._wanted(names)
        most = max(wanted.values(), default=1.0)
        other = OTHERS if wanted else 1.0
        return {
            pair: max([w / most for table, w in wanted.items() if {*pair} <= {*table}], default=other)
            for pair in combinations(range(columns), 2)
        }

    def _look_again(
        self, measured: Measured, more: int, choice: float, price: float, weights: Mapping[Clique, float]
    ) -> None:
        """Choose the pairs that the tree gets most wrong, one by one, and measure them together."""
        pairs: list[Clique] = [
            p for p in combinations(range(len(measured.sizes)), 2) if p not in measured.tables
        ]
        expected = measured.expected(measured.fit(max_iter=20), pairs)
        scores = {pair: weights[pair] * measured.distance(pair, expected[pair]) for pair in pairs}
        room = max(self.max_cells, measured.tree().cells)
        chosen: list[Clique] = []
        while len(chosen) < more:
            # A pair that does not fit now will not fit later, when the model is larger.
            scores = {p: scores[p] for p in measured.within(scores, room, *chosen) if p not in chosen}
            if not scores:
                break
            chosen.append(_pick(measured, "pair beyond the tree", scores, choice / more))
        # Where memory ends the list early, what is left sharpens the tables there are.
        again = chosen or [m for m in measured.tables if len(m) == 2]
        rest = price + choice * (1 - len(chosen) / more)
        _measure(measured, again, rest, weights)

    def cost(self, shape: Shape) -> Cost:
        """Counting all pairs of columns, a draw of noise per cell of the chosen tables, and a fit."""
        pairs = shape.columns * max(shape.columns - 1, 1) / 2
        levels = [min(size, self.groups + 2) if size > 200 else size for size in shape.levels]
        mean = sum(levels) / max(len(levels), 1)
        noise = 2e-5 * (sum(levels) + 2 * shape.columns * mean**2)
        return Cost(
            seconds=0.3 + 3e-9 * (shape.rows + 200_000) * pairs + noise + 6e-7 * self.max_cells,
            bytes=8.0 * pairs * mean**2 + 10.0 * shape.rows * shape.columns + 60.0 * self.max_cells,
        )


def one_way_chances(measured: Measured) -> list[FloatArray]:
    """Distribution of each column from its noisy table."""
    table: TreeTable = Measured(
        measured.task, measured.mergings, measured.sizes, None,
        {m: t for m, t in measured.tables.items() if len(m) == 1}, measured.variances,
    ).fit(max_iter=2)  # fmt: skip
    return [table.margin((v,)) for v in range(len(measured.sizes))]


def _measure(
    measured: Measured, pairs: Sequence[Clique], price: float, weights: Mapping[Clique, float]
) -> None:
    """Measure pairs for ``price`` together, split so that the weighted sum of their noise is least."""
    shares = np.array([weights[pair] for pair in pairs]) ** (2 / 3)
    for pair, share in zip(pairs, shares / shares.sum(), strict=True):
        measured.measure(pair, float(share) * price)


def choose_tree(measured: Measured, price: float, weights: Mapping[Clique, float]) -> list[Clique]:
    """Spanning tree of the pairs that independence explains worst, edge by edge with the exponential mechanism.

    The score of a pair is the L1 distance between its table and the product of its columns, times a weight of at most
    1; one record changes it by at most 1, because the product is already public.
    """
    columns, alone, total = len(measured.sizes), one_way_chances(measured), measured.task.total
    scores: dict[Clique, float] = {
        (a, b): weights[a, b] * measured.distance((a, b), total * np.outer(alone[a], alone[b]))
        for a, b in combinations(range(columns), 2)
    }
    component = list(range(columns))
    edges: list[Clique] = []
    while len(edges) < columns - 1:
        open_pairs = {p: s for p, s in scores.items() if component[p[0]] != component[p[1]]}
        a, b = _pick(measured, "edge of the tree", open_pairs, price / (columns - 1))
        edges.append((a, b))
        component = [component[a] if c == component[b] else c for c in component]
    return edges


def _pick(measured: Measured, what: str, scores: Mapping[Clique, float], price: float) -> Clique:
    """One pair by the exponential mechanism."""
    pairs = list(scores)
    return pairs[measured.choose(what, np.array(list(scores.values())), 1.0, price)]
