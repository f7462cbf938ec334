"""A graph convolutional network: each layer averages over a node and its neighbours (Kipf and Welling 2017).

Small enough to be its own code: layers of weights, three ways to weigh neighbours, training by Adam on the whole graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol, get_args

import numpy as np
import scipy.sparse as sp

from dalenius.core.descent import Adam
from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray
from dalenius.models.graphs.graph import Graph

Norm = Literal["rw", "sym", "first_order"]
NORMS: tuple[Norm, ...] = get_args(Norm)


class Scores(Protocol):
    """Whatever gives every node of a graph its scores: a network of ours, or a wrapper around somebody else's."""

    def scores(self, graph: Graph) -> AnyArray:
        """One row a node, one column a class: before any softmax."""
        ...


@dataclass(frozen=True)
class Weighing:
    """How a layer weighs neighbours: row i becomes own[i] z_i + left[i] Σ_j right[j] z_j over its neighbours."""

    own: AnyArray
    left: AnyArray
    right: AnyArray

    @classmethod
    def of(cls, degrees: AnyArray, norm: Norm) -> Weighing:
        """``rw`` averages, ``sym`` divides by roots of both degrees, ``first_order`` adds that to the node itself.

        Examples
        --------
        >>> Weighing.of(np.array([1, 0]), "first_order").left.tolist()
        [1.0, 0.0]
        """
        d = np.asarray(degrees, np.float64)
        if norm == "rw":
            part = 1 / (d + 1)
            return cls(part, part, np.ones_like(d))
        if norm == "sym":
            root = 1 / np.sqrt(d + 1)
            return cls(root * root, root, root)
        if norm == "first_order":
            root = np.where(d > 0, 1 / np.sqrt(np.maximum(d, 1)), 0.0)
            return cls(np.ones_like(d), root, root)
        raise OptionError(f"unknown norm {norm!r}; there are {', '.join(NORMS)}")

    def matrix(self, graph: Graph) -> Any:
        """The weights of all pairs, as sparse rows."""
        rows = np.repeat(np.arange(graph.nodes), graph.degrees)
        held = sp.csr_matrix(
            (self.left[rows] * self.right[graph.ends], graph.ends, graph.starts), shape=(graph.nodes,) * 2
        )
        return held + sp.diags(self.own, format="csr")


@dataclass(frozen=True, eq=False)
class GraphNetwork:
    """Weights and biases of the layers, and how features are standardised before the first.

    Examples
    --------
    >>> from dalenius.models.graphs.graph import Graph
    >>> network = GraphNetwork((np.eye(2),), (np.zeros(2),), norm="rw")
    >>> network.scores(Graph.of([(0, 1)], [[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """

    weights: tuple[AnyArray, ...]
    biases: tuple[AnyArray, ...]
    norm: Norm = "first_order"
    centre: AnyArray | None = None
    spread: AnyArray | None = None

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise OptionError(f"unknown norm {self.norm!r}; there are {', '.join(NORMS)}")
        if not self.weights or len(self.weights) != len(self.biases):
            raise OptionError("a network needs one bias for each layer of weights, and at least one layer")

    @property
    def layers(self) -> int:
        """How many times neighbours are looked at."""
        return len(self.weights)

    @property
    def width(self) -> int:
        """Features that the first layer takes."""
        return int(self.weights[0].shape[0])

    def first(self, features: Any) -> AnyArray:
        """Standardised features times the first weights, without making sparse features dense."""
        if features.shape[1] != self.width:
            raise DataError(f"a node has {features.shape[1]} features, the model was fitted on {self.width}")
        if self.centre is None or self.spread is None:
            return np.asarray(features @ self.weights[0])
        scaled = self.weights[0] / self.spread[:, None]
        return np.asarray(features @ scaled) - self.centre @ scaled

    def scores(self, graph: Graph) -> AnyArray:
        """Scores of every node, before any softmax."""
        return self.states(graph)[-1]

    def states(self, graph: Graph) -> list[AnyArray]:
        """What every layer gives, one row a node; the last are the scores."""
        mixed = Weighing.of(graph.degrees, self.norm).matrix(graph)
        held: list[AnyArray] = []
        z = self.first(graph.features)
        for layer, bias in enumerate(self.biases):
            h = mixed @ z + bias
            if layer + 1 < self.layers:
                h = np.maximum(h, 0.0)
                z = h @ self.weights[layer + 1]
            held.append(h)
        return held


def train_network(
    graph: Graph, *, hidden: int = 16, layers: int = 2, norm: Norm = "first_order", epochs: int = 200,
    rate: float = 0.01, decay: float = 5e-4, dropout: float = 0.5, standardise: bool = True, seed: Seed = 0,
) -> GraphNetwork:  # fmt: skip
    """Fit a network to the labels of a graph, by Adam on all nodes at once (the settings of Wu et al. 2022).

    Examples
    --------
    >>> from dalenius.models.graphs.graph import block_graph
    >>> graph = block_graph(200, 1)
    >>> network = train_network(graph, epochs=40, seed=1)
    >>> bool((network.scores(graph).argmax(axis=1) == graph.labels).mean() > 0.9)
    True
    """
    if graph.labels is None:
        raise DataError("training needs a class for every node; name the column that holds it")
    if layers < 1 or hidden < 1 or epochs < 1 or not 0 <= dropout < 1:
        raise OptionError("layers, hidden and epochs are 1 or more, dropout is at least 0 and below 1")
    rng = generator(seed, "graph-network")
    classes = int(graph.labels.max()) + 1
    sizes = [graph.width, *([hidden] * (layers - 1)), classes]
    if standardise:
        centre, spread = _moments(graph.features)
    else:
        centre, spread = np.zeros(graph.width), np.ones(graph.width)
    weights = [_glorot(rng, a, b) for a, b in pairwise(sizes)]
    biases = [np.zeros(b) for b in sizes[1:]]
    mixed = Weighing.of(graph.degrees, norm).matrix(graph)
    truth = np.eye(classes)[graph.labels]
    climbers = [Adam(rate) for _ in (*weights, *biases)]
    for _ in range(epochs):
        network = GraphNetwork(tuple(weights), tuple(biases), norm, centre, spread)
        grads = _gradients(network, graph, mixed, truth, dropout, rng)
        slopes = [g + decay * w for g, w in zip(grads[0], weights, strict=True)] + grads[1]
        for climber, values, slope in zip(climbers, (*weights, *biases), slopes, strict=True):
            climber.step(values, slope)
    return GraphNetwork(tuple(weights), tuple(biases), norm, centre, spread)


def _gradients(
    network: GraphNetwork, graph: Graph, mixed: Any, truth: AnyArray, dropout: float, rng: np.random.Generator
) -> tuple[list[AnyArray], list[AnyArray]]:
    """Slopes of the mean cross-entropy in weights and biases, with hidden states dropped at random."""
    states, kept = [], []
    z = network.first(graph.features)
    for layer, bias in enumerate(network.biases):
        h = mixed @ z + bias
        if layer + 1 < network.layers:
            keep = (rng.random(h.shape) >= dropout) / (1 - dropout)
            h = np.maximum(h, 0.0) * keep
            kept.append(keep)
            z = h @ network.weights[layer + 1]
        states.append(h)
    slope = (softmax(states[-1]) - truth) / len(truth)
    by_weight: list[AnyArray] = []
    by_bias: list[AnyArray] = []
    for layer in reversed(range(network.layers)):
        by_bias.append(slope.sum(axis=0))
        back = mixed.T @ slope
        if layer:
            below = states[layer - 1]
            by_weight.append(below.T @ back)
            slope = (back @ network.weights[layer].T) * kept[layer - 1] * (below > 0)
        else:
            assert network.centre is not None
            assert network.spread is not None
            whole = np.asarray(graph.features.T @ back) - np.outer(network.centre, back.sum(axis=0))
            by_weight.append(whole / network.spread[:, None])
    return by_weight[::-1], by_bias[::-1]


def softmax(scores: AnyArray) -> AnyArray:
    """Scores as probabilities.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    held = np.exp(scores - scores.max(axis=1, keepdims=True))
    return held / held.sum(axis=1, keepdims=True)


def _moments(features: Any) -> tuple[AnyArray, AnyArray]:
    """Means and standard deviations of the columns; a constant column is left as it is."""
    count = features.shape[0]
    mean = np.asarray(features.mean(axis=0)).ravel()
    squares = features.multiply(features) if sp.issparse(features) else features * features
    spread = np.sqrt(np.maximum(np.asarray(squares.sum(axis=0)).ravel() / count - mean**2, 0.0))
    return mean, np.where(spread > 1e-12, spread, 1.0)


def _glorot(rng: np.random.Generator, rows: int, columns: int) -> AnyArray:
    edge = np.sqrt(6 / (rows + columns))
    return rng.uniform(-edge, edge, (rows, columns))
