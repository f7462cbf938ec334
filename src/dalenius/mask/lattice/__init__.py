"""The lattice of generalisations, and the search for its best node."""
