"""One figure out of a table of figures, and the row that is worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Summary:
    """Mean, smallest, median and worst row of one column of a table; ``worst`` is None when nothing could be measured.

    Examples
    --------
    >>> found = Summary.of(pl.DataFrame({"name": ["a", "b", "c"], "score": [0.5, float("nan"), 1.0]}), "score")
    >>> found.mean, found.lowest, found.worst["name"]
    (0.75, 0.5, 'a')
    """

    mean: float
    lowest: float
    median: float
    worst: dict[str, Any] | None

    @classmethod
    def of(cls, table: pl.DataFrame, column: str, otherwise: float = float("nan")) -> Summary:
        """Summarise a column of a table whose worst row comes first; ``otherwise`` stands in when it is empty."""
        known = table.filter(pl.col(column).is_not_null() & pl.col(column).is_not_nan())
        if not len(known):
            return cls(otherwise, otherwise, otherwise, None)
        values = known[column].to_numpy()
        return cls(
            float(values.mean()), float(values.min()), float(np.median(values)), known.row(0, named=True)
        )
