"""Tests. ``DALENIUS_LONG=1 make slow`` runs the simulations at their full length (hours)."""

import os

LONG = bool(os.environ.get("DALENIUS_LONG"))
"""Whether simulations run at their full length."""
