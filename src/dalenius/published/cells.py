"""The cells people can be in: combinations of values that no published zero forbids, and no others, are made.

Columns are added one by one; every table that speaks of the new column and of some of those before allows only what
occurs in it. Of 10¹² combinations only those that survive are ever in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core.errors import DataError
from dalenius.published.arrays import Bools, Ints
from dalenius.published.figures import Published
from dalenius.published.margin import Margin

MOST_CELLS = 200_000
CHUNK = 1 << 22
"""Combinations that are looked at at once."""


def possible_cells(published: Published, most: int = MOST_CELLS) -> Ints:
    """The codes of all possible cells, one row a cell.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "B"], "job": ["x", "x", "y"]}
    >>> out = Published.count(people, [["sex", "town"], ["town", "job"]])
    >>> possible_cells(out).tolist()
    [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]]
    """
    order = _order(published)
    codes = np.zeros((1, 0), np.int64)
    held: list[str] = []
    for name in order:
        size = len(published.domains[name])
        tests = [m for m in published.margins if name in m.columns and _speaks(m, [*held, name])]
        step, kept, found = max(1, CHUNK // max(size, 1)), [], 0
        for start in range(0, len(codes), step):
            part = codes[start : start + step]
            grown = np.column_stack([np.repeat(part, size, axis=0), np.tile(np.arange(size), len(part))])
            for margin in tests:
                grown = grown[_allowed(margin, grown, [*held, name])]
            kept.append(grown)
            found += len(grown)
            if found > most:
                raise DataError(
                    f"more than {most:,} cells are possible under what is published; attack fewer columns or areas "
                    "at a time, or add tables that show where nobody is"
                )
        codes, held = np.concatenate(kept), [*held, name]
    wanted = codes[:, [held.index(name) for name in published.columns]]
    return np.ascontiguousarray(wanted[np.lexsort(wanted.T[::-1])]) if held else codes


def _order(published: Published) -> list[str]:
    """Columns so that each new one shares a complete table with those before, wherever that is possible."""
    left = list(published.columns)
    order: list[str] = []
    while left:
        score = {c: max((_shared(m, order, c) for m in published.margins), default=0.0) for c in left}
        best = max(left, key=lambda c: (score[c], -len(published.domains[c])))
        order.append(best)
        left.remove(best)
    return order


def _shared(margin: Margin, held: Sequence[str], name: str) -> float:
    if name not in margin.columns or not margin.complete:
        return 0.0
    return 0.5 + sum(c in held for c in margin.columns)


def _speaks(margin: Margin, held: Sequence[str]) -> bool:
    """Whether a table can forbid something already: all its columns are there, or what it lacks it covers wholly."""
    missing = [m for c, m in zip(margin.columns, margin.maps, strict=True) if c not in held]
    return not missing or (margin.complete and all((m >= 0).all() for m in missing))


def _allowed(margin: Margin, codes: Ints, held: Sequence[str]) -> Bools:
    """Which combinations a table leaves possible."""
    there = [i for i, c in enumerate(margin.columns) if c in held]
    if len(there) == len(margin.columns):
        place = margin.places(codes, held)
        empty = (place >= 0) & (margin.high[np.maximum(place, 0)] == 0) if len(margin.keys) else place == -9
        return ~empty & ~((place == -2) & margin.complete)
    full = np.unravel_index(margin.keys[margin.high > 0], margin.shape)
    shape = tuple(margin.shape[i] for i in there)
    occurs = np.unique(np.ravel_multi_index(tuple(full[i] for i in there), shape))
    mapped = [margin.maps[i][codes[:, held.index(margin.columns[i])]] for i in there]
    inside = np.logical_and.reduce([m >= 0 for m in mapped])
    key = np.ravel_multi_index(tuple(np.where(inside, m, 0) for m in mapped), shape)
    return np.asarray(~inside | np.isin(key, occurs))
