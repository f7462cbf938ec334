"""Rows of several files, numbered by their combination of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.counts.keys import distinct, ravel, unravel
from dalenius.data.vector import Categories, IntArray


@dataclass(frozen=True, eq=False)
class PairGroups:
    """Group number of every row, in the same numbering for each file.

    Attributes
    ----------
    original, protected, holdout
        Group of each row.
    keys
        One key per group; `codes` takes it apart.

    Examples
    --------
    >>> a = Categories(np.array([0, 1, 0]), ("x", "y"))
    >>> b = Categories(np.array([1, 1]), ("x", "y"))
    >>> groups = group_rows(("col",), [[a], [b]], [3, 2])
    >>> groups.original.tolist(), groups.protected.tolist(), groups.codes("col").tolist()
    ([0, 1, 0], [1, 1], [0, 1])
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    keys: IntArray
    original: IntArray
    protected: IntArray
    holdout: IntArray | None

    def __len__(self) -> int:
        return len(self.keys)

    def codes(self, column: str) -> IntArray:
        """Return the code that each group has in one of the columns."""
        return unravel(self.keys, self.sizes, self.columns.index(column))


def group_rows(
    columns: tuple[str, ...], files: Sequence[Sequence[Categories]], rows: Sequence[int]
) -> PairGroups:
    """Give equal numbers to equal combinations of codes; without columns all rows are one group."""
    sizes = tuple(len(each.labels) for each in files[0])
    keys = np.concatenate(
        [ravel([each.codes for each in file], sizes, n) for file, n in zip(files, rows, strict=True)]
    )
    values, ids = distinct(keys, sizes)
    cuts = np.cumsum(rows)
    original, protected, holdout = np.split(ids, cuts)[:3]
    return PairGroups(columns, sizes, values, original, protected, holdout if len(rows) > 2 else None)
