"""Propensity: how well a model tells the protected file from the original."""

from dalenius.utility.propensity.learners import learner_propensity
from dalenius.utility.propensity.logit import logit_propensity
from dalenius.utility.propensity.measures import detection_auc, propensity_logit, propensity_tree
from dalenius.utility.propensity.tree import pairs_null, tree_propensity

__all__ = [
    "detection_auc",
    "learner_propensity",
    "logit_propensity",
    "pairs_null",
    "propensity_logit",
    "propensity_tree",
    "tree_propensity",
]
