"""Secondary suppression by integer programming (HiGHS), for small tables: the best pattern, with a proof.

The compact model of complementary suppression (Kelly, Golden and Assad 1992; Fischetti and Salazar 2001): for every
primary cell there must be a table that fits all published cells in which it is larger by its protection level, and one
in which it is smaller. A published cell cannot differ between them. "sequential" takes the primary cells one after the
other and pays for each new cell only once, in the manner of the hypercube and network heuristics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.core.option import one_of
from dalenius.published.enough import Requirement
from dalenius.tables.integer import solve
from dalenius.tables.model import Bools, Floats, TableModel
from dalenius.tables.part_rules import protections_of
from dalenius.tables.protect import suppress
from dalenius.tables.protected import first_of_kind, signatures
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.repair import repaired
from dalenius.tables.rules import default_rules
from dalenius.tables.suppression import Suppression

MOST_WORK = 400_000
"""Primary cells × cells of the largest table for which the whole program is set up."""


def protect_optimal(
    model: TableModel,
    *rules: PrimaryRule,
    how: Literal["optimal", "sequential"] = "optimal",
    weights: Literal["cells", "value"] = "cells",
    requirement: Requirement | None = None,
    time_limit: float = 60.0,
) -> Suppression:
    """Suppress the fewest cells (or the least value) that protect the primary ones.

    Parameters
    ----------
    model, rules, requirement
        As in `protect`. What single contributors know is not part of the program; the audit looks afterwards, and what
        fails is repaired by the elimination.
    how
        "optimal": one program for all primary cells. "sequential": one after the other, for larger tables.
    weights
        What is lost: the number of cells, or their value.
    time_limit
        Seconds; after that the best pattern found is taken, and its gap is told.

    Examples
    --------
    >>> from dalenius.tables import define, SmallCount
    >>> data = {"a": list("xxyy"), "b": list("pqpq"), "n": [1, 7, 9, 5]}
    >>> print(protect_optimal(define(data, by=["a", "b"], freq="n"), SmallCount(3)))
    4 of 9 cells are suppressed: 1 because a rule asks for it (small count 1), 3 to protect it.
    No pattern with less loss exists.
    """
    one_of("how", how, ("optimal", "sequential"))
    one_of("weights", weights, ("cells", "value"))
    rules = rules or default_rules(model)
    asked = protections_of(model, rules)
    marked = np.logical_or.reduce([each.mask for each in asked.values()])
    if any(each.differences is not None for each in asked.values()):
        raise OptionError(
            "rules that protect differences of cells are for protect(), not for integer programs"
        )
    upper = np.maximum.reduce([each.upper for each in asked.values()])
    search = _Search(model, marked, upper, weights, time_limit)
    closed, note = search.all_at_once() if how == "optimal" else search.one_by_one()
    wanted = requirement or Requirement()
    outcome = repaired(
        lambda *more, sums=None: suppress(
            model, (*rules, *more), taken=closed, small="none", singleton="numFFFFF", sums=sums
        ),
        rules,
        wanted,
    )
    more = int(outcome.suppressed.sum()) - int((closed | marked).sum())
    told = f"{note} Single contributors and small counts asked for {more:,} more." if more else note
    return replace(
        outcome, notes=(*(n for n in outcome.notes if "still at risk" in n or "cannot" in n), told)
    )


class _Search:
    """The programs of one table; equal cells are one."""

    def __init__(
        self, model: TableModel, marked: Bools, upper: Floats, weights: str, time_limit: float
    ) -> None:
        self.model, self.time_limit = model, time_limit
        self.place = first_of_kind(signatures(model.matrix))
        filled = model.sizes > 0
        heads = np.unique(self.place[filled])
        self.heads = heads
        position = np.full(len(self.place), -1)
        position[heads] = np.arange(len(heads))
        self.column = np.where(filled, position[self.place], -1)
        self.primary = np.unique(self.column[marked & filled])
        self.sums = sp.csr_matrix(model.matrix[:, heads].T, dtype=np.float64)
        inner = model.counts.astype(np.float64) if model.values is None else model.values
        self.floor = -inner if bool((inner >= 0).all()) else np.full(len(inner), -np.inf)
        size = np.abs(model.amount[heads])
        self.reach = float(max(size.max(initial=1.0), 1.0)) * 2.0
        self.up = np.array([upper[(self.column == p)].max() for p in self.primary])
        self.unit = (
            1.0 if model.values is None else np.maximum(1e-3 * size[self.primary], 10.0**-model.decimals)
        )
        copies = np.bincount(self.column[self.column >= 0], minlength=len(heads))
        self.cost = copies * (np.ones(len(heads)) if weights == "cells" else np.maximum(size, 1e-6))
        # Zeros are suppressed last of all, as in the elimination.
        self.cost = np.where(size == 0, self.cost + self.cost.sum(), self.cost)
        self.cost[self.primary] = 0.0

    def all_at_once(self) -> tuple[Bools, str]:
        """One program: the pattern, and a table above and one below for every primary cell."""
        if len(self.primary) * len(self.heads) > MOST_WORK:
            raise DataError(
                "the table is too large for the whole program; how='sequential' or protect() do it"
            )
        answer = self._solve(range(len(self.primary)), np.zeros(len(self.heads), np.bool_), whole=True)
        gap = max(0.0, answer.objective - answer.bound) / max(abs(answer.objective), 1e-12)
        told = (
            "No pattern with less loss exists."
            if gap <= 1e-6
            else f"At most {100 * gap:.2g} % of the loss could be saved."
        )
        return self._closed(answer.point[: len(self.heads)] > 0.5), told

    def one_by_one(self) -> tuple[Bools, str]:
        """The primary cells from the largest to the smallest, each with the cells closed before for free."""
        closed = np.zeros(len(self.heads), np.bool_)
        closed[self.primary] = True
        size = np.abs(self.model.amount[self.heads])
        for p in np.argsort(-size[self.primary], kind="stable").tolist():
            answer = self._solve([p], closed, whole=True)
            closed |= answer.point[: len(self.heads)] > 0.5
        return self._closed(closed), "Each primary cell was protected at the least cost, one after the other."

    def _closed(self, columns: Bools) -> Bools:
        hit = np.zeros(len(self.place), np.bool_)
        hit[self.column >= 0] = columns[self.column[self.column >= 0]]
        return hit

    def _solve(self, wanted: Any, closed: Bools, *, whole: bool) -> Any:
        """Variables: suppressed or not for every cell; then for every primary cell a change up and a change down."""
        cells, inner = len(self.heads), self.sums.shape[1]
        wanted = list(wanted)
        width = cells + 2 * len(wanted) * inner
        rows: list[Any] = []
        low: list[Floats] = []
        high: list[Floats] = []
        limit = sp.diags(np.full(cells, self.reach), format="csr")

        def block(at: int, matrix: Any, pattern: Any) -> Any:
            left, right = at - cells, width - at - inner
            return sp.hstack(
                [
                    pattern,
                    sp.csr_matrix((matrix.shape[0], left)),
                    matrix,
                    sp.csr_matrix((matrix.shape[0], right)),
                ]
            )

        for k, p in enumerate(wanted):
            own = self.sums[[int(self.primary[p])]]
            at = [cells + (2 * k + d) * inner for d in (0, 1)]
            for start in at:
                rows += [block(start, self.sums, -limit), block(start, self.sums, limit)]
                low += [np.full(cells, -np.inf), np.zeros(cells)]
                high += [np.zeros(cells), np.full(cells, np.inf)]
            none = sp.csr_matrix((1, cells))
            unit = float(np.broadcast_to(self.unit, self.primary.shape)[p])
            rows += [block(at[0], own, none), block(at[0], own, none) - block(at[1], own, none)]
            low += [np.array([self.up[p]]), np.array([max(self.up[p], unit)])]
            high += [np.full(1, np.inf), np.full(1, np.inf)]
        least = np.concatenate(
            [np.zeros(cells), *([np.maximum(self.floor, -self.reach)] * (2 * len(wanted)))]
        )
        least[self.primary] = 1.0
        least[: len(closed)] = np.maximum(least[: len(closed)], closed)
        most = np.concatenate([np.ones(cells), np.full(2 * len(wanted) * inner, self.reach)])
        cost = np.concatenate([np.where(closed, 0.0, self.cost), np.zeros(width - cells)])
        integral = np.zeros(width, np.bool_)
        integral[:cells] = whole
        return solve(
            cost, sp.vstack(rows).tocsr(), np.concatenate(low), np.concatenate(high), whole=integral, least=least,
            most=most, time_limit=self.time_limit, what="optimal suppression",
        )  # fmt: skip
