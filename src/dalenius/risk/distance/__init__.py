"""Measures of how near protected records come to original ones."""
