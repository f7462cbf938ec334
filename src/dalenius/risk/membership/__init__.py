"""Membership inference: whether somebody can tell from the protected file who was in the data."""
