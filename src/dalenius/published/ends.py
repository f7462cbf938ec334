"""`Ends`: the smallest and largest count of every cell that is still open after bounds by single sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import TableError
from dalenius.published.arrays import Bools, Floats, Ints
from dalenius.published.keeping import Kept
from dalenius.published.region import Region
from dalenius.published.search import Programs
from dalenius.published.system import System
from dalenius.published.varying import started, vary, walk_from
from dalenius.published.walking import Walker
from dalenius.published.whole import Whole

Progress = Callable[[int, int], None]
BLOCK = 256
"""Cells after which solvers start afresh and the state is kept: a search that goes on from there finds the same."""
LINEAR, VARY, WHOLE = range(3)
"""Stages of a search: linear programs, tables that differ, integer programs."""


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
    seed: int = 1
    walk: bool = True
    programs: int = 0
    stage: int = LINEAR
    done: int = 0
    """Open cells that have been looked at in this stage."""

    def __post_init__(self) -> None:
        self._base = self.low.copy()  # from where the region counts

    @classmethod
    def of(
        cls, system: System, low: Ints, high: Ints, nodes: int, seed: int, walk: bool = True, kept: Kept | None = None
    ) -> Ends:  # fmt: skip
        """Set up what is left open and find a first table of whole numbers.

        Without ``walk`` no records are moved (the cells of the system are not combinations of values). Where a killed
        search was ``kept``, it stands where that one was.
        """
        cells = np.flatnonzero(low < high)
        region = Region.of(*_rest(system, low, high, cells)) if len(cells) else None
        whole = Whole(system, low, high, nodes)
        made = cls(system, low.copy(), high.copy(), cells, region, whole, None, high + 1, low - 1, seed, walk)
        if kept is not None and made._restore(kept):
            return made
        made._first()
        if made.solution is not None:
            made.saw(made.solution)
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

    def saw(self, low: Ints, high: Ints | None = None) -> None:
        """Widen what was seen by a table that fits, or by the least and most of several."""
        self.seen_low = np.minimum(self.seen_low, low)
        self.seen_high = np.maximum(self.seen_high, low if high is None else high)

    @property
    def undecided(self) -> Bools:
        """Cells of which nobody knows whether they are proved: a solver was cut off before it could say."""
        return np.asarray((self.low < self.high) & (self.seen_low >= self.seen_high))

    def search(self, bounds: bool, progress: Progress | None = None, kept: Kept | None = None) -> None:
        """Close the gap between outer and attained bounds; without ``bounds`` only for cells that may be proved."""
        if self.region is None:
            return
        while self.stage <= WHOLE:
            ends = range(self.done, len(self.open), BLOCK) if self.stage != VARY else [0]
            for start in ends:
                if kept is not None:
                    self._keep(kept, start)
                self.whole.close()
                self._part(self.region, bounds, start)
                if progress is not None:
                    progress(self.stage * len(self.open) + start, (WHOLE + 1) * len(self.open))
            self.stage, self.done = self.stage + 1, 0

    def _part(self, region: Region, bounds: bool, start: int) -> None:
        """One stretch of a stage: from what is kept before it, it always comes to the same."""
        if self.stage == LINEAR:
            if start == 0 and self.solution is not None:
                vary(self, walks_only=True)
            self._linear(region, bounds, start)
        elif self.stage == VARY:
            self.whole = Whole(self.system, self.low, self.high, self.whole.nodes)
            if self.solution is not None:
                vary(self)
        else:
            self.whole.low, self.whole.high = self.low.copy(), self.high.copy()
            walker = started(self)
            for cell in self.open[start : start + BLOCK].tolist():
                self._integer(cell, bounds, walker)

    def _linear(self, region: Region, bounds: bool, start: int) -> None:
        programs = Programs(region)
        place = {cell: i for i, cell in enumerate(region.free.tolist())}
        for at, cell in enumerate(self.open[start : start + BLOCK].tolist(), start):
            column = place.get(at)
            if column is None:  # fixed by the region itself
                self.low[cell] = self.high[cell] = self._base[cell] + round(float(region.value[at]))
                continue
            for sense in (-1, 1):
                if bounds or self.seen_low[cell] >= self.seen_high[cell]:
                    self._end(programs, cell, column, sense)

    def _keep(self, kept: Kept, start: int) -> None:
        solved = np.zeros(0, np.int64) if self.solution is None else self.solution
        kept.save(
            low=self.low, high=self.high, seen_low=self.seen_low, seen_high=self.seen_high, solution=solved,
            facts=np.array([self.stage, start, self.programs, self.solution is not None]),
        )  # fmt: skip

    def _restore(self, kept: Kept) -> bool:
        held = kept.load()
        if held is None:
            return False
        self.low, self.high = held["low"], held["high"]
        self.seen_low, self.seen_high = held["seen_low"], held["seen_high"]
        self.stage, self.done, self.programs = map(int, held["facts"][:3])
        self.solution = held["solution"] if held["facts"][3] else None
        return True

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

    def _visit(self, places: Ints, point: Ints) -> None:
        """Widen what was seen by a point of the region's components."""
        assert self.region is not None
        at = self.region.free[places]
        real = at < len(self.open)
        cells = self.open[at[real]]
        counts = self._base[cells] + point[real]
        self.seen_low[cells] = np.minimum(self.seen_low[cells], counts)
        self.seen_high[cells] = np.maximum(self.seen_high[cells], counts)

    def _integer(self, cell: int, bounds: bool, walker: Walker | None) -> None:
        """What linear programs left open of one cell: its ends, or only whether there is another count at all."""
        for sense in (-1, 1):
            outer, seen = (self.high, self.seen_high) if sense > 0 else (self.low, self.seen_low)
            if sense * seen[cell] >= sense * outer[cell]:
                continue
            if bounds:
                status, table = self.whole.ask({cell: sense})
            elif self.seen_low[cell] < self.seen_high[cell]:
                return
            else:
                least, most = sorted((int(seen[cell]) + sense, int(outer[cell])))
                status, table = self.whole.ask(within=(cell, least, most))
            if table is not None:
                self.saw(table)
                walk_from(self, walker, table)
            if bounds and status == "best" and table is not None:
                outer[cell] = table[cell]
            elif not bounds and status == "none":
                outer[cell] = seen[cell]


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
