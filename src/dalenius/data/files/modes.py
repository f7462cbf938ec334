"""What is done with the columns of a text file while it is read; kernels and their callers agree on it here."""

from __future__ import annotations

SKIP, TEXT, WHOLE, DECIMAL = 0, 1, 2, 3
"""What is done with a column: nothing, codes over its texts, whole numbers, numbers with decimals."""
FEW, SLOTS = 1 << 9, 1 << 17
"""Least and most slots of the table in which different texts of a column are looked up; when half of the most are
taken, every further text counts as a new one."""
PLACES = 22
"""Ten to this power is the largest that a double holds exactly."""
