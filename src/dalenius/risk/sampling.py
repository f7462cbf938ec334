"""Seed of measures that draw samples."""

SEED = 20240925
"""Taken when the caller gives none: the same file gets the same figure."""
