"""Combinations of published cells that break a rule: one linear program for each contributor who may be at the head.

A sum u of inner cells (none taken away, so u ≥ 0) that follows from published cells breaks a concentration rule if
lead · x₁(u) + the next few largest − share · total(u) > 0. For a given largest contributor, and the best next ones row
by row, the left side is linear in u and never too small: where its maximum is not positive there is no such sum. The
best u with Σu = 1 is an extreme ray, that is, a sum that is not made of smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from dalenius.tables.model import Bools, Floats, Ints, Records

MOST_ROWS = 400
"""Inner cells of a block up to which programs are solved."""
MOST_PROGRAMS = 400
"""Programs of one audit."""
MOST_NODES = 2_000
"""Branches of one integer program."""
SOLVED, INFEASIBLE = 0, 2
"""What SciPy calls a program that was solved, and one without a solution."""
MOST_SEATS = 40
"""Contributors tried beside the largest one where the bound for all of them leaves it open."""
DENOMINATORS = range(1, 13)


class Concentration(NamedTuple):
    """A rule that is broken where lead · x₁ + the ``beside`` next largest − share · total is above 0.

    With ``kind`` only contributors with this kind of request count as x₁.
    """

    lead: float
    beside: int
    share: float
    kind: int = 0


@dataclass
class Budget:
    """Programs left, and whether any had to be left out."""

    left: int = MOST_PROGRAMS
    complete: bool = True

    def spend(self) -> bool:
        """Whether one more may be solved."""
        self.left -= 1
        self.complete &= self.left >= 0
        return self.left >= 0


def searched(views: Sequence[Records | None], seen: Any, rules: Sequence[Any]) -> tuple[Any, bool]:
    """Sums that may break a rule, as inner cells × sums, and whether all blocks could be looked at.

    Parameters
    ----------
    views
        The records by contributor, and by holding if there are any.
    seen
        Inner cells × published cells, without the inner cells that are known.
    rules
        Rules about contributors: with ``concentrations``, or ``max_n`` for those who are few.
    """
    budget = Budget()
    found: list[Any] = []
    for block in blocks(seen, budget):
        for records in views:
            if records is not None:
                found += block.sums(Parts.of(records, block.rows), rules, budget)
    columns = sp.hstack(found) if found else sp.csc_matrix((seen.shape[0], 0), dtype=np.int64)
    return sp.csc_matrix(columns, dtype=np.int64), budget.complete


def blocks(seen: Any, budget: Budget) -> Iterator[Block]:
    """Inner cells that published cells tie together."""
    seen = sp.csc_matrix(seen)
    rows = np.unique(seen.indices)
    links = sp.bmat([[None, seen], [seen.T, None]])
    label = connected_components(links, directed=False)[1]
    for number in np.unique(label[rows]).tolist():
        mine = rows[label[rows] == number]
        if len(mine) > MOST_ROWS:
            budget.complete = False
        elif len(mine) > 1:
            columns = np.flatnonzero(label[seen.shape[0] :] == number)
            yield Block(seen.shape[0], mine, sp.csr_matrix(seen[:, columns])[mine].astype(np.float64))


@dataclass(frozen=True, eq=False)
class Parts:
    """Inner cells of a block × contributors: what each holds, who is there at all, and the total.

    ``units`` are the fewest sampled units that a contributor stands for in any of its records.
    """

    held: Floats
    there: Bools
    total: Floats
    asked: Ints
    units: Floats
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, records: Records, rows: Ints) -> Parts:
        """Add up the records behind some inner cells."""
        place = np.searchsorted(rows, records.inner)
        place[place == len(rows)] = 0
        mine = np.flatnonzero(rows[place] == records.inner)
        place = place[mine]
        who = mine if records.contributor is None else records.contributor[mine]
        people, column = np.unique(who, return_inverse=True)
        shape = (len(rows), len(people))
        held, weighted, there = (np.zeros(shape) for _ in range(3))
        np.add.at(held, (place, column), records.value[mine])
        weight = 1.0 if records.weight is None else records.weight[mine]
        np.add.at(weighted, (place, column), records.value[mine] * weight)
        np.add.at(there, (place, column), (records.value[mine] != 0).astype(np.float64))
        asked = np.zeros(len(people), np.int64)
        if records.request is not None:
            np.maximum.at(asked, column, records.request[mine])
        units = np.full(len(people), np.inf)
        np.minimum.at(units, column, weight)
        labels = tuple(records.labels[i] for i in people.tolist()) if records.labels else ()
        return cls(np.abs(held), there > 0, np.abs(weighted).sum(axis=1), asked, units, labels)

    def without(self, ignored: Sequence[str]) -> Parts:
        """The same with some who are no contributors: they count in the total only."""
        keep = np.array([label not in ignored for label in self.labels], np.bool_)
        if not ignored or keep.all():
            return self
        return replace(self, held=self.held * keep, there=self.there & keep)

    def scaled(self) -> Parts:
        """The same as shares of the largest total, which programs solve more surely."""
        top = max(float(self.total.max(initial=0.0)), 1e-300)
        return replace(self, held=self.held / top, total=self.total / top)

    def beside(self, lead: int, count: int) -> Floats:
        """For every inner cell the ``count`` largest contributions but one contributor's."""
        if not count:
            return np.zeros(len(self.total))
        others = np.sort(np.delete(self.held, lead, axis=1), axis=1)[:, ::-1]
        return np.asarray(others[:, :count].sum(axis=1))

    def seats(self, lead: int, count: int = 1) -> Ints:
        """Who may be next to the largest, the largest first; of those in one inner cell only, its largest will do."""
        rows = (self.held > 0).sum(axis=0)
        single = np.where((rows == 1) & (np.arange(len(rows)) != lead), self.held, 0.0)
        best = np.argsort(-single, axis=1, kind="stable")[:, :count]
        keep = rows > 1
        keep[best[np.take_along_axis(single, best, axis=1) > 0]] = True
        keep[lead] = False
        places = np.flatnonzero(keep)
        return places[np.argsort(-self.held.sum(axis=0)[places], kind="stable")]


@dataclass(frozen=True, eq=False)
class Block:
    """Inner cells tied together by published cells, and the programs over them."""

    size: int
    rows: Ints
    seen: Any

    def sums(self, parts: Parts, rules: Sequence[Any], budget: Budget) -> list[Any]:
        """Sums that may break one of the rules."""
        found: list[Floats | None] = []
        for rule in rules:
            known = parts.without(getattr(rule, "ignored", ()))
            for form in getattr(rule, "concentrations", ()):
                found += self._concentrated(known, form, budget)
        whole = [whole_sum(np.maximum(u, 0.0)) for u in found if u is not None]
        budget.complete &= all(u is not None for u in whole)
        return [self.column(u) for u in whole if u is not None]

    def _concentrated(self, parts: Parts, form: Concentration, budget: Budget) -> list[Floats | None]:
        found: list[Floats | None] = []
        for lead in range(parts.held.shape[1]):
            if form.kind and parts.asked[lead] != form.kind:
                continue
            own = form.lead * parts.held[:, lead] - form.share * parts.total
            most = own + parts.beside(lead, form.beside)
            if not ((most > 0) & (parts.held[:, lead] > 0)).any():
                continue
            best = self._best(most, budget)
            found.append(best)
            if best is not None and form.beside == 1 and not is_broken(parts, best, form):
                seats = parts.seats(lead)
                budget.complete &= len(seats) <= MOST_SEATS
                found += [
                    self._best(own + parts.held[:, seat], budget) for seat in seats[:MOST_SEATS].tolist()
                ]
        return found

    def _best(self, weight: Floats, budget: Budget, allowed: Bools | None = None) -> Floats | None:
        """The sum u = seen @ y, u ≥ 0, Σu = 1, of the largest weight, if that is not below 0."""
        mix = self.mixed(weight, budget, allowed)
        return None if mix is None else np.asarray(self.seen @ mix, np.float64)

    def mixed(self, weight: Floats, budget: Budget, allowed: Bools | None = None) -> Floats | None:
        """How often each published cell is taken in that sum."""
        if not budget.spend():
            return None
        top = np.inf if allowed is None else np.where(allowed, np.inf, 0.0)
        answer = milp(
            -(self.seen.T @ weight), bounds=Bounds(-np.inf, np.inf),
            constraints=[LinearConstraint(self.seen, 0.0, top),
                         LinearConstraint(sp.csr_matrix(self.seen.sum(axis=0)), 1.0, 1.0)],
        )  # fmt: skip
        if answer.x is None or -answer.fun < -1e-9 * np.abs(weight).max():
            return None
        return np.asarray(answer.x, np.float64)

    def column(self, whole: Ints) -> Any:
        """A sum as a column over all inner cells."""
        there = np.flatnonzero(whole)
        return sp.csc_matrix(
            (whole[there], (self.rows[there], np.zeros(len(there), np.int64))), shape=(self.size, 1)
        )


def is_broken(parts: Parts, sums: Floats, form: Concentration) -> bool:
    """Whether a sum of the block's inner cells breaks a rule."""
    held = np.sort(sums @ parts.held)[::-1]
    return bool(form.lead * held[0] + held[1 : 1 + form.beside].sum() > form.share * (sums @ parts.total))


def whole_sum(sums: Floats) -> Ints | None:
    """The same sum in whole numbers."""
    sums = np.where(np.abs(sums) > 1e-9, sums, 0.0)
    scaled = sums / np.abs(sums[sums != 0]).min()
    for factor in DENOMINATORS:
        rounded = np.rint(factor * scaled)
        if np.abs(rounded - factor * scaled).max() < 1e-6:
            return rounded.astype(np.int64)
    return None
