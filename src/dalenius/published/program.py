"""`Program`: one linear program over the inner cells, solved again and again for other goals.

The constraints never change, only what is to be made small or large. The corner found for one goal is a valid start
for the next (primal simplex, HiGHS), so that a further goal costs a few steps instead of a fresh solution.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import TableError
from dalenius.published.arrays import Floats, Ints

PRIMAL = 4
"""HiGHS's number for the primal simplex method, which a change of the goal does not send back to the start."""

LARGEST = 1e4
"""Tolerances of the solver are absolute, so larger sums are brought down to this."""

TIGHT = 1e-10
"""How far below 0 an inner cell may fall after that; HiGHS allows no less, and its 10⁻⁷ would be 10 beside 10¹²."""


class Program:
    """Inner cells that add up to given sums.

    Examples
    --------
    >>> program = Program(sp.csr_matrix([[1.0, 1.0]]), np.array([10.0]), nonnegative=True)
    >>> [program.extreme(np.array([0]), np.array([1.0]), sense)[0] for sense in (-1, 1)]
    [0.0, 10.0]
    >>> program.pin(np.array([1]), np.array([4.0]))
    >>> program.extreme(np.array([0]), np.array([1.0]), 1)[0]
    6.0
    """

    def __init__(self, equations: Any, sums: Floats, *, nonnegative: bool) -> None:
        self.nonnegative = nonnegative
        self.size = equations.shape[1]
        # A power of two, so that scaling does not round.
        self.scale = 2.0 ** ceil(log2(max(1.0, float(np.abs(sums).max(initial=0.0)) / LARGEST)))
        self.solver = highspy.Highs()
        self.solver.silent()
        for name, value in (("threads", 1), ("presolve", "off"), ("simplex_strategy", PRIMAL),
                            ("primal_feasibility_tolerance", TIGHT)):  # fmt: skip
            self.solver.setOptionValue(name, value)
        self.solver.passModel(_model(equations, sums / self.scale, nonnegative))
        self.goal = np.zeros(0, np.int32)
        self.pinned = np.zeros(0, np.int32)

    def pin(self, places: Ints, values: Floats) -> None:
        """Fix some inner cells, which an intruder knows, in place of those fixed before."""
        free = len(self.pinned)
        low = np.zeros(free) if self.nonnegative else np.full(free, -np.inf)
        self.solver.changeColsBounds(free, self.pinned, low, np.full(free, np.inf))
        self.pinned = np.asarray(places, np.int32)
        known = np.asarray(values, np.float64) / self.scale
        self.solver.changeColsBounds(len(known), self.pinned, known, known)

    def extreme(self, places: Ints, weights: Floats, sense: int) -> tuple[float, Floats | None]:
        """The largest (``sense`` 1) or smallest (-1) weighted sum of inner cells, and a point where it is attained.

        There is no point when the sum has no bound.
        """
        self.solver.changeColsCost(len(self.goal), self.goal, np.zeros(len(self.goal)))
        self.goal = np.asarray(places, np.int32)
        self.solver.changeColsCost(len(self.goal), self.goal, np.asarray(weights, np.float64))
        self.solver.changeObjectiveSense(
            highspy.ObjSense.kMaximize if sense > 0 else highspy.ObjSense.kMinimize
        )
        status = self._run()
        if status == highspy.HighsModelStatus.kUnbounded:
            return sense * np.inf, None
        if status != highspy.HighsModelStatus.kOptimal:
            raise TableError(
                "published cells", ["no non-negative inner cells add up to them; check the sums"]
            )
        point = np.array(self.solver.getSolution().col_value) * self.scale
        return float(self.solver.getInfo().objective_function_value) * self.scale, point

    def _run(self) -> Any:
        self.solver.run()
        status = self.solver.getModelStatus()
        settled = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnbounded)
        if status not in settled:
            # A corner of a degenerate program can be a bad start: begin anew with HiGHS's own choice of method.
            self.solver.clearSolver()
            self.solver.setOptionValue("simplex_strategy", 1)
            self.solver.run()
            self.solver.setOptionValue("simplex_strategy", PRIMAL)
            status = self.solver.getModelStatus()
        return status


def _model(equations: Any, sums: Floats, nonnegative: bool) -> Any:
    rows = sp.csr_matrix(equations)
    count = rows.shape[1]
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows.shape
    model.col_cost_ = np.zeros(count)
    model.col_lower_ = np.zeros(count) if nonnegative else np.full(count, -np.inf)
    model.col_upper_ = np.full(count, np.inf)
    model.row_lower_ = model.row_upper_ = sums
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = rows.indptr
    model.a_matrix_.index_ = rows.indices
    model.a_matrix_.value_ = rows.data.astype(np.float64)
    return model
