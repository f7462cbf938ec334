"""Fresh keys: in the pattern of the original's, and never one of them by design.

Keys are numbered in the order of the made rows, which has nothing to do with the order of the original's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.data.exit import leaving
from dalenius.data.frames import Origin
from dalenius.data.relations import Database, Link, key_values
from dalenius.data.schema import Column, Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, IntArray, Vector

NUMBERED = re.compile(r"(\D*)(\d+)")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
PEEK = 10_000
ENOUGH = 0.9
"""Share of the keys that must have a prefix before it is taken over: nobody's own prefix comes out."""


@dataclass(frozen=True)
class Pattern:
    """What keys look like: whole numbers, a prefix with so many digits, or UUIDs.

    Examples
    --------
    >>> Pattern.of(Table.from_frame({"id": [f"P{i:04d}" for i in range(30)]})["id"]).keys(2, 0)
    ['P0001', 'P0002']
    """

    number: bool = True
    prefix: str = ""
    digits: int = 0
    unique: bool = False

    @classmethod
    def of(cls, vector: Vector) -> Pattern:
        """The pattern that nearly all keys share."""
        if vector.is_number:
            return cls()
        texts = key_values(vector).drop_nulls().head(PEEK).to_list()
        if not texts or not isinstance(texts[0], str):
            return cls()
        if all(UUID.fullmatch(text) for text in texts):
            return cls(False, unique=True)
        matches = [NUMBERED.fullmatch(text) for text in texts]
        forms = Counter((m[1], len(m[2])) for m in matches if m)
        (prefix, digits), _ = forms.most_common(1)[0] if forms else (("", 0), 0)
        shared = sum(times for (word, _), times in forms.items() if word == prefix)
        return cls(False, prefix, digits) if shared >= ENOUGH * len(texts) else cls(False)

    def keys(self, rows: int, seed: Seed) -> list[str]:
        """So many keys, all different."""
        if self.unique:
            rng = generator(seed, "keys")
            words = rng.integers(0, 2**32, (rows, 4), dtype=np.uint32)
            texts = ["".join(f"{word:08x}" for word in row) for row in words.tolist()]
            return [f"{t[:8]}-{t[8:12]}-4{t[13:16]}-a{t[17:20]}-{t[20:]}" for t in texts]
        width = max(self.digits, len(str(rows)))
        return [f"{self.prefix}{number:0{width}d}" for number in range(1, rows + 1)]

    def vector(self, name: str, rows: int, seed: Seed) -> Vector:
        """A column of so many keys."""
        if self.number:
            return Vector(Column(name, Kind.INTEGER, (Role.IDENTIFIER,)), np.arange(1, rows + 1))
        levels = tuple(self.keys(rows, seed))
        return Vector(Column(name, Kind.TEXT, (Role.IDENTIFIER,), levels), np.arange(rows))


def with_keys(
    frame: Database, tables: Mapping[str, Table], places: Mapping[Link, IntArray], patterns: Mapping[str, Pattern],
    columns: Mapping[str, Sequence[str]], seed: Seed, origins: Mapping[str, Origin] | None = None,
) -> Database:  # fmt: skip
    """A database of tables made without keys: keys are made, links follow the rows.

    Examples
    --------
    >>> link = Link("a", "id", "b", "a")
    >>> tables = {"a": Table.from_frame({"x": ["u", "v"]}), "b": Table.from_frame({"y": [1.5]})}
    >>> made = with_keys(Database({}, {"a": "id"}, (link,)), tables, {link: np.array([1])}, {},
    ...     {"a": ["id", "x"], "b": ["a", "y"]}, 0)
    >>> made["b"].to_frame("dict")
    {'a': [2], 'y': [1.5]}
    """
    made: dict[str, dict[str, Vector]] = {name: dict(table.vectors) for name, table in tables.items()}
    for name, key in frame.keys.items():
        made[name][key] = patterns.get(name, Pattern()).vector(key, tables[name].rows, seed)
    for link in frame.links:  # a key that is no row's own name is made where it is first needed
        if link.parent_key not in made[link.parent]:
            made[link.parent][link.parent_key] = Pattern().vector(
                link.parent_key, tables[link.parent].rows, seed
            )
    # a child that shares the key of its parent takes it over, parents first
    for name in _downwards(frame, tables):
        for link in [link for link in frame.links if link.child == name]:
            made[name][link.child_key] = _named(
                made[link.parent][link.parent_key], places[link], link.child_key
            )
    whole = {}
    for name, table in tables.items():
        order = [column for column in columns[name] if column in made[name]]
        vectors = {column: made[name][column] for column in order}
        origin = leaving((origins or {}).get(name, table.origin), vectors)
        whole[name] = Table.from_vectors(vectors.values(), table.rows, origin, table.schema)
    links = tuple(replace(link, note="") for link in frame.links)
    return frame.with_tables(whole, links=links, orphans="keep" if frame.orphans == "keep" else "error")


def _downwards(frame: Database, tables: Mapping[str, Table]) -> list[str]:
    return replace(frame, tables=tables).sequence


def _named(keys: Vector, places: IntArray, name: str) -> Vector:
    """The keys of the parents of some rows."""
    column = replace(keys.column, name=name)
    gone = places < 0
    if len(keys) == 0:
        return Vector(
            column, np.zeros(len(places), keys.data.dtype), np.full(len(places), MISSING, np.uint8)
        ).tidy()
    data = np.where(gone, 0, keys.data[np.maximum(places, 0)])
    return Vector(column, data, np.where(gone, MISSING, 0).astype(np.uint8)).tidy()
