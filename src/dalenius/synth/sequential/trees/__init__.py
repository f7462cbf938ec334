"""Trees with donors in their leaves."""

from dalenius.synth.sequential.trees.tree import Tree

__all__ = ["Tree"]
