"""Propensity by one classification tree."""

from dalenius.utility.propensity.tree.fit import Null, TreeFit, pairs_null, tree_propensity

__all__ = ["Null", "TreeFit", "pairs_null", "tree_propensity"]
