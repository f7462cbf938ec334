"""Combinations of published cells that break a concentration rule for two or more who pool what they know.

`union_programs` and `union_insiders` ask who may be the largest, and one beside it. Where a rule counts more (p %
against a coalition of two, dominance of three), the best ones differ from sum to sum, and each of them takes its own
inner cells out of what follows. With q for what is taken away and p for the rest, p − q follows from published cells,
and q lies in inner cells that are the coalition's alone: for a given largest contributor a program picks the others,
and where its best is not above 0 no such combination breaks the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.tables.model import Bools, Floats, Ints, Records
from dalenius.tables.union_programs import (
    MOST_NODES,
    MOST_SEATS,
    SOLVED,
    Block,
    Budget,
    Concentration,
    Parts,
    blocks,
    whole_sum,
)

MOST_SIZE = 2_000
"""Inner cells × contributors up to which an integer program is solved; beyond it takes seconds."""
LEAST = 1e-6
"""By how much of the largest inner cell a rule is to be broken; less is the solver's accuracy."""


def coalition_sums(views: Sequence[Records | None], seen: Any, rules: Sequence[Any]) -> tuple[Any, bool]:
    """Combinations that break a rule about several contributors beside the largest, and whether all were tried.

    Parameters are those of `union_few.few_sums`; rules with two and more beside the largest are asked.

    Examples
    --------
    >>> from dalenius.tables import PPercent
    >>> records = Records(np.array([0, 1, 1]), np.array([50.0, 30, 20]), np.array([0, 1, 2]))
    >>> both = sp.csc_matrix(np.array([[1], [1]]))
    >>> coalition_sums([records], both, [PPercent(10, coalition=2)])[0].toarray()[:, 0].tolist()
    [1, 1]
    """
    budget, found = Budget(), [sp.csc_matrix((seen.shape[0], 0), dtype=np.int64)]
    asked = [
        (rule, form) for rule in rules for form in getattr(rule, "concentrations", ()) if form.beside > 1
    ]
    for block in blocks(seen, budget) if asked else ():
        for records in (view for view in views if view is not None):
            parts = Parts.of(records, block.rows)
            for rule, form in asked:
                known = parts.without(getattr(rule, "ignored", ())).scaled()
                found += _of_block(block, known, form, budget)
    return sp.csc_matrix(sp.hstack(found), dtype=np.int64), budget.complete


def _of_block(block: Block, parts: Parts, form: Concentration, budget: Budget) -> list[Any]:
    """For everybody who may be the largest a combination that breaks the rule, if there is any."""
    found = []
    for lead in np.flatnonzero(parts.there.any(axis=0)).tolist():
        program = _Program.of(block, parts, form, lead)
        if not program.may_break(budget):
            continue
        program = program.tried(budget)
        if program.size > MOST_SIZE:
            budget.complete = False
            continue
        sums = program.solved(budget)
        if sums is None:
            continue
        whole = whole_sum(sums)
        budget.complete &= whole is not None
        if whole is not None:
            found.append(block.column(whole))
    return found


@dataclass(frozen=True, eq=False)
class _Program:
    """Variables: how often each published cell is taken, p and q by inner cell; then who is beside the largest."""

    block: Block
    parts: Parts
    form: Concentration
    lead: int
    others: Ints
    away: Bools

    @classmethod
    def of(cls, block: Block, parts: Parts, form: Concentration, lead: int) -> _Program:
        away = (parts.there.sum(axis=1) <= form.beside) & ~parts.there[:, lead]
        return cls(block, parts, form, lead, parts.seats(lead, form.beside), away)

    @property
    def size(self) -> int:
        """Inner cells × those who may be beside the largest."""
        return len(self.block.rows) * len(self.others)

    def tried(self, budget: Budget) -> _Program:
        """The same with the largest of the others only, where they are too many."""
        budget.complete &= len(self.others) <= MOST_SEATS
        others = self.others[:MOST_SEATS]
        own = ~np.delete(self.parts.there, others, axis=1).any(axis=1)
        return replace(self, others=others, away=self.away & own)

    @property
    def _own(self) -> Floats:
        """What an inner cell adds to what must not be above 0, but for those beside the largest."""
        return np.asarray(self.form.lead * self.parts.held[:, self.lead] - self.form.share * self.parts.total)

    @property
    def _follows(self) -> Any:
        rows = len(self.block.rows)
        one = sp.identity(rows, format="csr")
        return sp.hstack([-sp.csr_matrix(self.block.seen), one, -one])

    def _box(self) -> tuple[Floats, Floats]:
        cells, rows = self.block.seen.shape[1], len(self.block.rows)
        low = np.concatenate([np.full(cells, -np.inf), np.zeros(2 * rows)])
        return low, np.concatenate([np.full(cells, np.inf), np.ones(rows), self.away.astype(np.float64)])

    def may_break(self, budget: Budget) -> bool:
        """Whether the bound with the best ones beside the largest in each inner cell leaves it open."""
        most = self._own + self.parts.beside(self.lead, self.form.beside)
        if not (most[self.parts.there[:, self.lead]] > 0).any() or not budget.spend():
            return False
        cells, rows = self.block.seen.shape[1], len(self.block.rows)
        answer = milp(
            np.concatenate([np.zeros(cells), -most, np.zeros(rows)]),
            bounds=Bounds(*self._box()),
            constraints=LinearConstraint(self._follows, 0.0, 0.0),
        )
        return answer.x is None or -answer.fun > LEAST * np.abs(most).max()

    def solved(self, budget: Budget) -> Floats | None:
        """The combination that breaks the rule most, if any does."""
        if not budget.spend():
            return None
        rows, people, start = len(self.block.rows), len(self.others), self.block.seen.shape[1]
        held = sp.csr_matrix(self.parts.held[:, self.others].T)
        top = np.maximum(self.parts.held[:, self.others].max(axis=0, initial=0.0), LEAST)
        # What seats add, what those who know add; who has a seat, who knows.
        seats, knows, seat, know = (start + 2 * rows + i * people for i in range(4))
        one, wide = sp.identity(people, format="csr"), know + people
        side = np.concatenate([np.zeros(start), self._own, np.zeros(rows), np.ones(people),
                               np.full(people, self.form.share), np.zeros(2 * people)])  # fmt: skip
        at, who = np.nonzero(self.parts.there[:, self.others] & self.away[:, None])
        pairs = np.arange(len(at))
        taken = sp.csr_matrix((np.ones(len(at)), (pairs, at)), shape=(len(at), rows))
        knower = sp.csr_matrix((-np.ones(len(at)), (pairs, who)), shape=(len(at), people))
        limits = [
            (_placed(wide, (0, self._follows)), 0.0, 0.0),
            (_placed(wide, (start, sp.csr_matrix(np.ones((1, rows))))), 0.0, 1.0),
            (_placed(wide, (start, -held), (seats, one)), -np.inf, 0.0),
            (_placed(wide, (start, -held), (knows, one)), -np.inf, 0.0),
            (_placed(wide, (seats, one), (seat, -sp.diags(top))), -np.inf, 0.0),
            (_placed(wide, (knows, one), (know, -sp.diags(top))), -np.inf, 0.0),
            (_placed(wide, (seat, one), (know, one)), 0.0, 1.0),
            (_placed(wide, (start + rows, taken), (know, knower)), -np.inf, 0.0),
            (_placed(wide, (seat, sp.csr_matrix(np.ones((1, 2 * people))))), 0.0, self.form.beside),
        ]
        low, high = self._box()
        integral = np.concatenate([np.zeros(seat), np.ones(2 * people)])
        answer = milp(
            -side, integrality=integral,
            bounds=Bounds(np.concatenate([low, np.zeros(4 * people)]),
                          np.concatenate([high, top, top, np.ones(2 * people)])),
            constraints=[LinearConstraint(*limit) for limit in limits],
            options={"node_limit": MOST_NODES},
        )  # fmt: skip
        if answer.x is None or -answer.fun < LEAST:
            budget.complete &= answer.status == SOLVED
            return None
        return self._sharpest(
            self.others[answer.x[seat:know] > 0.5], self.others[answer.x[know:] > 0.5], budget
        )

    def _sharpest(self, seated: Ints, knowing: Ints, budget: Budget) -> Floats | None:
        """The combination that breaks the rule most with just these beside the largest."""
        there, held = self.parts.there, self.parts.held
        rest = np.ones(there.shape[1], np.bool_)
        rest[knowing] = False
        keep = there[:, rest].any(axis=1) | ~there.any(axis=1)
        weight = self._own + held[:, seated].sum(axis=1) + self.form.share * held[:, knowing].sum(axis=1)
        others = replace(self.block, rows=self.block.rows[keep], seen=self.block.seen[keep])
        mix = others.mixed(weight[keep], budget)
        return None if mix is None else np.asarray(self.block.seen @ mix, np.float64)


def _placed(wide: int, *entries: tuple[int, Any]) -> Any:
    """Matrices side by side, each from a column on, the rest empty."""
    parts, at = [], 0
    for place, matrix in entries:
        parts += [sp.csr_matrix((matrix.shape[0], place - at)), matrix]
        at = place + matrix.shape[1]
    return sp.hstack([*parts, sp.csr_matrix((entries[0][1].shape[0], wide - at))]).tocsr()
