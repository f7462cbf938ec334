"""The design of a model: how many people each parameter rests on, and whether the model is a table in disguise.

A combination of parameters belongs to a group if the combination of regressors is 0 for everybody else: a dummy of its
own, a cell of a saturated design, the cell all others are compared with. Then the residuals of the group add up to
nothing, and its mean follows from the coefficients, whatever else is in the model. Nearly the same holds where a fitted
value is a sum of few people's values (a row of the hat matrix; Belsley, Kuh and Welsch 1980, section 2.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import f as f_law

from dalenius.core.random import generator
from dalenius.outputs.query import Bools, Codes, Floats, Ints

SHARE = 0.9
"""A fitted value rests on those who hold this share of its squared weights."""
NOISE = 0.01
"""Columns whose F test is not below this explain nothing."""
MOST_ROWS = 200
MOST_WORK = 50_000_000


def marks(columns: Floats) -> Floats:
    """A number for each row of a matrix: the same for equal rows, and practically never for others.

    Examples
    --------
    >>> found = marks(np.array([[1.0, 2], [1, 3], [1, 2]]))
    >>> bool(found[0] == found[2]), bool(found[0] == found[1])
    (True, False)
    """
    weights = generator(0, "rows of a design").uniform(1.0, 2.0, columns.shape[1])
    found = np.zeros(len(columns))
    # Column by column, so that rounding does not depend on the other rows.
    for weight, column in zip(np.atleast_1d(weights), columns.T, strict=True):
        found += weight * column
    return found


class Design:
    """Regressors by record, and whose the records are.

    Parameters
    ----------
    columns
        Records × regressors, the constant included.
    unit
        Number of the unit of each record; None where every record is one.
    weight
        What each record counts in the fit.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat([0, 1], [4, 96])
    >>> table = Design(np.column_stack([np.ones(100), group, rng.normal(size=100)]))
    >>> table.owners(10), table.disguised(rng.normal(size=100))
    (4, (2, 2, 4))
    """

    def __init__(self, columns: Floats, unit: Codes | None = None, weight: Floats | None = None) -> None:
        self.columns, self.weight = columns, weight
        self.unit: Ints = (
            np.arange(len(columns)) if unit is None else np.unique(unit, return_inverse=True)[1].ravel()
        )
        self.people = int(self.unit.max(initial=-1)) + 1
        self.base = _base(columns)

    @property
    def rank(self) -> int:
        """Number of parameters that can be told apart."""
        return self.base.shape[1]

    def discrete(self) -> Bools:
        """Columns of few distinct values, ten people each on average."""
        return np.array([10 * len(np.unique(column)) <= self.people for column in self.columns.T], np.bool_)

    def cells(self, columns: Floats) -> tuple[Ints, Ints]:
        """Cell of each record by the distinct rows of some columns, and how many people each cell has."""
        _, cell = np.unique(marks(columns), return_inverse=True)
        cell = cell.ravel().astype(np.int64)
        pairs = np.unique(cell * np.int64(self.people) + self.unit)
        return cell, np.bincount(pairs // self.people).astype(np.int64)

    def owners(self, few: int) -> int:
        """Fewest people who have a combination of parameters of their own, or nearly; ``few`` if none are fewer."""
        if not self.columns.size:
            return few
        return min(few, self._columns(few), self._cells(few), self._fitted(few))

    def _columns(self, few: int) -> int:
        return min((n for n in map(self.apart, self.columns.T) if n), default=few)

    def apart(self, column: Floats) -> int:
        """People for whom a column is not what it is for most; 0 if most do not have the same."""
        there = ~np.isnan(column)
        usual = np.median(column[there]) if there.any() else 0.0  # what most have, if most have the same
        other = there & (column != usual)
        return len(np.unique(self.unit[other])) if 2 * np.count_nonzero(other) < there.sum() else 0

    def _cells(self, few: int) -> int:
        """Cells of the discrete columns whose indicator is a combination of regressors."""
        cell, people = self.cells(self.columns[:, self.discrete()])
        small = np.flatnonzero(people < few)
        if not len(small) or len(people) < 2:
            return few
        number = np.full(len(people), -1)
        number[small] = np.arange(len(small))
        rows = np.flatnonzero(number[cell] >= 0)
        sums = np.zeros((len(small), self.rank))
        np.add.at(sums, number[cell[rows]], self.base[rows])
        size = np.bincount(number[cell[rows]], minlength=len(small))
        own = size - np.square(sums).sum(axis=1) < 1e-8 * size
        return int(people[small[own]].min(initial=few))

    def _fitted(self, few: int) -> int:
        """Fewest people who hold a fitted value, among the records that are nearest to it."""
        base = self.base if self.weight is None else _base(self.columns * np.sqrt(self.weight)[:, None])
        lever = np.square(base).sum(axis=1)
        most = max(1, min(MOST_ROWS, MOST_WORK // max(base.size, 1)))
        rows = np.flatnonzero(lever >= SHARE / few)
        rows = rows[np.argsort(-lever[rows], kind="stable")[:most]]
        fewest = few
        for row in rows:
            held = np.bincount(self.unit, np.square(base @ base[row]), self.people)
            part = np.sort(held)[::-1][:few].cumsum() / lever[row]
            fewest = min(fewest, int(np.searchsorted(part, SHARE)) + 1)
        return fewest

    def disguised(self, target: Floats) -> tuple[int, int, int] | None:
        """Rank, cells and smallest cell of the discrete columns, where the other columns explain nothing."""
        kept = self.discrete()
        if kept.all() or not kept.any():
            return None
        cell, people = self.cells(self.columns[:, kept])
        rank = int(np.linalg.matrix_rank(self.columns[:, kept])) if len(people) <= kept.sum() else 0
        if rank != len(people) or len(people) < 2:
            return None
        mean = np.bincount(cell, target) / np.bincount(cell)
        before = float(np.square(target - mean[cell]).sum())
        after = float(np.square(target - self.base @ (self.base.T @ target)).sum())
        more, left = self.rank - rank, len(target) - self.rank
        if more > 0 and left > 0 and after > 0:
            ratio = max(before - after, 0.0) / more / (after / left)
            if float(f_law.sf(ratio, more, left)) < NOISE:
                return None
        return rank, len(people), int(people.min())


def _base(columns: Floats) -> Any:
    """An orthonormal base of what the columns span."""
    if not columns.size:
        return np.zeros((len(columns), 0))
    base, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return base[:, sizes > sizes[0] * 1e-10]
