"""Contingency tables and the engines that count them."""

from dalenius.counts.counts import Counts, align
from dalenius.counts.engine import count, count_all

__all__ = ["Counts", "align", "count", "count_all"]
