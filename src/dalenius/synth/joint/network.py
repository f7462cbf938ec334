"""`network`: a Bayesian network, each column drawn given a few others; with a budget it is PrivBayes.

Without a budget the parents of a column are those that say most about it, less what chance alone would say (Chow and
Liu 1968 for one parent). With one, they are chosen by the exponential mechanism and their tables are noisy (Zhang,
Cormode, Procopiuc, Srivastava and Xiao 2017).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError, names
from dalenius.core.option import Option
from dalenius.core.registry import MethodInfo
from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique
from dalenius.counts.keys import product
from dalenius.data.exit import releasable
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.synth.base import absent, register
from dalenius.synth.joint.base import JointSynthesizer, Prior
from dalenius.synth.joint.bayes import Network, conditional, freedom, grow, information, ordered
from dalenius.synth.joint.measured import Measured
from dalenius.synth.joint.merged import Merged
from dalenius.synth.joint.model import JointModel
from dalenius.synth.joint.records import Records
from dalenius.synth.joint.task import Task

NEAREST = 8
"""Columns, those that say most about a column, out of which its sets of several parents are made."""
ONE_WAY, CHOICE = 0.1, 0.3
"""Shares of a budget for the columns alone and for the choice of parents; the rest is for their tables."""
USEFUL = 4.0
"""A table is worth measuring where its cells hold so many times the noise on average (PrivBayes, θ-usefulness)."""


class NetworkModel(JointModel):
    """Conditional tables of every column."""

    method = "network"
    contents = "chances of each column given its parents (noisy if a budget was given), and values of grouped numbers"

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Arrows of the network, from parent to child; with strata those of the first."""
        table = self.strata[0].table
        network = table.table if isinstance(table, Merged) else table
        assert isinstance(network, Network)
        inner = [name for i, name in enumerate(self.coding.names) if i not in self.split]
        return [(inner[parent], inner[c]) for c in network.order for parent in network.parents[c]]


@register
@dataclass(frozen=True)
class BayesNetwork(JointSynthesizer):
    """Draw each column given a few others.

    Parameters
    ----------
    parents
        Most parents a column may have: 1 is a tree.
    edges
        Arrows you name yourself, ``[("age", "marital"), …]``: they are the network, and nothing is chosen.
    prior
        Number of records by which a column is drawn towards its own distribution, whatever its parents say.
    max_cells
        Most cells of one table.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> sex, tall, old = ["f", "m"] * 200, ["no", "yes"] * 190 + ["yes", "no"] * 10, ["y", "y", "n", "n"] * 100
    >>> table = Table.from_frame({"sex": sex, "tall": tall, "old": old})
    >>> model = BayesNetwork().fit(table)
    >>> model.edges
    [('sex', 'tall')]
    >>> model.sample(10, seed=1).rows
    10
    """

    parents: Annotated[
        int,
        Option(
            at_least=0,
            title="Parents of a column",
            meaning="Each column is drawn given so many others at most. More: closer to the data, less safe.",
            knob=True,
        ),
    ] = 2
    edges: Sequence[Sequence[str]] | None = None
    prior: Prior = 0.5
    groups: Annotated[
        int,
        Option(
            at_least=1,
            title="Groups of a number",
            meaning="Numbers such as age or income are put into this many groups first. Fewer: safer, coarser.",
            knob=True,
        ),
    ] = 20
    max_cells: Annotated[int, Option(at_least=1)] = 2**20

    info = MethodInfo(
        name="network",
        title="Bayesian network",
        meaning="Each column drawn given a few others that say most about it; with a budget, PrivBayes.",
        guarantee="none without epsilon; with it, differential privacy as the ledger says",
        plain="The program finds out which answers go together most, and makes up new people answer by answer, each "
        "one fitting a few that were drawn before.",
        reference="Chow and Liu 1968; Zhang and others 2017 (PrivBayes)",
    )
    model = NetworkModel

    def conflicts(self) -> list[str]:
        """What no chain of conditional tables can keep, and arrows that go round."""
        wrong = super().conflicts()
        if self.structural_zeros:
            wrong.append("structural zeros are not kept by a network; use loglinear or saturated")
        if self.invariants:
            wrong.append("a network keeps no table exactly; use mst or aim")
        for edge in self.edges or ():
            if isinstance(edge, str) or len(edge) != 2 or edge[0] == edge[1]:
                wrong.append("edges are pairs of different columns, from parent to child")
                return wrong
        columns = sorted({name for edge in self.edges or () for name in edge})
        if ordered(_named_parents(self.edges or (), columns)) is None:
            wrong.append(f"edges: the arrows between {names(columns)} go round in a circle; turn one of them")
        return wrong

    def faults_for(self, table: Table) -> list[str]:
        """Columns that the edges name and the table has not."""
        wanted = sorted({name for edge in self.edges or () for name in edge})
        return [*super().faults_for(table), *absent("edges", wanted, releasable(table))]

    def _fit_task(self, task: Task) -> Network | Merged:
        if task.budget is not None:
            return self._private(task)
        order, parents = self._structure(task)
        alone = [
            table / max(table.sum(), 1)
            for table in task.records.count([(v,) for v in range(len(task.sizes))])
        ]
        chances = []
        for column, held in enumerate(parents):
            counts = _family(task.records, held, column) if held else alone[column][None] * max(task.rows, 1)
            chances.append(conditional(counts, _possible(alone[column]), self.prior if held else 0.0))
        _say(task, parents)
        return Network(tuple(max(s, 1) for s in task.sizes), order, parents, chances)

    def _structure(self, task: Task) -> tuple[tuple[int, ...], tuple[Clique, ...]]:
        """Order and parents: those named, or those that say most."""
        if self.edges is not None:
            parents = _named_parents(self.edges, task.names)
            return _ordered(parents), parents
        scores = _scores(task.records, task.sizes, self.parents, self.max_cells)
        return grow(scores)

    def _private(self, task: Task) -> Merged:
        """PrivBayes: columns alone, parents by the exponential mechanism, then one noisy table a column."""
        columns = len(task.sizes)
        measured = Measured.one_way(task, (ONE_WAY if columns > 1 else 1.0) * task.share)
        alone = [_shares(measured.tables[v,]) for v in range(columns)]
        each = (1 - ONE_WAY - CHOICE) * task.share / max(columns - 1, 1)
        largest = min(self.max_cells, task.total / (USEFUL * task.deviation(each)))
        if self.edges is not None:
            parents = _named_parents(self.edges, task.names)
            order = _ordered(parents)
        else:
            order, parents = self._chosen(measured, alone, largest, CHOICE * task.share)
        chances = []
        for column, held in enumerate(parents):
            if held:
                measured.measure(tuple(sorted((*held, column))), each)
                table = _last(measured.tables[tuple(sorted((*held, column)))], (*held, column))
            else:
                table = alone[column][None]
            chances.append(conditional(table, alone[column], self.prior if held else 0.0))
        _say(task, parents)
        return Merged(Network(measured.sizes, order, parents, chances), measured.mergings)

    def _chosen(
        self, measured: Measured, alone: Sequence[FloatArray], largest: float, price: float
    ) -> tuple[tuple[int, ...], tuple[Clique, ...]]:
        """Column after column with its parents, by how far their table is from independence.

        The score is the L1 distance of N(column, parents) from P(column)·N(parents) with the public, noisy P: a record
        that comes or goes moves either term by 1.
        """
        columns = len(measured.sizes)
        order, parents, known = [0], dict.fromkeys(range(columns), ()), {}
        while len(order) < columns:
            open_sets = [
                (held, column)
                for column in range(columns)
                if column not in order
                for many in range(1, self.parents + 1)
                for held in combinations(sorted(order), many)
                if product([measured.sizes[v] for v in (*held, column)]) <= largest
            ]
            if not open_sets:
                break
            for held, column in open_sets:
                if (held, column) not in known:
                    table = _last(measured.true_counts(tuple(sorted((*held, column)))), (*held, column))
                    expected = table.sum(axis=-1, keepdims=True) * alone[column]
                    known[held, column] = float(np.abs(table - expected).sum())
            scores = np.array([known[each] for each in open_sets])
            at = measured.choose("parents of a column", scores, 2.0, price / (columns - 1))
            held, column = open_sets[at]
            order.append(column)
            parents[column] = held  # type: ignore[assignment]
        order += [column for column in range(columns) if column not in order]
        return tuple(order), tuple(parents[c] for c in range(columns))

    def cost(self, shape: Shape) -> Cost:
        """Counting pairs and small sets of columns, and one search a drawn cell."""
        pairs = shape.columns * max(shape.columns - 1, 1) / 2
        sets = shape.columns * min(28, pairs) if self.parents > 1 else 0
        return Cost(
            seconds=0.1 + 4e-9 * (shape.rows + 20_000) * (pairs + sets) + 3e-7 * shape.rows * shape.columns,
            bytes=24.0 * shape.rows * shape.columns + 16.0 * self.max_cells,
        )


def _scores(
    records: Records, sizes: Sequence[int], most: int, largest: int
) -> dict[int, dict[Clique, float]]:
    """What sets of parents say about every column, less what chance alone would (Akaike 1974)."""
    columns = range(len(sizes))
    scores: dict[int, dict[Clique, float]] = {c: {(): 0.0} for c in columns}

    def look(sets: Sequence[Clique]) -> None:
        fits = [s for s in sets if product([max(sizes[v], 1) for v in s]) <= largest]
        records.prepare(fits)
        for held, table in zip(fits, records.count(fits), strict=True):
            for column in held:
                others = tuple(v for v in held if v != column)
                turned = _last(table, (*others, column), held)
                scores[column][others] = information(turned) - freedom(turned)

    if most and len(sizes) > 1:
        look(list(combinations(columns, 2)))
    for many in range(2, min(most, len(sizes) - 1) + 1):
        wanted = set()
        for column in columns:
            near = sorted((c for c in columns if (c,) in scores[column]), key=lambda c: -scores[column][c,])
            wanted |= {tuple(sorted((*held, column))) for held in combinations(near[:NEAREST], many)}
        look(sorted(wanted))
    return scores


def _family(records: Records, held: Clique, column: int) -> FloatArray:
    """Counts of a column, the last axis, by its parents."""
    margin = tuple(sorted((*held, column)))
    return _last(records.count([margin])[0], (*held, column), margin)


def _last(table: FloatArray | IntArray, wanted: Clique, held: Clique | None = None) -> FloatArray:
    """A table with its axes in the wanted order; they are in ascending order unless said."""
    held = tuple(sorted(wanted)) if held is None else held
    return np.transpose(table, [held.index(v) for v in wanted]).astype(np.float64)


def _shares(table: FloatArray) -> FloatArray:
    """Noisy counts as chances."""
    return _possible(np.maximum(table, 0.0) / max(float(np.maximum(table, 0.0).sum()), 1e-9))


def _possible(chances: FloatArray) -> FloatArray:
    """Chances that add up, even where nothing was counted."""
    return chances if chances.sum() > 0 else np.full(len(chances), 1 / max(len(chances), 1))


def _named_parents(edges: Sequence[Sequence[str]], columns: Sequence[str]) -> tuple[Clique, ...]:
    """Parents of each column, as positions; columns that are strata are no part of the network."""
    held = list(columns)
    return tuple(
        tuple(sorted({held.index(p) for p, c in edges if c == column and p in held})) for column in held
    )


def _ordered(parents: Sequence[Clique]) -> tuple[int, ...]:
    order = ordered(parents)
    if order is None:
        raise OptionError("edges: the arrows go round in a circle; turn one of them")
    return order


def _say(task: Task, parents: Mapping[int, Clique] | Sequence[Clique]) -> None:
    held = parents if isinstance(parents, Sequence) else list(parents.values())
    arrows = [f"{task.names[p]} → {task.names[c]}" for c, own in enumerate(held) for p in own]
    shown = ", ".join(arrows[:8]) + (" …" if len(arrows) > 8 else "")
    task.note(f"{len(arrows)} arrows" + (f": {shown}" if arrows else ": every column is drawn alone"))
