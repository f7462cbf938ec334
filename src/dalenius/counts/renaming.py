"""Rows of which every column was recoded one to one: the names of values are others, what goes with what is as it was.

A copy in which f stands for m and north for south is found by no comparison of values. But a cipher of substitution
keeps how often values are, alone and together, and is turned back by counting. `turned_back` looks for the renaming of
the values of each column under which the tables of two columns are most alike in both files: the sum over all pairs of
columns of Σ √(p q), with p and q the shares of a cell (Bhattacharyya 1943), one column after the other until none gets
better (each a problem of assignment). It is learnt from some of the people, and others are looked for: of names that
were fitted to the very people whose rows are sought, some would be found in any file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dalenius.data.vector import AnyArray, BoolArray, IntArray, Vector

if TYPE_CHECKING:
    from dalenius.counts.pair import Pair

GROUPS = 12
"""Groups of a number, each with as many rows of its own file: who stretches or shifts numbers keeps them."""
LEVELS = 100
"""Values of a column that are told apart; of more the most frequent ones of both files."""
COLUMNS, ROWS = 30, 20_000
"""Columns and rows that a renaming is looked for in; of more the columns that tell most, and rows evenly spread."""
SWEEPS = 10
GAIN = 0.01
"""By how much tables must be more alike once renamed: of files by our methods, and of other people, it is 0.006."""
BY_VALUE = 0.05
"""The same for a number of which each value is renamed, were it into any other one."""
MOVED = 0.2
"""Share of the rows that must have another value before a column is called renamed."""


@dataclass(frozen=True, eq=False, repr=False)
class Codes:
    """One column of original, protected file and holdout, coded over one list."""

    name: str
    files: Sequence[IntArray]
    size: int
    ordered: bool = False
    """Whether codes that lie near each other are values that do."""


@dataclass(frozen=True, eq=False, repr=False)
class _Learnt(Codes):
    """A column as a renaming is looked for in it."""

    some: IntArray = field(kw_only=True)
    """Of the original, those who are learnt from."""
    as_is: IntArray = field(kw_only=True)
    """The protected file with numbers where the original's lie, not by their own order."""


def turned_back(pair: Pair, learnt: BoolArray) -> list[Codes] | None:
    """The files with values turned back, where a renaming makes their tables more alike; None where none does.

    Parameters
    ----------
    learnt
        The rows of the original that the renaming is learnt from.

    Examples
    --------
    >>> from dalenius.counts.pair import Pair
    >>> rng = np.random.default_rng(1)
    >>> home = rng.integers(0, 4, 600)
    >>> people = {"home": home.astype(str), "work": ((home + rng.integers(0, 2, 600)) % 4).astype(str)}
    >>> cipher = {**people, "home": np.array(list("2031"))[home]}
    >>> half = np.arange(600) < 300
    >>> home, work = turned_back(Pair(people, cipher, people), half)
    >>> bool((home.files[0] == home.files[1]).all())
    True
    >>> turned_back(Pair(people, people, people), half) is None
    True
    """
    columns = _telling([_coded(pair, name, learnt) for name in pair.columns])
    if len(columns) < 2:
        return None
    before = _likeness(*_tables(columns, as_is=True), columns, [np.arange(c.size) for c in columns])
    columns, maps, after = _by_value(pair, learnt, *_best(columns))
    moved = [float(np.mean(m[c.files[1]] != c.as_is)) for m, c in zip(maps, columns, strict=True)]
    if after - before < GAIN or max(moved) < MOVED:
        return None
    return [
        Codes(c.name, [c.files[0], held[c.files[1]], *c.files[2:]], c.size)
        for c, held in zip(columns, maps, strict=True)
    ]


def _coded(pair: Pair, name: str, learnt: BoolArray) -> _Learnt:
    """A column with numbers in groups, each file's own ones, and the most frequent of other values."""
    if not pair.original[name].is_number:
        return _valued(pair, name, learnt)
    people, file, *others = vectors_of(pair, name)
    some = people.take(learnt)
    files = [by_rank(people, some), by_rank(file, file), *(by_rank(v, some) for v in others)]
    return _Learnt(name, files, GROUPS + 1, some=files[0][learnt], as_is=by_rank(file, some))


def vectors_of(pair: Pair, name: str) -> list[Vector]:
    """A column of original, protected file and, where there is one, holdout."""
    return [table[name] for table in (pair.original, pair.protected, pair.holdout) if table is not None]


def by_rank(vector: Vector, among: Vector, groups: int = GROUPS) -> IntArray:
    """Groups of numbers by the share of others that are smaller; what is no number is a group of its own, the last."""
    others, numbers = _finite(among.floats()), vector.floats()
    others = np.sort(others[:: -(-len(others) // ROWS) or 1])
    places = sum(np.searchsorted(others, numbers, side) for side in ("left", "right"))
    found = np.minimum(places * groups // max(2 * len(others), 1), groups - 1)
    return np.where(np.isfinite(numbers), found, groups).astype(np.int64)


def _finite(numbers: AnyArray) -> AnyArray:
    return numbers[np.isfinite(numbers)]


def by_value(pair: Pair, name: str) -> Codes:
    """A column by its values; of many the most frequent ones of both files, and one code for all others."""
    aligned = pair.categories(name, grouped=False)
    codes = [f.codes.astype(np.int64) for f in (aligned.original, aligned.protected, aligned.holdout) if f]
    size = len(aligned.original.labels)
    if size > LEVELS:
        often = [np.argsort(-np.bincount(c, minlength=size), kind="stable")[: LEVELS // 2] for c in codes[:2]]
        place = np.full(size, LEVELS)
        kept = np.unique(np.concatenate(often))
        place[kept] = np.arange(len(kept))
        codes, size = [place[c] for c in codes], LEVELS + 1
    return Codes(name, codes, size)


def _valued(pair: Pair, name: str, learnt: BoolArray) -> _Learnt:
    found = by_value(pair, name)
    return _Learnt(name, found.files, found.size, some=found.files[0][learnt], as_is=found.files[1])


def _telling(columns: list[_Learnt]) -> list[_Learnt]:
    """Columns that differ between people; of many those that tell most."""

    def told(column: _Learnt) -> float:
        shares = np.bincount(column.some) / len(column.some)
        return -float(np.sum(shares * np.log(np.maximum(shares, 1e-300))))

    entropy = {c.name: told(c) for c in columns}
    most = sorted(entropy, key=lambda name: -entropy[name])[:COLUMNS]
    return [c for c in columns if entropy[c.name] > 0 and c.name in most]


def _tables(columns: Sequence[_Learnt], as_is: bool = False) -> tuple[AnyArray, AnyArray]:
    """√ of the shares of all cells of two columns, in each file, as one table; nothing of a column with itself."""
    first = _together(columns, [c.some for c in columns])
    return first, _together(columns, [c.as_is if as_is else c.files[1] for c in columns])


def _together(columns: Sequence[_Learnt], codes: Sequence[IntArray]) -> AnyArray:
    from scipy import sparse  # noqa: PLC0415 (loaded when somebody compares)

    step = -(-len(codes[0]) // ROWS)
    starts = _starts(columns)
    places = np.column_stack([c[::step] + start for c, start in zip(codes, starts, strict=False)])
    rows = len(places)
    each = sparse.csr_array(
        (np.ones(places.size, np.float32), places.ravel(), np.arange(rows + 1) * len(columns)),
        shape=(rows, starts[-1]),
    )
    shares = np.sqrt((each.T @ each).toarray() / rows)
    for start, end in pairwise(starts):
        shares[start:end, start:end] = 0
    return shares


def _starts(columns: Sequence[_Learnt]) -> list[int]:
    return [0, *np.cumsum([c.size for c in columns]).tolist()]


def _alike(
    first: AnyArray, second: AnyArray, starts: Sequence[int], maps: Sequence[IntArray], i: int
) -> AnyArray:
    """How much each value of a column of the original is like each of the protected file's, by what goes with them."""
    back = np.concatenate([start + np.argsort(m) for start, m in zip(starts, maps, strict=False)])
    part = slice(starts[i], starts[i + 1])
    return first[part] @ second[part][:, back].T / (len(maps) - 1)


def _likeness(
    first: AnyArray, second: AnyArray, columns: Sequence[_Learnt], maps: Sequence[IntArray]
) -> float:
    """Mean over all pairs of columns; 1 where all tables are the same."""
    starts = _starts(columns)
    found = [_alike(first, second, starts, maps, i)[m, np.arange(len(m))].sum() for i, m in enumerate(maps)]
    return float(np.mean(found))


def _best(columns: list[_Learnt]) -> tuple[list[_Learnt], list[IntArray], float]:
    """The best renaming that is reached from the names as they are, or from how often values are."""
    first, second = _tables(columns)
    plain: list[IntArray] = [np.arange(c.size) for c in columns]
    reached = [
        _improved(first, second, columns, maps) for maps in (plain, [_by_frequency(c) for c in columns])
    ]
    likeness = [_likeness(first, second, columns, maps) for maps in reached]
    at = int(np.argmax(likeness))
    return columns, reached[at], likeness[at]


def _by_frequency(column: _Learnt) -> IntArray:
    orders = [
        np.argsort(-np.bincount(codes, minlength=column.size), kind="stable")
        for codes in (column.some, column.files[1])
    ]
    found = np.empty(column.size, np.int64)
    found[orders[1]] = orders[0]
    return found


def _improved(
    first: AnyArray, second: AnyArray, columns: Sequence[_Learnt], maps: list[IntArray]
) -> list[IntArray]:
    """One column after the other renamed for the best, until none gets better."""
    maps, starts = list(maps), _starts(columns)
    for _ in range(SWEEPS):
        better = False
        for i, own in enumerate(maps):
            alike = _alike(first, second, starts, maps, i)
            found, every = _assigned(alike), np.arange(len(own))
            if alike[found, every].sum() > alike[own, every].sum() + 1e-6:
                maps[i], better = found, True
        if not better:
            break
    return maps


def _assigned(alike: AnyArray) -> IntArray:
    """To each value of the protected file one of the original, so that all together are most alike."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 (loaded when somebody compares)

    mine, theirs = linear_sum_assignment(-alike)
    found = np.empty(len(alike), np.int64)
    found[theirs] = mine
    return found


def _by_value(
    pair: Pair, learnt: BoolArray, columns: list[_Learnt], maps: list[IntArray], likeness: float
) -> tuple[list[_Learnt], list[IntArray], float]:
    """The same with numbers by their values where these were renamed without any order."""
    changed, held = list(columns), list(maps)
    for i, column in enumerate(columns):
        if not pair.original[column.name].is_number:
            continue
        valued = _valued(pair, column.name, learnt)
        if valued.size > LEVELS:
            continue
        tried = [*columns[:i], valued, *columns[i + 1 :]]
        alike = _alike(
            *_tables(tried), _starts(tried), [*maps[:i], np.arange(valued.size), *maps[i + 1 :]], i
        )
        found = _assigned(alike)
        if alike[found, np.arange(valued.size)].sum() - np.trace(alike) > BY_VALUE:
            changed[i], held[i] = valued, found
    if all(a is b for a, b in zip(changed, columns, strict=True)):
        return columns, maps, likeness
    tables = _tables(changed)
    better = _improved(*tables, changed, held)
    return changed, better, max(likeness, _likeness(*tables, changed, better))
