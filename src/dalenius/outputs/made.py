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
NEAR, EXACT, END, LINE = 1e-6, 1e-11, 1e-8, 1e-10
"""Share of a value's size within which a fit to some rows, and to all, is exact; a factor an end; a cell a line."""


@dataclass(eq=False)
class Base:
    """Columns of numbers as they came with the data.

    Attributes
    ----------
    columns
        Name → numbers, row by row.
    unit, ids
        Number of the unit of each row and the units' own names; without the first every row is a unit.
    names
        Names and categories that came with the data: numbers in them are public.
    """

    columns: Mapping[str, Any]
    unit: Any
    ids: Any
    names: frozenset[str] = frozenset()
    known: tuple[int, Ints] | None = field(default=None, repr=False)

    def numbers(self, memory: Any) -> Ints:
        """Number of the unit of each row in the memory; -1 where it is not known there."""
        if self.known is None or self.known[0] != memory.units:
            own = memory.known(self.ids)
            self.known = memory.units, own if self.unit is None else own[self.unit]
        return self.known[1]

    def places(self, memory: Any, numbers: Ints) -> Ints:
        """Row of each record of an output, by the numbers of its units in the memory; -1 where that is not known.

        Where units have several rows these are taken one after the other, in their order, if all units of the output
        have as many of them as here: otherwise nobody knows which were left out.
        """
        own = self.numbers(memory)
        size = max(int(numbers.max(initial=-1)), int(own.max(initial=-1))) + 1
        there, asked = (np.bincount(x[x >= 0], minlength=size) for x in (own, numbers))
        rows = np.full(len(numbers), -1, np.int64)
        if there.max(initial=0) > 1 and ((there != asked) & (asked > 0)).any():
            return rows
        same = np.append((there == asked) & (asked > 0), False)  # the last is a unit that is not known
        mine, others = (np.flatnonzero(same[x]) for x in (own, numbers))
        rows[others[np.argsort(numbers[others], kind="stable")]] = mine[np.argsort(own[mine], kind="stable")]
        return rows


@dataclass(frozen=True)
class Made:
    """Columns of the data that others are made of: for everybody (``of``), or but for few people (``but``).

    ``ends`` are those by whose smallest or largest value, which few have, they were divided or moved, all together or
    in the groups that are shown; ``own`` those by a value of one person or a few that is no round number.
    """

    of: frozenset[str] = frozenset()
    but: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def __or__(self, other: Made) -> Made:
        return Made(self.of | other.of, self.but | other.but, self.ends | other.ends, self.own | other.own)

    @property
    def all(self) -> frozenset[str]:
        """All of them."""
        return self.of | self.but


def made_of(values: Floats, base: Mapping[str, Floats], few: int, cell: Ints | None = None) -> Made:
    """What a column is made of; nothing where it is no sum of multiples of others, nor one in each cell.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> base = {"pay": rng.normal(3000, 400, 200), "age": rng.normal(40, 9, 200)}
    >>> made_of(2 * base["pay"] + 5, base, 10)
    Made(of=frozenset({'pay'}), but=frozenset(), ends=frozenset(), own=frozenset())
    >>> made_of(2 * base["pay"] * (np.arange(200) != 7), base, 10).but
    frozenset({'pay'})
    >>> made_of(base["pay"] / base["pay"].max(), base, 10).ends
    frozenset({'pay'})
    >>> made_of(base["pay"] / base["pay"][7], base, 10).own
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
        found = _fitted(values, {n: base[n] for n in names}, there, few, base)
        if found is not None:
            return found
    return Made() if cell is None else _by_cell(values, base, few, cell)


def _by_cell(values: Floats, base: Mapping[str, Floats], few: int, cell: Ints) -> Made:
    """Columns of which it is a multiple, or that much more, in every cell on its own: shares of a group's largest."""
    found = Made()
    for name, column in base.items():
        there = np.isfinite(values) & np.isfinite(np.asarray(column, np.float64)) & (cell >= 0)
        if there.sum() < 2 * few:
            continue
        fit = _lines(np.asarray(column, np.float64)[there], values[there], cell[there])
        if fit is None:
            continue
        told = frozenset({name})
        groups = [
            (fit[0][c], fit[1][c], np.asarray(column)[there & (cell == c)]) for c in np.unique(cell[there])
        ]
        ends = any(_by_end(*group, few) for group in groups)
        own = any(_by_own(shift, factor, base, few) for shift, factor, _ in groups)
        found |= Made(told, ends=told if ends else frozenset(), own=told if own else frozenset())
    return found


def _lines(x: Floats, y: Floats, cell: Ints) -> tuple[Floats, Floats] | None:
    """The line through the points of each cell; None unless all lie on them."""
    number = np.maximum(np.bincount(cell), 1)
    mean, other = (np.bincount(cell, v) / number for v in (x, y))
    dx, dy = x - mean[cell], y - other[cell]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.nan_to_num(np.bincount(cell, dx * dy) / np.bincount(cell, dx * dx))
    size = np.abs(y) + np.abs(slope[cell] * x) + np.abs(other[cell])
    if (np.abs(dy - slope[cell] * dx) > LINE * size).any() or not slope.any():
        return None
    return other - slope * mean, slope


def _fitted(
    values: Floats, base: Mapping[str, Floats], there: Bools, few: int, every: Mapping[str, Floats]
) -> Made | None:
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
        found = _all_rows(values, base, there, weights, few, every)
        if found is not None:
            return found
    return None


def fitted(values: Floats, base: Mapping[str, Floats], there: Bools, few: int, besides: int) -> bool:
    """Whether a column is a sum of multiples of some, but for few, in which the last ``besides`` have a part."""
    found = _fitted(values, base, there, few, {})
    return found is not None and bool(found.all & {*list(base)[-besides:]})


def exact_but_few(values: Floats, columns: Floats, few: int) -> bool:
    """Whether a column is a sum of multiples of others for all rows but a few, and for these is not.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(200, 2))
    >>> line = x @ [3.0, 2.0] + 1
    >>> exact_but_few(line + (np.arange(200) == 7), x, 10), exact_but_few(line, x, 10)
    (True, False)
    """
    base = {str(i): column for i, column in enumerate(columns.T) if np.ptp(column) > 0}
    found = _fitted(values, base, np.isfinite(values), few, {})
    return found is not None and bool(found.but)


def _all_rows(
    values: Floats,
    base: Mapping[str, Floats],
    there: Bools,
    weights: Floats,
    few: int,
    every: Mapping[str, Floats],
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
    own = frozenset(
        n for n, w in zip(base, exact[1:], strict=True) if n in names and _by_own(exact[0], w, every, few)
    )
    return Made(but=names, ends=ends, own=own) if other else Made(names, ends=ends, own=own)


def _by_end(shift: float, factor: float, column: Floats, few: int) -> bool:
    """Whether a column was divided or moved by one of its ends, or by its range, which few people make."""
    low, high = float(column.min()), float(column.max())
    ends = [x for x in (low, high) if int((column == x).sum()) < few]
    ends += [high - low] if ends else []
    return any(e and abs(abs(u) - abs(e)) <= END * abs(e) for u in _used(shift, factor) for e in ends)


def _used(shift: float, factor: float) -> list[float]:
    """Numbers that a column was divided or moved by, before or after."""
    return [1.0 / factor, shift, shift / factor] if factor else [shift]


def is_round(number: float) -> bool:
    """Whether a number has two digits at most, as those that people choose.

    Examples
    --------
    >>> is_round(1200.0), is_round(0.25), is_round(3511.0)
    (True, True, False)
    """
    return float(f"{number:.2g}") == float(f"{number:.9g}")


def _by_own(shift: float, factor: float, base: Mapping[str, Floats], few: int) -> bool:
    """Whether a column was multiplied, divided or moved by a value of any column that few have, and not round."""
    for used in {abs(factor), *map(abs, _used(shift, factor))}:
        if not used or is_round(used):
            continue
        for column in base.values():
            if 0 < int((np.abs(np.abs(np.asarray(column, np.float64)) - used) <= END * used).sum()) < few:
                return True
    return False
