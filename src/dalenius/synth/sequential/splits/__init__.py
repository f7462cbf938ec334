"""How a node of a tree is cut: the search over predictors, in Numba."""
