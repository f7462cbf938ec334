"""`InnerCells`: the combinations of leaf codes in the data, and the missing ones that count as zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, TableError
from dalenius.tables.dimensions import Coded, Dimension
from dalenius.tables.model import Floats, Ints

MAX_CELLS = 50_000_000
MANY_CELLS = 5_000_000


@dataclass(repr=False)
class InnerCells:
    """Inner cells: leaf number per dimension, with counts."""

    leaves: list[tuple[str, ...]]
    codes: Ints
    counts: Ints
    of_record: Ints
    values: Floats | None = None

    @classmethod
    def collect(cls, dimensions: Sequence[Dimension], coded: Mapping[str, Coded], counts: Ints) -> InnerCells:
        """The combinations of codes in the data, with their counts."""
        leaves, key, radix = [], np.zeros(len(counts), np.int64), []
        for d in dimensions:
            column = coded[d.name]
            leaves.append(column.labels)
            key = key * len(column.labels) + column.codes
            radix.append(len(column.labels))
        distinct, of_record = np.unique(key, return_inverse=True)
        sums = np.bincount(of_record, counts, len(distinct)).astype(np.int64)
        return cls(leaves, unkeyed(distinct, radix), sums, of_record.astype(np.int64))

    def extended(
        self, dimensions: Sequence[Dimension], structural: Any | None, everything: bool, asked: bool = True
    ) -> InnerCells:
        """Add the missing combinations, those declared impossible excepted; unasked only if they are few."""
        leaves = [
            d.hierarchy.leaves if everything else own for d, own in zip(dimensions, self.leaves, strict=True)
        ]
        radix = [len(level) for level in leaves]
        size = int(np.prod([float(r) for r in radix]))
        if size > (MAX_CELLS if asked else MANY_CELLS):
            raise DataError(
                f"with every combination that could occur the table has {size:,} inner cells; use fewer dimensions, "
                "list impossible ones in structural=, or give extend0=False if none of the missing ones can occur"
            )
        moved = (
            np.stack(
                [
                    np.searchsorted(np.sort(new), own)[old]
                    for new, own, old in zip(leaves, self.leaves, self.codes.T, strict=True)
                ],
                axis=1,
            )
            if everything
            else self.codes
        )
        leaves = [tuple(sorted(level)) for level in leaves]
        key = keyed(moved, radix)
        fresh = np.setdiff1d(np.arange(size), key)
        if structural is not None:
            fresh = np.setdiff1d(fresh, self._impossible(dimensions, leaves, radix, structural, key))
        codes = np.vstack([moved, unkeyed(fresh, radix)])
        counts = np.concatenate([self.counts, np.zeros(len(fresh), np.int64)])
        return InnerCells(leaves, codes, counts, self.of_record)

    def _impossible(
        self,
        dimensions: Sequence[Dimension],
        leaves: Sequence[Sequence[str]],
        radix: Sequence[int],
        listed: Any,
        key: Ints,
    ) -> Ints:
        frame = pl.DataFrame(listed)
        missing = [d.name for d in dimensions if d.name not in frame.columns]
        faults = [f"no column {name!r}" for name in missing]
        columns = []
        for d, level in zip(dimensions, leaves, strict=True):
            if d.name not in missing:
                place = {leaf: i for i, leaf in enumerate(level)}
                columns.append(np.array([place.get(str(v), -1) for v in frame[d.name]], np.int64))
        if faults:
            raise TableError("structural zeros", faults)
        codes = np.stack(columns, axis=1)
        codes = codes[(codes >= 0).all(axis=1)]
        named = keyed(codes, radix)
        filled = int(np.isin(named, key[self.counts > 0]).sum())
        if filled:
            raise TableError(
                "structural zeros", [f"{filled} combinations declared impossible occur in the data"]
            )
        return named


def keyed(codes: Ints, radix: Sequence[int]) -> Ints:
    """One number for every row of codes.

    Examples
    --------
    >>> keyed(np.array([[1, 2]]), [2, 3]).tolist()
    [5]
    """
    key = np.zeros(len(codes), np.int64)
    for column, size in zip(codes.T, radix, strict=True):
        key = key * size + column
    return key


def unkeyed(key: Ints, radix: Sequence[int]) -> Ints:
    """The rows of codes behind such numbers.

    Examples
    --------
    >>> unkeyed(np.array([5]), [2, 3]).tolist()
    [[1, 2]]
    """
    columns = []
    for size in reversed(radix):
        key, code = np.divmod(key, size)
        columns.append(code)
    return np.stack(columns[::-1], axis=1) if columns else np.zeros((len(key), 0), np.int64)
