"""Kernel of the outlier linkage."""
