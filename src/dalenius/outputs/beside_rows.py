"""Outputs about people with several rows beside the earlier ones: what few people have follows by subtraction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dalenius.outputs.few import about_few, near_twins, prints, steps
from dalenius.outputs.hashing import Words
from dalenius.outputs.query import Bools, Ints
from dalenius.outputs.remainder import shape_of
from dalenius.outputs.rows import Rows, groups_of, side_by_side, taller
from dalenius.outputs.solving import too_many_sums
from dalenius.published._modular import PRIME

if TYPE_CHECKING:
    from dalenius.outputs.comparison import Comparison
    from dalenius.outputs.memory import Earlier

MOST_CELLS = 240
"""Cells of all outputs that are combined; of larger ones single cells and margins are compared."""
MOST_OWN = 2_000_000_000
"""Steps in which cells of the output itself are compared: about five hundred of them."""
MOST_WORK = 7_000_000_000
"""Steps of all eliminations, about five seconds; beyond, too, single cells and margins are compared."""


def by_rows(looked: Comparison, earlier: Earlier) -> bool:
    """Whether two outputs are compared by rows: who is in their cells is nothing that they show."""
    own = looked.rows
    if own is None or not earlier.sketch:
        return False
    return own.several or earlier.sketch.startswith("several")


def beside_rows(looked: Comparison, earlier: Sequence[Earlier]) -> None:
    """Compare an output about people with several rows with each earlier one, and with some all together."""
    own = looked.rows
    if own is None or looked.told.rounded:
        return
    chosen: list[tuple[Earlier, Rows]] = []
    twins: Twins | None = None
    work = 0
    known = {str(each.sketch): each for each in earlier if each.sketch and each.sketch != own.name}
    width = own.cells
    for name, each in reversed(known.items()):  # the newest of those that are the same
        old = looked.memory.rows_held(name)
        cells = own.cells + old.cells
        work += steps(cells, looked.policy.threshold)
        if cells > MOST_CELLS or work > MOST_WORK:
            looked.complete = False
            twins = twins or Twins(looked, own)
            twins.with_one(each, old)
            continue
        _combined(looked, [each], [own, old])
        if width + old.cells <= MOST_CELLS:
            chosen.append((each, old))
            width += old.cells
    looked.together += len(chosen)
    too_many_sums(looked, chosen)
    if len(chosen) > 1 and not looked.lines:
        _combined(looked, [e for e, _ in chosen], [own, *(old for _, old in chosen)])


def own_cells(looked: Comparison) -> bool:
    """Whether cells of the output itself tell about few: rows that were stacked, or columns that are nearly the same.

    People who are in several cells make these differ by few, as two outputs would. What a cell that is about few tells
    alone is a matter of its own checks.
    """
    out, memory, few = looked.out, looked.memory, looked.policy.threshold
    query, numbers = out.merged or out.query, memory.rows_of(out)
    if (
        numbers is None
        or query.cells < 2
        or looked.told.rounded
        or int(np.bincount(numbers).max(initial=0)) < 2
    ):
        return False
    asked = [query]
    if query.value is not None and any(barn.id == "a" for barn in out.judged.statbarns):
        asked.append(replace(query, value=np.where(np.isnan(query.value), np.nan, 1.0)))
    marked: set[int] = set()
    for each in asked:
        cells, complete = _alike(memory.rows_asked(out, each, numbers), few)
        looked.complete &= complete
        marked |= cells
    if marked:
        looked.mark_cells(j for j in marked if j < len(looked.flagged))
        looked.lines.append(f"with its own other cells: {_follows(few)}")
    return bool(marked)


def _alike(rows: Rows, few: int) -> tuple[set[int], bool]:
    """Cells that together are about few; of very many two by two, and then it says that these are not all ways."""
    if steps(rows.cells, few) > MOST_OWN:
        marks = prints(rows.groups, few)
        pairs = [(i, j) for i, j in near_twins(marks, marks) if _apart(rows, i, j) < few]
        return {cell for pair in pairs for cell in pair}, False
    found, complete = about_few(rows.groups, few, rows.checks)
    return {int(j) for c in found if c.columns.sum() > 1 for j in np.flatnonzero(c.columns)}, complete


def _apart(rows: Rows, one: int, two: int) -> int:
    return int((rows.groups[:, one] != rows.groups[:, two]).sum())


def _combined(looked: Comparison, others: Sequence[Earlier], parts: Sequence[Rows]) -> None:
    few, width = looked.policy.threshold, parts[0].cells
    groups, checks = side_by_side(parts)
    every, complete = about_few(groups, few, checks)
    found = [c for c in every if c.columns[:width].any()]
    looked.complete &= complete
    if found:  # what earlier outputs tell is not the new one's doing
        before = [c.rows for c in about_few(groups[:, width:], few, checks[:, width:])[0]]
        found = [c for c in found if not any(np.array_equal(c.rows, b) for b in before)]
    if not any(p.several for p in parts):  # what follows from the two by who is in them, is told already
        alone = [c.rows for c in about_few(groups[:, :width], few, checks[:, :width])[0]]
        found = [c for c in found if not looked.lines and not any(np.array_equal(c.rows, a) for a in alone)]
    for each in found:
        looked.mark_cells(np.flatnonzero(each.columns[:width]).tolist())
    if found:
        _tell(looked, others)


class Twins:
    """Cells, margins and totals of a large output beside those of others."""

    def __init__(self, looked: Comparison, own: Rows) -> None:
        self.looked, self.few, self.own = looked, looked.policy.threshold, own
        self.shape = tuple((looked.out.merged or looked.out.query).shape)
        self.known: dict[tuple[int, int], tuple[Ints, Ints, Bools, Words]] = {}

    def with_one(self, earlier: Earlier, old: Rows) -> None:
        """Find those that differ from one of an earlier output by few people."""
        size, shape = (
            min(groups_of(self.own.cells), groups_of(old.cells)),
            shape_of(earlier.labels, old.cells),
        )
        old = old.folded(size)
        others, _ = _margins(old.groups, shape)
        tall = max(min(size, len(self.own.groups)), len(others))
        one, checks, cells, marks = self._columns(size, tall)
        two = taller(others, tall)
        pairs = near_twins(marks, prints(two, self.few))
        pairs = [(i, j) for i, j in pairs if int((one[:, i] != two[:, j]).sum()) < self.few]
        if len(checks) and len(old.checks) and pairs:
            again = _margins(old.checks, shape)[0]
            pairs = [(i, j) for i, j in pairs if int((checks[:, i] != again[:, j]).sum()) < self.few]
        marked = np.zeros(len(cells), np.bool_)
        for i in sorted({i for i, _ in pairs}, key=lambda i: int(cells[:, i].sum())):
            if not (marked & cells[:, i]).any():  # a margin only where no cell in it tells
                marked |= cells[:, i]
        self.looked.mark_cells(np.flatnonzero(marked).tolist())
        if pairs:
            _tell(self.looked, [earlier])

    def _columns(self, size: int, tall: int) -> tuple[Ints, Ints, Bools, Words]:
        """Its own columns by so many groups, by the second grouping, the cells they are made of, and their prints."""
        if (size, tall) not in self.known:
            own = self.own.folded(size)
            groups, cells = _margins(own.groups, self.shape)
            groups = taller(groups, tall)
            self.known[size, tall] = (
                groups, _margins(own.checks, self.shape)[0], cells, prints(groups, self.few)
            )  # fmt: skip
        return self.known[size, tall]


def _margins(groups: Ints, shape: tuple[int, ...]) -> tuple[Ints, Bools]:
    """Cells and all their margins as columns; and which cells each is a sum of (cells × columns)."""
    inner = int(np.prod(shape, dtype=np.int64))
    if inner > groups.shape[1] or not shape:
        shape, inner = (groups.shape[1],), groups.shape[1]
    places = np.arange(inner).reshape(shape)
    columns, members = [groups], [np.eye(groups.shape[1], dtype=np.bool_)]
    for size in range(1, len(shape) + 1):
        for over in combinations(range(len(shape)), size):
            kept = [a for a in range(len(shape)) if a not in over]
            lines = np.moveaxis(places, kept, range(len(kept))).reshape(
                int(np.prod([shape[a] for a in kept], dtype=np.int64)), -1
            )
            which = np.zeros((groups.shape[1], len(lines)), np.bool_)
            which[lines.ravel(), np.repeat(np.arange(len(lines)), lines.shape[1])] = True
            columns.append(groups[:, lines].sum(axis=2) % PRIME)
            members.append(which)
    return np.hstack(columns), np.hstack(members)


def _tell(looked: Comparison, others: Sequence[Earlier]) -> None:
    told = " and ".join(e.told for e in others[:6])
    looked.lines.append(f"with {told}: {_follows(looked.policy.threshold)}")


def _follows(few: int) -> str:
    return f"what fewer than {few} people have in their rows follows by subtraction"
