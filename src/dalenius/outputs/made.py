"""Columns that are made of columns of the data, for everybody or for all but few.

Twice the pay, with one person's pay left out, is another column with another name and other values. Beside the mean of
the pay its mean tells that person's pay nevertheless. So columns are looked at as what they are made of: sums of
multiples of the columns that came with the data, and people for whom that does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core.random import generator
from dalenius.outputs.query import Bools, Floats, Ints

MOST_COLUMNS = 24
"""Columns of the data that are looked at, the first ones."""
TRIES = 12
NEAR, EXACT, END = 1e-6, 1e-11, 1e-8
"""Share of the size of a value within which a fit to some rows, and to all, is exact, and a factor is an end."""


@dataclass(eq=False)
class Base:
    """Columns of numbers as they came with the data.

    Attributes
    ----------
    columns
        Name → numbers, row by row.
    unit, ids
        Number of the unit of each row and the units' own names; without the first every row is a unit.
    """

    columns: Mapping[str, Any]
    unit: Any
    ids: Any
    rows: Ints | None = field(default=None, repr=False)

    def places(self, memory: Any, numbers: Ints) -> Ints | None:
        """Row of each unit (by number in the memory); -1 for others. None where units have several rows."""
        if self.rows is None or len(self.rows) < memory.units:
            own = memory.known(self.ids)
            own = own if self.unit is None else own[self.unit]
            known = own[own >= 0]  # of others nothing was shown yet
            if len(np.unique(known)) < len(known):
                return None
            rows = np.full(memory.units + 1, -1, np.int64)  # a unit that is not in the memory is the last
            rows[own] = np.arange(len(own))
            rows[-1] = -1
            self.rows = rows[:-1]
        return self.rows[numbers]


@dataclass(frozen=True)
class Made:
    """Columns of the data that others are made of: for everybody (``of``), or but for few people (``but``).

    ``ends`` are those by whose smallest or largest value, which few have, they were divided or moved.
    """

    of: frozenset[str] = frozenset()
    but: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()

    def __or__(self, other: Made) -> Made:
        return Made(self.of | other.of, self.but | other.but, self.ends | other.ends)

    @property
    def all(self) -> frozenset[str]:
        """All of them."""
        return self.of | self.but


def made_of(values: Floats, base: Mapping[str, Floats], few: int) -> Made:
    """What a column is made of; nothing where it is no sum of multiples of others.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> base = {"pay": rng.normal(3000, 400, 200), "age": rng.normal(40, 9, 200)}
    >>> made_of(2 * base["pay"] + 5, base, 10)
    Made(of=frozenset({'pay'}), but=frozenset(), ends=frozenset())
    >>> made_of(2 * base["pay"] * (np.arange(200) != 7), base, 10)
    Made(of=frozenset(), but=frozenset({'pay'}), ends=frozenset())
    >>> made_of(base["pay"] / base["pay"].max(), base, 10).ends
    frozenset({'pay'})
    >>> made_of(np.log(base["pay"]), base, 10) == Made()
    True
    """
    there = np.isfinite(values)
    if there.sum() < 2 * few or np.ptp(values[there]) == 0:
        return Made()
    whole = [
        name for name, column in base.items() if np.isfinite(np.asarray(column, np.float64)[there]).all()
    ]
    for names in [*([name] for name in base), *([whole] if len(whole) > 1 else [])]:
        found = _fitted(values, {n: base[n] for n in names}, there, few)
        if found is not None:
            return found
    return Made()


def _fitted(values: Floats, base: Mapping[str, Floats], there: Bools, few: int) -> Made | None:
    """A fit of some columns that is exact but for fewer than ``few``, found by rows drawn at random."""
    rng, width = generator(0, "rows that a column is tried on"), len(base) + 1
    if there.sum() < width + 4 + few or not base:
        return None
    inside = np.flatnonzero(there)
    for _ in range(TRIES):
        rows = rng.choice(inside, width + 4, replace=False)
        some = np.column_stack([np.ones(len(rows)), *(np.asarray(c)[rows] for c in base.values())]).astype(
            np.float64
        )
        weights = (
            np.linalg.lstsq(some, values[rows], rcond=None)[0]
            if np.isfinite(some).all()
            else np.full(width, np.nan)
        )
        if not np.abs(some @ weights - values[rows]).max() <= NEAR * np.abs(values[rows]).max():
            continue
        found = _all_rows(values, base, there, weights, few)
        if found is not None:
            return found
    return None


def _all_rows(
    values: Floats, base: Mapping[str, Floats], there: Bools, weights: Floats, few: int
) -> Made | None:
    """Whether a fit to some rows is one to all but few; the fit is made anew by all rows that are near."""
    columns = [np.asarray(c, np.float64) for c in base.values()]
    inside = there & np.logical_and.reduce([np.isfinite(c) for c in columns])
    size = np.abs(values) + sum(abs(w) * np.abs(c) for w, c in zip(weights[1:], columns, strict=True))

    def away(by: Floats, share: float) -> Any:
        guess = by[0] + sum(w * c for w, c in zip(by[1:], columns, strict=True))
        return inside & ~(np.abs(values - guess) <= share * (size + abs(by[0])))

    if away(weights, NEAR).sum() >= few:
        return None
    near = inside & ~away(weights, NEAR)
    scale = np.array([1.0, *(max(float(np.abs(c[near]).max(initial=0.0)), 1e-300) for c in columns)])
    design = np.column_stack([np.ones(int(near.sum())), *(c[near] for c in columns)]) / scale
    exact = np.linalg.lstsq(design, values[near], rcond=None)[0] / scale
    best = min((away(by, EXACT) for by in (weights, exact)), key=lambda mask: int(mask.sum()))
    part = np.abs(weights[1:]) * np.array([float(np.ptp(c[near])) for c in columns])
    names = frozenset(n for n, p in zip(base, part, strict=True) if p > NEAR * float(np.ptp(values[near])))
    other = int(best.sum()) + int((there & ~inside).sum())
    if not names or other >= few:
        return None
    ends = frozenset(
        n
        for n, w, c in zip(base, exact[1:], columns, strict=True)
        if n in names and _by_end(exact[0], w, c[inside], few)
    )
    return Made(but=names, ends=ends) if other else Made(names, ends=ends)


def _by_end(shift: float, factor: float, column: Floats, few: int) -> bool:
    """Whether a column was divided or moved by one of its ends, or by its range, which few people make."""
    low, high = float(column.min()), float(column.max())
    ends = [x for x in (low, high) if int((column == x).sum()) < few]
    ends += [high - low] if ends else []
    used = [1.0 / factor, shift, shift / factor]
    return any(e and abs(abs(u) - abs(e)) <= END * abs(e) for u in used for e in ends)
