"""Synthesizers of several tables: who belongs to whom is kept, keys are made anew."""

from dalenius.core.plugins import import_all
from dalenius.synth.relational.method import RELATIONAL, MadeDatabase, RelationalMethod, synthesize_database

__all__ = ["RELATIONAL", "MadeDatabase", "RelationalMethod", "synthesize_database"]

import_all(__name__, __path__)
