"""What is wrong with a database: every fault of keys and links at once, and what becomes of orphans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalenius.core.errors import counted, names, no_column
from dalenius.data.relations import Database, Link, key_values
from dalenius.data.schema import Role
from dalenius.data.vector import BoolArray


def faults_of(base: Database) -> list[str]:
    """Everything wrong with keys, links and orders, without quoting a value.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> base = Database({"a": Table.from_frame({"id": [1, 1]})}, {"a": "id", "b": "id"})
    >>> faults_of(base)
    ["table 'a': 2 rows share a value of the key 'id'; every row needs its own", "key of 'b': no such table; there are
    'a'"]
    """
    wrong = _key_faults(base)
    for link in base.links:
        wrong += link.faults() or _link_faults(base, link)
    for table, column in base.order.items():
        if table not in base.tables:
            wrong.append(f"order of {table!r}: no such table; there are {names(list(base.tables))}")
        elif column not in base[table]:
            wrong.append(f"order of {table!r}: {no_column([column], base[table].names)}")
    if not wrong:
        wrong += _circles(base)
    return list(dict.fromkeys(wrong))


def _key_faults(base: Database) -> list[str]:
    wrong = []
    for table, column in base.keys.items():
        if table not in base.tables:
            wrong.append(f"key of {table!r}: no such table; there are {names(list(base.tables))}")
        elif column not in base[table]:
            wrong.append(f"key of {table!r}: {no_column([column], base[table].names)}")
        else:
            wrong += _unique_faults(base, table, column)
    return wrong


def _unique_faults(base: Database, table: str, column: str) -> list[str]:
    vector = base[table][column]
    wrong = []
    gaps = int(np.count_nonzero(~vector.present))
    if gaps:
        wrong.append(f"table {table!r}: {counted(gaps, 'row')} without a value of the key {column!r}")
    values = key_values(vector).drop_nulls()
    twice = int(values.is_duplicated().sum())
    if twice:
        wrong.append(
            f"table {table!r}: {twice:,} rows share a value of the key {column!r}; every row needs its own"
        )
    return wrong


def _link_faults(base: Database, link: Link) -> list[str]:
    wrong = []
    for table, column in ((link.parent, link.parent_key), (link.child, link.child_key)):
        if table not in base.tables:
            wrong.append(f"link {link}: no table {table!r}; there are {names(list(base.tables))}")
        elif column not in base[table]:
            wrong.append(f"link {link}: table {table!r}: {no_column([column], base[table].names)}")
    if wrong:
        return wrong
    if base.keys.get(link.parent) != link.parent_key:
        wrong += _unique_faults(base, link.parent, link.parent_key)
    above, below = base[link.parent][link.parent_key], base[link.child][link.child_key]
    if above.present.any() and below.present.any() and key_values(above).dtype != key_values(below).dtype:
        wrong.append(f"link {link}: one key is numbers and the other text; give both columns the same type")
        return wrong
    lost = int(_orphaned(base, link).sum())
    if lost and base.orphans == "error":
        wrong.append(
            f"link {link}: {counted(lost, 'row')} of {link.child!r} belong to no row of {link.parent!r}; correct them, "
            "or pass orphans='drop' or 'keep'"
        )
    sizes = base.sizes(link)
    if link.cardinality in ("1-1", "1-0..1") and sizes.max(initial=0) > 1:
        wrong.append(
            f"link {link}: {counted(int((sizes > 1).sum()), 'parent')} have several children; the cardinality is 1-n"
        )
    elif link.cardinality == "1-1" and base.orphans != "drop" and len(sizes) and sizes.min() == 0:
        wrong.append(
            f"link {link}: {counted(int((sizes == 0).sum()), 'parent')} have no child; the cardinality is 1-0..1"
        )
    if link.most is not None and sizes.max(initial=0) > link.most:
        wrong.append(
            f"link {link}: {counted(int((sizes > link.most).sum()), 'parent')} have more than the most said"
        )
    return wrong + _varying(base, link)


def _varying(base: Database, link: Link) -> list[str]:
    """Weights and strata of people that differ within their household."""
    above = base[link.parent].schema
    if link.own or not (set(base[link.child].names) & set(above.names)):
        return []
    wrong = []
    places = base.places(link)
    for column in base[link.child].schema:
        design = column.has(Role.WEIGHT) or column.has(Role.STRATUM)
        if not design or column.name not in above or column.name in base.key_columns(link.child):
            continue
        own = base[link.child][column.name].categories.codes
        first = np.full(base[link.parent].rows, -1)
        known = places >= 0
        first[places[known]] = own[known]
        differ = len(np.unique(places[known][first[places[known]] != own[known]]))
        if differ:
            wrong.append(
                f"column {column.name!r} of {link.child!r} differs within {counted(differ, 'parent')}"
            )
    return wrong


def _orphaned(base: Database, link: Link) -> BoolArray:
    return (base.places(link) < 0) & base[link.child][link.child_key].present


def torn_links(base: Database, links: Sequence[Link] | None = None) -> dict[str, str]:
    """Links whose rows name a parent that is not there, by child and key, with what is wrong.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> base = Database({"a": Table.from_frame({"id": [1]}), "b": Table.from_frame({"a": [1, 2]})}, {"a": "id"},
    ...     (Link("a", "id", "b", "a"),), orphans="keep")
    >>> torn_links(base)
    {'b.a': 'torn: 50 % without a parent'}
    """
    torn = {}
    for link in base.links if links is None else links:
        stated = base[link.child][link.child_key].present
        lost = float((base.places(link)[stated] < 0).mean()) if stated.any() else 0.0
        if lost:
            share = f"{100 * lost:.0f}" if lost >= 0.01 else "less than 1"
            torn[f"{link.child}.{link.child_key}"] = f"torn: {share} % without a parent"
    return torn


def without_orphans(base: Database) -> Database:
    """The database after rows without a parent were dropped, with everything below them, or were let be.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> base = Database({"a": Table.from_frame({"id": [1]}), "b": Table.from_frame({"a": [1, 2]})}, {"a": "id"},
    ...     (Link("a", "id", "b", "a"),), orphans="drop")
    >>> without_orphans(base)["b"].rows
    1
    """
    if base.orphans != "drop":
        return base
    for name in base.sequence:
        for link in base.parents(name):
            lost = _orphaned(base, link)
            if lost.any():
                base = replace(base, tables={**base.tables, name: base[name].take(~lost)})
    return base


def _circles(base: Database) -> list[str]:
    left = set(base.tables)
    while True:
        ready = {n for n in left if not any(link.parent in left for link in base.parents(n))}
        if not ready:
            break
        left -= ready
    if not left:
        return []
    return [f"the links of {names(sorted(left))} go round in a circle; take one of them out"]
