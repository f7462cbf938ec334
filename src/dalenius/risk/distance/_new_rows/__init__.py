"""Kernel of the new-row curve."""
