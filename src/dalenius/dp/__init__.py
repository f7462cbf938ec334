"""Differential privacy: budgets, noise from OpenDP's samplers, repair of noisy tables, and audits."""

from dalenius.dp.accounting import delta_of_rho, epsilon_of_rho, rho_of_epsilon
from dalenius.dp.audit import Audit, audit, compare
from dalenius.dp.budget import Budget, Spend
from dalenius.dp.graph import edge_rand, lapgraph, lapgraph_edge_retention
from dalenius.dp.ledger import Ledger, ledger_beside, ledger_path, open_ledger
from dalenius.dp.noise import add_gaussian, add_laplace, choose, draw_geometric
from dalenius.dp.queries import count, histogram, mean, quantile, sum, table
from dalenius.dp.regression import predict, regress
from dalenius.dp.repair import clip, consistent, simplex
from dalenius.dp.utility import paid_utility

__all__ = [
    "Audit",
    "Budget",
    "Ledger",
    "Spend",
    "add_gaussian",
    "add_laplace",
    "audit",
    "choose",
    "clip",
    "compare",
    "consistent",
    "count",
    "delta_of_rho",
    "draw_geometric",
    "edge_rand",
    "epsilon_of_rho",
    "histogram",
    "lapgraph",
    "lapgraph_edge_retention",
    "ledger_beside",
    "ledger_path",
    "mean",
    "open_ledger",
    "paid_utility",
    "predict",
    "quantile",
    "regress",
    "rho_of_epsilon",
    "simplex",
    "sum",
    "table",
]
