"""Guessing keys and links of tables, and saying why.

A key is a column whose values all differ and that is called like one. A link is a column of another table that is
called like the key, or like the table it belongs to, and holds its values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dalenius.core.errors import counted
from dalenius.data.infer import IDENTIFIER_NAMES
from dalenius.data.relations import Link, key_values
from dalenius.data.schema import Column, Kind, Role
from dalenius.data.table import Table

KINDS = (Kind.INTEGER, Kind.CATEGORICAL, Kind.TEXT, Kind.ORDERED)
MOSTLY = 0.9
"""Share of a column's values that must be keys of the parent for a link; the others are orphans to be looked at."""


def guess_keys(tables: Mapping[str, Table]) -> dict[str, str]:
    """The column that names the rows of each table, where one does.

    Examples
    --------
    >>> guess_keys({"homes": Table.from_frame({"area": ["n", "s"], "home_id": [7, 9]})})
    {'homes': 'home_id'}
    """
    keys = {}
    for name, table in tables.items():
        unique = [c.name for c in table.schema if _may_be_key(c) and _all_differ(table, c)]
        called = [column for column in unique if _called_key(column, name)]
        marked = [column for column in unique if table.schema[column].has(Role.IDENTIFIER)]
        for choice in (called, marked):
            if choice:
                keys[name] = choice[0]
                break
    return keys


def guess_links(tables: Mapping[str, Table], keys: Mapping[str, str]) -> tuple[Link, ...]:
    """Columns that hold the keys of another table, or of their own.

    Examples
    --------
    >>> people = Table.from_frame({"home_id": [9, 9], "x": [1, 2]})
    >>> tables = {"homes": Table.from_frame({"id": [7, 9]}), "people": people}
    >>> guess_links(tables, {"homes": "id"})[0].note
    "named after 'homes', 2 rows hold 1 of its 2 keys"
    """
    links = []
    for child, table in tables.items():
        for parent, key in keys.items():
            for column in table.schema:
                if not _may_be_key(column) or (child == parent and column.name == key):
                    continue
                why = _why(column.name, parent, key, child)
                link = why and _joined(tables[parent], key, parent, table, column.name, child, why)
                if link:
                    links.append(link)
    return tuple(_tidied(links, tables, keys))


def _may_be_key(column: Column) -> bool:
    return column.kind in KINDS and not column.has(Role.WEIGHT)


def _all_differ(table: Table, column: Column) -> bool:
    vector = table[column.name]
    return bool(table.rows) and bool(vector.present.all()) and not key_values(vector).is_duplicated().any()


def _words(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _one(table: str) -> set[str]:
    """A table's name, and its singular: 'homes' and 'home', 'diaries' and 'diary', 'people' and 'person'."""
    plain = _words(table)
    forms = {plain, plain.removesuffix("s"), plain.removesuffix("es"), re.sub("ies$", "y", plain)}
    return (
        forms | ({"person"} if plain == "people" else set()) | ({"child"} if plain == "children" else set())
    )


def _called_key(column: str, table: str) -> bool:
    bare = _words(column)
    named = any(
        bare in (one, f"{one}id", f"{one}nr", f"{one}no", f"{one}key", f"id{one}", f"{one}number")
        for one in _one(table)
    )
    return named or bare in ("id", "nr", "key", "uid", "pid") or bool(IDENTIFIER_NAMES.search(column))


def _why(column: str, parent: str, key: str, child: str) -> str | None:
    """Why a column may belong to a parent, by its name."""
    bare, named = _words(column), _words(key)
    if bare == named and child != parent and (named != "id" or bare != "id"):
        return f"named like the key of {parent!r}"
    for one in _one(parent):
        if bare in (one, f"{one}id", f"{one}nr", f"{one}no", f"{one}key", f"id{one}", f"{one}number"):
            return f"named after {parent!r}"
    if child == parent and (
        IDENTIFIER_NAMES.search(column) or bare in ("mother", "father", "partner", "parent")
    ):
        return "holds keys of its own table"
    return f"named like the key of {parent!r}" if bare == named == "id" and child != parent else None


def _joined(
    parent: Table, key: str, parent_name: str, child: Table, column: str, child_name: str, why: str
) -> Link | None:
    """The link, if most values are there; what was seen is told beside it."""
    above, below = key_values(parent[key]), key_values(child[column]).drop_nulls()
    if not len(below) or above.dtype != below.dtype:
        return None
    distinct = below.unique()
    inside = distinct.is_in(above.implode()).sum()
    if inside < MOSTLY * len(distinct):
        return None
    told = f"{why}, {counted(child.rows, 'row')} hold {inside:,} of its {len(above):,} keys"
    lost = len(distinct) - int(inside)
    told += f"; {lost:,} are not among them, please check" if lost else ""
    return Link(parent_name, key, child_name, column, note=told)


def _tidied(links: list[Link], tables: Mapping[str, Table], keys: Mapping[str, str]) -> list[Link]:
    """Of two tables that share one key, the larger is the parent; a column belongs to one table, named after it first.

    A table between several others comes with the link that its rows vary most by first.
    """
    kept: list[Link] = []
    for link in links:
        back = any(
            o.parent == link.child and o.child == link.parent and o.parent_key == link.child_key
            and o.child_key == link.parent_key for o in links
        )  # fmt: skip
        first = list(tables).index(link.parent) < list(tables).index(link.child)
        larger = tables[link.parent].rows - tables[link.child].rows
        if back and not link.own and (larger < 0 or (larger == 0 and not first)):
            continue
        kept.append(link)
    best: dict[tuple[str, str], Link] = {}
    for link in kept:
        place = (link.child, link.child_key)
        held = best.get(place)
        if held is None or ("after" in link.note and "after" not in held.note):
            best[place] = link
    return sorted(
        best.values(),
        key=lambda link: (
            list(tables).index(link.child),
            link.own,
            -_spread(tables[link.child], link.child_key),
        ),
    )


def _spread(table: Table, column: str) -> int:
    return int(key_values(table[column]).n_unique()) if table.rows else 0
