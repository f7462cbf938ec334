"""Risk of a file by itself: how rare its records are, in the file and in the population it was drawn from."""
