"""Correct attribution probability as an attack: exact keys, and the nearest keys when there is no exact match."""
