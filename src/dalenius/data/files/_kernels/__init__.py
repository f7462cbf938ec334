"""Loops of reading a text file: where its cells are, which of them are numbers, which are the same text."""

from dalenius.data.files._kernels.records import cells, tally
from dalenius.data.files._kernels.texts import ends_of, gather

__all__ = ["cells", "ends_of", "gather", "tally"]
