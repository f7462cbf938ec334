"""Unit of protection: a person, household or firm may own many rows, and it is the unit that is harmed.

When the schema names an entity (or a household) column, shares are shares of units: a unit counts when any of its rows
does, and samples are samples of units. Without such a column every row is its own unit, and so is a row whose cell of
it is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.intervals import wilson
from dalenius.core.random import Seed, generator
from dalenius.core.result import Interval
from dalenius.counts.pair import Pair, owner_codes
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.sampling import some_rows


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """Who owns each row.

    Examples
    --------
    >>> units = Units(np.array([0, 0, 1]), 2, "person")
    >>> units.share(np.array([True, False, False])), units.noun
    (50.0, 'units (person)')
    """

    codes: IntArray | None
    count: int
    column: str | None = None

    @classmethod
    def of(cls, pair: Pair) -> Units:
        """Return the owners of the original's rows."""
        if pair.units is None:
            return cls(None, pair.original.rows)
        return cls(pair.units, int(pair.units.max()) + 1 if len(pair.units) else 0, pair.unit)

    @classmethod
    def of_table(cls, table: Table) -> Units:
        """Return the owners of a table's rows, where its schema names an entity column."""
        found = table.schema.by_role(Role.ENTITY)
        if not found:
            return cls(None, table.rows)
        codes = owner_codes(table[found[0]])
        return cls(codes, int(codes.max(initial=-1)) + 1, found[0])

    @classmethod
    def of_holdout(cls, pair: Pair) -> Units:
        """Return the owners of the holdout's rows."""
        rows = pair.holdout.rows if pair.holdout is not None else 0
        codes = pair.holdout_units
        return (
            cls(None, rows)
            if codes is None or not len(codes)
            else cls(codes, int(codes.max()) + 1, pair.unit)
        )

    @property
    def noun(self) -> str:
        """How to call what is counted."""
        return "records" if self.codes is None else f"units ({self.column})"

    @property
    def owners_of_rows(self) -> IntArray:
        """Owner of each row; without units every row owns itself."""
        return np.arange(self.count) if self.codes is None else self.codes

    @property
    def most_rows(self) -> int:
        """Rows of the unit that owns most."""
        return 1 if self.codes is None else int(np.bincount(self.codes).max(initial=1))

    def subset(self, rows: AnyArray) -> Units:
        """Return the owners of some of the rows, numbered anew."""
        if self.codes is None:
            return Units(None, len(rows), self.column)
        names, codes = np.unique(self.codes[rows], return_inverse=True)
        return Units(codes, len(names), self.column)

    def rows_of_some(self, most: int | None, seed: Seed, *path: str | int) -> IntArray:
        """Return all rows of at most so many units, drawn at random.

        Examples
        --------
        >>> Units(np.array([0, 1, 0]), 2).rows_of_some(5, 1).tolist()
        [0, 1, 2]
        """
        chosen = some_rows(self.count, most, seed, *path)
        if self.codes is None or len(chosen) == self.count:
            return np.arange(len(self.owners_of_rows)) if len(chosen) == self.count else chosen
        kept = np.zeros(self.count, bool)
        kept[chosen] = True
        return np.flatnonzero(kept[self.codes])

    def one_row_each(self, most: int | None, seed: Seed, *path: str | int) -> IntArray:
        """Return one row, drawn at random, of each of at most so many units.

        Examples
        --------
        >>> len(Units(np.array([0, 1, 0]), 2).one_row_each(5, 1))
        2
        """
        chosen = some_rows(self.count, most, seed, *path)
        if self.codes is None:
            return chosen
        order = generator(seed, *path, "row").permutation(len(self.codes))
        _, first = np.unique(self.codes[order], return_index=True)
        rows: IntArray = np.sort(order[first[chosen]])
        return rows

    def any(self, flags: AnyArray) -> AnyArray:
        """Say for each unit whether any of its rows is flagged."""
        if self.codes is None:
            return flags
        return np.bincount(self.codes, flags, minlength=self.count) > 0

    def most(self, scores: AnyArray) -> AnyArray:
        """Return the largest score among the rows of each unit."""
        if self.codes is None:
            return scores
        result = np.full(self.count, -np.inf)
        np.maximum.at(result, self.codes, scores)
        return result

    def mean(self, scores: AnyArray) -> AnyArray:
        """Return the mean score of the rows of each unit."""
        if self.codes is None:
            return scores
        sums = np.bincount(self.codes, scores, minlength=self.count)
        means: AnyArray = sums / np.bincount(self.codes, minlength=self.count)
        return means

    def share(self, flags: AnyArray) -> float:
        """Return the per cent of units with a flagged row."""
        return 100 * float(np.count_nonzero(self.any(flags))) / self.count if self.count else float("nan")

    def interval(self, per_cent: float) -> Interval:
        """Return the Wilson interval of a share of units."""
        return wilson(per_cent * self.count / 100, self.count, scale=100)

    def owners(self, groups: IntArray, size: int) -> IntArray:
        """Count how many different units are in each group of rows."""
        if self.codes is None:
            return np.bincount(groups, minlength=size)
        pairs = np.unique(groups.astype(np.int64) * max(self.count, 1) + self.codes)
        return np.bincount(pairs // max(self.count, 1), minlength=size)
