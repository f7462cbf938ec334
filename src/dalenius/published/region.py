"""The inner cells an intruder cannot tell apart: everything that fits the published cells.

Inner cells that follow directly are fixed first, constraints that say nothing new are dropped, and what is left falls
apart into components that can be solved one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from dalenius.core.errors import TableError
from dalenius.published._modular import echelon
from dalenius.published.arrays import Floats, Ints

MOST_NODES = 2000
"""Steps of a search for one whole-number table; a count, not seconds, so that every run finds the same."""


@dataclass(repr=False)
class Region:
    """All non-negative inner cells that add up to the known cells.

    Attributes
    ----------
    value
        Inner cells that are determined; NaN elsewhere.
    free
        Places of the others.
    equations, sums
        Independent constraints on them (constraints × free cells) and their right-hand sides.
    component
        Component of every free cell.
    ceiling
        Largest value each free cell can have by any single constraint.
    plain
        Whether all constraints are plain sums.
    all_constraints, all_sums
        The constraints including those that follow from others.
    """

    value: Floats
    free: Ints
    equations: Any
    sums: Floats
    component: Ints
    ceiling: Floats
    nonnegative: bool
    plain: bool
    all_constraints: Any
    all_sums: Floats

    @classmethod
    def of(cls, known: Any, amounts: Floats, *, nonnegative: bool = True) -> Region:
        """Set up the region from the known cells (inner cells × known cells) and their values."""
        known = sp.csc_matrix(known).astype(np.float64)
        value, noise = np.full(known.shape[0], np.nan), np.zeros(known.shape[0])
        scale = max(1.0, float(np.abs(amounts).max(initial=0.0)))
        rest, left = known, amounts.astype(np.float64).copy()
        error = _rounding(left)
        while True:
            size = np.diff(rest.indptr)
            single = size == 1
            places = rest.indices[rest.indptr[:-1][single]]
            value[places] = left[single] / rest.data[rest.indptr[:-1][single]]
            noise[places] = error[single]
            if nonnegative:
                positive = np.asarray(rest.min(axis=0).toarray()).ravel() >= 0
                # Each sum by its own error: beside a sum of 10¹² one of 500 is still not nothing.
                zero = positive & (size > 1) & (np.abs(left) <= 1e-9 + error)
                value[rest[:, np.flatnonzero(zero)].indices] = 0.0
            fixed = ~np.isnan(value)
            touched = fixed & (np.asarray(rest.getnnz(axis=1)) > 0)
            if not touched.any():
                break
            left = left - rest.T @ np.where(touched, np.nan_to_num(value), 0.0)
            error = error + abs(rest).T @ np.where(touched, noise, 0.0)
            rest = _without_rows(rest, touched)
        _check(rest, left, scale, nonnegative)
        return cls._reduced(value, rest, left, nonnegative)

    @classmethod
    def _reduced(cls, value: Floats, rest: Any, left: Floats, nonnegative: bool) -> Region:
        free = np.flatnonzero(np.isnan(value))
        keep = independent(rest)
        rest = sp.csr_matrix(rest[free].T)
        equations = rest[keep]
        plain = bool((rest.data == 1).all())
        ceiling = np.full(len(free), np.inf)
        if nonnegative:
            coo = sp.coo_matrix(rest)
            ok = np.bincount(coo.row[coo.data < 0], minlength=rest.shape[0])[coo.row] == 0
            np.minimum.at(ceiling, coo.col[ok], np.maximum(left[coo.row[ok]], 0.0) / coo.data[ok])
        graph = sp.bmat([[None, equations], [equations.T, None]]) if equations.shape[0] else None
        if graph is None:
            component = np.arange(len(free))
        else:
            component = connected_components(graph, directed=False)[1][equations.shape[0] :]
        return cls(
            value, free, equations, left[keep], component.astype(np.int64), ceiling, nonnegative, plain, rest, left
        )  # fmt: skip

    def part(self, places: Ints) -> tuple[int, ...]:
        """The components some free cells lie in."""
        return tuple(np.unique(self.component[places]).tolist())

    def constraints(self, components: tuple[int, ...]) -> tuple[Ints, Any, Floats]:
        """The free cells of some components, the equations on them and their sums."""
        places = np.flatnonzero(np.isin(self.component, components))
        equations = sp.csr_matrix(sp.csc_matrix(self.equations)[:, places])
        used = np.diff(equations.indptr) > 0
        return places, equations[used], self.sums[used]

    def whole(self, places: Ints, weights: Floats, sense: int) -> tuple[float, Floats]:
        """The largest or smallest weighted sum over whole inner cells, and the point (of their components)."""
        inside, equations, sums = self.constraints(self.part(places))
        goal = np.zeros(len(self.free))
        goal[places] = weights
        answer = milp(
            -sense * goal[inside],
            integrality=np.ones(len(inside)),
            bounds=Bounds(0.0 if self.nonnegative else -np.inf, np.inf),
            constraints=LinearConstraint(equations, sums, sums) if len(sums) else None,
        )
        if answer.x is None:
            raise TableError(
                "published cells", ["no non-negative whole inner cells add up to them; check the sums"]
            )
        return -sense * float(answer.fun), np.rint(answer.x)

    def beyond(
        self, places: Ints, weights: Floats, sense: int, reached: float
    ) -> tuple[float, Floats | None]:
        """A point of whole inner cells whose weighted sum lies beyond what was reached; without any that is the bound.

        The search is cut off after some steps, and what was not found by then counts as not there.
        """
        inside, equations, sums = self.constraints(self.part(places))
        goal = np.zeros(len(self.free))
        goal[places] = sense * weights
        rows = sp.vstack([sp.csr_matrix(equations), sp.csr_matrix(goal[inside])])
        answer = milp(
            np.zeros(len(inside)),
            integrality=np.ones(len(inside)),
            bounds=Bounds(0.0 if self.nonnegative else -np.inf, np.inf),
            constraints=LinearConstraint(rows, [*sums, sense * reached + 1.0], [*sums, np.inf]),
            options={"node_limit": MOST_NODES},
        )
        if answer.x is None:
            return reached, None
        point = np.rint(answer.x)
        return sense * float(goal[inside] @ point), point

    def edges(self, goals: Any) -> tuple[Floats, Floats]:
        """Bounds of sums of free cells that single constraints give, to know when a program need not be solved.

        A sum cannot exceed a constraint that contains it, nor what its parts can reach; it cannot fall below a
        constraint that it contains.
        """
        count = goals.shape[1]
        if not self.nonnegative or not self.plain or not goals.nnz or goals.data.min() < 0:
            return np.full(count, -np.inf), np.full(count, np.inf)
        top = np.asarray(goals.T @ np.where(np.isfinite(self.ceiling), self.ceiling, 1e300))
        top = np.where(top < 1e300, top, np.inf)
        bottom = np.zeros(count)
        if goals.data.max() <= 1:
            common = sp.coo_matrix(self.all_constraints @ goals)
            inside = common.data == np.diff(goals.indptr)[common.col]
            np.minimum.at(top, common.col[inside], self.all_sums[common.row[inside]])
            over = common.data == np.diff(self.all_constraints.indptr)[common.row]
            np.maximum.at(bottom, common.col[over], self.all_sums[common.row[over]])
        return bottom, top


def _rounding(amounts: Floats) -> Floats:
    """How far rounding may have moved each sum: not at all if all are whole numbers that a float holds exactly."""
    exact = np.array_equal(amounts, np.rint(amounts)) and np.abs(amounts).max(initial=0.0) < 2.0**53
    return np.zeros(len(amounts)) if exact else 1e-13 * np.abs(amounts)


def _without_rows(matrix: Any, gone: Any) -> Any:
    result = sp.csc_matrix(matrix, copy=True)
    result.data = np.where(gone[result.indices], 0.0, result.data)
    result.eliminate_zeros()
    return result


def _check(rest: Any, left: Floats, scale: float, nonnegative: bool) -> None:
    empty = np.diff(rest.indptr) == 0
    wrong = int((np.abs(left[empty]) > 1e-6 * scale).sum())
    faults = [f"{wrong} cells do not add up to the cells below them"] if wrong else []
    if nonnegative:
        below = ~empty & (left < -1e-6 * scale)
        faults += [f"{int(below.sum())} sums are smaller than their published parts"] if below.any() else []
    if faults:
        raise TableError("published cells", faults)


def independent(rest: Any) -> Ints:
    """Constraints that say something new, the shortest first."""
    size = np.diff(rest.indptr)
    order = np.argsort(size, kind="stable")
    order = order[size[order] > 0]
    matrix = sp.csc_matrix(rest[:, order])
    form = echelon(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        np.rint(matrix.data).astype(np.int64),
        matrix.shape[0],
    )
    return np.sort(order[form[4]])
