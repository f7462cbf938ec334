"""Places on a map: points moved within rings or into cells, and what tells how well that hides them."""
