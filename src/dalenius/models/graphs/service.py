"""`GraphService`: a classifier of nodes behind an interface that also lets callers add nodes.

What an attacker can do is what the methods offer: ask for scores, add a node with one edge, take it away, and change
features of nodes that he owns. Everything he learns he learns through them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.budget import Budget
from dalenius.dp.graph import edge_rand, lapgraph
from dalenius.models.graphs.changed import Clean, with_features, with_node
from dalenius.models.graphs.graph import Graph
from dalenius.models.graphs.network import GraphNetwork, Scores, softmax

Output = Literal["logits", "softmax", "rounded", "label"]
OUTPUTS: tuple[Output, ...] = get_args(Output)


@dataclass(frozen=True)
class Noise:
    """A defence: the graph that is served is a private one, drawn anew after every change, and paid for every time."""

    epsilon: float
    mechanism: Literal["lapgraph", "edge-rand"] = "lapgraph"

    def release(self, graph: Graph, budget: Budget | None) -> Graph:
        """The graph as it is served."""
        make = lapgraph if self.mechanism == "lapgraph" else edge_rand
        return graph.with_edges(make(graph.edges, graph.nodes, self.epsilon, budget=budget))


@dataclass(eq=False, repr=False)
class GraphService:
    """A service that is to be audited, or attacked.

    Parameters
    ----------
    model
        A `GraphNetwork`, or anything with ``scores(graph)``.
    output
        What callers see: logits, probabilities, probabilities of ``decimals`` decimals, or the class alone.
    defence
        `Noise` on the graph; each release costs its ε, and a budget that is used up refuses further changes.
    most_connects
        How many nodes callers may add in all.
    delay
        Predictions that a new node must wait before it counts. It stops only who does not wait.
    before
        Private releases of this graph that were made before, such as the one the model was fitted on: they cost too.

    Examples
    --------
    >>> from dalenius.models.graphs import block_graph, train_network
    >>> graph = block_graph(200, 1)
    >>> service = GraphService(train_network(graph, epochs=20), graph, output="label")
    >>> before = service.predict([3])
    >>> new = service.connect(graph.row(5), 3)
    >>> service.disconnect(new)
    >>> bool((service.predict([3]) == before).all())
    True
    """

    model: Scores
    graph: Graph
    output: Output = "logits"
    decimals: int = 2
    defence: Noise | None = None
    budget: Budget | None = None
    most_connects: int | None = None
    delay: int = 0
    before: int = 0
    releases: int = field(init=False, default=0)
    connects: int = field(init=False, default=0)
    _added: dict[int, tuple[AnyArray, int]] = field(init=False, default_factory=dict)
    _waited: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.output not in OUTPUTS:
            raise OptionError(f"unknown output {self.output!r}; there are {', '.join(OUTPUTS)}")
        if self.defence is not None and self.budget is None:
            self.budget = Budget(1e9)
        self.releases = self.before
        self._serve(self.graph)

    def __repr__(self) -> str:
        return f"service of {self.output} on a {self.graph!r}"

    def predict(self, ids: AnyArray) -> AnyArray:
        """What the service says of some nodes, one row each."""
        wanted = np.asarray(ids, np.int64)
        self._waited += 1
        return self._shown(self._scores(wanted))

    def connect(self, features: AnyArray, target: int) -> int:
        """Add a node with one edge to the target; gives its number. A refusal changes nothing."""
        row = self._row(features)
        if not 0 <= target < self.graph.nodes:
            raise DataError(f"there is no node {target}; nodes are 0 to {self.graph.nodes - 1}")
        if self.most_connects is not None and self.connects >= self.most_connects:
            raise OptionError(f"this service takes {counted(self.most_connects, 'new node')} and no more")
        number = self.graph.nodes + len(self._added)
        added = {**self._added, number: (row, target)}
        if self.defence is not None:
            self._serve(_extended(self.graph, added))  # pays first: an error leaves everything as it was
        self._added, self.connects, self._waited = added, self.connects + 1, 0
        return number

    def disconnect(self, node: int) -> None:
        """Take a node away that was added. A graph that is served with noise loses it with the next release."""
        if node not in self._added:
            raise DataError(f"node {node} was not added by a caller")
        self._added = {k: v for k, v in self._added.items() if k != node}

    def probe(self, features: AnyArray, node: int, ids: AnyArray) -> AnyArray:
        """What the service would say of some nodes if one node that the caller owns had other features."""
        row = self._row(features)
        wanted = np.asarray(ids, np.int64)
        if self._clean is not None:
            return self._shown(with_features(self._clean, row, node, wanted))
        changed = np.array(self._served.rows(np.arange(self._served.nodes)))
        changed[node] = row
        other = Graph(self._served.edges, changed, self._served.labels, self._served.names)
        return self._shown(self._finite(self.model.scores(other)[wanted]))

    @property
    def epsilon(self) -> float | None:
        """What all releases cost together, for one edge; None without a defence."""
        return None if self.defence is None else self.releases * self.defence.epsilon

    def _serve(self, graph: Graph) -> None:
        served = graph if self.defence is None else self.defence.release(graph, self.budget)
        self._served = served
        self.releases += self.defence is not None
        fast = isinstance(self.model, GraphNetwork) and graph is self.graph
        self._clean = Clean.of(self.model, served) if fast and isinstance(self.model, GraphNetwork) else None
        self._all = self._clean.scores if self._clean is not None else self._finite(self.model.scores(served))

    def _scores(self, wanted: IntArray) -> AnyArray:
        if self.defence is not None or not self._added or self._waited <= self.delay:
            return self._finite(self._all[wanted])
        if self._clean is not None and len(self._added) == 1:
            ((row, target),) = self._added.values()
            return self._finite(with_node(self._clean, row, target, wanted))
        return self._finite(self.model.scores(_extended(self.graph, self._added))[wanted])

    def _row(self, features: AnyArray) -> AnyArray:
        row = np.asarray(features, np.float64).ravel()
        if len(row) != self.graph.width:
            raise DataError(f"a node has {self.graph.width} features, not {len(row)}")
        if not np.isfinite(row).all():
            raise DataError("features of a node must be numbers, none missing or infinite")
        return row

    def _shown(self, scores: AnyArray) -> AnyArray:
        if self.output == "logits":
            return scores
        chances = softmax(scores)
        if self.output == "label":
            return np.eye(chances.shape[1])[chances.argmax(axis=1)]
        return np.round(chances, self.decimals) if self.output == "rounded" else chances

    @staticmethod
    def _finite(scores: AnyArray) -> AnyArray:
        if not np.isfinite(scores).all():
            raise DataError("the model gives scores that are no numbers; look at its weights and features")
        return scores


def _extended(graph: Graph, added: dict[int, tuple[AnyArray, int]]) -> Graph:
    for row, target in added.values():
        graph = graph.with_node(row, target)
    return graph
