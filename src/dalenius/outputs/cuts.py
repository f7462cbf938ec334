"""Thin cuts of a graph: sets of nodes that fewer than a limit tie to the rest.

Cells of two outputs are nodes, the people they share are ties. Whoever adds and subtracts cells chooses a set of nodes;
what is left is about the people on the ties that this set cuts. Nodes that at least the limit tie together, by whatever
ways, are never cut apart. They are found by ordering the nodes by how strongly each is tied to those before it: two
neighbours in that order are tied by at least what ties the later one to all before it (Nagamochi and Ibaraki 1992;
Stoer and Wagner 1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dalenius.outputs.query import Bools, Floats, Ints

MOST_NODES = 2000
"""Largest graph that is looked at."""
MOST_STEPS = 400_000
"""Nodes that are put in order, all rounds together."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """What was found: the part of each node, thin cuts as masks over the nodes, whether all were looked for."""

    part: Ints
    thin: list[Bools]
    complete: bool = True


def thin_cuts(ties: Floats, limit: float, *, stop: bool = True) -> Cuts:
    """Cuts of more than 0 and less than ``limit``, one for each pair of parts that is found to have one.

    Without ``stop`` nodes are only brought together, until no more can be.

    Examples
    --------
    >>> ties = np.array([[0, 9, 1, 0], [9, 0, 0, 0], [1, 0, 0, 8], [0, 0, 8, 0]], float)
    >>> found = thin_cuts(ties, 5)
    >>> [np.flatnonzero(mask).tolist() for mask in found.thin], found.part.tolist()
    ([[2, 3]], [0, 0, 1, 1])
    >>> thin_cuts(ties, 1).thin
    []
    """
    ties = np.array(ties, np.float64)
    np.fill_diagonal(ties, 0.0)
    members = np.eye(len(ties), dtype=np.bool_)
    ties, members = _joined(ties, members, _pairs(ties, limit))
    thin: list[Bools] = []
    steps = 0
    while len(ties) > 1 and steps < MOST_STEPS:
        order, held = _ordered(ties)
        steps += len(order)
        last = float(held[-1])
        if 0 < last < limit and stop:
            thin.append(members[order[-1]])
        close = np.flatnonzero(held[1:] >= limit) + 1
        if not stop and not len(close):
            break
        # The cut round the last node is the thinnest that parts it from the one before: that pair is settled.
        pairs = [(order[i - 1], order[i]) for i in close] or [(order[-2], order[-1])]
        ties, members = _joined(ties, members, np.array(pairs))
    part = np.zeros(members.shape[1], np.int64)
    for i, own in enumerate(members):
        part[own] = i
    return Cuts(part if not thin else _parts(thin, members.shape[1]), thin, len(ties) <= 1 or not stop)


def _pairs(ties: Floats, limit: float) -> Ints:
    return np.argwhere(np.triu(ties >= limit))


def _joined(ties: Floats, members: Bools, pairs: Ints) -> tuple[Floats, Bools]:
    """The graph with the nodes of each pair made one."""
    if not len(pairs):
        return ties, members
    ends = (pairs[:, 0], pairs[:, 1])
    number, part = connected_components(sp.coo_matrix((np.ones(len(pairs)), ends), shape=ties.shape), False)
    rows = np.zeros((number, len(ties)))
    np.add.at(rows, part, ties)
    whole = np.zeros((number, number))
    np.add.at(whole.T, part, rows.T)
    np.fill_diagonal(whole, 0.0)
    merged = np.zeros((number, members.shape[1]), np.bool_)
    np.logical_or.at(merged, part, members)
    return whole, merged


def _ordered(ties: Floats) -> tuple[Ints, Floats]:
    """Nodes in the order of their ties to those before, and the strength of these."""
    size = len(ties)
    order, held = np.zeros(size, np.int64), np.zeros(size)
    reach = ties[0].copy()
    reach[0] = -np.inf
    for i in range(1, size):
        node = int(np.argmax(reach))
        order[i], held[i] = node, reach[node]
        reach += ties[node]
        reach[node] = -np.inf
    return order, held


def _parts(thin: list[Bools], size: int) -> Ints:
    """Nodes that no thin cut tells apart."""
    marks = np.array(thin).reshape(len(thin), size)
    return np.asarray(np.unique(marks, axis=1, return_inverse=True)[1], np.int64).ravel()
