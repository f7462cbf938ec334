"""Nodes of a tree."""
