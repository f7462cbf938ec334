"""Utility: whether the protected file still answers the questions the original answers."""

from dalenius.utility.cells import cell_differences, table_statistics
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

__all__ = [
    "cell_differences",
    "column_scores",
    "detection_auc",
    "one_way_utility",
    "propensity_logit",
    "propensity_tree",
    "table_statistics",
    "table_utility",
    "three_way_utility",
    "two_way_utility",
    "voas_williamson",
    "worst_cells",
]
