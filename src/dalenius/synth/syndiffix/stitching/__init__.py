"""Joining drawn clusters."""
