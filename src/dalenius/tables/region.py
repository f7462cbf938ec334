"""The inner cells an intruder cannot tell apart: everything that fits the published cells.

Inner cells that follow directly are fixed first, constraints that say nothing new are dropped, and what is
left falls apart
into components that can be solved one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from dalenius.tables._modular import echelon
from dalenius.tables.errors import TableError
from dalenius.tables.model import Floats, Ints

TOLERANCE = 1e-7


@dataclass
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
    source
        For every constraint the known cell it comes from.
    component
        Component of every free cell.
    ceiling
        Largest value each free cell can have by any single constraint.
    """

    value: Floats
    free: Ints
    equations: Any
    sums: Floats
    source: Ints
    component: Ints
    ceiling: Floats
    nonnegative: bool
    integer: bool
    parts: dict[tuple[int, ...], tuple[Ints, Any, Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Any, amounts: Floats, *, nonnegative: bool = True, integer: bool = False) -> Region:
        """Set up the region from the known cells (inner cells × known cells) and their values."""
        known = sp.csc_matrix(known).astype(np.float64)
        value = np.full(known.shape[0], np.nan)
        scale = max(1.0, float(np.abs(amounts).max(initial=0.0)))
        rest, left = known, amounts.astype(np.float64).copy()
        while True:
            size = np.diff(rest.indptr)
            single = size == 1
            places = rest.indices[rest.indptr[:-1][single]]
            value[places] = left[single] / rest.data[rest.indptr[:-1][single]]
            if nonnegative:
                positive = np.asarray(rest.min(axis=0).toarray()).ravel() >= 0
                zero = positive & (size > 1) & (np.abs(left) <= 1e-9 * scale)
                value[rest[:, np.flatnonzero(zero)].indices] = 0.0
            fixed = ~np.isnan(value)
            touched = fixed & (np.asarray(rest.getnnz(axis=1)) > 0)
            if not touched.any():
                break
            left = left - rest.T @ np.where(touched, np.nan_to_num(value), 0.0)
            rest = _without_rows(rest, touched)
        _check(rest, left, scale, nonnegative)
        return cls._reduced(value, rest, left, nonnegative, integer)

    @classmethod
    def _reduced(cls, value: Floats, rest: Any, left: Floats, nonnegative: bool, integer: bool) -> Region:
        free = np.flatnonzero(np.isnan(value))
        keep = _independent(rest)
        equations = sp.csr_matrix(rest[free][:, keep].T)
        ceiling = np.full(len(free), np.inf)
        if nonnegative:
            coo = sp.coo_matrix(rest[free])
            ok = (coo.data > 0) & (np.asarray(rest.min(axis=0).toarray()).ravel() >= 0)[coo.col]
            np.minimum.at(ceiling, coo.row[ok], np.maximum(left[coo.col[ok]], 0.0) / coo.data[ok])
        graph = sp.bmat([[None, equations], [equations.T, None]]) if equations.shape[0] else None
        if graph is None:
            component = np.arange(len(free))
        else:
            component = connected_components(graph, directed=False)[1][equations.shape[0] :]
        return cls(
            value,
            free,
            equations,
            left[keep],
            keep,
            component.astype(np.int64),
            ceiling,
            nonnegative,
            integer,
        )

    def _part(self, components: tuple[int, ...]) -> tuple[Ints, Any, Floats]:
        """Free cells, constraints and sums of some components; kept, because many goals lie in the same ones."""
        if components not in self.parts:
            places = np.flatnonzero(np.isin(self.component, components))
            equations = sp.csr_matrix(sp.csc_matrix(self.equations)[:, places])
            used = np.diff(equations.indptr) > 0
            self.parts[components] = (places, equations[used], self.sums[used])
        return self.parts[components]

    def extreme(self, goal: Floats, sense: int) -> tuple[float, Floats]:
        """The largest (``sense`` 1) or smallest (-1) value of a combination of free cells, and where it is attained."""
        places, equations, sums = self._part(tuple(np.unique(self.component[np.flatnonzero(goal)]).tolist()))
        low = 0.0 if self.nonnegative else -np.inf
        # Tolerances of the solver are absolute, so large values are brought down to its range.
        scale = 1.0 if self.integer else max(1.0, float(np.abs(sums).max(initial=0.0)) / 1e4)
        sums = sums / scale
        answer = milp(
            -sense * goal[places],
            integrality=np.ones(len(places)) if self.integer else None,
            bounds=Bounds(np.full(len(places), low), np.full(len(places), np.inf)),
            constraints=LinearConstraint(equations, sums, sums) if len(sums) else None,
        )
        point = np.full(len(self.free), np.nan)
        if answer.status == 3 or (answer.x is None and not self.nonnegative):
            return sense * np.inf, point
        if answer.x is None:
            raise TableError(
                "published cells", ["no non-negative inner cells add up to them; check the sums"]
            )
        point[places] = answer.x * scale
        return -sense * float(answer.fun) * scale, point


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


def _independent(rest: Any) -> Ints:
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
