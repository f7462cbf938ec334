"""`Search`: bounds of many sums of inner cells, each found with what the others taught.

Every point that fits the published cells widens the bounds of all sums at once. A sum is done when a point reaches
the edge that a single constraint sets, when its bounds are as wide as was asked for, or when a program says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.published.arrays import Bools, Floats, Ints
from dalenius.published.enough import TOLERANCE, Enough
from dalenius.published.program import Program
from dalenius.published.region import Region


class Programs:
    """The program of the components last asked for, with the cells an intruder knows held fixed."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.components: tuple[int, ...] | None = None
        self.known: tuple[Ints, Floats] = (np.zeros(0, np.int64), np.zeros(0))

    def of(self, components: tuple[int, ...]) -> tuple[Ints, Program]:
        """The free cells of some components and the program over them."""
        if components != self.components:
            self.places, equations, sums = self.region.constraints(components)
            self.program = Program(equations, sums, nonnegative=self.region.nonnegative)
            self.components = components
            self._pin()
        return self.places, self.program

    def pin(self, places: Ints, values: Floats) -> None:
        """From now on these free cells are known."""
        self.known = (places, values)
        if self.components is not None:
            self._pin()

    def _pin(self) -> None:
        places, values = self.known
        here = np.isin(places, self.places)
        self.program.pin(np.searchsorted(self.places, places[here]), values[here])


@dataclass(frozen=True, eq=False)
class Goals:
    """Sums of inner cells to be bounded, as they look in a region.

    Attributes
    ----------
    columns
        Free cells × sums.
    constant
        What the determined inner cells contribute.
    bottom, top
        Edges that single constraints set.
    parts
        The components every sum lies in.
    order
        The sums, component by component.
    """

    columns: Any
    constant: Floats
    bottom: Floats
    top: Floats
    parts: list[tuple[int, ...]]
    order: Ints

    @classmethod
    def of(cls, region: Region, matrix: Any) -> Goals:
        """Read the sums off the columns of a matrix over all inner cells."""
        matrix = sp.csc_matrix(matrix).astype(np.float64)
        columns = sp.csc_matrix(matrix[region.free])
        parts = [region.part(columns.indices[a:b]) for a, b in pairwise(columns.indptr)]
        order = np.array(sorted(range(len(parts)), key=parts.__getitem__), np.int64)
        constant = np.asarray(matrix.T @ np.nan_to_num(region.value))
        return cls(columns, constant, *region.edges(columns), parts, order)

    def entries(self, i: int) -> tuple[Ints, Floats]:
        """Free cells and weights of one sum."""
        part = slice(self.columns.indptr[i], self.columns.indptr[i + 1])
        return self.columns.indices[part], self.columns.data[part]


class Search:
    """Bounds of sums of inner cells, without their constant part.

    Attributes
    ----------
    low, high
        What was reached so far; exact for sums that went through `bound` without ``enough``.
    done
        Sums that need no further program.
    solved
        Number of programs solved.
    """

    def __init__(
        self,
        programs: Programs,
        goals: Goals,
        start: Floats | None = None,
        *,
        enough: Enough | None = None,
        integer: bool = False,
    ) -> None:
        self.programs, self.goals, self.integer, self.enough = programs, goals, integer, enough
        count = len(goals.parts)
        self.low, self.high = np.full(count, np.inf), np.full(count, -np.inf)
        self.done: Bools = np.diff(goals.columns.indptr) == 0
        self.low[self.done] = self.high[self.done] = 0.0
        self.solved = 0
        self.nearby: tuple[tuple[int, ...], Ints, Any] = ((), np.zeros(0, np.int64), None)
        if start is not None:
            every = np.flatnonzero(~self.done)
            self._visit(every, goals.columns[:, every], start)

    def _visit(self, sums: Ints, columns: Any, point: Floats) -> None:
        """Widen the bounds of some sums with a point that fits."""
        reached = np.asarray(columns.T @ point)
        self.low[sums] = np.minimum(self.low[sums], reached)
        self.high[sums] = np.maximum(self.high[sums], reached)
        if self.enough is not None:
            constant = self.goals.constant
            self.done |= self.enough.met(self.low + constant, self.high + constant)

    def bound(self, i: int) -> None:
        """Find the bounds of one sum, as far as they are not known yet."""
        bottom, top = self.goals.bottom[i], self.goals.top[i]
        slack = TOLERANCE * max([1.0, *(abs(edge) for edge in (bottom, top) if np.isfinite(edge))])
        for sense in (-1, 1):
            if self.done[i]:
                return
            reached, edge = (self.low[i], bottom) if sense < 0 else (self.high[i], top)
            if abs(reached - edge) > slack:
                self._solve(i, sense)

    def _solve(self, i: int, sense: int) -> None:
        free, weights = self.goals.entries(i)
        places, program = self.programs.of(self.goals.parts[i])
        best, point = program.extreme(np.searchsorted(places, free), weights, sense)
        self.solved += 1
        if point is not None and self.integer and np.abs(point - np.rint(point)).max() > 1e-6:
            best, point = self._whole(i, sense, best)
        if point is not None:
            self._visit(*self._inside(i, places), point)
        if sense < 0:
            self.low[i] = best
        else:
            self.high[i] = best

    def _whole(self, i: int, sense: int, best: float) -> tuple[float, Floats | None]:
        """The bound over whole inner cells, given the one over all: an integer program only if it can tell more."""
        limit = np.floor(best + 1e-6) if sense > 0 else np.ceil(best - 1e-6)
        reached = self.high[i] if sense > 0 else self.low[i]
        if reached == limit:
            return float(limit), None
        if self._one_more_is_enough(i):
            return self.programs.region.beyond(*self.goals.entries(i), sense, float(reached))
        return self.programs.region.whole(*self.goals.entries(i), sense)

    def _one_more_is_enough(self, i: int) -> bool:
        """Whether a whole number next to what was reached will do, so that the best one need not be found."""
        if self.enough is None or not np.isfinite(self.low[i]):
            return False
        here, asked = self.goals.constant[i], self.enough
        wide = (
            self.low[i] + here <= asked.low[i] + TOLERANCE
            and self.high[i] + here >= asked.high[i] - TOLERANCE
        )
        return bool(wide and asked.width[i] <= self.high[i] - self.low[i] + 1.0)

    def _inside(self, i: int, places: Ints) -> tuple[Ints, Any]:
        """The sums that lie wholly among the given free cells, and their columns there."""
        part, columns = self.goals.parts[i], self.goals.columns
        if self.nearby[0] != part:
            outside = np.ones(columns.shape[0])
            outside[places] = 0.0
            reach = np.asarray(abs(columns).T @ outside)
            sums = np.flatnonzero((reach == 0) & (np.diff(columns.indptr) > 0))
            self.nearby = (part, sums, columns[places][:, sums].tocsc())
        return self.nearby[1], self.nearby[2]
