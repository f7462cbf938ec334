"""Services that classify people in a graph: who is linked to whom can be read off their answers."""

from dalenius.models.graphs.audit import LinkAudit, link_audit
from dalenius.models.graphs.graph import Graph, block_graph, read_graph
from dalenius.models.graphs.injection import STRATEGIES, inject
from dalenius.models.graphs.links import LinkScores, found_links
from dalenius.models.graphs.module import Module, take_in
from dalenius.models.graphs.network import GraphNetwork, train_network
from dalenius.models.graphs.offer import Offer, rightly
from dalenius.models.graphs.rivals import link_teller, similar_nodes
from dalenius.models.graphs.service import GraphService, Noise
from dalenius.models.graphs.stealth import stealth

__all__ = [
    "STRATEGIES",
    "Graph",
    "GraphNetwork",
    "GraphService",
    "LinkAudit",
    "LinkScores",
    "Module",
    "Noise",
    "Offer",
    "block_graph",
    "found_links",
    "inject",
    "link_audit",
    "link_teller",
    "read_graph",
    "rightly",
    "similar_nodes",
    "stealth",
    "take_in",
    "train_network",
]
