"""Rows that are alike but for the last digits of numbers: a copy with noise nobody would notice is a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalenius.counts.groups import PairGroups, group_rows
from dalenius.counts.match import Match
from dalenius.data.vector import AnyArray, Categories, IntArray

if TYPE_CHECKING:
    from dalenius.counts.pair import Pair

ALIKE = 1e-3
"""Numbers are alike within this part of the range in which nine tenths of the original's lie."""
START = 0.37
"""Where cells begin, as a part of one: not where round numbers are."""


def alike_codes(pair: Pair, name: str) -> list[Categories]:
    """A column of every file as codes; numbers so close that nobody would tell them apart share one.

    Whole or rounded numbers, which differ by more than that or not at all, are told apart as ever.

    Examples
    --------
    >>> from dalenius.counts.pair import Pair
    >>> pair = Pair({"x": [0.1, 0.5, 0.9], "n": [1, 2, 3]}, {"x": [0.10001, 0.6, 0.9], "n": [1, 2, 3]})
    >>> [(first.codes == second.codes).tolist() for first, second in (alike_codes(pair, name) for name in "xn")]
    [[True, False, True], [True, True, True]]
    """
    known: dict[str, list[Categories]] = pair.remembered.setdefault("alike", {})
    if name not in known:
        known[name] = _alike_codes(pair, name)
    return known[name]


def _alike_codes(pair: Pair, name: str) -> list[Categories]:
    aligned = pair.categories(name, grouped=False)
    held = [file for file in (aligned.original, aligned.protected, aligned.holdout) if file is not None]
    if not pair.original[name].is_number:
        return held
    numbers = _said_once(pair, name)
    low, high = np.quantile(numbers, [0.05, 0.95]) if len(numbers) else (0.0, 0.0)
    width = ALIKE * (high - low)
    files = [pair.original, pair.protected, *([pair.holdout] if pair.holdout is not None else [])]
    several = np.unique(np.concatenate([table[name].values.astype(np.float64) for table in files]))
    several = several[np.isfinite(several)]
    if not width > 0 or not len(several) or not (np.diff(several) < width).any():
        return held
    cells = _cells(held[0].labels, low, width)
    size = [""] * (int(cells.max(initial=0)) + 1)
    return [Categories(cells[file.codes], size) for file in held]


def _said_once(pair: Pair, name: str) -> AnyArray:
    """The numbers of a column; what somebody says in several rows counts once."""
    vector, owners = pair.original[name], pair.units.codes
    numbers: AnyArray = vector.values.astype(np.float64)
    if owners is not None:
        of = owners[vector.present].astype(np.float64)
        numbers = np.unique(np.column_stack([of, numbers]), axis=0)[:, 1]
    return numbers[np.isfinite(numbers)]


def alike_rows(pair: Pair, columns: Sequence[str]) -> PairGroups:
    """Rows of each file numbered by their combination of some columns, numbers alike but for their last digits."""
    each = [alike_codes(pair, name) for name in columns]
    rows = [
        pair.original.rows,
        pair.protected.rows,
        *([pair.holdout.rows] if pair.holdout is not None else []),
    ]
    return group_rows(tuple(columns), [[codes[n] for codes in each] for n in range(len(rows))], rows)


def match_alike(pair: Pair, columns: Sequence[str]) -> Match:
    """Who shares a combination of columns in each file, numbers alike but for their last digits."""
    return Match(alike_rows(pair, columns), pair.units, pair.holdout_units)


def _cells(labels: Sequence[object], low: float, width: float) -> IntArray:
    """Cell of every label: numbers by their place, and each gap or special code one of its own."""
    number = np.array([kind in (int, float) for kind in map(type, labels)], bool)
    values = np.full(len(labels), np.nan)
    values[number] = [label for label, known in zip(labels, number.tolist(), strict=True) if known]
    place = np.floor((values - low) / width + START)
    placed = np.isfinite(place)
    codes = np.empty(len(labels), np.int64)
    kinds, codes[placed] = np.unique(place[placed], return_inverse=True)
    codes[~placed] = len(kinds) + np.arange(np.count_nonzero(~placed))
    return codes
