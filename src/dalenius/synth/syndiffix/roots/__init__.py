"""Pushing the root of a one-dimensional tree down."""
