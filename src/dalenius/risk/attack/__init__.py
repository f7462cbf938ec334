"""Attacks: somebody has the protected file and wants to learn about a person."""
