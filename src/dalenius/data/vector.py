"""`Vector`: one encoded column.

Categories are small integers over a list of levels; numbers are float64 or int64. What is not an ordinary value (empty
cell, NaN, special code) is told apart by a state per row, so that it can come back exactly as it went in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError
from dalenius.data.names import Names
from dalenius.data.schema import Column, Level

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]

VALUE, MISSING, NAN, SPECIAL = 0, 1, 2, 3
"""States of a row: ordinary value, empty cell, floating NaN, and SPECIAL + j for the j-th special code."""


class _Gap:
    """Label of a cell without a value; an object of its own, so that no text level can collide with it."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return self.word

    __str__ = __repr__


MISSING_LABEL = _Gap("missing")
NAN_LABEL = _Gap("NaN")


@dataclass(frozen=True, eq=False, repr=False)
class Categories:
    """Rows as codes 0 … size - 1; ``labels[i]`` says what code i is.

    Examples
    --------
    >>> Categories(np.array([0, 1, 0]), ("no", "yes")).size
    2
    """

    codes: IntArray
    labels: Sequence[Any]

    @property
    def size(self) -> int:
        """Number of categories, used or not."""
        return len(self.labels)


@dataclass(frozen=True, eq=False, repr=False)
class Vector:
    """One column of a `Table`.

    Attributes
    ----------
    column
        Its description. For category kinds ``column.levels`` is always set here.
    data
        Codes over ``column.levels`` (category kinds) or the numbers themselves; 0 where ``state`` is not VALUE.
    state
        None when every row is an ordinary value, otherwise one of the states per row.
    """

    column: Column
    data: AnyArray
    state: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def is_number(self) -> bool:
        """Whether ``data`` holds numbers rather than codes."""
        return self.column.kind.is_number

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels of a category column."""
        levels = self.column.levels or ()
        return levels.all if isinstance(levels, Names) else levels

    @cached_property
    def present(self) -> BoolArray:
        """Rows that hold an ordinary value."""
        if self.state is None:
            return np.ones(len(self), dtype=bool)
        return self.state == VALUE

    @property
    def values(self) -> AnyArray:
        """Numbers of the rows that hold one; codes for a category column."""
        return self.data if self.state is None else self.data[self.present]

    def floats(self) -> npt.NDArray[np.float64]:
        """All rows as floats, NaN where there is no ordinary number."""
        result = self.data.astype(np.float64)
        if self.state is not None:
            result[~self.present] = np.nan
        return result

    def amounts(self) -> npt.NDArray[np.float64]:
        """All rows as numbers, also where a few different numbers were taken for categories (a constant weight)."""
        if self.is_number:
            return self.floats()
        try:
            levels = np.array([float(str(level)) for level in self.levels])
        except ValueError:
            name, kind = self.column.name, self.column.kind
            raise DataError(f"column {name!r} is {kind}; a column of numbers is needed here") from None
        result = np.full(len(self), np.nan)
        result[self.present] = levels[self.values]
        return result

    @cached_property
    def categories(self) -> Categories:
        """Every row as a category: levels (or distinct numbers) first, then special codes, missing, NaN.

        Missing and NaN are categories only where they occur, special codes wherever they are declared.
        """
        if self.is_number:
            distinct, inverse = np.unique(self.values, return_inverse=True)
            labels: list[Any] = distinct.tolist()
            codes = np.zeros(len(self), dtype=np.int64)
            codes[self.present] = inverse
        else:
            labels = list(self.levels)
            codes = self.data
        return self.with_gaps(codes, labels)

    def with_gaps(self, codes: IntArray, labels: Sequence[Any]) -> Categories:
        """Add this column's special codes and gaps after ``labels`` and code the rows that have them."""
        labels = list(labels)
        size = len(labels)
        special = self.column.special
        labels += list(special)
        if self.state is None:
            return Categories(compact(codes, len(labels)), labels)
        lookup = np.zeros(256, dtype=np.int64)
        lookup[SPECIAL : SPECIAL + len(special)] = size + np.arange(len(special))
        for state, label in ((MISSING, MISSING_LABEL), (NAN, NAN_LABEL)):
            if np.any(self.state == state):
                lookup[state] = len(labels)
                labels.append(label)
        full = np.where(self.present, codes, lookup[self.state])
        return Categories(compact(full, len(labels)), labels)

    def take(self, rows: IntArray | BoolArray) -> Vector:
        """The vector of some rows, by position or by mask."""
        return replace(self, data=self.data[rows], state=None if self.state is None else self.state[rows])

    def tidy(self) -> Vector:
        """Drop a state array that says nothing."""
        if self.state is not None and not self.state.any():
            return replace(self, state=None)
        return self


def states(vector: Vector) -> npt.NDArray[np.uint8]:
    """The state of every row, also where all hold a value.

    Examples
    --------
    >>> from dalenius.data.schema import Kind
    >>> states(Vector(Column("a", Kind.INTEGER), np.array([3, 4])))
    array([0, 0], dtype=uint8)
    """
    return np.zeros(len(vector), np.uint8) if vector.state is None else vector.state


def emptied(vector: Vector, rows: IntArray | BoolArray) -> Vector:
    """A column with the cells of some rows empty.

    Examples
    --------
    >>> from dalenius.data.schema import Kind
    >>> emptied(Vector(Column("a", Kind.INTEGER), np.array([3, 4])), np.array([True, False])).present.tolist()
    [False, True]
    """
    state, data = states(vector).copy(), vector.data.copy()
    state[rows], data[rows] = MISSING, 0
    return replace(vector, data=data, state=state).tidy()


def compact(codes: AnyArray, size: int) -> IntArray:
    """Codes in the smallest unsigned type that holds ``size`` values: tables stay small, counting stays fast.

    Examples
    --------
    >>> compact(np.array([0, 3]), 4).dtype
    dtype('uint8')
    """
    for kind in (np.uint8, np.uint16):
        if size <= np.iinfo(kind).max + 1:
            return codes.astype(kind, copy=False)
    return codes.astype(np.int32 if size < 2**31 else np.int64, copy=False)
