"""Protected over time: this year's table beside last year's, which is out already.

Last year's pattern leaks into this year's when the same people stand behind a cell: who knows that a contributor did
not change, or that last year's value is a good guess of this year's, gets at a cell that one year hides and the other
shows. So the audit runs over both years together, with inner cells that hardly changed as one, and what it finds is
closed this year: first the cells that were closed last year.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.tables.audit import Audit, audit
from dalenius.tables.contributions import Contributions
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.model import Bools, Floats, Ints, TableModel
from dalenius.tables.protect import protect
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rules import Dominance, Except, Manual, PPercent, default_rules
from dalenius.tables.suppression import Suppression
from dalenius.tables.whose import whose_rows

MOST_ROUNDS = 20
MOST_CHANGED = 2
"""A change that so few contributors make up is theirs."""


@dataclass(frozen=True, eq=False)
class TwoYears:
    """The table of this year, protected beside last year's.

    Attributes
    ----------
    now
        This year's outcome.
    before
        Last year's, as it was published.
    checked
        The audit over both years together.
    alone
        Cells suppressed if this year were protected by itself.
    """

    now: Suppression
    before: Suppression
    checked: Audit
    alone: int

    @property
    def price(self) -> int:
        """Cells that are suppressed because of last year only."""
        return int(self.now.suppressed.sum()) - self.alone

    def __str__(self) -> str:
        end = "" if self.checked.passed else f" Both years together: {self.checked}"
        alone = f"than this year alone ({self.alone:,})."
        cost = f"Last year costs {self.price:,} cells more {alone}"
        if self.price < 0:
            cost = f"Last year leads to another choice, of {-self.price:,} cells fewer {alone}"
        whose = whose_rows(self.now.model)
        return f"{self.now.sentence} {cost}{end}" + (f" {whose}" if whose else "")


def protect_years(
    before: Suppression, model: TableModel, *rules: PrimaryRule, unchanged_percent: float = 0.0
) -> TwoYears:
    """Protect this year's table so that nothing follows from both years together.

    Parameters
    ----------
    before
        Last year's protected table, as published; it cannot be changed any more.
    model, rules
        This year's table, with the same dimensions, and its rules.
    unchanged_percent
        An inner cell counts as unchanged, and everybody knows it, if it differs from last year's by at most this
        percentage; 0 means that only equal inner cells are linked.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> last, this = ({"a": list("wxyz"), "n": counts} for counts in ([1, 7, 9, 12], [5, 7, 9, 12]))
    >>> before = protect(define(last, by="a", freq="n"), SmallCount(3))
    >>> print(protect_years(before, define(this, by="a", freq="n"), SmallCount(3)))
    2 of 5 cells are suppressed: 0 because a rule asks for it, 2 to protect them. Last year costs 2 cells more than this
    year alone (0).
    """
    if before.model.names != model.names:
        raise DataError("both years need the same dimensions")
    if not unchanged_percent >= 0:
        raise OptionError("unchanged_percent must be 0 or more")
    asked = rules or default_rules(model)
    alone = protect(model, *asked)
    links = _links(before.model, model, unchanged_percent)
    closed = few_changed(before, model, asked)
    now = alone
    if closed.any():
        now = protect(model, *asked, Manual(closed, "change of few")).under(asked)
    checked = _both(before, now, links)
    for _ in range(MOST_ROUNDS):
        more = _next(before, now, checked)
        if checked.passed or not more.any():
            break
        closed |= more
        now = protect(model, *asked, Manual(closed, "suppressed last year")).under(asked)
        checked = _both(before, now, links)
    return TwoYears(now, before, checked, int(alone.suppressed.sum()))


def _places(before: TableModel, now: TableModel, frame: str) -> Ints:
    """For every row of this year's frame the place of the same codes last year, or -1."""
    old, new = getattr(before, frame), getattr(now, frame)
    at = {row: i for i, row in enumerate(old.select(now.names).iter_rows())}
    return np.array([at.get(row, -1) for row in new.select(now.names).iter_rows()], np.int64)


def few_changed(before: Suppression, now: TableModel, rules: Sequence[PrimaryRule] = ()) -> Bools:
    """Cells of sums, shown last year, whose change is that of few: shown again, the difference is their value.

    Few are one or two contributors, or those with so large a part in the change that a concentration rule is broken:
    the rule is asked about changes instead of values. Without a column of contributors, records of the same value in an
    inner cell are taken for the same.
    """
    if not now.is_magnitude or not before.model.is_magnitude:
        return np.zeros(len(now.cells), np.bool_)
    old, new = _held(before.model), _held(now)
    moved = [who for who in {*old, *new} if abs(old.get(who, 0.0) - new.get(who, 0.0)) > 1e-9]
    people = {label: i for i, label in enumerate(dict.fromkeys(label for _, label in moved))}
    place = _places(before.model, now, "cells")
    there = place >= 0
    change = sp.lil_matrix(_moved(now, new, moved, people))
    change[np.flatnonzero(there)] -= _moved(before.model, old, moved, people)[place[there]]
    net = sp.csr_matrix(change)
    net.data[np.abs(net.data) <= 1e-9] = 0.0
    net.eliminate_zeros()
    count = np.diff(net.indptr)
    parts = Contributions(net, net, np.asarray(abs(net).sum(axis=1)).ravel())
    few = count <= MOST_CHANGED
    for rule in rules:
        inside = rule.rule if isinstance(rule, Except) else rule
        if isinstance(inside, Dominance | PPercent):
            few |= inside.hits(parts)
    shown = np.zeros(len(place), np.bool_)
    shown[there] = ~(before.suppressed | before.hidden)[place[there]]
    return np.asarray(shown & (count >= 1) & few)


def _held(model: TableModel) -> dict[tuple[tuple[str, ...], str], float]:
    """What every contributor holds in every inner cell, by codes and name."""
    records = model.records
    assert records is not None
    codes = list(model.inner.select(model.names).iter_rows())
    held: dict[tuple[tuple[str, ...], str], float] = {}
    for row, (place, value) in enumerate(zip(records.inner.tolist(), records.value.tolist(), strict=True)):
        label = f"{value!r}" if records.contributor is None else records.labels[records.contributor[row]]
        held[codes[place], label] = held.get((codes[place], label), 0.0) + value
    return held


def _moved(
    model: TableModel,
    held: Mapping[tuple[tuple[str, ...], str], float],
    moved: list[tuple[tuple[str, ...], str]],
    people: dict[str, int],
) -> Any:
    """Cells × contributors: what those who changed hold in them."""
    at = {row: i for i, row in enumerate(model.inner.select(model.names).iter_rows())}
    those = [
        (at[codes], people[label], held.get((codes, label), 0.0)) for codes, label in moved if codes in at
    ]
    rows, columns, values = ([each[i] for each in those] for i in range(3))
    inner = sp.csr_matrix((np.array(values, np.float64), (rows, columns)), shape=(len(at), len(people)))
    return sp.csr_matrix(model.matrix.T @ inner)


def _links(before: TableModel, now: TableModel, percent: float) -> tuple[Ints, Ints]:
    """Inner cells (last year's, this year's) that everybody takes to be the same."""
    place = _places(before, now, "inner")
    both = np.flatnonzero(place >= 0)
    old, new = _amounts(before)[place[both]], _amounts(now)[both]
    alike = np.abs(new - old) <= percent / 100.0 * np.abs(old) + 1e-9
    return place[both][alike], both[alike]


def _amounts(model: TableModel) -> Floats:
    return model.counts.astype(np.float64) if model.values is None else model.values


def _both(before: Suppression, now: Suppression, links: tuple[Ints, Ints]) -> Audit:
    """The audit of both years as one table; linked inner cells are one, published changes being known."""
    first, second = Disclosed.of(before), Disclosed.of(now)
    old, new = before.model, now.model
    rows = np.arange(len(new.counts)) + len(old.counts)
    rows[links[1]] = links[0]
    kept = np.unique(np.concatenate([np.arange(len(old.counts)), rows]))
    position = np.searchsorted(kept, rows)
    spread = sp.csr_matrix(
        (np.ones(len(rows), np.int64), (position, np.arange(len(rows)))), shape=(len(kept), len(rows))
    )
    top = sp.vstack(
        [old.matrix, sp.csc_matrix((len(kept) - len(old.counts), len(old.cells)), dtype=np.int64)]
    )
    inner = np.concatenate([_amounts(old), np.zeros(len(kept) - len(old.counts))])
    fresh = np.setdiff1d(np.arange(len(rows)), links[1])
    inner[position[fresh]] = _amounts(new)[fresh]
    matrix = sp.hstack([top, spread @ new.matrix]).tocsc()
    # What everybody takes to be unchanged may differ a little: this year's cells are then sums of last year's parts.
    amounts = np.asarray(matrix.T @ inner, np.float64)
    year = pl.concat([old.cells.with_columns(pl.lit("before").alias("year of the table")),
                      new.cells.with_columns(pl.lit("now").alias("year of the table"))])  # fmt: skip
    suppressed, primary, hidden, above = (
        np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("suppressed", "primary", "hidden", "above")
    )
    table = Disclosed(year, matrix, amounts, suppressed, primary, hidden, above, inner=inner)
    return audit(table, contributors=False)


def _next(before: Suppression, now: Suppression, found: Audit) -> Bools:
    """Cells of this year to close: those that were closed last year and are open now, nearest to the cells at risk."""
    cells, earlier = len(now.primary), len(before.primary)
    place = _places(before.model, now.model, "cells")
    was = np.zeros(cells, np.bool_)
    was[place >= 0] = before.suppressed[place[place >= 0]]
    open_now = ~now.suppressed & ~now.forced & ~now.hidden & (now.model.sizes > 0)
    candidates = was & open_now
    at_risk = found.failing
    hit = np.unique(found.table.matrix[:, at_risk].indices)
    touched = np.zeros(found.table.matrix.shape[0], np.bool_)
    touched[hit] = True
    near = np.asarray(found.table.matrix[:, earlier:].T @ touched.astype(np.int64)) > 0
    chosen = candidates & near
    if chosen.any() or found.passed:
        return chosen
    if candidates.any():
        return candidates
    # Nothing was closed last year that is open now: close the least useful open cell around each cell at risk.
    rank = np.empty(cells, np.int64)
    rank[now.order] = np.arange(cells)
    pool = np.flatnonzero(open_now & near & (now.model.amount != 0))
    if len(pool):
        chosen[pool[np.argmax(rank[pool])]] = True
    return chosen
