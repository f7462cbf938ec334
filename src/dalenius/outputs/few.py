"""Combinations of columns that come to nothing for all but few rows: words of small weight in a code.

They are looked for by rows drawn at random (information sets, Prange 1962): what comes to nothing for these is a null
space, usually that of what holds for everybody, and what it does to all other rows is then counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.random import generator
from dalenius.outputs.differencing import reduced_form
from dalenius.outputs.hashing import Words
from dalenius.outputs.query import Bools, Ints
from dalenius.published._modular import PRIME, kernel

MOST_TRIES, MISSED, ROUNDS = 24, 1e-3, 20
"""Draws of rows; the chance, as far as they go, to draw one of the few each time; and how often a draw grows."""
MANY, ORDERS = 20, 8
"""So many times the threshold of rows are more than several small groups; and orders in which few are sought."""


@dataclass(frozen=True, eq=False)
class Combination:
    """Rows that a combination is about, the columns in it, and what each is multiplied by."""

    rows: Ints
    columns: Bools
    factors: Ints


def about_few(matrix: Ints, few: int, checks: Ints | None = None) -> list[Combination]:
    """Combinations of columns that come to nothing in all rows but fewer than ``few``, by other sums of rows too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(1, 90, (200, 2))
    >>> total = kind.sum(axis=1, keepdims=True) * (np.arange(200) != 7)[:, None]
    >>> [(c.rows.tolist(), c.columns.tolist()) for c in about_few(np.hstack([kind, total]), 10)]
    [([7], [True, True, True])]
    """
    filled = np.flatnonzero(matrix.any(axis=1))
    dense = np.ascontiguousarray(matrix[filled], np.int64)
    people, cells = dense.shape
    if people <= few or not cells:
        return []
    always = -1
    for turn in range(tries(people, cells, few)):
        found, always = _by_some(dense, few, generator(turn, "rows that combinations are tried on"), always)
        found = [c for c in found if checks is None or _still_few(checks, c.factors, few)]
        if found:
            return [Combination(filled[c.rows], c.columns, c.factors) for c in found]
    return []


def tries(rows: int, columns: int, few: int) -> int:
    """Draws after which one has missed all of the few, but for a small chance.

    Examples
    --------
    >>> tries(4096, 30, 10), tries(4096, 240, 10)
    (3, 8)
    """
    hit = 1.0 - (1.0 - min((columns + 1) / max(rows, 1), 0.9)) ** max(few - 1, 1)
    return min(MOST_TRIES, max(2, math.ceil(math.log(MISSED) / math.log(hit))))


def _still_few(checks: Ints, factors: Ints, few: int) -> bool:
    """Whether a combination is about few by sums of other rows: many may share a group, but hardly twice."""
    return not len(checks) or int((_product(checks, factors[:, None]) != 0).sum()) < few


def _by_some(matrix: Ints, few: int, rng: np.random.Generator, always: int) -> tuple[list[Combination], int]:
    """What one draw of rows finds, which grows as long as combinations are about many.

    Also the number of combinations that come to nothing for everybody, once it is known: a draw that leaves no more
    free than these has nothing to find.
    """
    people, cells = matrix.shape
    rows = rng.permutation(people)[: cells + 1]
    for _ in range(ROUNDS):
        free = np.asarray(kernel(np.ascontiguousarray(matrix[rows])))
        if free.shape[1] in (0, always):
            return [], free.shape[1]
        moved = _product(matrix, free)
        touched = np.flatnonzero((moved != 0).any(axis=1))
        if not len(touched):
            return [], free.shape[1]
        if len(touched) < MANY * few:
            return _smallest(moved[touched], free, touched, few, rng), always
        rows = np.concatenate([rows, rng.choice(touched, min(free.shape[1], len(touched)), replace=False)])
    return [], always


def _smallest(
    moved: Ints, free: Ints, touched: Ints, few: int, rng: np.random.Generator
) -> list[Combination]:
    """Combinations about few, found in reduced form: one that has a single pivot is a row of it."""
    found: dict[bytes, Combination] = {}
    for turn in range(ORDERS if free.shape[1] > 1 else 1):
        order = rng.permutation(len(touched)) if turn else np.arange(len(touched))
        for row in reduced_form(np.hstack([moved[order].T, free.T])):
            who = np.sort(order[np.flatnonzero(row[: len(touched)])])
            if 0 < len(who) < few:
                factors = row[len(touched) :]
                found.setdefault(who.tobytes(), Combination(touched[who], factors != 0, factors))
    return list(found.values())


def _product(matrix: Ints, free: Ints) -> Ints:
    """Product modulo the prime, by halves that do not run over."""
    high, low = matrix >> 16, matrix & 0xFFFF
    return np.asarray((((high @ free) % PRIME << 16) + low @ free) % PRIME)


def prints(columns: Ints, few: int) -> Words:
    """Columns as one number for each of ``few`` parts of their rows."""
    rng = generator(0, "parts of rows")
    weights = rng.integers(1, 2**62, len(columns), dtype=np.int64).astype(np.uint64)
    dealt = np.array_split(rng.permutation(len(columns)), few)
    with np.errstate(over="ignore"):
        return np.array([weights[part] @ columns[part].astype(np.uint64) for part in dealt])


def near_twins(one: Words, two: Words) -> list[tuple[int, int]]:
    """Columns of two matrices, by their `prints`, that may differ in fewer rows than there are parts.

    Columns that differ in fewer rows are equal in one of the parts.

    Examples
    --------
    >>> column = np.arange(40)[:, None]
    >>> near_twins(prints(np.hstack([column, 2 * column]), 3), prints(column + (column == 7), 3))
    [(0, 0)]
    """
    pairs: set[tuple[int, int]] = set()
    for first, second in zip(one, two, strict=True):
        order = np.argsort(second, kind="stable")
        start, stop = (np.searchsorted(second[order], first, side) for side in ("left", "right"))
        for i in np.flatnonzero((stop > start) & (first > 0)).tolist():
            pairs.update((i, int(j)) for j in order[start[i] : stop[i]][: len(one)])
    equal = {(i, j) for i, j in pairs if (one[:, i] == two[:, j]).all()}
    return sorted(pairs - equal)
