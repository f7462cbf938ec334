"""Which columns are synthesized together."""
