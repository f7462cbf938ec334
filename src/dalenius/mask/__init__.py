"""Masking: recipes of steps that change real records, and searches for the best ones."""

from dalenius.core.plugins import import_all
from dalenius.mask.masker import offer_all

__all__ = ["offer_all"]

import_all(__name__, __path__)
offer_all()
