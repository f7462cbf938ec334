"""Utility: does the protected file still answer the questions the original answers?"""

from dalenius.utility.tables import two_way_utility, voas_williamson

__all__ = ["two_way_utility", "voas_williamson"]
