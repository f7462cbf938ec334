"""Node injection: add one node beside a person and see whose scores move (Zari, Parra-Arnau, Unsal and Önen 2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.graphs.links import LinkScores
from dalenius.models.graphs.service import GraphService

STEP = 1e-4
"""How far the features of the target are moved by the strategy that hides best."""


class Known:
    """What the attacker knows of the nodes he looks at: what the service says, and their features if he has them."""

    def __init__(self, service: GraphService, ids: IntArray) -> None:
        self.ids = ids
        self.answers = service.predict(ids)
        self.classes = self.answers.argmax(axis=1)
        self.features = service.graph.rows(ids)
        self.place = {int(node): i for i, node in enumerate(ids)}

    def others(self, target: int) -> IntArray:
        """Places of nodes of another class than the target; all others where there is none."""
        own = self.classes[self.place[target]]
        found = np.flatnonzero(self.classes != own)
        return found if len(found) else np.flatnonzero(self.ids != target)

    def row(self, target: int) -> AnyArray:
        """Features of the target."""
        held: AnyArray = self.features[self.place[target]]
        return held

    def typical(self, target: int) -> AnyArray:
        """Features of the surest node of another class; of the least sure one where all are of one class."""
        others, own = self.others(target), self.classes[self.place[target]]
        if self.classes[others[0]] != own:
            return np.asarray(self.features[others[np.argmax(self.answers[others].max(axis=1))]])
        return np.asarray(self.features[others[np.argmin(self.answers[others, own])]])


STRATEGIES: Mapping[str, Callable[[Known, int], AnyArray]] = {
    "max_attr": lambda known, t: known.features[known.others(t)].max(axis=0),
    "all_ones": lambda known, _: np.ones(known.features.shape[1]),
    "class_rep": lambda known, t: known.typical(t),
    "identity": lambda known, t: known.row(t),
    "influence": lambda known, t: known.row(t) + STEP,
    "all_zeros": lambda known, _: np.zeros(known.features.shape[1]),
}
"""What the new node looks like, in the features that callers send."""
BLIND = ("all_ones", "all_zeros")
"""Strategies for which nobody's features need be known."""


def inject(
    service: GraphService, ids: AnyArray, strategy: str = "max_attr", *, targets: AnyArray | None = None,
    persistent: bool = False, patient: bool = False,
) -> LinkScores:  # fmt: skip
    """Attack a service: one new node for every target, and how far the scores of all others move.

    Parameters
    ----------
    ids
        Nodes that the attacker asks about.
    targets
        Those of them whose links he wants; all of them by default.
    persistent
        Leave the new nodes where they are.
    patient
        Ask often enough that a service which lets new nodes wait has taken them in.

    Examples
    --------
    >>> from dalenius.models.graphs import block_graph, found_links, train_network
    >>> graph = block_graph(200, 1)
    >>> service = GraphService(train_network(graph, norm="rw", epochs=20), graph)
    >>> scores = inject(service, np.arange(50))
    >>> found_links(scores, graph, threshold="oracle").f1
    1.0
    """
    if strategy not in STRATEGIES:
        raise OptionError(f"unknown strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    asked = np.asarray(ids, np.int64)
    wanted = asked if targets is None else np.asarray(targets, np.int64)
    if len(asked) < 2 or not np.isin(wanted, asked).all():
        raise OptionError("ids must be two or more nodes, and every target one of them")
    known = Known(service, asked)
    moved = np.zeros((len(wanted), len(asked)))
    for i, target in enumerate(wanted.tolist()):
        before = service.predict(asked) if service.defence is not None or persistent else known.answers
        new = service.connect(STRATEGIES[strategy](known, target), target)
        for _ in range(service.delay if patient else 0):
            service.predict(asked)
        moved[i] = np.abs(service.predict(asked) - before).sum(axis=1)
        if not persistent:
            service.disconnect(new)
    return LinkScores(f"new node, {strategy}", wanted, asked, moved)
