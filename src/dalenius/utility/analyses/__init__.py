"""Analyses: do models fitted to the protected file say what they say on the original."""

from dalenius.utility.analyses.agreement import model_agreement, model_table
from dalenius.utility.analyses.learning import learning_table, train_on_protected
from dalenius.utility.analyses.opportunity import equal_opportunity, opportunity_table
from dalenius.utility.analyses.prediction import model_prediction, prediction_table, roc_chart, roc_points
from dalenius.utility.analyses.tuned_forest import tuned_forest, tuned_forest_table

__all__ = [
    "equal_opportunity",
    "learning_table",
    "model_agreement",
    "model_prediction",
    "model_table",
    "opportunity_table",
    "prediction_table",
    "roc_chart",
    "roc_points",
    "train_on_protected",
    "tuned_forest",
    "tuned_forest_table",
]  # fmt: skip
