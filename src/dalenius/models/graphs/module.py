"""A user's own PyTorch module behind a service: as it is, or as weights of ours where both give the same scores.

PyTorch and PyTorch Geometric (extra ``graphs``) are needed for nothing else: they come with the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DataError, MissingExtraError, OptionError
from dalenius.data.vector import AnyArray
from dalenius.models.graphs.graph import Graph
from dalenius.models.graphs.network import GraphNetwork, Scores

CLOSE = 1e-5
"""How far scores of the module and of the weights taken out of it may lie apart, as a share of the largest."""


@dataclass(frozen=True, eq=False)
class Module:
    """A module that is called with features and edges, as those of PyTorch Geometric are.

    Parameters
    ----------
    module
        ``module(x, edge_index)`` gives one row of scores a node, before softmax. It is asked as it is used: nothing is
        dropped at random.
    prepare
        What happens to raw features first, such as a scaler's ``transform``; nothing by default.
    """

    module: Any
    prepare: Callable[[AnyArray], AnyArray] | None = None

    def scores(self, graph: Graph) -> AnyArray:
        """Scores of every node."""
        torch = _torch()
        held = np.asarray(
            graph.features.todense() if sp.issparse(graph.features) else graph.features, np.float64
        )
        ready = held if self.prepare is None else np.asarray(self.prepare(held))
        rows = np.repeat(np.arange(graph.nodes), graph.degrees)
        first = next(iter(self.module.parameters()), None)
        x = torch.as_tensor(ready, dtype=torch.float32 if first is None else first.dtype)
        edges = torch.as_tensor(np.stack([rows, graph.ends]), dtype=torch.long)
        learning = self.module.training
        self.module.eval()
        try:
            with torch.no_grad():
                found = self.module(x, edges)
        except (RuntimeError, TypeError, ValueError) as error:
            raise DataError(
                f"the module cannot be asked ({type(error).__name__}): it is called with {graph.width} features a node "
                "and with edges in two rows, both ways"
            ) from None
        finally:
            self.module.train(learning)
        scores = np.asarray(found.detach().numpy() if hasattr(found, "detach") else found, np.float64)
        if scores.ndim != 2 or len(scores) != graph.nodes:
            raise DataError("the module must give one row of scores a node")
        return scores


def take_in(
    module: Any, graph: Graph, prepare: Callable[[AnyArray], AnyArray] | None = None, *, strict: bool = False
) -> Scores:
    """A module to be served: weights of ours where they give the same scores on this graph, else the module itself.

    A `GraphNetwork` is attacked many times faster, because only rows near a change are computed again. It is made of
    modules whose layers are all ``GCNConv``, and taken only if no score is off by more than 10⁻⁵.

    Parameters
    ----------
    strict
        An error instead of the module itself.
    """
    own = Module(module, prepare)
    made = _weights(module) if prepare is None else None
    if made is not None:
        theirs, ours = own.scores(graph), made.scores(graph)
        if ours.shape == theirs.shape and np.abs(ours - theirs).max() <= CLOSE * max(
            1.0, np.abs(theirs).max()
        ):
            return made
    if strict:
        raise OptionError(
            "the module does more than GCNConv layers with ReLU between them; serve it as it is (strict=False)"
        )
    return own


def _weights(module: Any) -> GraphNetwork | None:
    """The layers of a module of GCNConv, in the order they are declared; None where it has others with weights."""
    try:
        from torch_geometric.nn import GCNConv  # noqa: PLC0415 (an extra)
    except ImportError:
        return None
    layers = [part for part in module.modules() if isinstance(part, GCNConv)]
    plain = all(
        layer.normalize and layer.add_self_loops and not layer.improved and layer.bias is not None
        for layer in layers
    )
    whole = sum(p.numel() for layer in layers for p in layer.parameters())
    if not layers or not plain or whole != sum(p.numel() for p in module.parameters()):
        return None
    return GraphNetwork(
        tuple(np.asarray(layer.lin.weight.detach().numpy().T, np.float64) for layer in layers),
        tuple(np.asarray(layer.bias.detach().numpy(), np.float64) for layer in layers),
        "sym",
    )


def _torch() -> Any:
    try:
        import torch  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("torch", "graphs", "ask a PyTorch module") from None
    return torch
