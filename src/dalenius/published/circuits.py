"""`Circuits`: the smallest change of a table that moves one cell and keeps every published sum.

Such a change is the solution of a linear program over what may be added to and taken from each cell (an elementary
vector of the sums). It often consists of whole numbers without being asked to, and then shows another table that fits,
for a hundredth of what an integer program costs.
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from dalenius.published.arrays import Ints
from dalenius.published.region import independent
from dalenius.published.system import System

MOST_TIMES = 6
"""A change of halves or thirds is a whole one twice or three times."""
NEAR = 1e-6
DUAL = 1
"""HiGHS's number for the dual simplex method: another cell changes bounds alone, so that its last corner is a start."""


class Circuits:
    """Changes of the cells that are open.

    Parameters
    ----------
    low, high
        Outer bounds of all cells: those where they meet take no part.

    Examples
    --------
    >>> from dalenius.published import Published
    >>> system = System.of(Published.count({"a": list("xy"), "b": list("pq")}, [["a"], ["b"]]))
    >>> circuits = Circuits(system, *system.bounds())
    >>> circuits.start(np.array([1, 0, 0, 1]), np.random.default_rng(1))
    >>> circuits.through(0).tolist()
    [-1, 1, 1, -1]
    """

    def __init__(self, system: System, low: Ints, high: Ints) -> None:
        self.system, self.low, self.high = system, low, high
        self.open = np.flatnonzero(low < high)
        self.place = {cell: i for i, cell in enumerate(self.open.tolist())}
        self.rows = sp.csr_matrix(system.rows[:, self.open])
        told = np.diff(self.rows.indptr) > 0
        exact = np.flatnonzero(told & (system.low == system.high))
        new = exact[independent(sp.csc_matrix(self.rows[exact].T))]
        self.kept = np.concatenate([new, np.flatnonzero(told & (system.low < system.high))])
        self.solver = highspy.Highs()
        self.solver.silent()
        for name, value in (("threads", 1), ("presolve", "off"), ("simplex_strategy", DUAL)):
            self.solver.setOptionValue(name, value)

    def start(self, table: Ints, rng: np.random.Generator) -> None:
        """Look at changes of a table that fits; what moving somebody costs is drawn, so that ties fall differently."""
        more, less = (self.high - table)[self.open], (table - self.low)[self.open]
        self.room = np.concatenate([more, less]).astype(np.float64)
        self.solver.passModel(self._model(table, 1 + rng.random(len(self.room))))

    def through(self, cell: int) -> Ints | None:
        """A change in whole numbers that moves a cell and keeps every sum; None where none was found.

        It may need more people than there are: whether it can be made is for the caller to see.
        """
        count, at = len(self.open), self.place[cell]
        for column, other in ((at, count + at), (count + at, at)):
            if self.room[column] < 1:
                continue
            self.solver.changeColBounds(column, 1.0, self.room[column])
            self.solver.changeColBounds(other, 0.0, 0.0)
            self.solver.run()
            found = self._whole()
            self.solver.changeColBounds(column, 0.0, self.room[column])
            self.solver.changeColBounds(other, 0.0, self.room[other])
            if found is not None:
                return found
        return None

    def _whole(self) -> Ints | None:
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        value = np.array(self.solver.getSolution().col_value)
        change = value[: len(self.open)] - value[len(self.open) :]
        for times in range(1, MOST_TIMES + 1):
            near = np.rint(times * change).astype(np.int64)
            if np.abs(near - times * change).max() < NEAR and not np.any(self.rows @ near):
                found = np.zeros(len(self.low), np.int64)
                found[self.open] = near
                return found
        return None

    def _model(self, table: Ints, cost: Any) -> Any:
        """What is added and what is taken away, as columns of their own; sums that are ranges may move inside them."""
        sums = np.asarray(self.system.rows @ table)
        rows = self.rows[self.kept]
        matrix = sp.csc_matrix(sp.hstack([rows, -rows]))
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, np.zeros(len(cost)), self.room
        model.row_lower_ = (self.system.low - sums)[self.kept].astype(np.float64)
        model.row_upper_ = (self.system.high - sums)[self.kept].astype(np.float64)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data.astype(np.float64)
        return model
