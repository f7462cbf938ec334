"""Numba kernels of SynDiffix, one file each for what they do."""
