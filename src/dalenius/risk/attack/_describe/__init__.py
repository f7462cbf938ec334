"""Kernels of the singling-out attack."""
