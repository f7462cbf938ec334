"""What changes in the scores of some nodes when one node joins, or one node's features change: only nearby rows.

The rest of the graph is never looked at, and a row that cannot change is returned to the last bit (Zari et al. 2024:
two averaging layers move nobody but the target's own neighbours).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.graphs.graph import Graph
from dalenius.models.graphs.network import GraphNetwork, Weighing


@dataclass(frozen=True, eq=False)
class Clean:
    """A graph as a network sees it, layer by layer: kept so that a change costs little."""

    network: GraphNetwork
    graph: Graph
    inputs: tuple[AnyArray, ...]
    """What each layer mixes, one row a node."""
    scores: AnyArray
    weighing: Weighing

    @classmethod
    def of(cls, network: GraphNetwork, graph: Graph) -> Clean:
        """Run the network once over the whole graph."""
        states = network.states(graph)
        inputs = [network.first(graph.features)]
        inputs += [h @ w for h, w in zip(states[:-1], network.weights[1:], strict=True)]
        return cls(network, graph, tuple(inputs), states[-1], Weighing.of(graph.degrees, network.norm))


def with_node(clean: Clean, features: AnyArray, target: int, wanted: IntArray) -> AnyArray:
    """Scores of some nodes after one node joined with one edge to the target."""
    new = clean.graph.nodes
    degrees = np.append(clean.graph.degrees, 1)
    degrees[target] += 1
    moved = (
        {target, new}
        if clean.network.norm == "rw"
        else {target, new, *clean.graph.neighbours(target).tolist()}
    )
    return _scores(clean, _Patch(new, features, target, degrees, moved), wanted)


def with_features(clean: Clean, features: AnyArray, node: int, wanted: IntArray) -> AnyArray:
    """Scores of some nodes after one node's features were changed."""
    return _scores(clean, _Patch(node, features, None, clean.graph.degrees, set()), wanted)


@dataclass(frozen=True, eq=False)
class _Patch:
    """A change: new features of one node, an edge from the last node to a target, rows whose weights are others."""

    node: int
    features: AnyArray
    target: int | None
    degrees: IntArray
    moved: set[int]


def _scores(clean: Clean, patch: _Patch, wanted: IntArray) -> AnyArray:
    network, nodes = clean.network, len(patch.degrees)
    weighing = Weighing.of(patch.degrees, network.norm) if patch.target is not None else clean.weighing
    rows, values = np.array([patch.node]), network.first(np.asarray(patch.features, np.float64)[None, :])
    for layer in range(network.layers):
        last = layer + 1 == network.layers
        near = _touched(clean.graph, rows, patch, nodes)
        touched = np.unique(wanted[near[wanted]]) if last else np.flatnonzero(near)
        mixed = _mixed(clean, layer, touched, (rows, values), patch, weighing) + network.biases[layer]
        rows, values = touched, mixed if last else np.maximum(mixed, 0.0) @ network.weights[layer + 1]
    scores = np.empty((len(wanted), values.shape[1]))
    old = wanted < clean.graph.nodes
    scores[old] = clean.scores[wanted[old]]
    at = np.searchsorted(rows, wanted).clip(max=max(len(rows) - 1, 0))
    own = rows[at] == wanted if len(rows) else np.zeros(len(wanted), bool)
    scores[own] = values[at[own]]
    return scores


def _touched(graph: Graph, rows: IntArray, patch: _Patch, nodes: int) -> AnyArray:
    """Which rows of the next layer can change: these nodes, their neighbours, and rows whose weights are others."""
    near = np.zeros(nodes, bool)  # marks, where a set would have to be sorted
    near[rows] = True
    if patch.target is not None:
        near[[patch.target, nodes - 1]] |= near[[nodes - 1, patch.target]]
    near[graph.ends[ragged(graph.starts, rows[rows < graph.nodes])[0]]] = True
    near[list(patch.moved)] = True
    return near


def _mixed(
    clean: Clean,
    layer: int,
    rows: IntArray,
    fresh: tuple[IntArray, AnyArray],
    patch: _Patch,
    weighing: Weighing,
) -> AnyArray:
    """One layer for some rows: own part and neighbours' part, the changed rows in the place of the old."""
    graph, nodes = clean.graph, len(patch.degrees)
    z = np.empty((nodes, clean.inputs[layer].shape[1]))
    z[: graph.nodes] = clean.inputs[layer]
    z[fresh[0]] = fresh[1]
    known = rows[rows < graph.nodes]  # ascending: a node that joined is the last row
    ends = graph.ends[ragged(graph.starts, known)[0]]
    lengths = np.zeros(len(rows), np.int64)
    lengths[: len(known)] = graph.degrees[known]
    picked = sp.csr_matrix(
        (weighing.right[ends], ends, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(rows), nodes)
    )
    sums = picked @ z
    if patch.target is not None:
        for row, other in ((patch.target, nodes - 1), (nodes - 1, patch.target)):
            sums[rows == row] += weighing.right[other] * z[other]
    mixed: AnyArray = weighing.own[rows, None] * z[rows] + weighing.left[rows, None] * sums
    return mixed


def ragged(starts: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Places of all neighbours of some rows, and for each place which of the rows it belongs to.

    Examples
    --------
    >>> places, owner = ragged(np.array([0, 2, 2, 5]), np.array([0, 2]))
    >>> places.tolist(), owner.tolist()
    ([0, 1, 2, 3, 4], [0, 0, 1, 1, 1])
    """
    lengths = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    before = np.cumsum(lengths) - lengths
    return starts[rows][owner] + np.arange(int(lengths.sum())) - before[owner], owner
