"""Utility: whether the protected file still answers the questions the original answers."""

from dalenius.utility.cells import cell_differences, table_statistics
from dalenius.utility.distributions import column_figures, column_shapes, coverage
from dalenius.utility.propensity import detection_auc, propensity_logit, propensity_tree
from dalenius.utility.tables import (
    column_scores,
    one_way_utility,
    table_utility,
    three_way_utility,
    two_way_utility,
    voas_williamson,
    worst_cells,
)
from dalenius.utility.trends import association_difference, association_table, pair_trends, pair_trends_table

__all__ = [
    "association_difference",
    "association_table",
    "cell_differences",
    "column_figures",
    "column_scores",
    "column_shapes",
    "coverage",
    "detection_auc",
    "one_way_utility",
    "pair_trends",
    "pair_trends_table",
    "propensity_logit",
    "propensity_tree",
    "table_statistics",
    "table_utility",
    "three_way_utility",
    "two_way_utility",
    "voas_williamson",
    "worst_cells",
]
