"""`Counts`: a contingency table that holds only the cells that occur."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, names
from dalenius.counts.keys import add_up, distinct, ravel, unravel
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL, AnyArray, IntArray

DENSE_LIMIT = 2**28
"""Largest full array that `Counts.dense` makes: 2 GB of whole numbers."""


@dataclass(frozen=True, eq=False)
class Counts:
    """A sparse contingency table.

    Attributes
    ----------
    columns
        Names of the columns it crosses.
    labels
        What the codes of each column stand for.
    keys
        One key per cell that occurs, sorted: the codes as digits of one number, the first column the most
        significant. When there are 2**63 cells or more, a row of several such numbers per cell, each over a
        contiguous run of columns.
    counts
        Rows in each of these cells (int64), or their total weight (float64).

    Examples
    --------
    >>> table = Counts.from_dense(np.array([[2, 0], [1, 4]]), ["sex", "adult"], [("f", "m"), (False, True)])
    >>> table
    Counts(sex × adult: 3 of 4 cells, total 7)
    >>> table.cells.tolist()
    [[0, 0], [1, 0], [1, 1]]
    >>> table.margin(["adult"]).counts.tolist()
    [3, 4]
    """

    columns: tuple[str, ...]
    labels: tuple[Sequence[Any], ...]
    keys: IntArray
    counts: AnyArray

    @classmethod
    def from_cells(
        cls, cells: AnyArray, counts: AnyArray, columns: Sequence[str], labels: Sequence[Sequence[Any]]
    ) -> Counts:
        """Table of cells given as codes, one row per cell, in any order; equal cells are added up.

        Examples
        --------
        >>> Counts.from_cells([[1], [0], [1]], [1, 1, 1], ["sex"], [("f", "m")]).counts.tolist()
        [1, 2]
        """
        codes = np.asarray(cells, dtype=np.int64).reshape(len(counts), len(columns))
        sizes = [len(each) for each in labels]
        for name, column, size in zip(columns, codes.T, sizes, strict=True):
            outside = int(np.count_nonzero((column < 0) | (column >= size)))
            if outside:
                raise DataError(f"column {name!r}: {outside} cells have a code outside 0 … {size - 1}")
        values, ids = distinct(ravel(list(codes.T), sizes, len(codes)), sizes)
        return cls(tuple(columns), tuple(labels), values, add_up(ids, len(values), _numeric(counts)))

    @classmethod
    def from_dense(cls, array: AnyArray, columns: Sequence[str], labels: Sequence[Sequence[Any]]) -> Counts:
        """Table of a full array, one axis per column; cells that are zero are left out.

        Examples
        --------
        >>> len(Counts.from_dense(np.eye(3), ["a", "b"], [range(3), range(3)]))
        3
        """
        shape = tuple(len(each) for each in labels)
        if np.shape(array) != shape:
            raise DataError(f"an array of shape {np.shape(array)} does not fit labels of sizes {shape}")
        flat = _numeric(array).reshape(-1)
        keys = np.flatnonzero(flat).astype(np.int64)
        return cls(tuple(columns), tuple(labels), keys, flat[keys])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of labels of each column."""
        return tuple(len(each) for each in self.labels)

    @property
    def n_cells(self) -> int:
        """Number of cells of the full table, empty ones included."""
        return math.prod(self.sizes)

    @property
    def total(self) -> int | float:
        """Sum of all counts."""
        result: int | float = self.counts.sum().item()
        return result

    @cached_property
    def cells(self) -> IntArray:
        """Codes of each cell that occurs, one row per cell."""
        codes = np.empty((len(self), len(self.columns)), dtype=np.int64)
        for i in range(len(self.columns)):
            codes[:, i] = unravel(self.keys, self.sizes, i)
        return codes

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        crossed = " × ".join(self.columns) if len(self.columns) <= 6 else f"{len(self.columns)} columns"
        space = f"{self.n_cells:,}" if self.n_cells < 10**15 else f"{self.n_cells:.1e}"
        total = f"{self.total:,}" if isinstance(self.total, int) else f"{self.total:,.6g}"
        return f"Counts({crossed}: {len(self):,} of {space} cells, total {total})"

    def margin(self, columns: Iterable[str]) -> Counts:
        """Add up over all columns but these; the order asked for is the order of the result.

        Examples
        --------
        >>> table = Counts.from_dense(np.array([[2, 0], [1, 4]]), ["a", "b"], [range(2), range(2)])
        >>> table.margin(["b", "a"]).dense().tolist()
        [[2, 1], [0, 4]]
        """
        wanted = tuple(columns)
        absent = [name for name in wanted if name not in self.columns]
        if absent:
            raise DataError(f"no column {names(absent)} in this table; it crosses {names(self.columns)}")
        if len(set(wanted)) < len(wanted):
            raise OptionError("a column is asked for twice; name each column once")
        if wanted == self.columns:
            return self
        places = [self.columns.index(name) for name in wanted]
        sizes = [self.sizes[i] for i in places]
        codes = [unravel(self.keys, self.sizes, i) for i in places]
        values, ids = distinct(ravel(codes, sizes, len(self)), sizes)
        counts = add_up(ids, len(values), self.counts)
        return Counts(wanted, tuple(self.labels[i] for i in places), values, counts)

    def dense(self) -> AnyArray:
        """Fill the full array, one axis per column, zeros where nothing occurs.

        Examples
        --------
        >>> Counts.from_cells([[1]], [5], ["sex"], [("f", "m")]).dense().tolist()
        [0, 5]
        """
        if self.n_cells > DENSE_LIMIT:
            raise DataError(
                f"the full table of {names(self.columns)} has {self.n_cells:,} cells, more than "
                f"{DENSE_LIMIT:,}; use .cells and .counts, take a margin, or group columns into fewer levels"
            )
        full = np.zeros(self.n_cells, dtype=self.counts.dtype)
        if len(self):
            full[self.keys if self.keys.ndim == 1 else 0] = self.counts
        return full.reshape(self.sizes)

    def to_frame(self, count: str = "count") -> pl.DataFrame:
        """Make a frame of the cells that occur: a column of labels for each column, and the counts.

        Labels of one type keep it; a missing cell is null and NaN is NaN in a column of numbers. Labels of
        several types become text.

        Examples
        --------
        >>> Counts.from_cells([[0], [1]], [3, 5], ["sex"], [("f", "m")]).to_frame().rows()
        [('f', 3), ('m', 5)]
        """
        if count in self.columns:
            raise OptionError(
                f"column {count!r} is there already; name the counts otherwise: to_frame(count=…)"
            )
        series = [
            _label_series(name, labels, unravel(self.keys, self.sizes, i))
            for i, (name, labels) in enumerate(zip(self.columns, self.labels, strict=True))
        ]
        return pl.DataFrame([*series, pl.Series(count, self.counts)])

    def same_as(self, other: Counts, rtol: float = 1e-9) -> bool:
        """Whether both tables have the same columns, labels, cells and counts (weights up to rounding).

        Examples
        --------
        >>> table = Counts.from_cells([[0], [1]], [3, 5], ["sex"], [("f", "m")])
        >>> table.same_as(table.margin(["sex"]))
        True
        """
        return (
            self.columns == other.columns
            and same_labels(self, other)
            and np.array_equal(self.keys, other.keys)
            and bool(np.allclose(self.counts, other.counts, rtol=rtol, atol=0.0))
        )


def align(a: Counts, b: Counts, *more: Counts) -> tuple[IntArray, list[AnyArray]]:
    """Cells that occur in any of the tables, and the counts of each table in them, zero where it has none.

    Examples
    --------
    >>> a = Counts.from_cells([[0], [1]], [3, 5], ["size"], [range(3)])
    >>> b = Counts.from_cells([[1], [2]], [4, 1], ["size"], [range(3)])
    >>> keys, (left, right) = align(a, b)
    >>> keys.tolist(), left.tolist(), right.tolist()
    ([0, 1, 2], [3, 5, 0], [0, 4, 1])
    """
    tables = [a, b, *more]
    for other in tables[1:]:
        if other.columns != a.columns:
            raise DataError(f"tables cross different columns: {names(a.columns)} and {names(other.columns)}")
        if not same_labels(a, other):
            odd = [n for n, p, q in zip(a.columns, a.labels, other.labels, strict=True) if list(p) != list(q)]
            raise DataError(f"column {names(odd)} has other levels in each table; count both on one domain")
    values, ids = distinct(np.concatenate([table.keys for table in tables]), a.sizes)
    aligned, begin = [], 0
    for table in tables:
        full = np.zeros(len(values), dtype=table.counts.dtype)
        full[ids[begin : begin + len(table)]] = table.counts
        aligned.append(full)
        begin += len(table)
    return values, aligned


def same_labels(a: Counts, b: Counts) -> bool:
    """Whether the columns of two tables have the same labels in the same order."""
    return a.sizes == b.sizes and all(
        p is q or list(p) == list(q) for p, q in zip(a.labels, b.labels, strict=True)
    )


def _numeric(counts: AnyArray) -> AnyArray:
    array = np.asarray(counts)
    return np.ascontiguousarray(array, dtype=np.float64 if array.dtype.kind == "f" else np.int64)


def _label_series(name: str, labels: Sequence[Any], codes: IntArray) -> pl.Series:
    """Labels of some cells as a column of the type the labels have."""
    ordinary = [label for label in labels if label is not MISSING_LABEL and label is not NAN_LABEL]
    kinds = {type(label) for label in ordinary}
    has_nan = any(label is NAN_LABEL for label in labels)
    if kinds and kinds <= {int, float} and (has_nan or len(kinds) == 2):
        gaps = {id(MISSING_LABEL): None, id(NAN_LABEL): math.nan}
        values: list[Any] = [gaps[id(label)] if id(label) in gaps else float(label) for label in labels]
    elif len(kinds) > 1 or has_nan:
        values = [None if label is MISSING_LABEL else str(label) for label in labels]
    else:
        values = [None if label is MISSING_LABEL else label for label in labels]
    lookup = pl.Series(name, values, strict=False)
    return lookup.gather(pl.Series(codes)) if values else lookup
