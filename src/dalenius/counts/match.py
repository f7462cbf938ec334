"""`Match`: who shares a combination of keys, in each file; the one place that says who is single in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.intervals import Share
from dalenius.counts.groups import PairGroups
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, BoolArray, IntArray

if TYPE_CHECKING:
    from dalenius.counts.pair import Pair


@dataclass(frozen=True, eq=False, repr=False)
class Match:
    """Rows of all files by their combination of keys; `Pair.match` makes it.

    Combinations are numbered as in ``groups``. The original and the holdout are counted by units: a combination that
    only one person has is single, however many rows that person owns. Nobody owns protected rows.

    Attributes
    ----------
    original, holdout
        Units of the original and of the holdout with each combination.
    protected
        Protected rows with each combination.

    Examples
    --------
    >>> from dalenius.counts.pair import Pair
    >>> match = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]}).match(["a"])
    >>> match.original.tolist(), match.protected.tolist(), match.single_in_both.tolist()
    ([1, 2, 0], [1, 1, 1], [True, False, False])
    """

    groups: PairGroups
    units: Units
    holdout_units: Units

    @cached_property
    def original(self) -> IntArray:
        """Units of the original with each combination."""
        return self.units.owners(self.groups.original, len(self.groups))

    @cached_property
    def protected(self) -> IntArray:
        """Protected rows with each combination."""
        return np.bincount(self.groups.protected, minlength=len(self.groups))

    @cached_property
    def holdout(self) -> IntArray:
        """Units of the holdout with each combination; none where there is no holdout."""
        ids = self.groups.holdout
        return (
            np.zeros(len(self.groups), np.int64)
            if ids is None
            else self.holdout_units.owners(ids, len(self.groups))
        )

    @cached_property
    def single(self) -> BoolArray:
        """Combinations that one unit of the original has."""
        alone: BoolArray = self.original == 1
        return alone

    @cached_property
    def single_in_both(self) -> BoolArray:
        """Combinations that one unit of the original and one protected row have: the replicated uniques."""
        alone: BoolArray = self.single & (self.protected == 1)
        return alone

    @property
    def figures(self) -> dict[str, float]:
        """UiO, UiOiS and repU in per cent of the original's units, UiS of the protected rows (Raab 2024, section 3)."""
        return {
            "UiO": self.share(self.single),
            "UiS": 100 * float(np.count_nonzero(self.protected == 1)) / len(self.groups.protected),
            "UiOiS": self.share(self.single & (self.protected > 0)),
            "repU": self.share(self.single_in_both),
        }

    @cached_property
    def single_outside(self) -> AnyArray:
        """Chance, by combination, that an outsider with it would be single among as many people as the original has.

        The others are drawn from all real people at hand, original and holdout together, so that the sizes of the two
        do not matter: hypergeometric, n - 1 of N = n + m - 1 people of whom t share the combination.
        """
        from scipy.special import gammaln  # noqa: PLC0415 (slow to import)

        n, m = self.units.count, self.holdout_units.count
        rest, others = n + m - 1, np.maximum(self.original + self.holdout - 1, 0)
        free = rest - others - (n - 1)
        logs = gammaln(rest - others + 1.0) + gammaln(m + 1.0)
        logs -= gammaln(np.maximum(free, 0) + 1.0) + gammaln(rest + 1.0)
        return np.where(free >= 0, np.exp(np.minimum(logs, 0.0)), 0.0)

    def inside(self, combinations: AnyArray) -> Share:
        """Share of the original's units with one of these combinations; who shares one stands or falls together."""
        ids = self.groups.original
        return Share.of(self.units.most(combinations[ids].astype(float)), self.units.first(ids))

    def outside(self, combinations: AnyArray) -> Share | None:
        """The same share of the holdout's units, or the mean of chances; None without a holdout."""
        ids = self.groups.holdout
        if ids is None:
            return None
        return Share.of(
            self.holdout_units.most(combinations[ids].astype(float)), self.holdout_units.first(ids)
        )

    def share(self, combinations: BoolArray) -> float:
        """Per cent of the original's units with one of these combinations."""
        return self.units.share(combinations[self.groups.original])


def check_keys(pair: Pair, keys: Sequence[str], target: str | None = None) -> None:
    """Refuse an empty or doubled list of keys, columns that are not there, and a target that is a key."""
    if not keys:
        raise OptionError(
            "no keys are named; say which columns an intruder may know, for example keys=['sex']"
        )
    if len(set(keys)) < len(keys):
        raise OptionError("a key is named twice; name each key once")
    if target in keys:
        raise OptionError(
            f"target {target!r} is among the keys; an intruder cannot already know what is to be learnt"
        )
    wanted = [*keys, *([target] if target is not None else [])]
    absent = [name for name in wanted if name not in pair.original]
    if absent:
        raise DataError(
            f"column {names(absent)} is not in both files; there are {names(pair.original.names)}"
        )
