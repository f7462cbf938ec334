"""Faults put in by hand, and the tests that must notice them: ``make mutations``."""
