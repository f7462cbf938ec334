"""`Ends`: the smallest and largest count of every cell that is still open after bounds by single sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import TableError
from dalenius.core.random import generator
from dalenius.published.arrays import Bools, Floats, Ints
from dalenius.published.keeping import Kept
from dalenius.published.region import Region
from dalenius.published.search import Programs
from dalenius.published.system import System
from dalenius.published.walking import Walker
from dalenius.published.whole import Whole

Progress = Callable[[int, int], None]
MOST_SHAKES = 300
AT_ONCE = 150
"""Cells one table is asked to change: with more, finding it takes longer than it saves."""
BLOCK = 256
"""Cells after which solvers start afresh and the state is kept: a search that goes on from there finds the same."""
STEPS_EACH = 400
"""Proposed swaps of a walk for every person: what they show needs no program."""


@dataclass(eq=False, repr=False)
class Ends:
    """Bounds on their way from what single sums say to what is attained.

    Attributes
    ----------
    low, high
        Outer bounds: nothing that fits lies beyond them.
    seen_low, seen_high
        Smallest and largest count in the whole-number tables met so far.
    """

    system: System
    low: Ints
    high: Ints
    open: Ints
    region: Region | None
    whole: Whole
    solution: Ints | None
    seen_low: Ints
    seen_high: Ints
    programs: int = 0
    done: int | None = None
    """Open cells that have been looked at; None before the search."""

    def __post_init__(self) -> None:
        self._base = self.low.copy()  # from where the region counts

    @classmethod
    def of(
        cls, system: System, low: Ints, high: Ints, nodes: int, seed: int, walk: bool = True, kept: Kept | None = None
    ) -> Ends:  # fmt: skip
        """Set up what is left open, find a first table of whole numbers and walk about from it.

        Where a killed search was ``kept``, it stands where that one was.
        """
        cells = np.flatnonzero(low < high)
        region = Region.of(*_rest(system, low, high, cells)) if len(cells) else None
        whole = Whole(system, low, high, nodes)
        made = cls(system, low.copy(), high.copy(), cells, region, whole, None, high + 1, low - 1)
        if kept is not None and made._restore(kept):
            return made
        made._first()
        if made.solution is not None:
            made._saw(made.solution)
            walker = Walker.of(system, made.solution, seed) if walk else None
            if walker is not None:
                walker.steps(STEPS_EACH * int(made.solution.sum()))
                made.seen_low = np.minimum(made.seen_low, walker.low)
                made.seen_high = np.maximum(made.seen_high, walker.high)
        return made

    @property
    def exact(self) -> Bools:
        """Cells whose outer bounds are attained."""
        return np.asarray(
            (self.low == self.high) | ((self.seen_low <= self.low) & (self.seen_high >= self.high))
        )

    def _first(self) -> None:
        found: tuple[str, Ints | None]
        if self.region is None:
            fits = bool(self.system.keeps(self.low).all())
            found = (("best" if fits else "none"), self.low.copy())
        else:
            found = self.whole.ask()
        if found[0] == "none":
            raise TableError("published tables", ["no whole-number table fits them"])
        self.solution = found[1]

    def _saw(self, counts: Ints) -> None:
        self.seen_low = np.minimum(self.seen_low, counts)
        self.seen_high = np.maximum(self.seen_high, counts)

    @property
    def undecided(self) -> Bools:
        """Cells of which nobody knows whether they are proved: a solver was cut off before it could say."""
        return np.asarray((self.low < self.high) & (self.seen_low >= self.seen_high))

    def search(self, bounds: bool, progress: Progress | None = None, kept: Kept | None = None) -> None:
        """Close the gap between outer and attained bounds; without ``bounds`` only for cells that may be proved."""
        if self.region is None:
            return
        if self.done is None:
            if not bounds:
                self._shake()
            self.done = 0
        for start in range(self.done, len(self.open), BLOCK):
            if kept is not None:
                self._keep(kept, start)
            self.whole.close()
            self._block(self.region, bounds, start)
            if progress is not None:
                progress(start, len(self.open))

    def _block(self, region: Region, bounds: bool, start: int) -> None:
        programs = Programs(region)
        place = {cell: i for i, cell in enumerate(region.free.tolist())}
        for at, cell in enumerate(self.open[start : start + BLOCK].tolist(), start):
            column = place.get(at)
            if column is None:  # fixed by the region itself
                self.low[cell] = self.high[cell] = self._base[cell] + round(float(region.value[at]))
                continue
            for sense in (-1, 1):
                if not bounds and self.seen_low[cell] < self.seen_high[cell]:
                    break
                self._end(programs, cell, column, sense)

    def _keep(self, kept: Kept, start: int) -> None:
        solved = np.zeros(0, np.int64) if self.solution is None else self.solution
        kept.save(
            low=self.low, high=self.high, seen_low=self.seen_low, seen_high=self.seen_high, solution=solved,
            facts=np.array([start, self.programs, self.solution is not None]),
        )  # fmt: skip

    def _restore(self, kept: Kept) -> bool:
        held = kept.load()
        if held is None:
            return False
        self.low, self.high = held["low"], held["high"]
        self.seen_low, self.seen_high = held["seen_low"], held["seen_high"]
        self.done, self.programs = int(held["facts"][0]), int(held["facts"][1])
        self.solution = held["solution"] if held["facts"][2] else None
        return True

    def _shake(self) -> None:
        """Tables in which as many as possible of the cells change that were the same in all tables so far."""
        rng = generator(1, "shake")
        for _ in range(MOST_SHAKES):
            still = self.open[self.seen_low[self.open] == self.seen_high[self.open]]
            if not len(still) or self.solution is None:
                return
            # Where nobody was, somebody is wanted, and the other way round.
            drawn = rng.permutation(still)[:AT_ONCE]
            goal = {int(c): 1 if self.seen_low[c] == 0 else -1 for c in drawn}
            _, table = self.whole.ask(goal)
            if table is None:
                return
            self._saw(table)
            if (self.seen_low[still] == self.seen_high[still]).all() and len(drawn) == len(still):
                return

    def _end(self, programs: Programs, cell: int, column: int, sense: int) -> None:
        outer, seen = (self.high, self.seen_high) if sense > 0 else (self.low, self.seen_low)
        if sense * seen[cell] >= sense * outer[cell]:
            return
        places, program = programs.of(programs.region.part(np.array([column])))
        best, point = program.extreme(np.searchsorted(places, [column]), np.ones(1), sense)
        self.programs += 1
        if point is None:  # nothing is known above: a table with one more exists wherever one exists
            if self.solution is not None:
                self.seen_high[cell] = max(self.seen_high[cell], self.seen_low[cell] + 1)
            return
        base = self._base[cell]
        limit = base + (np.floor(best + 1e-6) if sense > 0 else np.ceil(best - 1e-6))
        outer[cell] = min(outer[cell], int(limit)) if sense > 0 else max(outer[cell], int(limit))
        if np.abs(point - np.rint(point)).max() < 1e-6:
            self._visit(places, np.rint(point).astype(np.int64))
        if sense * seen[cell] < sense * outer[cell]:
            self._second_look(cell, sense)

    def _visit(self, places: Ints, point: Ints) -> None:
        """Widen what was seen by a point of the region's components."""
        assert self.region is not None
        at = self.region.free[places]
        real = at < len(self.open)
        cells = self.open[at[real]]
        counts = self._base[cells] + point[real]
        self.seen_low[cells] = np.minimum(self.seen_low[cells], counts)
        self.seen_high[cells] = np.maximum(self.seen_high[cells], counts)

    def _second_look(self, cell: int, sense: int) -> None:
        status, table = self.whole.ask({cell: sense})
        if table is not None:
            self._saw(table)
        if status == "best" and table is not None:
            outer = self.high if sense > 0 else self.low
            outer[cell] = table[cell]


def _rest(system: System, low: Ints, high: Ints, cells: Ints) -> tuple[Any, Floats]:
    """What the sums still say of the open cells, counted from their lower bounds, as plain sums (variables × sums).

    A sum that is only known to lie between two numbers gets what it lacks to the larger one as a variable of its own,
    and that variable another one that says how much of the width is left.
    """
    rows = sp.csr_matrix(system.rows[:, cells])
    used = np.diff(rows.indptr) > 0
    rows = rows[used]
    fixed = np.asarray(system.rows @ low)[used]
    reach = np.asarray(rows @ (high - low)[cells])
    most = np.minimum(system.high[used] - fixed, reach)
    least = np.maximum(system.low[used] - fixed, 0)
    wide = np.flatnonzero(most > least)
    count, extra = len(most), len(wide)
    lacking = sp.csr_matrix((np.ones(extra), (wide, np.arange(extra))), shape=(count, extra))
    pairs = sp.hstack([sp.csr_matrix((extra, len(cells))), sp.identity(extra), sp.identity(extra)])
    first = sp.hstack([rows, lacking, sp.csr_matrix((count, extra))])
    # Bounds of single cells do not follow from the rest once sums are ranges, so they are said again.
    tops = _tops(high - low, cells, extra) if extra else None
    if tops is None:
        return sp.csc_matrix(first.T), most.astype(np.float64)
    matrix = sp.vstack(
        [sp.hstack([sp.vstack([first, pairs]), sp.csr_matrix((count + extra, len(cells)))]), tops]
    )
    sums = np.concatenate([most, (most - least)[wide], (high - low)[cells]])
    return sp.csc_matrix(sp.csr_matrix(matrix).T), sums.astype(np.float64)


def _tops(width: Ints, cells: Ints, extra: int) -> Any:
    size = len(cells)
    return sp.hstack([sp.identity(size), sp.csr_matrix((size, 2 * extra)), sp.identity(size)])
