"""Noisy counts of nodes."""
