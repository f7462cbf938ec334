"""`Database` and `Link`: several tables, and who belongs to whom.

A link says that the rows of one table (the child) belong to rows of another (the parent): visits to patients, people to
households. The first link that a child has says whose rows they are; the unit of protection is the topmost parent.
Keys only hold tables together: they are never modelled and never leave, what comes out has keys of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted, names, no_column
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import IntArray, Vector

Cardinality: TypeAlias = Literal["1-1", "1-0..1", "1-n"]
Orphans: TypeAlias = Literal["error", "drop", "keep"]
OWNER = "(whose rows)"
"""Column that names the unit of a table's rows while a method learns from it; it never leaves."""


@dataclass(frozen=True)
class Link:
    """Rows of one table that belong to rows of another.

    Attributes
    ----------
    parent, parent_key, child, child_key
        Tables and the columns that hold them together. A table may be its own parent (``mother`` of a person).
    cardinality
        "1-1" (every parent has one child), "1-0..1" (at most one) or "1-n"; found in the data when not given. Tables
        that belong to each other many to many have a third table between them, with a link to each.
    most
        Most children a parent may have, by public knowledge: what methods with a privacy budget need.
    note
        Why the link was guessed.

    Examples
    --------
    >>> print(Link("patients", "id", "visits", "patient_id", "1-n"))
    visits.patient_id -> patients.id (1-n)
    """

    parent: str
    parent_key: str
    child: str
    child_key: str
    cardinality: Cardinality | None = None
    most: int | None = None
    note: str = ""

    @property
    def own(self) -> bool:
        """Whether a table is linked to itself."""
        return self.parent == self.child

    def __str__(self) -> str:
        kind = f" ({self.cardinality})" if self.cardinality else ""
        return f"{self.child}.{self.child_key} -> {self.parent}.{self.parent_key}{kind}"

    def faults(self) -> list[str]:
        """What is wrong with the link by itself."""
        wrong = []
        if self.cardinality is not None and self.cardinality not in get_args(Cardinality):
            wrong.append(
                f"link {self}: cardinality is 1-1, 1-0..1 or 1-n; for n-m give the table between them two links"
            )
        if self.most is not None and (not isinstance(self.most, int) or self.most < 1):
            wrong.append(f"link {self}: most is a whole number, 1 or more")
        return wrong


@dataclass(frozen=True, eq=False)
class Database:
    """Tables with their keys and links.

    Attributes
    ----------
    tables
        Tables by name.
    keys
        Column that names the rows of a table, where it has one.
    links
        Who belongs to whom; the first link of a child says whose rows they are.
    order
        Column by which the rows of a child follow one another (the date of events), by table.
    rules
        What must hold across tables: ``visits.date >= patients.born``, ``sum(items.price) == orders.total``.
    orphans
        What becomes of child rows whose parent is not there: an error, "drop", or "keep" (as rows without a parent).
    endings
        Endings of the files that the tables came from, so that a folder comes back as it was.

    Examples
    --------
    >>> base = Database.of(
    ...     {"homes": {"id": [1, 2], "area": ["n", "s"]}, "people": {"home": [1, 1, 2], "age": [40, 9, 70]}},
    ...     keys={"homes": "id"}, links=[Link("homes", "id", "people", "home")])
    >>> print(base)
    homes: 2 rows, key id
    people: 3 rows
    people.home -> homes.id (1-n)
    >>> base.places(base.links[0]).tolist()
    [0, 0, 1]
    """

    tables: Mapping[str, Table]
    keys: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    order: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    orphans: Orphans = "error"
    endings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, tables: Mapping[str, Any], keys: Mapping[str, str] | None = None, links: Sequence[Link] | None = None, *,
        order: Mapping[str, str] | None = None, rules: Sequence[str] = (), orphans: Orphans = "error",
        schemas: Mapping[str, Schema] | None = None,
    ) -> Database:  # fmt: skip
        """A database of frames of any kind; keys and links that are not given are guessed (``Link.note`` says why).

        Every fault is told at once.
        """
        from dalenius.data.relations_infer import guess_keys, guess_links  # noqa: PLC0415 (it needs Link)

        held = {
            str(name): Table.from_frame(frame, (schemas or {}).get(name)) for name, frame in tables.items()
        }
        key_of = guess_keys(held) if keys is None else dict(keys)
        joined = guess_links(held, key_of) if links is None else tuple(links)
        base = cls(held, key_of, tuple(joined), dict(order or {}), tuple(rules), orphans)
        return base.checked()

    @classmethod
    def read(
        cls, path: str | Path, schema: str | Path | None = None, *, orphans: Orphans | None = None
    ) -> Database:
        """Read a folder of files, a workbook, or a DuckDB or SQLite file; see `dalenius.data.files.databases`."""
        from dalenius.data.files.databases import read_database  # noqa: PLC0415 (files need Table and Link)

        return read_database(path, schema, orphans=orphans)

    def write(self, path: str | Path) -> None:
        """Write it as a folder, workbook, DuckDB or SQLite file, whole or not at all."""
        from dalenius.data.files.databases import write_database  # noqa: PLC0415

        write_database(self, path)

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Columns, keys and links as commented YAML, to be read and corrected; the text."""
        from dalenius.data.relations_yaml import write_relations  # noqa: PLC0415

        return write_relations(self, path)

    def checked(self) -> Database:
        """The database with orphans dealt with and every cardinality filled in; one error with all faults."""
        from dalenius.data.relations_check import faults_of, without_orphans  # noqa: PLC0415 (it needs Database)

        if self.orphans not in get_args(Orphans):
            raise OptionError(f"orphans is {self.orphans!r}; use error, drop or keep")
        wrong = faults_of(self)
        if wrong:
            raise DataError.from_faults("database", wrong)
        kept = without_orphans(self)
        return replace(
            kept, links=tuple(replace(link, cardinality=kept.cardinality(link)) for link in kept.links)
        )

    def __getitem__(self, name: str) -> Table:
        if name not in self.tables:
            raise DataError(no_column([name], list(self.tables)).replace("column", "table"))
        return self.tables[name]

    def __str__(self) -> str:
        lines = []
        for name, table in self.tables.items():
            named = f", key {self.keys[name]}" if name in self.keys else ""
            lines.append(f"{name}: {counted(table.rows, 'row')}{named}")
        return "\n".join([*lines, *map(str, self.links)])

    def _repr_html_(self) -> str:
        from dalenius.data.relations_picture import picture  # noqa: PLC0415

        return picture(self)

    # Who belongs to whom

    def parents(self, table: str) -> list[Link]:
        """Links by which a table belongs to others, the first of which says whose rows they are; none to itself."""
        return [link for link in self.links if link.child == table and not link.own]

    def own_links(self, table: str) -> list[Link]:
        """Links of a table to itself."""
        return [link for link in self.links if link.own and link.child == table]

    def children(self, table: str) -> list[Link]:
        """Links of tables that belong first of all to this one."""
        return [
            link for link in self.links if link.parent == table and not link.own
            and self.parents(link.child)[0] == link
        ]  # fmt: skip

    def main(self, table: str) -> Link | None:
        """The link that says whose rows a table holds; None at the top."""
        parents = self.parents(table)
        return parents[0] if parents else None

    @cached_property
    def sequence(self) -> list[str]:
        """Tables in an order in which every parent comes before its children."""
        done: list[str] = []
        left = list(self.tables)
        while left:
            ready = [n for n in left if all(link.parent in done for link in self.parents(n))]
            if not ready:
                raise DataError(
                    f"database: the links of {names(left)} go round in a circle; take one of them out"
                )
            done += ready
            left = [n for n in left if n not in ready]
        return done

    def key_columns(self, table: str) -> list[str]:
        """Columns that hold tables together: the key of a table, and those of its links."""
        columns = [self.keys[table]] if table in self.keys else []
        columns += [link.child_key for link in self.links if link.child == table]
        columns += [link.parent_key for link in self.links if link.parent == table]
        return list(dict.fromkeys(columns))

    def places(self, link: Link) -> IntArray:
        """Row of the parent to which each child row belongs; -1 where there is none."""
        held = self._places
        ends = (link.parent, link.parent_key, link.child, link.child_key)
        if ends not in held:
            held[ends] = key_places(self[link.parent][link.parent_key], self[link.child][link.child_key])
        return held[ends]

    @cached_property
    def _places(self) -> dict[tuple[str, str, str, str], IntArray]:
        return {}

    def sizes(self, link: Link) -> IntArray:
        """How many children each parent has."""
        places = self.places(link)
        return np.bincount(places[places >= 0], minlength=self[link.parent].rows)

    def cardinality(self, link: Link) -> Cardinality:
        """How many children parents have: as said, otherwise as the data show."""
        if link.cardinality is not None:
            return link.cardinality
        sizes = self.sizes(link)
        if sizes.max(initial=0) > 1:
            return "1-n"
        return "1-1" if len(sizes) and sizes.min() == 1 else "1-0..1"

    def tops(self, table: str) -> tuple[str, IntArray]:
        """The topmost table above a table, and the row of it that owns each row; rows without a parent own themselves.

        Examples
        --------
        >>> base = Database.of({"a": {"id": [7, 8]}, "b": {"id": [1, 2], "a": [8, None]}},
        ...     keys={"a": "id"}, links=[Link("a", "id", "b", "a")])
        >>> base.tops("b")[1].tolist()
        [1, 2]
        """
        link = self.main(table)
        if link is None:
            return table, np.arange(self[table].rows)
        top, above = self.tops(link.parent)
        places = self.places(link)
        owners = above[np.maximum(places, 0)] if len(above) else np.zeros(len(places), np.int64)
        loose = np.flatnonzero(places < 0)
        owners = owners.astype(np.int64)
        owners[loose] = max(int(above.max(initial=-1)) + 1, self[top].rows) + np.arange(len(loose))
        return top, owners

    def units(self, table: str) -> Units:
        """Who owns the rows of a table: the topmost parent."""
        top, owners = self.tops(table)
        codes = np.unique(owners, return_inverse=True)[1]
        return Units(codes, int(codes.max(initial=-1)) + 1, top)

    def owned(self, table: str) -> Table:
        """A table without its keys, beside a column that names the topmost parent of each row.

        Examples
        --------
        >>> base = Database.of({"a": {"id": [7, 8]}, "b": {"a": [8, 8], "x": [1.5, 2.5]}},
        ...     keys={"a": "id"}, links=[Link("a", "id", "b", "a")])
        >>> base.owned("b").names, base.owned("b").units.count
        (['x', '(whose rows)'], 1)
        """
        plain = self.bare(table)
        vector = Vector(Column(OWNER, Kind.INTEGER, (Role.ENTITY,)), self.tops(table)[1])
        return plain.with_vectors(vector)

    def bare(self, table: str) -> Table:
        """A table without its keys."""
        return self[table].drop(self.key_columns(table))

    def with_tables(self, tables: Mapping[str, Table], **other: Any) -> Database:
        """The same links with other tables."""
        return replace(self, tables=MappingProxyType(dict(tables)), **other)

    def to_frames(self, backend: Any = None) -> dict[str, Any]:
        """The tables as frames of the caller's own type, by name."""
        return {name: table.to_frame(backend) for name, table in self.tables.items()}

    def take(self, rows: IntArray) -> Database:
        """Some rows of the topmost tables, by owner code, with everything that belongs to them.

        With several topmost tables, those of the first are chosen and the others stay whole.
        """
        top = next(n for n in self.sequence if self.children(n) or len(self.tables) == 1)
        wanted = np.zeros(self[top].rows, bool)
        wanted[rows] = True
        chosen = {}
        for name, table in self.tables.items():
            above, owners = self.tops(name)
            if above != top:
                chosen[name] = table
                continue
            inside = owners < len(wanted)
            chosen[name] = table.take(inside & wanted[np.where(inside, owners, 0)])
        return replace(self, tables=chosen)


def key_values(vector: Vector) -> pl.Series:
    """Values of a key column, as whole numbers or as text; null where there is none.

    Examples
    --------
    >>> key_values(Table.from_frame({"id": ["a", None]})["id"]).to_list()
    ['a', None]
    """
    if vector.is_number:
        values = pl.Series(vector.data)
    else:
        values = _levels(vector.levels).gather(
            pl.Series(np.where(vector.present, vector.data, 0).astype(np.int64))
        )
    return values if vector.state is None else values.set(pl.Series(~vector.present), None)


def _levels(levels: Iterable[Any]) -> pl.Series:
    """Levels of a key as whole numbers where all are; otherwise as text."""
    held = list(levels) or [None]
    if all(isinstance(level, int) and not isinstance(level, bool) for level in held):
        return pl.Series(held, dtype=pl.Int64)
    return pl.Series([None if level is None else str(level) for level in held], dtype=pl.String)


def key_places(parent: Vector, child: Vector) -> IntArray:
    """Row of the parent's key that each cell of the child's names; -1 for none.

    Examples
    --------
    >>> table = Table.from_frame({"id": [5, 6, 7], "mother": [None, 5, 9]})
    >>> key_places(table["id"], table["mother"]).tolist()
    [-1, 0, -1]
    """
    left, right = key_values(child), key_values(parent)
    if left.dtype != right.dtype:
        left, right = left.cast(pl.String), right.cast(pl.String)
    index = (
        pl.DataFrame({"key": right, "place": np.arange(len(right))}).drop_nulls().unique("key", keep="first")
    )
    places = pl.DataFrame({"key": left}).join(index, on="key", how="left", maintain_order="left")["place"]
    return places.fill_null(-1).to_numpy().astype(np.int64)
