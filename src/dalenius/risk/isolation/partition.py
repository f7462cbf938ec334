"""Guesses that divide everybody: partitions of the domain, and what to expect of them.

D'Acquisto et al. 2024, section 3.2.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.isolation.chance import isolation_probability
from dalenius.risk.isolation.predicate import Between, Condition, OneOf, Predicate, Where


def partition_spread(weights: Sequence[float] | AnyArray) -> float:
    """Relative spread (coefficient of variation) of the weights of a partition.

    Examples
    --------
    >>> round(partition_spread([0.0075] * 50 + [0.0125] * 50), 6)
    0.25
    """
    p = np.asarray(weights, float)
    if not np.isclose(p.sum(), 1):
        raise OptionError("the weights of a partition add up to 1")
    return float(np.sqrt(max((p**2).sum() * len(p) - 1, 0.0)))


def partition_lower_bound(n: int, k: int, spread: float) -> float:
    """Least number of isolations to expect of k cells of a partition whose weights have this relative spread.

    Examples
    --------
    >>> round(partition_lower_bound(100, 100, 0.25), 6)
    22.830544
    """
    cells = max(n, k)
    power = n - 1
    inner = min((1 - 1 / (2 * cells)) ** power, 3 * (1 - 3 / (2 * cells)) ** power)
    return max(0.0, 1 - 4 * spread**2) * k * n / (2 * cells) * inner


def partition_expectation(weights: Sequence[float] | AnyArray, n: int, k: int) -> float:
    """Isolations to expect of k cells drawn from a partition with known weights.

    Examples
    --------
    >>> round(partition_expectation([0.0075] * 50 + [0.0125] * 50, 100, 100), 6)
    35.788144
    """
    p = np.asarray(weights, float)
    return float(isolation_probability(p, n).sum()) * k / len(p)


def balanced_partition(reference: Any, cells: int, columns: Sequence[str] | None = None) -> list[Predicate]:
    """Divide everybody into so many descriptions of about equal weight, judged by a reference file.

    The heaviest cell is divided again and again: a number at its median, a category into two groups of values,
    whichever column spreads most there. Cells are disjoint and cover everybody who has a value in every number column.

    Examples
    --------
    >>> people = {"age": list(range(100)), "sex": ["f", "m"] * 50}
    >>> parts = balanced_partition(people, 8)
    >>> table = Table.from_frame(people)
    >>> sorted(part.count(table) for part in parts)
    [12, 12, 12, 12, 13, 13, 13, 13]
    """
    table = Table.from_frame(reference)
    used = list(columns) if columns is not None else table.names
    if cells < 1 or not used:
        raise OptionError("a partition needs at least one cell and one column")
    splitter = Splitter(table, used)
    heap: list[tuple[int, int, AnyArray, tuple[Condition, ...]]] = [
        (-table.rows, 0, np.arange(table.rows), ())
    ]
    made, whole = 0, list[tuple[Condition, ...]]()
    while heap and len(heap) + len(whole) < cells:
        _, _, rows, conditions = heapq.heappop(heap)
        parts = splitter.split(rows)
        if parts is None:
            whole.append(conditions)
            continue
        for condition, inside in parts:
            made += 1
            heapq.heappush(heap, (-len(inside), made, inside, (*conditions, condition)))
    return [Predicate(c) for c in (*whole, *(item[3] for item in heap))]


class Splitter:
    """Divides rows of a reference file in two by the column that spreads most among them.

    Examples
    --------
    >>> (low, rows), _ = Splitter(Table.from_frame({"x": [1, 2, 3, 9]}), ["x"]).split(np.arange(4))
    >>> low.describe(), rows.tolist()
    ('x <= 2', [0, 1])
    """

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.numbers: dict[str, AnyArray] = {}
        self.codes: dict[str, tuple[AnyArray, Sequence[Any]]] = {}
        for name in columns:
            vector = table[name]
            if vector.is_number:
                self.numbers[name] = vector.floats()
                if not np.isfinite(self.numbers[name]).all():
                    raise DataError(f"column {name!r} has empty cells; a partition needs complete numbers")
            else:
                self.codes[name] = (vector.categories.codes.astype(np.int64), vector.categories.labels)
        self.widths = {name: float(np.ptp(x)) or 1.0 for name, x in self.numbers.items() if len(x)}

    def split(self, rows: AnyArray) -> tuple[tuple[Condition, AnyArray], tuple[Condition, AnyArray]] | None:
        """Give two conditions with their rows; None when all rows are alike."""
        for name in sorted((*self.numbers, *self.codes), key=lambda name: -self._spread(name, rows)):
            if self._spread(name, rows) == 0:
                return None
            return self._number(name, rows) if name in self.numbers else self._category(name, rows)
        return None

    def _spread(self, name: str, rows: AnyArray) -> float:
        if name in self.numbers:
            return float(np.ptp(self.numbers[name][rows])) / self.widths[name] if len(rows) else 0.0
        shares = np.bincount(self.codes[name][0][rows]) / max(len(rows), 1)
        return float(1 - (shares**2).sum())

    def _number(
        self, name: str, rows: AnyArray
    ) -> tuple[tuple[Condition, AnyArray], tuple[Condition, AnyArray]]:
        x = self.numbers[name][rows]
        at = float(np.sort(x)[(len(x) - 1) // 2])
        if at == x.max():  # the upper half is one value: divide just below it
            at = float(x[x < at].max())
        low, high = Between(name, high=at), Between(name, low=at, open_low=True)
        return (low, rows[x <= at]), (high, rows[x > at])

    def _category(
        self, name: str, rows: AnyArray
    ) -> tuple[tuple[Condition, AnyArray], tuple[Condition, AnyArray]]:
        codes, labels = self.codes[name]
        counts = np.bincount(codes[rows], minlength=len(labels))
        first: list[int] = []
        total = 0
        for code in np.argsort(-counts, kind="stable").tolist():
            # the largest value starts; others join while they bring the group nearer to a half
            if not first or 2 * (total + counts[code]) <= len(rows):
                first.append(code)
                total += int(counts[code])
        inside = np.isin(codes[rows], first)
        values = frozenset(labels[code] for code in first)
        return (OneOf(name, values), rows[inside]), (OneOf(name, values, negated=True), rows[~inside])


def hash_partition(cells: int, key: bytes = b"dalenius") -> list[Predicate]:
    """Divide everybody by a keyed hash of the whole record: near-equal weights, but nothing anybody could look up.

    Examples
    --------
    >>> table = Table.from_frame({"x": list(range(1000))})
    >>> sizes = [part.count(table) for part in hash_partition(4)]
    >>> sum(sizes), min(sizes) > 200
    (1000, True)
    """
    if cells < 1:
        raise OptionError("a partition needs at least one cell")

    def cell(number: int) -> Where:
        return Where(lambda t: record_hashes(t, key) % cells == number, f"hash cell {number} of {cells}")

    return [Predicate.of(cell(number)) for number in range(cells)]


def record_hashes(table: Table, key: bytes = b"dalenius") -> AnyArray:
    """A number for each record that depends on all its values and on the key (BLAKE2b).

    Examples
    --------
    >>> first, second, third = record_hashes(Table.from_frame({"x": ["a", "b", "a"]})).tolist()
    >>> first == third, first == second
    (True, False)
    """
    names = sorted(table.names)
    columns = [_texts(table, name) for name in names]
    found = [
        int.from_bytes(hashlib.blake2b("\x1f".join(row).encode(), key=key, digest_size=7).digest(), "little")
        for row in zip(*columns, strict=True)
    ]
    return np.array(found, dtype=np.int64)


def _texts(table: Table, name: str) -> Iterator[str]:
    found = table[name].categories
    labels = [str(label) for label in found.labels]
    return (labels[code] for code in found.codes.tolist())
