"""Describing the rows of a node by what is known with one dimension less."""
