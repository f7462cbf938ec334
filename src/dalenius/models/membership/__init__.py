"""Membership: whether a model tells who it was fitted on."""
