"""Salt, keyed hashes and noise."""
