"""`DatabasePair`: an original and a protected database (and a holdout), and the pairs that measures read of them.

A table by itself is an ordinary `Pair` whose unit is the topmost parent. What holds tables together is looked at in
three more: children beside their parents, rows beside the sibling before, and parents with what their children sum to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, update_wrapper
from typing import Any

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.option import check
from dalenius.core.registry import MeasureInfo, Registry
from dalenius.core.result import Result
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.measure import doubted
from dalenius.counts.pair import Pair
from dalenius.data.relations import OWNER, Database, Link
from dalenius.data.schema import Column, Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray, Vector, emptied

BEFORE, NUMBER = "before.", "number of children"


class DatabasePair:
    """Original and protected database with the tables and links that they share.

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1, 2], "age": [40, 9, 70]}})
    >>> pair = DatabasePair(base, base)
    >>> pair.tables, [str(link) for link in pair.links]
    (['homes', 'people'], ['people.home_id -> homes.id (1-n)'])
    """

    def __init__(
        self,
        original: Database,
        protected: Database,
        holdout: Database | None = None,
        *,
        threshold: int = THRESHOLD,
    ) -> None:
        self.original, self.protected, self.holdout = original, protected, holdout
        self.threshold = threshold
        self.tables = [n for n in original.tables if n in protected.tables]
        gone = [n for n in original.tables if n not in protected.tables]
        self.notes = [f"table {', '.join(gone)} is not in the protected database"] if gone else []
        if not self.tables:
            raise DataError("the two databases have no table in common")
        self.links = [
            link for link in original.links
            if link.child in self.tables and link.parent in self.tables
            and link.child_key in protected[link.child] and link.parent_key in protected[link.parent]
        ]  # fmt: skip
        self._pairs: dict[tuple[str, ...], Pair | None] = {}

    @property
    def sides(self) -> list[Database]:
        """Original, protected and, where there is one, holdout."""
        return [self.original, self.protected, *([self.holdout] if self.holdout is not None else [])]

    @cached_property
    def doubt(self) -> str:
        """Why the holdout is no yardstick, by the first table that shows it; see `Pair.doubt`."""
        pairs = [self.table(name) for name in self.tables] if self.holdout is not None else []
        return next((pair.doubt for pair in pairs if pair is not None and pair.doubt), "")

    def table(self, name: str) -> Pair | None:
        """A table of both databases; rows belong to their topmost parent. None where a side has no rows."""
        return self._made(("table", name), lambda base: base.owned(name))

    def joined(self, link: Link, above: Link | None = None) -> Pair | None:
        """Child rows beside the columns of their parent, or of the parent's parent (``above``), and whose they are."""
        place = ("joined", str(link), str(above))
        return self._made(place, lambda base: _beside(base, link, above))

    def siblings(self, link: Link) -> Pair | None:
        """Rows beside the one before of the same parent, in their order where the table has one."""
        return self._made(
            ("siblings", str(link)), lambda base: _siblings(base, link, self.original.order.get(link.child))
        )

    def families(self, table: str) -> Pair | None:
        """Rows of a parent table with the number of their children, and what those sum to."""
        links = [link for link in self.links if link.parent == table and not link.own]
        return self._made(("families", table), lambda base: _families(base, table, links, self.original))

    def _made(self, place: tuple[str, ...], make: Callable[[Database], Table]) -> Pair | None:
        if place not in self._pairs:
            made = [make(base) for base in self.sides]
            fine = all(table.rows and table.names for table in made[:2])
            holdout = made[2] if len(made) > 2 and made[2].rows else None
            self._pairs[place] = Pair(made[0], made[1], holdout, threshold=self.threshold) if fine else None
        return self._pairs[place]


def _beside(base: Database, link: Link, above: Link | None) -> Table:
    places = base.places(link)
    rows = np.flatnonzero(places >= 0)
    parent = places[rows]
    name = link.parent
    if above is not None:
        up = base.places(above)[parent]
        rows, parent, name = rows[up >= 0], up[up >= 0], above.parent
    own = _named(base.bare(link.child).take(rows), f"{link.child}.")
    other = _named(base.bare(name).take(parent), f"{name}.")
    return Table.from_vectors([*own, *other, _whose(parent)], len(rows))


def _whose(owners: IntArray) -> Vector:
    """The column that says which rows have a parent in common."""
    return Vector(Column(OWNER, Kind.INTEGER, (Role.ENTITY,)), owners.astype(np.int64))


def _named(table: Table, prefix: str) -> list[Vector]:
    """Columns under another name; what they are for stays, how they relate to others does not."""
    return [
        replace(v, column=replace(v.column, name=f"{prefix}{n}", parent=None, partner=None))
        for n, v in table.vectors.items()
    ]


def in_order(base: Database, link: Link, order: str | None) -> IntArray:
    """Rows of a child, one parent after the other, in the order of its dates where there is one.

    Examples
    --------
    >>> base = Database.of({"a": {"id": [1, 2]}, "b": {"a_id": [2, 1, 2], "day": [9, 5, 3]}})
    >>> in_order(base, base.links[0], "day").tolist()
    [1, 2, 0]
    """
    places = base.places(link)
    if order is not None and order in base[link.child]:
        rows = np.lexsort((base[link.child][order].floats(), places))
    else:
        rows = np.argsort(places, kind="stable")
    return rows[places[rows] >= 0]


def _siblings(base: Database, link: Link, order: str | None) -> Table:
    rows = in_order(base, link, order)
    owners = base.places(link)[rows]
    follows = np.flatnonzero(owners[1:] == owners[:-1]) + 1
    own = base.bare(link.child)
    gap: list[Vector] = []
    if order is not None and order in own and own[order].is_number:
        days = own[order].floats()[rows[follows]] - own[order].floats()[rows[follows - 1]]
        days = days / 86_400_000_000 if own[order].column.kind is Kind.DATETIME else days
        gap = [Vector(Column("gap", Kind.CONTINUOUS), np.nan_to_num(days))]
        own = own.drop([order])
    first, second = own.take(rows[follows]), own.take(rows[follows - 1])
    vectors = [*_named(first, ""), *_named(second, BEFORE), *gap, _whose(owners[follows])]
    return Table.from_vectors(vectors, len(follows))


def _families(base: Database, table: str, links: Sequence[Link], original: Database) -> Table:
    """Parents with, for each child table, number, means of numbers, and shares of the commonest categories."""
    vectors = list(base.bare(table).vectors.values())
    for link in links:
        sizes = base.sizes(link)
        vectors.append(Vector(Column(f"{link.child}: {NUMBER}", Kind.INTEGER), sizes.astype(np.int64)))
        places, child = base.places(link), base.bare(link.child)
        for name in [n for n in child.names if n in original[link.child]]:
            theirs, mine = original[link.child][name], child[name]
            if mine.column.kind is not Kind.TEXT and mine.is_number is theirs.is_number:
                vectors += _summary(mine, theirs, places, sizes, f"{link.child}.{name}")
    return Table.from_vectors(vectors, base[table].rows)


def _summary(vector: Vector, original: Vector, places: IntArray, sizes: IntArray, name: str) -> list[Vector]:
    known = (places >= 0) & vector.present
    where, parents = places[known], len(sizes)
    times = np.bincount(where, minlength=parents)

    def mean(values: AnyArray, word: str) -> Vector:
        sums = np.bincount(where, values, minlength=parents) / np.maximum(times, 1)
        return emptied(Vector(Column(f"{word} of {name}", Kind.CONTINUOUS), sums), times == 0)

    if vector.is_number:
        values = vector.floats()[known]
        middle = mean(values, "mean")
        apart = mean(np.abs(values - middle.data[where]), "spread")
        return [middle, apart]
    often = np.argsort(-np.bincount(original.values, minlength=len(original.levels)), kind="stable")[:3]
    own = {str(level): code for code, level in enumerate(vector.levels)}
    codes = [own.get(str(original.levels[i]), -1) for i in often]
    return [
        mean((vector.data[known] == code).astype(np.float64), f"share {i}") for i, code in enumerate(codes, 1)
    ]


@dataclass(frozen=True, repr=False)
class DatabaseMeasure:
    """A registered measure of databases: call it with a `DatabasePair`.

    Examples
    --------
    >>> import dalenius.utility
    >>> DATABASE_MEASURES["cardinality"]
    <measure cardinality: Numbers of children>
    """

    info: MeasureInfo
    function: Callable[..., Result]

    def __post_init__(self) -> None:
        wearer: Any = _Wearer()
        update_wrapper(wearer, self.function)
        self.__dict__.update(wearer.__dict__)

    def __call__(self, pair: DatabasePair, **options: Any) -> Result:
        """Measure the pair; an error says what it lacks."""
        check(self.info.name, self.function, options)
        lacking = self.lacks(pair)
        if lacking:
            raise DataError(f"{self.info.title} needs {' and '.join(lacking)}")
        doubt = pair.doubt if self.info.family == "risk" else ""
        return doubted(self.function(pair, **options), doubt).with_info(self.info, pair.threshold)

    def lacks(self, pair: DatabasePair) -> list[str]:
        """What the databases would need to have for this measure, and have not."""
        return sorted(need for need in self.info.needs if not NEEDS[need](pair))

    def __repr__(self) -> str:
        return f"<measure {self.info.name}: {self.info.title}>"


class _Wearer:
    """Takes on the attributes of a function."""


def chains(pair: DatabasePair) -> list[tuple[Link, Link]]:
    """Links of children with those of their parents: grandparents.

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1]}})
    >>> chains(DatabasePair(base, base))
    []
    """
    return [
        (link, above) for link in pair.links for above in pair.links
        if above.child == link.parent and not above.own and not link.own
    ]  # fmt: skip


NEEDS: Mapping[str, Callable[[DatabasePair], Any]] = {
    "links": lambda pair: [link for link in pair.links if not link.own],
    "several children": lambda pair: [
        k for k in pair.links if not k.own and pair.original.cardinality(k) == "1-n"
    ],
    "grandparents": chains,
    "an order": lambda pair: [link for link in pair.links if link.child in pair.original.order],
    "rules across tables": lambda pair: pair.original.rules,
    "parents without a child": lambda pair: [
        k
        for k in pair.links
        if not k.own and (pair.original.sizes(k) == 0).any() and (pair.original.sizes(k) > 0).any()
    ],
    "a holdout": lambda pair: pair.holdout is not None,
}
"""What a measure of databases may need."""

DATABASE_MEASURES: Registry[DatabaseMeasure] = Registry("measure of several tables")


def database_measure(**facts: Any) -> Callable[[Callable[..., Result]], DatabaseMeasure]:
    """Decorator of a measure of databases; it takes what `MeasureInfo` takes."""

    def register(function: Callable[..., Result]) -> DatabaseMeasure:
        return DATABASE_MEASURES.add(DatabaseMeasure(MeasureInfo(**facts), function))

    return register
