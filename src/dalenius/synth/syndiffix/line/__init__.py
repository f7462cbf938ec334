"""Trees of one column."""
