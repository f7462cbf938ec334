"""People and who is linked to whom: the graph that a service answers from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError, counted, names
from dalenius.data import read
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.graph import pair_numbers, pairs_of


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph without loops, with what is known of each node.

    Attributes
    ----------
    edges
        Two columns of node numbers, the smaller first; every pair once.
    features
        One row a node; dense or SciPy's sparse rows, as the service takes them from its callers.
    labels
        Class of each node, 0 and up; None where there is none.
    names
        What the columns of features are called.

    Examples
    --------
    >>> Graph.of([(0, 1), (1, 2)], np.eye(3))
    Graph of 3 nodes, 2 edges and 3 features
    """

    edges: IntArray
    features: Any
    labels: IntArray | None = None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    starts: IntArray = field(init=False, default_factory=lambda: np.zeros(1, np.int64))
    ends: IntArray = field(init=False, default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        degrees = np.bincount(both[:, 0], minlength=self.nodes)
        object.__setattr__(self, "starts", np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64))
        object.__setattr__(self, "ends", np.ascontiguousarray(both[:, 1]))

    @classmethod
    def of(
        cls, edges: AnyArray, features: Any, labels: Sequence[int] | AnyArray | None = None, *, strict: bool = False,
        names: Sequence[str] = (),
    ) -> Graph:  # fmt: skip
        """Make a graph; what does not belong in one is left out with a warning, or is an error if ``strict``.

        That are loops, edges named twice, and some edges in both directions while others are given in one.
        """
        held = features.tocsr() if sp.issparse(features) else np.asarray(features, np.float64)
        if held.ndim != 2:
            raise DataError("features are one row a node and one column a feature")
        values = held.data if sp.issparse(held) else held
        if not np.isfinite(values).all():
            raise DataError(
                f"{counted(int((~np.isfinite(values)).sum()), 'feature')} of nodes missing or infinite; fill them in"
            )
        nodes = held.shape[0]
        given = np.asarray(edges, np.int64).reshape(-1, 2)
        notes, faults, distinct = _simple(given)
        if strict and faults:
            raise DataError("; ".join(faults))
        if notes:
            warnings.warn("; ".join(notes), stacklevel=2)
        pair_numbers(distinct, nodes)  # says which nodes do not exist
        own = None if labels is None else np.asarray(labels)
        if own is not None and (
            len(own) != nodes or own.dtype.kind not in "iub" or (len(own) and own.min() < 0)
        ):
            raise DataError(f"labels are classes 0, 1, …, one for each of {nodes} nodes")
        return cls(distinct, held, None if own is None else own.astype(np.int64), tuple(names), tuple(notes))

    def __repr__(self) -> str:
        return f"Graph of {self.nodes} nodes, {len(self.edges)} edges and {self.width} features"

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.features.shape[0])

    @property
    def width(self) -> int:
        """How many features a node has."""
        return int(self.features.shape[1])

    @property
    def degrees(self) -> IntArray:
        """Edges of each node."""
        return np.diff(self.starts)

    def row(self, node: int) -> AnyArray:
        """Features of one node."""
        held = self.features[node]
        return held.toarray().ravel() if sp.issparse(held) else np.asarray(held)

    def rows(self, nodes: AnyArray) -> AnyArray:
        """Features of some nodes, dense."""
        held = self.features[nodes]
        return held.toarray() if sp.issparse(held) else np.asarray(held)

    def neighbours(self, node: int) -> IntArray:
        """Nodes linked to one."""
        return self.ends[self.starts[node] : self.starts[node + 1]]

    def linked(self, nodes: AnyArray) -> AnyArray:
        """Which of some nodes are linked to each other: a square of yes and no."""
        place = np.full(self.nodes, -1)
        place[nodes] = np.arange(len(nodes))
        inside = place[self.edges]
        inside = inside[(inside >= 0).all(axis=1)]
        links = np.zeros((len(nodes), len(nodes)), bool)
        links[inside[:, 0], inside[:, 1]] = links[inside[:, 1], inside[:, 0]] = True
        return links

    def with_edges(self, edges: AnyArray) -> Graph:
        """The same nodes, other edges."""
        return Graph(
            np.asarray(edges, np.int64).reshape(-1, 2), self.features, self.labels, self.names, self.notes
        )

    def with_node(self, features: AnyArray, linked_to: int) -> Graph:
        """One more node with one edge."""
        row = np.asarray(features, np.float64).reshape(1, -1)
        held = self.features
        more = sp.vstack([held, sp.csr_matrix(row)], "csr") if sp.issparse(held) else np.vstack([held, row])
        labels = None if self.labels is None else np.append(self.labels, 0)
        edges = np.vstack([self.edges, [[linked_to, self.nodes]]])
        return Graph(edges, more, labels, self.names, self.notes)


def _simple(given: IntArray) -> tuple[list[str], list[str], IntArray]:
    """Notes on what does not belong in a simple graph, the same as faults with what to do, and each edge once."""
    loops = given[:, 0] == given[:, 1]
    arrows, again = np.unique(given[~loops], axis=0, return_counts=True)
    distinct, ways = np.unique(np.sort(arrows, axis=1), axis=0, return_counts=True)
    own, more, both = int(loops.sum()), int((again - 1).sum()), int((ways == 2).sum())
    found = [
        (own, f"{counted(own, 'edge')} from a node to itself", "left out", "leave them out"),
        (more, f"{counted(more, 'edge')} named more than once", "counted once", "name each edge once"),
        (both if both < len(distinct) else 0, f"{counted(both, 'edge')} given in both directions and others in one",
         "counted once", "give each edge once, or all of them in both directions"),
    ]  # fmt: skip
    told = [(text, done, remedy) for number, text, done, remedy in found if number]
    return [f"{t} {done}" for t, done, _ in told], [f"{t}; {remedy}" for t, _, remedy in told], distinct


def block_graph(
    nodes: int, seed: int, *, inside: float = 0.02, between: float = 0.004, features: int = 64
) -> Graph:
    """A made-up graph: two groups, links mostly within, yes-or-no features whose rates differ by group.

    Examples
    --------
    >>> block_graph(200, 1)
    Graph of 200 nodes, 221 edges and 64 features
    """
    rng = np.random.default_rng(seed)
    labels = (np.arange(nodes) >= nodes // 2).astype(np.int64)
    pairs = pairs_of(np.arange(nodes * (nodes - 1) // 2), nodes)
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    edges = pairs[rng.random(len(pairs)) < np.where(same, inside, between)]
    rates = rng.uniform(0.05, 0.35, (2, features))
    held = (rng.random((nodes, features)) < rates[labels]).astype(np.float64)
    return Graph.of(edges, held, labels)


def read_graph(
    edges: str | Path, nodes: str | Path, *, identifier: str, label: str | None, strict: bool = True
) -> Graph:
    """Read a graph from two files: edges as two columns of identifiers, nodes with their features.

    Numbers and yes-or-no columns are features as they are; every category becomes a feature of its own. A node that is
    listed twice, an edge from a node to itself and edges of which only some are given in both directions are errors;
    with ``strict=False`` edges are mended with a warning.
    """
    links, people = read(edges).to_frame("polars"), read(nodes).to_frame("polars")
    missing = [c for c in (identifier, label) if c is not None and c not in people.columns]
    if missing:
        raise DataError(f"{Path(nodes).name} has no column {names(missing)}; it has {names(people.columns)}")
    if links.width < 2:
        raise DataError(f"{Path(edges).name} needs two columns of identifiers, from and to")
    if links.is_empty():
        raise DataError(f"{Path(edges).name} has no edges: there is nothing that could be found")
    if people[identifier].null_count():
        raise DataError(
            f"column {identifier!r} of {Path(nodes).name}: nodes without an identifier; give them one"
        )
    if people[identifier].cast(pl.String).is_duplicated().any():
        raise DataError(
            f"column {identifier!r} of {Path(nodes).name} lists a node more than once; keep one row for each"
        )
    known = {str(x): i for i, x in enumerate(people[identifier])}
    ends = [[known.get(str(x), -1) for x in links[:, i]] for i in (0, 1)]
    pairs = np.array(ends, np.int64).T
    unknown = int((pairs < 0).any(axis=1).sum())
    if unknown:
        raise DataError(
            f"{Path(edges).name}: {counted(unknown, 'edge')} to nodes that are not in {Path(nodes).name}; "
            "add the nodes or leave the edges out"
        )
    labels = None
    if label is not None:
        if people[label].null_count():
            raise DataError(
                f"column {label!r}: {people[label].null_count()} nodes have no class; fill them in"
            )
        labels = people[label].cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
        if labels.max(initial=0) == 0:
            raise DataError(
                f"column {label!r} of {Path(nodes).name} has one class; a model needs two at least"
            )
    columns = [c for c in people.columns if c not in (identifier, label)]
    if not columns:
        raise DataError(
            f"{Path(nodes).name} has no features beside {names([identifier, *([label] if label else [])])}"
        )
    held, called = _features(people.select(columns))
    try:
        return Graph.of(pairs, held, labels, strict=strict, names=called)
    except DataError as fault:
        raise DataError(f"columns {names(links.columns[:2])} of {Path(edges).name}: {fault}") from None


def _features(people: pl.DataFrame) -> tuple[AnyArray, list[str]]:
    """Numbers as they are, a column of 0 and 1 for every category; what is missing is an error that says where."""
    gaps = [c for c in people.columns if people[c].null_count()]
    if gaps:
        raise DataError(f"column {names(gaps)}: nodes without a value; fill them in or leave the column out")
    texts = [c for c in people.columns if not (people[c].dtype.is_numeric() or people[c].dtype == pl.Boolean)]
    wide = people.to_dummies(texts) if texts else people
    return wide.cast(pl.Float64).to_numpy(), wide.columns
