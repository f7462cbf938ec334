"""Loops of masking that have to be loops."""
