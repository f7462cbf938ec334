"""Options of `dalenius models graph`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.models.graphs import Graph, read_graph

Edges = Annotated[Path, typer.Argument(help="Links: two columns of identifiers, one row a link.")]
Nodes = Annotated[Path, typer.Argument(help="People: identifier, class and features, one row each.")]
Identifier = Annotated[str, typer.Option("--id", help="Column of the people's identifiers.")]
Class = Annotated[str, typer.Option("--class", help="Column of the class that the service predicts.")]
FittedOn = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--fitted-on", help="Links and people of another graph that the model is fitted on."),
]
Norm = Annotated[str, typer.Option("--norm", help="How neighbours are weighed: rw, sym or first_order.")]
Layers = Annotated[
    int, typer.Option("--layers", help="How many steps away a layer of the model sees.", min=1)
]
Answers = Annotated[
    str, typer.Option("--answers", help="What callers see: logits, softmax, rounded or label.")
]
Digits = Annotated[int, typer.Option("--digits", help="Decimals of rounded answers.", min=0)]
People = Annotated[int, typer.Option("--asked", help="People the attacker asks about.", min=2)]
Fewest = Annotated[
    int, typer.Option("--fewest-links", help="Ask only about people with so many links.", min=0)
]
Most = Annotated[
    int | None,
    typer.Option("--most-links", help="Ask only about people with no more links than these.", min=0),
]
GraphEpsilon = Annotated[
    float | None,
    typer.Option(
        "--graph-epsilon", help="Serve a private graph, drawn anew at every change: ε for one link."
    ),
]

Must = Annotated[
    list[str] | None, typer.Option("--must", help="A limit (such as 'model-links <= 0.2'); repeatable.")
]


def graph_of(edges: Path, nodes: Path, identifier: str, label: str) -> Graph:
    """The graph of two files."""
    return read_graph(edges, nodes, identifier=identifier, label=label)
