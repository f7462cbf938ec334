"""Cells that nobody gets by subtraction: which cells of published counts must be withheld beside the small ones.

Whoever knows a total and all cells but one knows that one too. Small cells are therefore withheld together with others,
so that in every sum they appear in at least two are unknown and what is unknown is large enough to be anything; at the
end linear algebra says whether a withheld cell still follows from all sums together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Sum:
    """Parts that add up to a whole: another cell, or None for a total that everybody knows."""

    parts: Places
    whole: int | None = None


def withheld(
    counts: npt.NDArray[Any], sums: Sequence[Sum], threshold: int, owners: npt.NDArray[Any] | None = None
) -> Mask:
    """Which cells must not be shown: the small ones, and others so that no small one follows from the rest.

    A cell is small if it has few ``owners`` (people, firms); without them every record is one of its own.

    Examples
    --------
    >>> withheld(np.array([300, 174, 20, 6]), [Sum(np.arange(4))], 10).tolist()
    [False, False, True, True]
    >>> withheld(np.array([300, 180]), [Sum(np.arange(2))], 10).tolist()
    [False, False]
    """
    counts = np.asarray(counts, np.int64)
    hidden = (counts > 0) & ((counts if owners is None else np.asarray(owners)) < threshold)
    if not hidden.any():
        return hidden
    while True:
        while any(_cover(counts, hidden, each, threshold) for each in sums):
            pass
        told = _determined(counts, hidden, sums)
        near = [s for s in sums if told[_cells(s)].any() and _shown(counts, hidden, s).size]
        if not near:
            return hidden
        _hide_one(counts, hidden, near[0])


def _cells(each: Sum) -> Places:
    return each.parts if each.whole is None else np.append(each.parts, each.whole)


def _shown(counts: npt.NDArray[Any], hidden: Mask, each: Sum) -> Places:
    cells = _cells(each)
    return cells[~hidden[cells] & (counts[cells] > 0)]


def _cover(counts: npt.NDArray[Any], hidden: Mask, each: Sum, threshold: int) -> bool:
    """Withhold further cells of a sum until it gives none away, nor nearly; whether any was needed."""
    before = np.count_nonzero(hidden)
    while _shown(counts, hidden, each).size:
        inside = each.parts[hidden[each.parts]]
        behind = each.whole is not None and bool(hidden[each.whole])
        unknown = len(inside) + behind
        # With at least one record in each, the unknown parts may be anything up to the threshold.
        room = counts[inside].sum() - len(inside) >= threshold
        if unknown == 0 or (unknown > 1 and (behind or room)):
            break
        _hide_one(counts, hidden, each)
    return bool(np.count_nonzero(hidden) > before)


def _hide_one(counts: npt.NDArray[Any], hidden: Mask, each: Sum) -> None:
    """Withhold the smallest cell of a sum that is still shown; the whole only when no part is left."""
    left = _shown(counts, hidden, each)
    parts = left[left != each.whole] if each.whole is not None else left
    chosen = parts if len(parts) else left
    if len(chosen):
        hidden[chosen[np.argmin(counts[chosen])]] = True


def _determined(counts: npt.NDArray[Any], hidden: Mask, sums: Sequence[Sum]) -> Mask:
    """Withheld cells that follow from all sums together: those no solution of the sums without constants can move."""
    unknown = np.flatnonzero(hidden)
    place = np.full(len(counts), -1)
    place[unknown] = np.arange(len(unknown))
    rows = []
    for each in sums:
        row = np.zeros(len(unknown))
        row[place[each.parts[hidden[each.parts]]]] = 1.0
        if each.whole is not None and hidden[each.whole]:
            row[place[each.whole]] -= 1.0
        if row.any():
            rows.append(row)
    result = np.zeros(len(counts), bool)
    if rows:
        _, sizes, right = np.linalg.svd(np.array(rows), full_matrices=True)
        free = right[np.count_nonzero(sizes > 1e-9) :]
        result[unknown] = (np.abs(free) < 1e-9).all(axis=0) if len(free) else True
    return result
