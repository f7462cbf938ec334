"""`Search`: bounds of many sums of inner cells, each found with what the others taught.

Every point that fits the published cells widens the bounds of all sums at once. A sum is done when a point reaches
the edge that a single constraint sets, when its bounds are as wide as was asked for, or when a program says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.tables.enough import TOLERANCE, Enough
from dalenius.tables.model import Bools, Floats, Ints
from dalenius.tables.program import Program
from dalenius.tables.region import Region


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


class Search:
    """Bounds of the columns of ``goals`` (free cells × sums).

    Attributes
    ----------
    low, high
        What was reached so far; exact for sums that went through `bound` without ``enough``.
    order
        The sums, component by component.
    solved
        Number of programs solved.
    """

    def __init__(
        self,
        programs: Programs,
        goals: Any,
        start: Floats | None = None,
        *,
        constant: Floats | None = None,
        enough: Enough | None = None,
        integer: bool = False,
    ) -> None:
        self.programs, self.goals, self.integer, self.enough = programs, goals, integer, enough
        region, count = programs.region, goals.shape[1]
        self.constant = np.zeros(count) if constant is None else constant
        self.low, self.high = np.full(count, np.inf), np.full(count, -np.inf)
        self.done = np.diff(goals.indptr) == 0
        self.low[self.done] = self.high[self.done] = 0.0
        self.bottom, self.top = region.edges(goals)
        self.parts = [region.part(self._entries(i)[0]) for i in range(count)]
        self.order = np.array(sorted(range(count), key=self.parts.__getitem__), np.int64)
        self.solved = 0
        self.nearby: tuple[tuple[int, ...], Ints, Any] = ((), np.zeros(0, np.int64), goals[:, :0])
        if start is not None:
            every = np.flatnonzero(~self.done)
            self._visit(every, goals[:, every], start)

    def _entries(self, i: int) -> tuple[Ints, Floats]:
        part = slice(self.goals.indptr[i], self.goals.indptr[i + 1])
        return self.goals.indices[part], self.goals.data[part]

    def _visit(self, sums: Ints, goals: Any, point: Floats) -> None:
        """Widen the bounds of some sums with a point that fits."""
        reached = np.asarray(goals.T @ point)
        self.low[sums] = np.minimum(self.low[sums], reached)
        self.high[sums] = np.maximum(self.high[sums], reached)
        if self.enough is not None:
            self.done |= self.enough.met(self.low + self.constant, self.high + self.constant)

    def bound(self, i: int) -> None:
        """Find the bounds of one sum, as far as they are not known yet."""
        slack = TOLERANCE * max(1.0, min(abs(self.top[i]), 1e12))
        for sense in (-1, 1):
            reached, edge = (self.low[i], self.bottom[i]) if sense < 0 else (self.high[i], self.top[i])
            if self.done[i]:
                return
            if abs(reached - edge) > slack:
                self._solve(i, sense)

    def _solve(self, i: int, sense: int) -> None:
        free, weights = self._entries(i)
        places, program = self.programs.of(self.parts[i])
        best, point = program.extreme(np.searchsorted(places, free), weights, sense)
        self.solved += 1
        if point is not None and self.integer and np.abs(point - np.rint(point)).max() > 1e-6:
            best, point = self._whole(i, sense, best)
        if point is not None:
            sums, goals = self._inside(i, places)
            self._visit(sums, goals, point)
        if sense < 0:
            self.low[i] = best
        else:
            self.high[i] = best

    def _whole(self, i: int, sense: int, best: float) -> tuple[float, Floats | None]:
        """The bound over whole inner cells, given the one over all: an integer program only if it can tell more."""
        limit = np.floor(best + 1e-6) if sense > 0 else np.ceil(best - 1e-6)
        if (self.high[i] if sense > 0 else self.low[i]) == limit:
            return float(limit), None
        return self.programs.region.whole(*self._entries(i), sense)

    def _inside(self, i: int, places: Ints) -> tuple[Ints, Any]:
        """The sums that lie wholly among the given free cells, and their columns there."""
        if self.nearby[0] != self.parts[i]:
            here: Bools = np.zeros(self.goals.shape[0], np.bool_)
            here[places] = True
            outside = np.asarray(abs(self.goals).T @ (~here).astype(np.float64))
            sums = np.flatnonzero((outside == 0) & (np.diff(self.goals.indptr) > 0))
            self.nearby = (self.parts[i], sums, self.goals[places][:, sums].tocsc())
        return self.nearby[1], self.nearby[2]
