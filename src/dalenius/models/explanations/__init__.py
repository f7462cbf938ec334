"""Explanations: how they are made, how they are turned back into records, and what protects them."""
