"""So many different sums of the same people that what a few of them have follows, whoever these are.

Sums are equations in what people have. With as many as people everything follows; before that, from ``r`` different
sums of ``n`` people a combination of ``n - r + 1`` of them at most can always be had by elimination (Singleton 1964).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import counted
from dalenius.outputs.query import Bools
from dalenius.outputs.rows import Rows, side_by_side
from dalenius.published._modular import PRIME, pivots

if TYPE_CHECKING:
    from dalenius.outputs.comparison import Comparison
    from dalenius.outputs.memory import Earlier


def too_many_sums(looked: Comparison, others: Sequence[tuple[Earlier, Rows]]) -> None:
    """Fail an output that is one sum too many of the people in it, with earlier ones of the same column."""
    if looked.rows is None or not looked.part.simple:
        return  # people who are in several cells have another column in each, perhaps
    parts, few = [(looked.rows, looked.part.layers[0] > 0)], looked.policy.threshold
    if parts[0][1].sum() - looked.rows.cells - sum(old.cells for _, old in others) + 1 >= few:
        return
    for each, old in others:
        part = looked.memory.read(each.digest) if looked.one_column(each) else None
        if part is not None and part.simple:
            parts.append((old, part.layers[0] > 0))
    number = solving(parts, few) - 1
    if number > 0:
        looked.mark_cells(range(len(looked.flagged)))
        words = f"so many different sums of the same people that what fewer than {few} of them have follows"
        looked.lines.append(f"with {counted(number, 'earlier output')}: {words}")


def solving(parts: Sequence[tuple[Rows, Bools]], few: int) -> int:
    """How many outputs, each with the people in it, are one too many together with the first; 0 if they are not.

    Those of the people in the first come before those of other people too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parts = [(Rows(rng.integers(0, 2, (12, 1)), np.zeros((0, 1), int), False), np.ones(12, bool)) for _ in range(6)]
    >>> solving(parts, 8), solving(parts, 7), solving([parts[0], *parts[:5]], 8)
    (6, 0, 0)
    """
    inside = parts[0][1]
    ordered = [parts[0], *sorted(parts[1:], key=lambda part: int((part[1] & ~inside).sum()))]
    columns, _ = side_by_side([rows for rows, _ in ordered])
    columns = np.ascontiguousarray(columns[columns.any(axis=1)]) % PRIME
    ends = np.cumsum([rows.cells for rows, _ in ordered])
    rank = np.searchsorted(pivots(columns), ends)
    people = np.logical_or.accumulate(np.array([there for _, there in ordered])).sum(axis=1)
    for k in np.flatnonzero(people - rank + 1 < few)[:1].tolist():
        before = np.ascontiguousarray(columns[:, ends[0] : ends[k]])
        if len(pivots(before)) < rank[k]:  # what earlier ones tell is not its doing
            return int(k) + 1
    return 0
