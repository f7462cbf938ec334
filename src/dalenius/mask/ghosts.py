"""Ghost columns: a column that gives a masked one back (the birth date for the age, the town for the region).

Masking a column is in vain while another one tells the same. What checks find before synthesis (groups of a number,
formulas, a category that settles another) is asked here the other way round; a number or date in the same order is a
ghost too, and whatever else pins the masked value much more narrowly than the mask alone does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.data.exit import releasable
from dalenius.data.lens import Lens
from dalenius.data.steps.step import Masked
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.mask.narrowing import too_narrow
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
    left = [name for name in releasable(masked).names if name in table and name not in changed]
    if not changed or not table.rows:
        return {}, {}
    seen = table.select([name for name in table.names if name in changed or name in left])
    found: dict[str, str] = {}
    for a, b in [f.columns[:2] for f in dependences(seen)]:  # the first settles the second
        if b in changed and a in left:
            found.setdefault(a, b)
    for finding in (*groupings(seen), *formulas(seen)):
        hit = [name for name in finding.columns if name in changed]
        for name in finding.columns:
            if len(hit) == 1 and name in left and not _tells_nothing(table[name], masked, hit[0], lens):
                found.setdefault(name, hit[0])
    some = table.take(np.arange(0, table.rows, -(-table.rows // GLANCE)))
    for name in left:
        for other in sorted(changed):
            if name in found:
                continue
            if _same_order(table[name], table[other]) or (
                _settles(some[name], some[other]) and _settles(table[name], table[other])
            ):
                found[name] = other
    kept = [name for name in left if name not in found]
    narrow, weakly = too_narrow(table, masked.drop(found), lens, kept, sorted(changed))
    return found | narrow, weakly


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


def _tells_nothing(ghost: Vector, masked: Table, column: str, lens: Lens) -> bool:
    """Whether the masked column itself settles the other one, so that it adds nothing."""
    if column not in masked or lens.links is not None or masked.rows != len(ghost):
        return False
    left, right = masked[column].categories, ghost.categories
    pairs = left.codes.astype(np.int64) * right.size + right.codes
    return len(np.unique(pairs)) == len(np.unique(left.codes))


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
