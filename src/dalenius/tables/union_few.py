"""Combinations of published cells behind which few contributors stand: all but one of them read the last one's part.

Cells of up to n contributors are protected because n − 1 of them, with what they know, would read what the n-th has.
The same holds for any combination v of inner cells that follows from published ones: if its inner cells have n
contributors or fewer and it takes none of the inner cells of one of them away, the others take their own part out,
whatever its signs, and have a sum of that one's values. A sum that takes nothing away is the case an outsider sees.

The combinations without inner cells of more than n contributors are a linear space, mostly an empty one. It falls into
components that have nothing to do with each other; in each an integer program asks for every contributor whether n − 1
others are enough. Where it has no solution there is no such combination.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from dalenius.tables.model import Bools, Floats, Ints, Records
from dalenius.tables.union_programs import INFEASIBLE, MOST_NODES, Block, Budget, Parts, blocks, whole_sum

NOUGHT = 1e-9
LEAST = 0.05
"""What a combination takes of the one contributor, beside coefficients of at most 1."""


def few_sums(views: Sequence[Records | None], seen: Any, rules: Sequence[Any]) -> tuple[Any, bool]:
    """Combinations of few contributors, as inner cells × combinations, and whether all were looked at.

    Parameters
    ----------
    views
        The records by contributor, and by holding if there are any.
    seen
        Inner cells × published cells, without the inner cells that are known.
    rules
        Rules about contributors; those with ``max_n`` are asked.

    Examples
    --------
    >>> records = Records(np.array([0, 1, 1, 2, 2, 2]), np.ones(6), np.array([0, 1, 2, 3, 4, 5]))
    >>> from dalenius.tables import FewContributors
    >>> total = sp.csc_matrix(np.array([[1, 1], [1, 1], [1, 0]]))
    >>> few_sums([records], total, [FewContributors(3)])[0].toarray()[:, 0].tolist()
    [1, 1, 0]
    >>> few_sums([records], total, [FewContributors(2)])[0].shape[1]
    0
    """
    budget, found = Budget(), [sp.csc_matrix((seen.shape[0], 0), dtype=np.int64)]
    asked = [rule for rule in rules if hasattr(rule, "max_n")]
    for block in blocks(seen, budget) if asked else ():
        for records in (view for view in views if view is not None):
            parts = Parts.of(records, block.rows)
            for rule in asked:
                there = parts.without(rule.ignored).there
                units = parts.units if rule.weighting == "tau-argus" else np.ones(len(parts.units))
                found += [block.column(v) for v in _of_block(block, there, units, rule.max_n, budget)]
    return sp.csc_matrix(sp.hstack(found), dtype=np.int64), budget.complete


def _of_block(block: Block, there: Bools, units: Floats, most: int, budget: Budget) -> Iterator[Ints]:
    """The combinations of one block, in whole numbers."""
    small = there @ units <= most
    if not (small & there.any(axis=1)).any():
        return
    for rows, space in _components(block.seen, np.flatnonzero(small)):
        inside = there[rows]
        for one in np.flatnonzero(inside.any(axis=0)).tolist():
            # One who knows a cell of its own reads another's out of the sum of both, whatever the rule: from 2 on.
            v = _Program(space, inside, units, one, max(most, 2)).solved(budget)
            if v is None:
                continue
            whole = np.zeros(len(block.rows), np.int64)
            scaled = whole_sum(v)
            budget.complete &= scaled is not None
            if scaled is not None:
                whole[rows] = scaled
                yield whole


def _components(seen: Any, rows: Ints) -> Iterator[tuple[Ints, Floats]]:
    """What follows from published cells and lies in some rows only, in parts that share no row.

    Each part comes as a basis that has one row of its own for every vector, and 0 there in the others.
    """
    columns = seen.toarray()
    left, sizes, _ = np.linalg.svd(columns)
    unknown = left[:, int((sizes > NOUGHT * max(columns.shape)).sum()) :]
    turned, sizes, _ = np.linalg.svd(unknown[rows])
    basis = turned[:, int((sizes > NOUGHT * len(rows)).sum()) :]
    if not basis.shape[1]:
        return
    tied = np.abs(basis @ basis.T) > 1e-8  # the projection on the space does not tie rows of different parts
    label = connected_components(sp.csr_matrix(tied), directed=False)[1]
    used = tied.any(axis=1)
    for number in np.unique(label[used]).tolist():
        mine = np.flatnonzero(used & (label == number))
        part = _reduced(basis[mine])
        if part.shape[1]:
            yield rows[mine], part


def _reduced(vectors: Floats) -> Floats:
    """Columns that span the same space, each 1 in a row where the others are 0 (Gauss–Jordan)."""
    reduced = vectors.T.copy()
    done = 0
    for row in range(reduced.shape[1]):
        if done == len(reduced):
            break
        pivot = done + int(np.abs(reduced[done:, row]).argmax())
        if abs(reduced[pivot, row]) < 1e-7:
            continue
        reduced[[done, pivot]] = reduced[[pivot, done]]
        reduced[done] /= reduced[done, row]
        others = np.arange(len(reduced)) != done
        reduced[others] -= np.outer(reduced[others, row], reduced[done])
        done += 1
    reduced = reduced[:done].T
    whole = np.rint(12 * reduced) / 12  # 0, 1 and −1 mostly: take the dirt of the decomposition off
    return np.asarray(np.where(np.abs(whole - reduced) < 1e-7, whole, reduced))


class _Program(NamedTuple):
    """Asks whether a combination has fewer than ``most`` contributors but one."""

    space: Floats
    there: Bools
    units: Floats
    one: int
    most: int

    def solved(self, budget: Budget) -> Floats | None:
        """A combination with few contributors that takes nothing of one of them away, if there is any."""
        if not budget.spend():
            return None
        rows, vectors = self.space.shape
        others = np.flatnonzero(self.there.any(axis=0) & (np.arange(self.there.shape[1]) != self.one))
        at, who = np.nonzero(self.there[:, others])
        pick = sp.csr_matrix((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), rows)) @ self.space
        open_ = sp.csr_matrix((np.ones(len(at)), (np.arange(len(at)), who)), shape=(len(at), len(others)))
        mine = self.there[:, self.one]
        held = sp.csr_matrix(self.space[mine].sum(axis=0)[None, :])
        none = sp.csr_matrix((1, len(others)))
        answer = milp(
            np.concatenate([np.zeros(vectors), np.ones(len(others))]),
            integrality=np.concatenate([np.zeros(vectors), np.ones(len(others))]),
            bounds=Bounds(
                np.concatenate([np.full(vectors, -1.0), np.zeros(len(others))]),
                np.ones(vectors + len(others)),
            ),
            constraints=[
                LinearConstraint(
                    sp.hstack([sp.csr_matrix(self.space), sp.csr_matrix((rows, len(others)))]),
                    np.where(mine, 0.0, -1.0),
                    1.0,
                ),
                LinearConstraint(sp.hstack([pick, -open_]), -np.inf, 0.0),
                LinearConstraint(sp.hstack([-pick, -open_]), -np.inf, 0.0),
                LinearConstraint(sp.hstack([held, none]), LEAST, np.inf),
                LinearConstraint(
                    sp.hstack([sp.csr_matrix((1, vectors)), sp.csr_matrix(self.units[others][None, :])]),
                    0.0,
                    self.most - self.units[self.one],
                ),
            ],
            options={"node_limit": MOST_NODES},
        )
        if answer.x is None:
            budget.complete &= answer.status == INFEASIBLE
            return None
        return self._shortest(others[answer.x[vectors:] > 0.5])

    def _shortest(self, others: Ints) -> Floats | None:
        """The combination of these contributors that takes least in all."""
        outside = np.ones(self.there.shape[1], np.bool_)
        outside[[*others, self.one]] = False
        allowed = ~self.there[:, outside].any(axis=1)
        mine = self.there[:, self.one]
        rows, vectors = self.space.shape
        space, size = sp.csr_matrix(self.space), sp.identity(rows, format="csr")
        empty = sp.csr_matrix((rows, rows))
        answer = milp(
            np.concatenate([np.zeros(vectors), np.ones(rows)]),
            bounds=Bounds(
                np.concatenate([np.full(vectors, -np.inf), np.zeros(rows)]), np.full(vectors + rows, np.inf)
            ),
            constraints=[
                LinearConstraint(
                    sp.hstack([space, empty]),
                    np.where(mine | ~allowed, 0.0, -np.inf),
                    np.where(allowed, np.inf, 0.0),
                ),
                LinearConstraint(sp.hstack([space, -size]), -np.inf, 0.0),
                LinearConstraint(sp.hstack([-space, -size]), -np.inf, 0.0),
                LinearConstraint(
                    sp.hstack(
                        [sp.csr_matrix(self.space[mine].sum(axis=0)[None, :]), sp.csr_matrix((1, rows))]
                    ),
                    1.0,
                    1.0,
                ),
            ],
        )
        return None if answer.x is None else np.asarray(self.space @ answer.x[:vectors], np.float64)
