"""Rows of the original that the protected file repeats in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core.errors import DataError
from dalenius.counts.memory import row_groups
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray, Categories


def row_counts(pair: Pair, columns: Sequence[str] | None = None) -> tuple[AnyArray, AnyArray]:
    """How often each different row occurs in the original and in the protected file.

    Examples
    --------
    >>> first, second = row_counts(Pair({"a": ["x", "y", "y"]}, {"a": ["x", "z"]}))
    >>> first.tolist(), second.tolist()
    ([1, 2, 0], [1, 0, 1])
    """
    used = list(columns) if columns is not None else pair.columns
    if not used:
        raise DataError("there is no column to match on")
    aligned = [pair.categories(name, grouped=False) for name in used]
    stacked = [
        Categories(np.concatenate([a.original.codes, a.protected.codes]), a.original.labels) for a in aligned
    ]
    groups, size = row_groups(stacked)
    n = pair.original.rows
    return np.bincount(groups[:n], minlength=size), np.bincount(groups[n:], minlength=size)


def copied_share(pair: Pair, columns: Sequence[str] | None = None) -> float:
    """Share of protected rows that equal an original row in every column.

    Examples
    --------
    >>> copied_share(Pair({"a": ["x", "y", "y"]}, {"a": ["x", "z"]}))
    0.5
    """
    first, second = row_counts(pair, columns)
    return float(second[first > 0].sum() / max(int(second.sum()), 1))
