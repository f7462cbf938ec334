"""Utility: whether the protected file still answers the questions the original answers."""

from dalenius.core.plugins import import_all
from dalenius.counts.all_tables import all_tables
from dalenius.utility.analyses import (
    equal_opportunity,
    learning_table,
    model_agreement,
    model_prediction,
    model_table,
    opportunity_table,
    prediction_table,
    train_on_protected,
    tuned_forest,
    tuned_forest_table,
)
from dalenius.utility.cells import cell_differences, table_statistics
from dalenius.utility.components import principal_components
from dalenius.utility.conditionals import conditional_distributions, conditional_table
from dalenius.utility.distances import count_distances, weighted_distances
from dalenius.utility.distributions import column_figures, column_shapes, coverage
from dalenius.utility.households import household_counts, households_kept
from dalenius.utility.marginals import group_scores, k_marginal, k_marginal_score, sampling_equivalent
from dalenius.utility.missingness import gap_table, gaps_alike
from dalenius.utility.mixed import mixed_associations, mixed_differences, summed_distance
from dalenius.utility.nist import (
    improvement_factor,
    slope_agreement,
    slope_errors,
    univariate_errors,
)
from dalenius.utility.propensity import detection_auc, propensity_logit, propensity_tree
from dalenius.utility.rules import broken_rows, rule_table, rules_kept, violation_rates
from dalenius.utility.statistics import statistic_similarity, statistic_table
from dalenius.utility.study import relative_improvement, table_study
from dalenius.utility.table_sets import (
    WideTable,
    correlation_errors,
    family_k_marginal,
    family_pmse,
    value_errors,
)
from dalenius.utility.tables import (
    column_scores,
    one_way_utility,
    table_utility,
    three_way_utility,
    two_way_utility,
    voas_williamson,
    worst_cells,
)
from dalenius.utility.transport import joint_wasserstein, transport_figures
from dalenius.utility.trends import association_difference, association_table, pair_trends, pair_trends_table
from dalenius.utility.validity import diagnostic, diagnostic_table, key_uniqueness

__all__ = [
    "WideTable",
    "all_tables",
    "association_difference",
    "association_table",
    "broken_rows",
    "cell_differences",
    "column_figures",
    "column_scores",
    "column_shapes",
    "conditional_distributions",
    "conditional_table",
    "correlation_errors",
    "count_distances",
    "coverage",
    "detection_auc",
    "diagnostic",
    "diagnostic_table",
    "equal_opportunity",
    "family_k_marginal",
    "family_pmse",
    "gap_table",
    "gaps_alike",
    "group_scores",
    "household_counts",
    "households_kept",
    "improvement_factor",
    "joint_wasserstein",
    "k_marginal",
    "k_marginal_score",
    "key_uniqueness",
    "learning_table",
    "mixed_associations",
    "mixed_differences",
    "model_agreement",
    "model_prediction",
    "model_table",
    "one_way_utility",
    "opportunity_table",
    "pair_trends",
    "pair_trends_table",
    "prediction_table",
    "principal_components",
    "propensity_logit",
    "propensity_tree",
    "relative_improvement",
    "rule_table",
    "rules_kept",
    "sampling_equivalent",
    "slope_agreement",
    "slope_errors",
    "statistic_similarity",
    "statistic_table",
    "summed_distance",
    "table_statistics",
    "table_study",
    "table_utility",
    "three_way_utility",
    "train_on_protected",
    "transport_figures",
    "tuned_forest",
    "tuned_forest_table",
    "two_way_utility",
    "univariate_errors",
    "value_errors",
    "violation_rates",
    "voas_williamson",
    "weighted_distances",
    "worst_cells",
]

import_all(__name__, __path__)
