"""Cells that several tables of a folder share, in whatever order, direction or sum they print them.

A cell is known by its labels: {north, women} is the same in a row, in a column, and as the sum over ages of a finer
table. Counts of it that differ by few are a difference somebody can take; counts that are the same say that the tables
are about the same people, so that what one of them withholds may follow from another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from dalenius.outputs.query import Floats
from dalenius.outputs.sheets import ACROSS, Sheet
from dalenius.published.totals import totals_of

Key = frozenset[tuple[int, str]]
"""A cell by its labels, each with the number of its dimension."""
PLAIN = re.compile(r"[\d\W]*|yes|no|true|false|[yn]|other|missing|unknown|n\.?a\.?|nan|none|ja|nein|oui|non")
"""Labels that many columns have: they do not tell that two columns are one."""
BARE = re.compile(r"[\d\W]*|yes|no|true|false")
"""Labels that say nothing without the name of their column."""
MOST_AXES = 5
MOST_NAMED = 3


@dataclass(eq=False)
class Laid:
    """A table with one row a cell, and the labels of its sums."""

    sheet: Sheet
    columns: dict[str, list[str]]
    counts: Floats
    totals: tuple[str, ...]

    @classmethod
    def of(cls, sheet: Sheet) -> Laid:
        """Lay a table out."""
        columns, counts = sheet.cells()
        return cls(sheet, columns, counts, totals_of(columns, counts).labels)

    def labels(self, name: str) -> set[str]:
        """Labels of a column but for its sums, as they are compared."""
        return {_plain(label) for label in self.columns[name] if label not in self.totals}


def dimensions(tables: Sequence[Laid]) -> list[dict[str, int]]:
    """Which columns of the tables are the same dimension: by their names, or by the labels they have in common."""
    places = [(k, name) for k, table in enumerate(tables) for name in table.columns]
    held = [tables[k].labels(name) for k, name in places]
    root = list(range(len(places)))

    def find(i: int) -> int:
        while root[i] != i:
            i = root[i]
        return i

    for i, j in combinations(range(len(places)), 2):
        (one, first), (two, second) = places[i], places[j]
        if one != two and _same(first, second, held[i], held[j]):
            root[find(i)] = find(j)
    found: list[dict[str, int]] = [{} for _ in tables]
    for i, (k, name) in enumerate(places):
        found[k][name] = find(i) if find(i) not in found[k].values() else -1 - i
    return found


def _same(first: str, second: str, held: set[str], others: set[str]) -> bool:
    named = not any(name == ACROSS or name.startswith("column ") for name in (first, second))
    if named and _plain(first) == _plain(second):
        return True
    common = held & others
    telling = first == second == ACROSS or any(not PLAIN.fullmatch(label) for label in common)
    return telling and len(common) > 1 and 2 * len(common) >= min(len(held), len(others))


def shown_cells(table: Laid, known: Mapping[str, int]) -> dict[Key, float]:
    """What a table tells of each cell that it prints or that its cells add up to.

    Of cells that are printed twice nothing is told.
    """
    codes = [
        [None if label in table.totals else (known[name], _plain(label)) for label in held]
        for name, held in table.columns.items()
    ]
    rows: list[Key] = [frozenset(c for c in row if c) for row in zip(*codes, strict=True)]
    depth = max((len(row) for row in rows), default=0)
    printed: dict[Key, float] = {}
    twice: set[Key] = set()
    for row, count in zip(rows, table.counts.tolist(), strict=True):
        twice |= {row} if row in printed else set()
        printed[row] = count
    inner = [(row, count) for row, count in printed.items() if len(row) == depth]
    summed: dict[Key, float] = {}
    axes = sorted({dimension for row, _ in inner for dimension, _ in row})
    for size in range(depth if 0 < depth == len(axes) <= MOST_AXES and not twice else 0):
        for kept in map(set, combinations(axes, size)):
            for row, count in inner:
                key = frozenset(c for c in row if c[0] in kept)
                summed[key] = summed.get(key, 0.0) + count  # unknown as soon as one of them is
    shown = {key: count for key, count in printed.items() if not np.isnan(count) and key not in twice}
    return {key: count for key, count in summed.items() if not np.isnan(count)} | shown


@dataclass
class Beside:
    """Two tables that tell of the same cells.

    Attributes
    ----------
    few
        Cells that differ by few, the finest first.
    totals
        Whether their grand totals differ by few.
    same, other
        How many cells are the same in both, and how many differ by many, as they do for other people.
    """

    few: list[Key] = field(default_factory=list)
    totals: bool = False
    same: int = 0
    other: int = 0

    @classmethod
    def of(cls, one: Mapping[Key, float], two: Mapping[Key, float], few: int) -> Beside:
        """Compare what two tables tell."""
        pair = cls()
        for key in sorted(one.keys() & two.keys(), key=lambda k: (-len(k), sorted(k))):
            gap = abs(one[key] - two[key])
            if gap >= few:
                pair.other += 1
            elif gap == 0:
                pair.same += one[key] > 0
            elif key:
                pair.few.append(key)
            else:
                pair.totals = True
        return pair

    @property
    def agree(self) -> bool:
        """Whether nothing speaks against it that they are about the same people."""
        return bool(self.same) and not (self.few or self.other or self.totals)


def in_words(cells: Sequence[Key], table: Laid, known: Mapping[str, int]) -> str:
    """The finest of some cells by their labels in a table, numbers with their columns; sums of them follow."""
    names = {number: name for name, number in known.items()}
    written = {name: {_plain(x): x for x in held} for name, held in table.columns.items()}
    finest = [key for key in cells if len(key) == len(cells[0])]
    told = []
    for key in finest[:MOST_NAMED]:
        own = [(names[number], written[names[number]][label]) for number, label in key]
        own.sort(key=lambda pair: list(table.columns).index(pair[0]))
        told.append(
            ", ".join(
                x if name == ACROSS or not BARE.fullmatch(_plain(x)) else f"{name} {x}" for name, x in own
            )
        )
    return listed(told, len(finest))


def listed(told: Sequence[str], number: int) -> str:
    """Some of a number of things, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"], 4)
    'a; b; 2 more'
    """
    return "; ".join([*told, f"{number - len(told)} more"] if number > len(told) else told)


def with_others(table: Laid, known: Mapping[str, int], more: Iterable[tuple[Key, float]]) -> Laid:
    """A table with rows from others: what they print of its cells and of sums of them."""
    names = {number: name for name, number in known.items()}
    label = {name: {_plain(x): x for x in held} for name, held in table.columns.items()}
    columns = {name: list(held) for name, held in table.columns.items()}
    counts, total = table.counts.tolist(), table.totals[0] if table.totals else "(all)"
    for key, count in more:
        if any(number not in names or text not in label[names[number]] for number, text in key):
            continue
        own = {names[number]: label[names[number]][text] for number, text in key}
        for name, held in columns.items():
            held.append(own.get(name, total))
        counts.append(count)
    return Laid(table.sheet, columns, np.array(counts), (*table.totals, total))


def _plain(label: str) -> str:
    words = " ".join(label.casefold().split())
    return words.removesuffix(".0") if re.fullmatch(r"\d+\.0", words) else words
