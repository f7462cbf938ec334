"""Columns that come out as they were, person by person, whatever was done to the others.

A file may hold real people's ages and incomes beside made-up answers; averages over all columns hardly show it. Two
signs give it away. Where rows kept their order, a column is the same in row after row. Where they did not, the
combinations of some columns are those of real people, none more often than there: a file drawn from the very same
records, or from the same population, has some too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.random import generator
from dalenius.counts.rounded import alike_codes, alike_rows
from dalenius.data.vector import AnyArray, IntArray

if TYPE_CHECKING:
    from dalenius.counts.pair import Pair

SAME = 0.99
"""Share of the rows that must be the same, or have their combination, before columns are called unchanged."""
FEWEST = 20
"""Rows below which chance may explain all."""
PART, BUT = 0.25, 5
"""An unchanged set has too often at most this part of what a draw from the same records has too often, less so many
rows: small tables are hit exactly by chance."""


def unchanged(pair: Pair) -> list[str]:
    """Names of columns that the protected file took over from the people of the original.

    Examples
    --------
    >>> from dalenius.counts.pair import Pair
    >>> rng = np.random.default_rng(1)
    >>> people = {name: rng.integers(0, 20, 300) for name in "abcd"}
    >>> turned = rng.permutation(300)
    >>> file = {n: v[turned] if n in "ab" else rng.integers(0, 20, 300) for n, v in people.items()}
    >>> unchanged(Pair(people, file))
    ['a', 'b']
    """
    if pair.streams or pair.lens is not None or min(pair.original.rows, pair.protected.rows) < FEWEST:
        return []
    columns = [name for name in pair.columns if _tells(pair, name)]
    in_place = [name for name in columns if _in_place(pair, name)]
    return in_place or _together(pair, columns)


def _tells(pair: Pair, name: str) -> bool:
    """Whether a column differs between people at all."""
    codes = alike_codes(pair, name)[0].codes
    return bool((codes != codes[0]).any())


def _in_place(pair: Pair, name: str) -> bool:
    """Whether a column is the same in row after row, and not only because both files are sorted by it."""
    first, second = (file.codes for file in alike_codes(pair, name)[:2])
    if len(first) != len(second) or np.mean(first == second) < SAME:
        return False
    differ = len(first) * (1 - ((np.bincount(first) / len(first)) ** 2).sum())
    steps = np.sign(np.diff(first.astype(np.int64)))
    both_ways = min(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0))
    return bool(differ >= FEWEST and both_ways >= FEWEST / 2)  # neither nearly constant nor sorted


def _together(pair: Pair, columns: Sequence[str]) -> list[str]:
    """The set of columns with most combinations that are those of real people, each no more often than there."""
    alone = [name for name in columns if _held(pair, [name])]
    best: list[str] = []
    kinds = 0
    for start in alone:
        together = [start]
        for name in alone:
            if name != start and _held(pair, [*together, name]):
                together.append(name)
        groups = len(alike_rows(pair, together))
        if len(together) > 1 and groups > kinds and not _by_chance(pair, together):
            best, kinds = together, groups
    return [name for name in columns if name in best]


def _counts(pair: Pair, columns: Sequence[str]) -> tuple[IntArray, IntArray]:
    groups = alike_rows(pair, columns)
    return (
        np.bincount(groups.original, minlength=len(groups)),
        np.bincount(groups.protected, minlength=len(groups)),
    )


def _held(pair: Pair, columns: Sequence[str]) -> bool:
    """Whether nearly every row has a combination of the original that was not used up by others."""
    original, protected = _counts(pair, columns)
    return _too_many(original, protected) <= (1 - SAME) * pair.protected.rows


def _by_chance(pair: Pair, columns: Sequence[str]) -> bool:
    """Whether a file drawn from the same records would do nearly as well."""
    original, protected = _counts(pair, columns)
    drawn = generator(0, "unchanged").multinomial(pair.protected.rows, original / original.sum())
    return _too_many(original, protected) > PART * _too_many(original, drawn) - BUT


def _too_many(original: AnyArray, protected: AnyArray) -> int:
    return int(np.maximum(protected - original, 0).sum())
