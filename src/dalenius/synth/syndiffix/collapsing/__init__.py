"""Putting equal rows together before a tree is grown."""
