"""`Whole`: asks for tables of whole numbers, by CP-SAT where it is installed and by HiGHS where it is not."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.published import cpsat
from dalenius.published.arrays import Ints
from dalenius.published.system import System

SMALL = 300
"""Possible cells up to which HiGHS answers before another process has started."""

Answer = Literal["best", "some", "none", "unknown"]


class Whole:
    """Tables of whole numbers between given bounds that meet all published sums."""

    def __init__(self, system: System, low: Ints, high: Ints, nodes: int) -> None:
        self.system, self.low, self.high, self.nodes = system, low.copy(), high.copy(), nodes
        self.worker: cpsat.Worker | None = None

    def ask(
        self, goal: dict[int, int] | None = None, *, within: tuple[int, int, int] | None = None
    ) -> tuple[Answer, Ints | None]:
        """A table with a weighted sum of cells as large as can be; any table without a goal.

        ``within`` holds one cell between two counts.
        """
        wanted = goal or {}
        if len(self.system.cells) <= SMALL or not cpsat.available():
            return self._highs(wanted, within)
        if self.worker is None:
            rows, high = self.system.rows, np.minimum(self.system.high, 1 << 40)
            self.worker = cpsat.Worker(rows, self.system.low, high, self.low, self.high)
        status, table = self.worker.ask(wanted, within)
        found = None if table is None else np.array(table, np.int64)
        return status, found  # type: ignore[return-value]

    def _highs(
        self, wanted: dict[int, int], within: tuple[int, int, int] | None
    ) -> tuple[Answer, Ints | None]:
        low, high = self.low.copy(), self.high.copy()
        if within is not None:
            low[within[0]], high[within[0]] = within[1:]
        goal = np.zeros(len(self.system.cells))
        goal[list(wanted)] = [-weight for weight in wanted.values()]
        rows: Any = self.system.rows
        answer = milp(
            goal, integrality=np.ones(len(goal)), bounds=Bounds(low, high),
            constraints=LinearConstraint(rows, self.system.low, self.system.high) if rows.shape[0] else None,
            options={"node_limit": self.nodes if wanted or within else 20 * self.nodes, "mip_rel_gap": 0.0},
        )  # fmt: skip
        table = None if answer.x is None else np.rint(answer.x).astype(np.int64)
        if answer.status == 2:
            return "none", None
        if answer.status == 0:
            return "best", table
        return ("some", table) if table is not None else ("unknown", None)

    def close(self) -> None:
        """End what was started."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None
