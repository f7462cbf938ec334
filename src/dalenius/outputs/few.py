"""Combinations of columns that come to nothing for all but few rows: words of small weight in a code.

They are narrowed down without chance. Sets of independent rows are put aside, each of which tells as much as all rows
that were left: what is about fewer rows than there are sets is nothing in one of them, and so in all rows left in the
end. What that leaves is small, and the words in it are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dalenius.core.random import generator
from dalenius.outputs.hashing import Words
from dalenius.outputs.query import Bools, Ints
from dalenius.published._modular import PRIME, kernel, pivots, product, reduced_form

MOST_LISTED, ORDERS = 10_000, 8
"""Sets of rows up to which all words of a part are listed; and orders of rows in which few are sought beyond."""
SPARE = 8
"""Rows that are looked at beyond as many as there are columns: random ones are hardly ever dependent."""


@dataclass(frozen=True, eq=False)
class Combination:
    """Rows that a combination is about, the columns in it, and what each is multiplied by."""

    rows: Ints
    columns: Bools
    factors: Ints


def about_few(matrix: Ints, few: int, checks: Ints | None = None) -> tuple[list[Combination], bool]:
    """Combinations of columns that come to nothing in all rows but fewer than ``few``, by other sums of rows too.

    Those about the fewest rows: none is about some of the rows of another. Also whether these are all. Left out is what
    any columns do: so many of them come to nothing in one row less, by factors that only those know who know the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(1, 90, (200, 2))
    >>> total = kind.sum(axis=1, keepdims=True) * (np.arange(200) != 7)[:, None]
    >>> found, complete = about_few(np.hstack([kind, total]), 10)
    >>> [(c.rows.tolist(), c.columns.tolist()) for c in found], complete
    ([([7], [True, True, True])], True)
    """
    filled = np.flatnonzero(matrix.any(axis=1))
    dense = np.ascontiguousarray(matrix[filled], np.int64) % PRIME
    people, cells = dense.shape
    if people <= few or not cells:
        return [], True
    own = pivots(dense[_telling(dense, np.arange(people))])  # the other columns follow from these
    if people < len(own) + 2:
        return [], True
    dense = np.ascontiguousarray(dense[:, own])
    free, moved = _narrowed(dense, few)
    touched = np.flatnonzero(moved.any(axis=1))
    found, complete = [], True
    for words, whole in _by_part(moved[touched], few):
        complete &= whole
        for word in words:
            factors = np.zeros(cells, np.int64)
            factors[own] = product(free, word[:, None])[:, 0]
            rows = filled[touched[product(moved[touched], word[:, None])[:, 0] != 0]]
            telling = people - len(rows) > len(own)
            if telling and (checks is None or _still_few(checks, factors, few)):
                found.append(Combination(rows, factors != 0, factors))
    return found, complete


def steps(columns: int, few: int) -> int:
    """About how many steps a search takes."""
    return (few + 1) * columns**3


def _still_few(checks: Ints, factors: Ints, few: int) -> bool:
    """Whether a combination is about few by sums of other rows: many may share a group, but hardly twice."""
    return not len(checks) or int((product(checks % PRIME, factors[:, None]) != 0).sum()) < few


def _telling(matrix: Ints, left: Ints) -> Ints:
    """Independent rows among those left that tell as much as all of these."""
    columns = matrix.shape[1]
    some = left[: columns + SPARE]
    rows = some[pivots(np.ascontiguousarray(matrix[some].T))]
    if len(rows) < columns and len(some) < len(left):
        rest = product(matrix[left], kernel(np.ascontiguousarray(matrix[rows])))
        rows = np.concatenate([rows, left[pivots(np.ascontiguousarray(rest.T))]])
    return rows


def _narrowed(matrix: Ints, few: int) -> tuple[Ints, Ints]:
    """Combinations (columns × some) of which all about fewer than ``few`` rows are made; and what they come to."""
    free, moved = np.eye(matrix.shape[1], dtype=np.int64), matrix
    while free.shape[1]:
        left = np.flatnonzero(moved.any(axis=1))
        for _ in range(few - 1):
            left = np.setdiff1d(left, _telling(moved, left), assume_unique=True)
        inner = kernel(np.ascontiguousarray(moved[_telling(moved, left)]))
        if inner.shape[1] == free.shape[1]:
            break
        free = product(free, inner)
        moved = product(matrix, free)
    return free, moved


def _by_part(moved: Ints, few: int) -> Iterator[tuple[list[Ints], bool]]:
    """Words of fewer than ``few`` rows, by parts that have nothing to do with each other; and whether they are all."""
    width = moved.shape[1]
    if not width:
        return
    form = reduced_form(np.hstack([moved.T, np.eye(width, dtype=np.int64)]))
    rows = sp.coo_matrix(form[:, : len(moved)] != 0)
    tied = sp.coo_matrix((rows.data, (rows.row, rows.col + width)), shape=(width + len(moved),) * 2)
    number, part = connected_components(tied, directed=False)
    for k in range(number):
        base = np.ascontiguousarray(form[part[:width] == k, len(moved) :].T)  # words of this part, as columns
        if base.shape[1]:
            words, whole = _light(product(moved[part[width:] == k], base), few)
            yield [product(base, word[:, None])[:, 0] for word in words], whole


def _light(code: Ints, few: int) -> tuple[list[Ints], bool]:
    """Words of a small code (rows × words it is made of) that are about fewer than ``few`` rows."""
    rows, width = code.shape
    whole = True
    if width == 1:
        words = [np.ones(1, np.int64)]
    elif comb(rows, width - 1) <= MOST_LISTED:  # a word is nothing in as many rows as leave one word
        words = [_only(code, np.array(gone)) for gone in combinations(range(rows), width - 1)]
    elif sum(comb(rows, size) for size in range(1, few)) <= MOST_LISTED:
        several = (held for size in range(1, few) for held in combinations(range(rows), size))
        words = [_only(code, np.delete(np.arange(rows), held)) for held in several]
    else:
        words, whole = _by_orders(code, few), False
    found: dict[bytes, Ints] = {}
    for word in words:
        there = product(code, word[:, None])[:, 0] != 0
        if 0 < there.sum() < few:
            found.setdefault(there.tobytes(), word)
    return list(found.values()), whole


def _only(code: Ints, rows: Ints) -> Ints:
    """The word that is nothing in these rows; nothing at all if there are several."""
    free = kernel(np.ascontiguousarray(code[rows]))
    return free[:, 0] if free.shape[1] == 1 else np.zeros(code.shape[1], np.int64)


def _by_orders(code: Ints, few: int) -> list[Ints]:
    """Such words found in reduced form, by some orders of the rows: one that has a single pivot is a row of it."""
    rng, rows = generator(0, "orders of rows"), len(code)
    held = np.eye(code.shape[1], dtype=np.int64)
    orders = [np.arange(rows), *(rng.permutation(rows) for _ in range(ORDERS - 1))]
    forms = (reduced_form(np.hstack([code[order].T, held])) for order in orders)
    return [word[rows:] for form in forms for word in form[(form[:, :rows] != 0).sum(axis=1) < few]]


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
