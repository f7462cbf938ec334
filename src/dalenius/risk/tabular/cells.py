"""`Cells`: the table of key combinations by target value, only where somebody is.

One row per cell (q, t): q a combination of keys, t a level of the target; d, s and h are its records in the original,
the protected file and the holdout. Everything in Raab 2024 is arithmetic on these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalenius.counts.groups import PairGroups
from dalenius.counts.match import check_keys
from dalenius.counts.pair import Pair
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL, AnyArray, IntArray
from dalenius.risk.tabular import _kernels


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Counts of the cells (key combination, target level) that occur in any file.

    Examples
    --------
    >>> pair = Pair({"k": ["a", "a", "b"], "t": [1, 1, 2]}, {"k": ["a", "b", "b"], "t": [1, 2, 1]})
    >>> cells = count_cells(pair, ["k"], "t")
    >>> cells.d.tolist(), cells.s.tolist()
    ([2, 1, 0], [1, 1, 1])
    """

    keys: tuple[str, ...]
    target: str
    groups: PairGroups
    key_labels: tuple[Sequence[Any], ...]
    labels: Sequence[Any]
    group: IntArray
    level: IntArray
    d: IntArray
    s: IntArray
    h: IntArray
    cell_of_row: IntArray
    has_holdout: bool
    grouped: bool

    def sums(self, counts: AnyArray) -> AnyArray:
        """Add up a column of the cells over each key combination."""
        return np.bincount(self.group, counts, minlength=len(self.groups))

    @cached_property
    def d_q(self) -> AnyArray:
        """Original records with the keys of each cell."""
        return self.sums(self.d)[self.group]

    @cached_property
    def s_q(self) -> AnyArray:
        """Protected records with the keys of each cell."""
        return self.sums(self.s)[self.group]

    # Purity is decided by counts, never by floating proportions.
    @cached_property
    def pure_d(self) -> AnyArray:
        """Cells that hold every original record with their keys."""
        return (self.d == self.d_q) & (self.d > 0)

    @cached_property
    def pure_s(self) -> AnyArray:
        """Cells that hold every protected record with their keys."""
        return (self.s == self.s_q) & (self.s > 0)

    @cached_property
    def believed(self) -> AnyArray:
        """Cells whose keys have one single target level in the protected file, this one or another."""
        return self.sums(self.pure_s)[self.group] > 0

    def locate(self, groups: IntArray, levels: AnyArray) -> IntArray:
        """Cell of each combination of keys and target level; each must occur in some file."""
        joint = self.group * len(self.labels) + self.level
        order = np.argsort(joint)
        place = np.searchsorted(joint[order], groups.astype(np.int64) * len(self.labels) + levels)
        found: IntArray = order[place]
        return found

    def holdout_view(self) -> Cells:
        """Put the holdout in the place of the original: what is learnt about people not in the data."""
        empty = np.zeros(0, np.int64)
        return Cells(
            self.keys, self.target, self.groups, self.key_labels, self.labels, self.group, self.level,
            self.h, self.s, np.zeros_like(self.h), empty, False, self.grouped,
        )  # fmt: skip


_ORDERS: WeakKeyDictionary[PairGroups, list[tuple[AnyArray, AnyArray]]] = WeakKeyDictionary()


def _orders(groups: PairGroups) -> list[tuple[AnyArray, AnyArray]]:
    """Rows of each file sorted by key combination, made once for all targets."""
    if groups not in _ORDERS:
        held = groups.holdout if groups.holdout is not None else np.zeros(0, np.int64)
        files = (groups.original, groups.protected, held)
        _ORDERS[groups] = [_kernels.order_by_group(np.asarray(ids), len(groups)) for ids in files]
    return _ORDERS[groups]


def count_cells(pair: Pair, keys: Sequence[str], target: str, grouped: bool = False) -> Cells:
    """Count the table of keys by target in all files of a pair.

    Examples
    --------
    >>> pair = Pair({"k": ["a", "b"], "t": [1, 2]}, {"k": ["a", "a"], "t": [1, 2]})
    >>> count_cells(pair, ["k"], "k")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: target 'k' is among the keys; an intruder cannot already know what is to be learnt
    """
    check_keys(pair, keys, target)
    groups = pair.groups(keys, grouped)
    (order_d, starts_d), (order_s, starts_s), (order_h, starts_h) = _orders(groups)
    aligned = pair.categories(target, grouped)
    held = aligned.holdout.codes if aligned.holdout is not None else np.zeros(0, np.int32)
    # one type, for which the kernel is compiled
    codes = [
        np.require(c, np.int32, ("C", "W")) for c in (aligned.original.codes, aligned.protected.codes, held)
    ]
    group, level, d, s, h, cell_of_row = _kernels.count_cells(
        starts_d, order_d, codes[0], starts_s, order_s, codes[1], starts_h, order_h, codes[2],
        len(aligned.original.labels),
    )  # fmt: skip
    key_labels = tuple(pair.categories(key, grouped).original.labels for key in keys)
    return Cells(
        tuple(keys), target, groups, key_labels, aligned.original.labels, group, level, d, s, h, cell_of_row,
        pair.holdout is not None, grouped,
    )  # fmt: skip


def gap_codes(labels: Sequence[Any]) -> list[int]:
    """Codes that stand for an empty cell or NaN.

    Examples
    --------
    >>> gap_codes(["a", MISSING_LABEL])
    [1]
    """
    return [i for i, label in enumerate(labels) if label is MISSING_LABEL or label is NAN_LABEL]
