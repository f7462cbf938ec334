"""Numba kernels of distances between rows."""
