"""Measures that are read off the table of keys by target: identity and attribute disclosure."""
