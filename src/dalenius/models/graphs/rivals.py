"""Other ways to links: influence of features (Wu et al. 2022) and plain similarity (He et al. 2021)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray
from dalenius.models.graphs.links import LinkScores
from dalenius.models.graphs.service import GraphService

DELTA = 1e-4
Metric = Literal[
    "correlation", "cosine", "euclidean", "chebyshev", "braycurtis", "canberra", "cityblock", "sqeuclidean"
]


def link_teller(service: GraphService, ids: AnyArray, *, delta: float = DELTA) -> LinkScores:
    """Scale the features of one node at a time a little and see whose scores move: needs the right to change features.

    Examples
    --------
    >>> from dalenius.models.graphs import block_graph, found_links, train_network
    >>> graph = block_graph(200, 1)
    >>> service = GraphService(train_network(graph, norm="rw", epochs=20), graph)
    >>> found_links(link_teller(service, np.arange(50)), graph).f1 > 0.5
    True
    """
    if not delta > 0:
        raise OptionError(f"delta must be above 0, got {delta}")
    asked = np.asarray(ids, np.int64)
    before = service.predict(asked)
    moved = np.empty((len(asked), len(asked)))
    for i, node in enumerate(asked.tolist()):
        after = service.probe(service.graph.row(node) * (1 + delta), node, asked)
        moved[i] = np.sqrt((((after - before) / delta) ** 2).sum(axis=1))
    return LinkScores("changed features", asked, asked, moved)


def similar_nodes(
    service: GraphService,
    ids: AnyArray,
    *,
    on: Literal["scores", "features"] = "scores",
    metric: Metric = "correlation",
) -> LinkScores:
    """Call nodes linked that look alike to the service, or in their features: no change of anything is needed.

    Examples
    --------
    >>> from dalenius.models.graphs import block_graph, train_network
    >>> graph = block_graph(200, 1)
    >>> service = GraphService(train_network(graph, epochs=20), graph)
    >>> similar_nodes(service, np.arange(10)).scores.shape
    (10, 10)
    """
    from scipy.spatial.distance import cdist  # noqa: PLC0415 (slow to load, and only here)

    if metric not in get_args(Metric):
        raise OptionError(f"unknown metric {metric!r}; there are {', '.join(get_args(Metric))}")
    asked = np.asarray(ids, np.int64)
    held = service.predict(asked) if on == "scores" else service.graph.rows(asked)
    if metric == "correlation":
        held = held - held.mean(axis=0)
    far = np.nan_to_num(cdist(held, held, metric), nan=np.inf)
    finite = far[np.isfinite(far)]
    top = float(finite.max()) if len(finite) else 0.0
    return LinkScores(f"alike in {on}", asked, asked, np.where(np.isfinite(far), top - far, 0.0) + 1e-12)
