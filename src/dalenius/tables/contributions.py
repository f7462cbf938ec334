"""Who contributes how much to each cell: the figures behind dominance and p % rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dalenius.tables._largest import largest_in_rows
from dalenius.tables.model import Floats, Ints, TableModel


class Parts(Protocol):
    """What dominance and p % rules ask: how many contribute to each cell, how much in all, how much the largest."""

    @property
    def number(self) -> Ints:
        """Distinct contributors."""
        ...

    @property
    def total(self) -> Floats:
        """Sum of all contributions."""
        ...

    def largest_sum(self, count: int) -> Floats:
        """Sum of the ``count`` largest contributions."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """Cells × contributors.

    A contributor's records are added up within the cell before anything else, so a firm with ten small units counts
    as one. ``ignored`` contributors (a code such as "unknown") count in the total but are never a contributor of
    their own.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a", "a", "a", "b"], "firm": ["f1", "f1", "f2", "f3"], "value": [30, 40, 10, 5]}
    >>> parts = Contributions.of(define(firms, by="branch", value="value", contributor="firm"))
    >>> parts.number.tolist(), parts.largest(2).tolist()
    ([3, 2, 1], [[70.0, 10.0], [70.0, 10.0], [5.0, 0.0]])
    """

    sums: Any
    members: Any
    total: Floats
    spread: Any | None = None
    givers: Any | None = None

    @classmethod
    def of(cls, model: TableModel, ignored: tuple[str, ...] = (), tau_argus: bool = False) -> Contributions:
        """Add up the records of every contributor in every cell."""
        records = model.records
        if records is None:  # a frequency table: every person contributes 1
            return cls(None, None, model.frequency.astype(np.float64))
        who = np.arange(len(records.inner)) if records.contributor is None else records.contributor
        people = int(who.max(initial=-1)) + 1
        shape = (len(model.counts), people)
        cells = sp.csr_matrix(model.matrix.T)
        own = sp.csr_matrix((records.value, (records.inner, who)), shape=shape)
        members = sp.csr_matrix((np.ones(len(who)), (records.inner, who)), shape=shape)
        gives = np.flatnonzero(records.value)
        giving = sp.csr_matrix((np.ones(len(gives)), (records.inner[gives], who[gives])), shape=shape)
        skip = np.array([records.labels.index(code) for code in ignored if code in records.labels], np.int64)
        kept = np.ones(people)
        kept[skip] = 0.0
        keep = sp.csr_matrix((kept, (np.arange(people), np.arange(people))), shape=(people, people))
        keep.eliminate_zeros()
        weights = np.ones(len(who)) if records.weight is None else records.weight
        if records.weight is None:
            total = np.asarray(abs(cells @ own).sum(axis=1)).ravel()
        else:
            weighted = sp.csr_matrix((records.value * weights, (records.inner, who)), shape=shape)
            total = np.asarray(abs(cells @ weighted).sum(axis=1)).ravel()
        sums = sp.csr_matrix(cells @ own @ keep)
        spread = None
        if tau_argus and records.weight is not None:
            # A contributor with several records stands for as many units as keep its weighted sum.
            weighted = sp.csr_matrix((records.value * weights, (records.inner, who)), shape=shape)
            spread = sp.csr_matrix(cells @ weighted @ keep)
            with np.errstate(divide="ignore", invalid="ignore"):
                units = np.abs(spread.data) / np.abs(sums.data)
            spread.data = np.where(np.isfinite(units), np.maximum(units, 1.0), 1.0)
        return cls(
            sums, sp.csr_matrix(cells @ members @ keep), total, spread, sp.csr_matrix(cells @ giving @ keep)
        )

    @cached_property
    def number(self) -> Ints:
        """Number of distinct contributors of every cell."""
        if self.members is None:
            return self.total.astype(np.int64)
        return np.diff(self.members.indptr).astype(np.int64)

    @cached_property
    def giving(self) -> Floats:
        """Contributors of every cell who contribute something else than 0; sampled units with τ-ARGUS weighting.

        Who reports 0 hides nobody: with it a sum is still that of the others.
        """
        if self.givers is None:
            return self.total
        if self.spread is None:
            return np.diff(self.givers.indptr).astype(np.float64)
        units = sp.csr_matrix(self.spread.multiply(self.givers != 0))
        return np.asarray(units.sum(axis=1), np.float64).ravel()

    def largest(self, count: int) -> Floats:
        """The absolute contributions of the ``count`` largest contributors, in decreasing order."""
        if self.sums is None:
            return np.minimum(np.maximum(self.total[:, None] - np.arange(count)[None, :], 0.0), 1.0)
        return np.asarray(largest_in_rows(self.sums.indptr, np.abs(self.sums.data), count))

    def largest_sum(self, count: int) -> Floats:
        """Sum of the ``count`` largest; spread over sampled units if asked for when made (τ-ARGUS weighting)."""
        if self.spread is None:
            return self.largest(count).sum(axis=1)
        row = np.repeat(np.arange(len(self.total)), np.diff(self.sums.indptr))
        value, units = np.abs(self.sums.data), self.spread.data
        order = np.lexsort((-value, row))
        row, value, units = row[order], value[order], units[order]
        before = np.cumsum(units) - units
        before -= before[self.sums.indptr[row]]
        held = value * np.clip(count - before, 0.0, units)
        return np.asarray(np.bincount(row, held, len(self.total)), np.float64)


def levels(model: TableModel) -> list[TableModel]:
    """The table seen by contributors, and by their holdings if there are any: a rule must hold for both."""
    records = model.records
    if records is None or records.holding is None:
        return [model]
    return [model, replace(model, records=records.by_holding())]


def contributor_rows(model: TableModel) -> npt.NDArray[np.int64]:
    """Rows that stand behind each inner cell: its contributors in a magnitude table, otherwise 1.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> contributor_rows(define({"a": ["x", "x", "y"]}, by="a")).tolist()
    [1, 1]
    """
    records = model.records
    if records is None:
        return np.ones(len(model.counts), np.int64)
    if records.contributor is None:
        return np.bincount(records.inner, minlength=len(model.counts))
    people = int(records.contributor.max(initial=0)) + 1
    pairs = np.unique(records.inner * people + records.contributor)
    return np.bincount(pairs // people, minlength=len(model.counts))


def single_owners(model: TableModel, ignored: tuple[str, ...] = ()) -> Ints:
    """For every inner cell with exactly one contributor that contributor's number (1 …), otherwise 0.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a", "a", "b"], "firm": ["f1", "f2", "f2"], "value": [30, 40, 10]}
    >>> single_owners(define(firms, by="branch", value="value", contributor="firm")).tolist()
    [0, 2]
    """
    records = None if model.records is None else model.records.by_holding()
    count = len(model.counts)
    if records is None or records.contributor is None:
        number = model.counts if records is None else np.bincount(records.inner, minlength=count)
        return np.where(number == 1, np.cumsum(number == 1), 0).astype(np.int64)
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, records.inner, records.contributor)
    np.maximum.at(high, records.inner, records.contributor)
    alone = (low == high) & (high >= 0)
    skip = [records.labels.index(code) for code in ignored if code in records.labels]
    alone &= ~np.isin(high, skip)
    return np.where(alone, high + 1, 0).astype(np.int64)
