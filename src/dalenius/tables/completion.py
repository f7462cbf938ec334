"""`completed`: the cheapest further cells that make a suppressed table pass its audit, by integer programs.

What an audit finds is put right one after the other: a cell whose interval is too narrow, a cell that a contributor can
compute, a known sum that breaks a rule. For each a program looks for a table that fits all published cells, differs
there by as much as asked for, and closes as few more cells as can be (the single step of the compact model of Kelly,
Golden and Assad 1992). Cells closed before are free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.tables.audit import Audit
from dalenius.tables.gauss import ELSEWHERE
from dalenius.tables.intruders import NOBODY, inner_cells_of
from dalenius.tables.model import Bools, Floats, Ints
from dalenius.tables.protected import first_of_kind, signatures
from dalenius.tables.suppression import Suppression

MOST_ENTRIES = 1_000
"""Entries of the matrix of sums up to which programs are solved."""
MOST_ROUNDS = 30
MOST_NODES = 500
LEAST = 0.1
"""Change that is asked for, as a share of the largest that a cell may make."""


class Target(NamedTuple):
    """A sum of inner cells that must be able to change: up and down by so much, and by ``width`` between both.

    Without ``width`` any change will do, and values may be negative: the sum is then just not to be computed.
    """

    own: Any
    up: float = 0.0
    down: float = 0.0
    width: float = 0.0
    known: Ints = NOBODY


def completed(
    bare: Suppression, found: Audit, check: Callable[[Suppression], Audit]
) -> tuple[Suppression, Audit]:
    """Close the cheapest further cells until the audit passes, or programs are of no more help."""
    best, audit = bare, found
    if sp.csc_matrix(bare.model.matrix).nnz > MOST_ENTRIES:
        return best, audit
    programs = _Programs.of(bare)
    for _ in range(MOST_ROUNDS):
        if audit.passed:
            break
        more = programs.closing(best, audit)
        if not (more & ~best.suppressed).any():
            break
        fresh = more & ~best.suppressed
        best = replace(best, secondary=best.secondary | fresh, cause=np.where(fresh, ELSEWHERE, best.cause))
        audit = check(best)
    return best, audit


@dataclass(frozen=True, eq=False)
class _Programs:
    """Distinct sums × inner cells, what closing each costs, and which may be closed at all."""

    sums: Any
    column: Ints
    cost: Floats
    may: Bools
    inner: Floats

    @classmethod
    def of(cls, bare: Suppression) -> _Programs:
        model = bare.model
        kind = first_of_kind(signatures(model.matrix))
        heads, column = np.unique(kind, return_inverse=True)
        rank = np.empty(len(kind))
        rank[bare.order] = np.arange(len(bare.order))[::-1] / len(bare.order)
        cost = np.asarray(np.bincount(column, 1.0 + rank), np.float64)
        fixed = bare.forced | (model.amount == 0)
        may = np.bincount(column, fixed) == 0
        inner = model.counts.astype(np.float64) if model.values is None else model.values
        return cls(sp.csr_matrix(model.matrix[:, heads].T, dtype=np.float64), column, cost, may, inner)

    def closing(self, outcome: Suppression, found: Audit) -> Bools:
        """The suppressed cells, and those to be closed for what the audit found, one target after the other."""
        out = outcome.suppressed | outcome.hidden
        closed = np.bincount(self.column, ~out) == 0
        for target in _targets(outcome, found):
            answer = self._solved(target, closed)
            if answer is not None:
                closed = closed | answer
        return np.asarray((closed[self.column] & ~outcome.forced & ~outcome.hidden) | outcome.suppressed)

    def _solved(self, target: Target, closed: Bools) -> Bools | None:
        """Closed or not for every sum, and one change of the inner cells, or one up and one down."""
        cells, inner = self.sums.shape
        # Cells change by up to ten times what is asked for: changes far below the solver's accuracy mean nothing.
        scale = max(target.up, target.down, target.width) / LEAST
        both = target.width > 0
        moves = 2 if both else 1
        limit, empty = sp.identity(cells, format="csr"), sp.csr_matrix((cells, inner))
        rows = []
        for move in range(moves):
            part = [self.sums if m == move else empty for m in range(moves)]
            rows += [sp.hstack([-limit, *part]), sp.hstack([-limit, *(-each for each in part)])]
        own = sp.csr_matrix(target.own.T, dtype=np.float64)
        none, wide = sp.csr_matrix((1, inner)), sp.csr_matrix((1, cells))
        if both:
            asked = [
                sp.hstack([wide, own, none]),
                sp.hstack([wide, none, -own]),
                sp.hstack([wide, own, -own]),
            ]
            least = np.array([target.up, target.down, target.width]) / scale
        else:
            asked, least = [sp.hstack([wide, own])], np.array([LEAST])
        low = np.full(inner, -1.0)
        if both and bool((self.inner >= 0).all()):
            low = np.maximum(low, -self.inner / scale)
        high = np.ones(inner)
        low[target.known] = high[target.known] = 0.0
        whole = np.concatenate([np.ones(cells), np.zeros(moves * inner)])
        answer = milp(
            np.concatenate([np.where(closed, 0.0, self.cost), np.zeros(moves * inner)]), integrality=whole,
            bounds=Bounds(np.concatenate([closed.astype(float), *[low] * moves]),
                          np.concatenate([(self.may | closed).astype(float), *[high] * moves])),
            constraints=[LinearConstraint(sp.vstack(rows).tocsr(), -np.inf, 0.0),
                         LinearConstraint(sp.vstack(asked).tocsr(), least, np.inf)],
            options={"node_limit": MOST_NODES, "presolve": False},
        )  # fmt: skip
        return None if answer.x is None else np.asarray(answer.x[:cells] > 0.5)


def _targets(outcome: Suppression, found: Audit) -> Iterator[Target]:
    """What is at risk, as sums that must be able to change."""
    matrix, amounts = sp.csc_matrix(outcome.model.matrix), found.table.amounts
    places = found.intervals.cells
    for i in np.flatnonzero(~found.met).tolist():
        cell, unit = int(places[i]), 10.0**-outcome.model.decimals
        value, enough = float(amounts[cell]), found.enough
        width = max(float(enough.width[i]), unit, 1e-3 * abs(value) if outcome.model.is_magnitude else 1.0)
        yield Target(matrix[:, [cell]], float(enough.high[i]) - value, value - float(enough.low[i]), width)
    for who, rows in inner_cells_of(found.table.owners).items():
        for cell in found.exposed.by_contributor.get(who, NOBODY).tolist():
            if found.table.primary[cell]:
                yield Target(matrix[:, [cell]], known=rows)
    further = found.table.differences
    if further is not None:
        for i in np.flatnonzero(found.differences).tolist():
            yield Target(sp.csc_matrix(further)[:, [i]])
    for i in range(found.unions.count):
        yield Target(sp.csc_matrix(found.unions.sums)[:, [i]])
