"""Dalenius: turn confidential data into something that can be released, and show how safe and how useful it is."""

__version__ = "0.1.0"
