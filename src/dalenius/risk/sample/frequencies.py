"""Sample and population frequencies of key combinations, with empty keys as wildcards (sdcMicro: freqCalc)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.keys import distinct, ravel
from dalenius.data.schema import Role
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.sample.keys import KeyCodes, column_values


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies:
    """For each row: how many rows share its keys (``fk``), and how many people in the population do (``Fk``).

    Where the schema names an entity column, both count units, not rows.

    Examples
    --------
    >>> found = frequencies({"sex": ["f", "m", "m"], "w": [10.0, 20.0, 30.0]}, ["sex"], weight="w")
    >>> found.fk.tolist(), found.Fk.tolist(), found.unique
    ([1.0, 2.0, 2.0], [10.0, 50.0, 50.0], 1)
    """

    fk: AnyArray
    Fk: AnyArray
    weighted: bool
    units: Units

    @property
    def unique(self) -> int:
        """Rows (units) that share their keys with nobody."""
        return int(np.count_nonzero(self.units.any(self.fk == 1)))

    def violations(self, k: float, weighted: bool = False) -> int:
        """Rows (units) whose keys occur fewer than k times, in the sample or in the population."""
        return int(np.count_nonzero(self.units.any((self.Fk if weighted else self.fk) < k)))


def frequencies(
    data: Any, keys: Sequence[str] | None = None, *, weight: str | None = None, alpha: float | None = 1.0
) -> Frequencies:
    """Frequencies of key combinations.

    An empty key matches everything: a complete row gains ``alpha`` times the incomplete rows that match it, an
    incomplete row counts its own group, all complete rows that match it, and ``alpha`` times other incomplete ones. A
    row without any key gets everybody, and adds nothing to complete rows (unless there is one key only). Where people
    have several rows they are counted, not rows; empty keys need ``alpha=None`` then.

    Parameters
    ----------
    weight
        Column of design weights (people each row stands for); default: the column with that role, or 1.
    alpha
        How much an incomplete row counts for others, 0 to 1; 0 makes incomplete rows look rare, 1 common. All of them
        flatter a row with gaps: complete rows count for it, although who knows the person knows what the gap hides.
        None takes a gap as a value of its own: only rows that look the same count.

    Examples
    --------
    >>> frequencies({"sex": ["f", "m", None]}, ["sex"]).fk.tolist()
    [2.0, 2.0, 3.0]
    >>> frequencies({"sex": ["f", "m", None]}, ["sex"], alpha=None).fk.tolist()
    [1.0, 1.0, 1.0]
    """
    if alpha is not None and not 0 <= alpha <= 1:
        raise OptionError(f"alpha is {alpha}; it must be between 0 and 1")
    codes = KeyCodes.of(data, keys)
    weights = column_values(data, weight, Role.WEIGHT)
    w = np.ones(len(codes)) if weights is None else weights
    if alpha is None or codes.complete.all():
        ids, size = codes.groups()
        first = _once(ids, codes.units)
        counts = np.bincount(ids[first], minlength=size)[ids].astype(float)
        return Frequencies(
            counts, np.bincount(ids[first], w[first], size)[ids], weights is not None, codes.units
        )
    if codes.units.codes is not None:
        raise DataError(
            "frequencies of units need complete keys; fill or drop the empty keys, take the entity role away, "
            "or say alpha=None: a gap is a value of its own"
        )
    counts = _matched(codes, np.ones(len(codes)), alpha)
    return Frequencies(counts, _matched(codes, w, alpha), weights is not None, codes.units)


def _once(ids: AnyArray, units: Units) -> AnyArray:
    """One row of each unit in each group."""
    if units.codes is None:
        return np.arange(len(ids))
    first: AnyArray = np.unique(ids * max(units.count, 1) + units.codes, return_index=True)[1]
    return first


def _matched(codes: KeyCodes, weights: AnyArray, alpha: float) -> AnyArray:
    """Add up weights of matching rows, one pair of gap patterns at a time: each pair is one join on common keys."""
    width = len(codes.names)
    patterns, pattern = np.unique(codes.missing, axis=0, return_inverse=True)
    result = np.zeros(len(codes))
    rows = [np.flatnonzero(pattern.ravel() == kind) for kind in range(len(patterns))]
    for kind, (gaps, here) in enumerate(zip(patterns, rows, strict=True)):
        if gaps.all():
            result[here] = weights.sum()
            continue
        for other, (theirs, there) in enumerate(zip(patterns, rows, strict=True)):
            if theirs.all() and not gaps.any() and width > 1:
                continue
            own = other == kind or not theirs.any()
            common = np.flatnonzero(~(gaps | theirs)).tolist()
            result[here] += (1.0 if own else alpha) * _joined(codes, here, there, common, weights)
    return result


def _joined(
    codes: KeyCodes, here: AnyArray, there: AnyArray, common: Sequence[int], weights: AnyArray
) -> AnyArray:
    """Add up, for each row here, the weights of rows there that agree on the common keys."""
    if not common:
        return np.full(len(here), weights[there].sum())
    sizes = [codes.sizes[i] for i in common]
    both = np.concatenate([here, there])
    values, ids = distinct(ravel([codes.codes[both, i] for i in common], sizes, len(both)), sizes)
    sums = np.bincount(ids[len(here) :], weights[there], minlength=len(values))
    found: AnyArray = sums[ids[: len(here)]]
    return found
