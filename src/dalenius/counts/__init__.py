"""Contingency tables and the engines that count them."""

from dalenius.counts.counts import Counts, align

__all__ = ["Counts", "align"]
