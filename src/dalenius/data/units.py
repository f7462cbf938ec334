"""Units: who owns rows. A person, a household or a firm may own many, and it is the unit that is harmed.

One rule for everything that counts people: the unit is the entity where the schema names one, otherwise the household,
otherwise the record; a caller may choose another of the three. Shares are shares of units: a unit counts when any of
its rows does, and samples are samples of units. A row whose cell of the owning column is empty is its own unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.intervals import wilson
from dalenius.core.random import Seed, generator, some_rows
from dalenius.core.result import Interval
from dalenius.data.schema import Role, Schema
from dalenius.data.vector import AnyArray, IntArray, Vector

if TYPE_CHECKING:
    from dalenius.data.table import Table

Unit = Literal["entity", "household", "record"]
"""Whom figures count."""


def owner_columns(schema: Schema) -> list[str]:
    """Columns that say whose rows they are: entities first, then households.

    Examples
    --------
    >>> owner_columns(Schema.infer({"home": [1], "who": [2]}).with_roles(entity="who", household="home"))
    ['who', 'home']
    """
    return [*schema.by_role(Role.ENTITY), *schema.by_role(Role.HOUSEHOLD)]


def owner_column(schema: Schema, unit: Unit | None = None) -> str | None:
    """Column that names the unit that figures count; None where every record is its own.

    Examples
    --------
    >>> schema = Schema.infer({"home": [1], "who": [2]}).with_roles(entity="who", household="home")
    >>> owner_column(schema), owner_column(schema, "household"), owner_column(schema, "record")
    ('who', 'home', None)
    """
    if unit == "record":
        return None
    named = owner_columns(schema) if unit is None else schema.by_role(Role(unit))
    if unit is not None and not named:
        raise OptionError(f"no column has the role {unit!r}; give one that role, or count another unit")
    return named[0] if named else None


def owner_codes(vector: Vector) -> IntArray:
    """Number the owners of rows; a row whose owner is not known is its own.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> owner_codes(Table.from_frame({"person": ["a", None, "a", None]})["person"]).tolist()
    [0, 1, 0, 2]
    """
    codes = vector.categories.codes.astype(np.int64)
    gaps = np.flatnonzero(~vector.present)
    codes[gaps] = vector.categories.size + np.arange(len(gaps))
    return np.unique(codes, return_inverse=True)[1]


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
    def of(cls, vector: Vector) -> Units:
        """Return the owners that a column names."""
        codes = owner_codes(vector)
        return cls(codes, int(codes.max(initial=-1)) + 1, vector.column.name)

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

    def first(self, values: AnyArray) -> AnyArray:
        """Return the value of the first row of each unit."""
        return values if self.codes is None else values[np.unique(self.codes, return_index=True)[1]]

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


def units_of(table: Table, unit: Unit | None = None) -> Units:
    """Units of a table that figures count, by its schema or as chosen; `Table.units` is the usual one.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> data = {"home": [1, 1, 2], "who": [1, 2, 3]}
    >>> table = Table.from_frame(data, Schema.infer(data).with_roles(entity="who", household="home"))
    >>> table.units.count, units_of(table, "household").count
    (3, 2)
    """
    column = owner_column(table.schema, unit)
    return Units(None, table.rows) if column is None else Units.of(table[column])


def kept_together(table: Table) -> Units:
    """Groups of rows that are on one side of any split: those linked by a person, a household, or both in turn.

    Whoever shares a home with somebody in the data is not a stranger to it.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> data = {"home": [1, 1, 2, 3], "who": ["a", "b", "b", "c"]}
    >>> table = Table.from_frame(data, Schema.infer(data).with_roles(entity="who", household="home"))
    >>> kept_together(table).codes.tolist()
    [0, 0, 0, 1]
    """
    named = [Units.of(table[name]) for name in owner_columns(table.schema)]
    if len(named) < 2 or not table.rows:
        return named[0] if named else Units(None, table.rows)
    from scipy.sparse import coo_array  # noqa: PLC0415 (slow to import)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    rows, last = [], table.rows
    for each in named:  # a graph of rows and owners
        rows.append(each.owners_of_rows + last)
        last += each.count
    ends = (np.tile(np.arange(table.rows), len(named)), np.concatenate(rows))
    count, codes = connected_components(coo_array((np.ones(len(ends[0]), bool), ends), shape=(last, last)))
    return Units(codes[: table.rows].astype(np.int64), int(count), " and ".join(str(u.column) for u in named))


def deal(table: Table, aside: int, seed: Seed, *path: str | int) -> tuple[IntArray, IntArray]:
    """Rows kept, and about so many rows set aside at random, never dividing a person or a household.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> kept, held = deal(Table.from_frame({"a": range(10)}), 3, 1)
    >>> len(kept), len(held), sorted([*kept.tolist(), *held.tolist()]) == list(range(10))
    (7, 3, True)
    """
    groups = kept_together(table)
    order = generator(seed, *path).permutation(groups.count)
    sizes = np.bincount(groups.owners_of_rows, minlength=groups.count)[order]
    # the group that would go beyond the number stays where it makes the smaller error, and somebody stays
    before = np.cumsum(sizes) - sizes
    gone = np.zeros(groups.count, bool)
    gone[order[(before + sizes / 2 <= aside) & (np.arange(groups.count) < groups.count - 1)]] = True
    out = gone[groups.owners_of_rows]
    return np.flatnonzero(~out), np.flatnonzero(out)
