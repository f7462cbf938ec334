"""Users' own PyTorch modules behind a service, where PyTorch Geometric is installed (an environment of its own)."""

from __future__ import annotations

import importlib.util
import itertools
import sys

import numpy as np
import pytest

from dalenius.core.errors import DataError, MissingExtraError, OptionError
from dalenius.models.graphs import (
    GraphNetwork,
    GraphService,
    Module,
    block_graph,
    found_links,
    inject,
    take_in,
)

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch_geometric") is None,
    reason="PyTorch Geometric is not installed: pip install 'dalenius[graphs]'",
)
GRAPH = block_graph(300, 1)


def module(kind="GCNConv", hidden=8, layers=2, **options):
    import torch
    from torch_geometric import nn

    class Users(torch.nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [GRAPH.width, *[hidden] * (layers - 1), 2]
            self.convs = torch.nn.ModuleList(
                [getattr(nn, kind)(a, b, **options) for a, b in itertools.pairwise(sizes)]
            )

        def forward(self, x, edge_index):
            for i, conv in enumerate(self.convs):
                x = conv(x, edge_index)
                if i + 1 < len(self.convs):
                    x = torch.nn.functional.dropout(x.relu(), 0.5, training=self.training)
            return x

    torch.manual_seed(1)
    held = Users()
    with torch.no_grad():
        for conv in held.convs:
            if getattr(conv, "bias", None) is not None:
                conv.bias.normal_()
    return held


@needs_torch
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_our_forward_pass_is_theirs(layers):
    held = module(layers=layers)
    made = take_in(held, GRAPH, strict=True)
    assert isinstance(made, GraphNetwork)
    theirs = Module(held).scores(GRAPH)
    assert np.abs(made.scores(GRAPH) - theirs).max() <= 1e-5 * max(1, np.abs(theirs).max())
    assert held.training  # it is left as it was


@needs_torch
def test_changes_near_a_new_node_are_theirs():
    held, ids = module(), np.arange(40)
    found = [
        inject(GraphService(model, GRAPH), ids, "max_attr").scores
        for model in (take_in(held, GRAPH), Module(held))
    ]
    assert np.abs(found[0] - found[1]).max() < 1e-4
    assert found_links(inject(GraphService(Module(held), GRAPH), ids, "max_attr"), GRAPH).f1 > 0.5


@needs_torch
@pytest.mark.parametrize(
    ("kind", "options"), [("SAGEConv", {}), ("GCNConv", {"improved": True}), ("GATConv", {})]
)
def test_other_layers_are_served_as_they_are(kind, options):
    held = module(kind, **options)
    made = take_in(held, GRAPH)
    assert isinstance(made, Module)
    with pytest.raises(OptionError, match="more than GCNConv"):
        take_in(held, GRAPH, strict=True)
    service = GraphService(made, GRAPH)
    before = service.predict([3])
    service.connect(GRAPH.row(5), 3)
    assert (service.predict([3]) != before).any()


@needs_torch
def test_layers_used_in_another_way_are_not_taken_for_ours():
    """The weights are those of plain layers; what is done between them is not, and only the scores tell."""
    import torch

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module()

        def forward(self, x, edge_index):
            return self.inner(x, edge_index) * 2

    assert isinstance(take_in(Odd(), GRAPH), Module)


@needs_torch
def test_features_are_prepared_as_the_service_does():
    held = module()
    scaled = Module(held, prepare=lambda x: (x - 0.5) * 2)
    assert np.abs(scaled.scores(GRAPH) - Module(held).scores(GRAPH)).max() > 0.01
    with pytest.raises(DataError, match="features a node"):
        Module(held).scores(block_graph(50, 1, features=GRAPH.width + 1))


def test_the_extra_is_named_where_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"dalenius\[graphs\]"):
        Module(object()).scores(GRAPH)
