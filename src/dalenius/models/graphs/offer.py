"""`Offer`: how a service on a graph is offered, the same on the command line and in plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from dalenius.core.option import Option, check_fields
from dalenius.core.random import Seed
from dalenius.models.graphs.graph import Graph
from dalenius.models.graphs.network import Norm, train_network
from dalenius.models.graphs.service import GraphService, Noise, Output


@dataclass(frozen=True)
class Offer:
    """What is fitted, what callers see, and what holds them back.

    Examples
    --------
    >>> from dalenius.models.graphs import block_graph
    >>> service = Offer(answers="label", epochs=20).service(block_graph(200, 1))
    >>> service.output, service.epsilon
    ('label', None)
    """

    norm: Annotated[Norm, Option(title="How neighbours are weighed")] = "first_order"
    layers: Annotated[int, Option(at_least=1, title="Steps that the model sees")] = 2
    answers: Annotated[Output, Option(title="What callers see")] = "logits"
    digits: Annotated[int, Option(at_least=0, title="Decimals of rounded answers")] = 2
    graph_epsilon: Annotated[float | None, Option(above=0, title="ε of a link, a release")] = None
    most_connects: Annotated[int | None, Option(at_least=0, title="New nodes at most")] = None
    epochs: Annotated[int, Option(at_least=1, title="Rounds of fitting")] = 200

    def __post_init__(self) -> None:
        check_fields("graph-service", self)

    def service(self, served: Graph, fitted: Graph | None = None, seed: Seed = 0) -> GraphService:
        """The service on a graph; its model is fitted on another one, or on the same.

        A model that is fitted on the graph it serves tells of its links too: it sees a noisy graph, and that is a
        release that counts.
        """
        noise = None if self.graph_epsilon is None else Noise(self.graph_epsilon)
        own = fitted is None or fitted is served
        shown = noise.release(served, None) if noise is not None and own else (fitted or served)
        network = train_network(shown, norm=self.norm, layers=self.layers, epochs=self.epochs, seed=seed)
        return GraphService(
            network, served, self.answers, self.digits, noise, most_connects=self.most_connects,
            before=int(noise is not None and own),
        )  # fmt: skip

    def told(self) -> dict[str, Any]:
        """Everything about the service that callers may know."""
        return {
            "answers": self.answers, **({"digits": self.digits} if self.answers == "rounded" else {}),
            "norm": self.norm, "layers": self.layers, "graph_epsilon": self.graph_epsilon,
            "most_connects": self.most_connects,
        }  # fmt: skip


def rightly(service: GraphService, served: Graph) -> float:
    """Share of the people whom the model puts into their class."""
    assert served.labels is not None
    return float((service.model.scores(served).argmax(axis=1) == served.labels).mean())
