"""Numba kernels of sequential synthesis: trees, their nodes and splits, Polya's urn."""
