"""Ghost columns: a column that gives a masked one back (the birth date for the age, the town for the region).

Masking a column is in vain while another one tells the same. What checks find before synthesis (groups of a number,
formulas, a category that settles another) is asked here the other way round; a number or date in the same order is a
ghost too, and whatever else pins the masked value much more narrowly than the mask alone does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalenius.data.exit import releasable
from dalenius.data.lens import Lens
from dalenius.data.steps.step import Masked
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.mask.narrowing import too_narrow
from dalenius.mask.told_places import told_places
from dalenius.mask.told_sums import told_sums
from dalenius.preparation.derived import dependences, formulas, groupings

SAME_ORDER = 0.99
"""Rank correlation from which a number gives another one back."""
SETTLED, MOSTLY, SURPRISE = 0.99, 0.97, 14.0
"""Share of repeats that agree, share of one value from which agreeing says little, and −log of the chance of it."""
GLANCE = 5000
"""Rows on which it is looked for first."""
FEWEST = 10
"""Different values a number has at least for its order to give another one back."""


def find_ghosts(table: Table, masked: Table, lens: Lens) -> dict[str, str]:
    """Columns of a masked file, in the original's rows, that give a masked column back: by name, which one.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> table = Table.from_frame({"age": [*range(20, 60)] * 2, "born": [*range(1990, 1950, -1)] * 2})
    >>> made = Recode("age", width=10).apply(table)
    >>> find_ghosts(table, made.table, made.lens)
    {'born': 'age'}
    """
    return _look(table, masked, lens)[0]


def _look(table: Table, masked: Table, lens: Lens) -> tuple[dict[str, str], dict[str, str]]:
    """Ghosts, and masked columns that are masked too weakly for another's mask."""
    changed = {*lens.mapped, *lens.perturbed, *lens.gaps, *lens.dropped} & set(table.names)
    changed &= set(releasable(table).names)
    masked = releasable(masked)
    left = [name for name in masked.names if name in table and name not in changed]
    if not changed or not table.rows:
        return {}, {}
    tell = _Telling.of(table, masked, lens, [name for name in table.names if name in changed or name in left])
    found = tell.of_any(changed, left)
    kept = [name for name in left if name not in found]
    narrow, weakly = too_narrow(table, masked.drop(found), lens, kept, sorted(changed))
    found |= narrow
    for look in (told_places, told_sums):
        found |= look(table, masked, lens, [name for name in left if name not in found], sorted(changed))
    # what gives a ghost back gives all that the ghost told: the birth date, once the age has gone
    found |= tell.of_any(set(found), [name for name in left if name not in found])
    return found, weakly


@dataclass(frozen=True)
class _Telling:
    """Which columns give others back: by settling them, as groups or formulas of them, or by their order."""

    table: Table
    some: Table
    masked: Table
    lens: Lens
    settling: list[tuple[str, str]]
    together: list[tuple[str, ...]]

    @classmethod
    def of(cls, table: Table, masked: Table, lens: Lens, names: list[str]) -> _Telling:
        seen = table.select(names)
        settling = [(first, second) for first, second, *_ in (f.columns for f in dependences(seen))]
        together = [finding.columns for finding in (*groupings(seen), *formulas(seen))]
        some = table.take(np.arange(0, table.rows, -(-table.rows // GLANCE)))
        return cls(table, some, masked, lens, settling, together)

    def of_any(self, hidden: set[str], left: list[str]) -> dict[str, str]:
        """Of the columns that are left those that give a hidden one back: by name, which one."""
        found: dict[str, str] = {}
        for a, b in self.settling:  # the first settles the second
            if b in hidden and a in left:
                found.setdefault(a, b)
        for columns in self.together:
            hit = [name for name in columns if name in hidden]
            for name in columns:
                if len(hit) == 1 and name in left and not self._tells_nothing(name, hit[0]):
                    found.setdefault(name, hit[0])
        for name in left:
            for other in sorted(hidden):
                if name not in found and self._alone(name, other):
                    found[name] = other
        return found

    def _alone(self, name: str, other: str) -> bool:
        table, some = self.table, self.some
        return _same_order(table[name], table[other]) or (
            _settles(some[name], some[other]) and _settles(table[name], table[other])
        )

    def _tells_nothing(self, name: str, column: str) -> bool:
        """Whether the masked column itself settles the other one, so that this adds nothing."""
        masked, ghost = self.masked, self.table[name]
        if column not in masked or self.lens.links is not None or masked.rows != len(ghost):
            return False
        left, right = masked[column].categories, ghost.categories
        pairs = left.codes.astype(np.int64) * right.size + right.codes
        return len(np.unique(pairs)) == len(np.unique(left.codes))


def without_ghosts(table: Table, masked: Masked) -> Masked:
    """A masked table without the columns that give a masked one back; its notes name them.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> table = Table.from_frame({"age": [*range(20, 60)] * 2, "digit": [*range(10)] * 8})
    >>> without_ghosts(table, Recode("age", width=10).apply(table)).notes
    ("'digit' was dropped: it gives 'age' back; mask it too, or keep ghosts",)
    """
    found, weakly = _look(table, masked.table, masked.lens)
    notes = [
        f"{name!r} was dropped: it gives {of!r} back; mask it too, or keep ghosts"
        for name, of in found.items()
    ]
    notes += [
        f"{name!r}, as it is masked, still tells {of!r} much more closely than its own mask does; "
        f"mask {name!r} more widely"
        for name, of in weakly.items()
    ]
    lens = replace(masked.lens, dropped=masked.lens.dropped | found.keys())
    return replace(masked, table=masked.table.drop(found), lens=lens, notes=(*masked.notes, *notes))


def _settles(first: Vector, second: Vector) -> bool:
    """Whether rows that share a value of the first have the same of the second, whatever kinds these are.

    Only rows that repeat a value tell: all others would agree in anything.
    """
    both = first.present & second.present
    a, b = first.categories.codes[both].astype(np.int64), second.categories.codes[both].astype(np.int64)
    if not len(a):
        return False
    pairs, counts = np.unique(a * (int(b.max()) + 1) + b, return_counts=True)
    levels, starts = np.unique(pairs // (int(b.max()) + 1), return_index=True)
    repeats = len(a) - len(levels)
    odd = len(a) - int(np.maximum.reduceat(counts, starts).sum())
    modal = float(np.bincount(b).max() / len(b))
    return odd <= (1 - SETTLED) * repeats and modal < MOSTLY and repeats * -np.log(modal) > SURPRISE


def _same_order(first: Vector, second: Vector) -> bool:
    if not (first.is_number and second.is_number):
        return False
    both = first.present & second.present
    a, b = first.data[both], second.data[both]
    if len(a) < FEWEST or min(len(np.unique(a)), len(np.unique(b))) < FEWEST:
        return False
    ranks = [np.unique(x, return_inverse=True)[1].astype(float) for x in (a, b)]
    return abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1])) >= SAME_ORDER
