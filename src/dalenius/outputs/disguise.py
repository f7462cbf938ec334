"""An earlier output in another dress: rounded, of people under other names, or one column in many forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalenius.outputs.differencing import pair_groups, whole_columns
from dalenius.outputs.partition import Partition
from dalenius.outputs.query import Floats, Ints
from dalenius.outputs.told import Told, same_values

if TYPE_CHECKING:
    from dalenius.outputs.comparison import Comparison
    from dalenius.outputs.memory import Earlier

MOST_PAIRS = 20_000_000
"""Pairs of cells of two outputs that are counted."""
TURNING = 8
"""Values from which on a column that turns once along another hardly does so by chance."""
CHANCE = 1e-3
"""Tables of different people that are nearly the same less often than this are of the same people."""
RENAMED = "it is nearly an earlier output, of people under other names: name units as they were named there"
FORMS = "one column was shown in nearly as many forms (powers and the like) as a cell has people"


def rounded_apart(looked: Comparison, earlier: Earlier) -> bool:
    """Whether rounded counts, and others, differ by few people: one of them may turn what is shown.

    A small cell of a rounded output is what rounding hides; a group that only two outputs tell apart is not.
    """
    if looked.form or earlier.form or earlier.digest == looked.digest:
        return False
    old, part = looked.memory.read(earlier.digest), looked.part
    if not (old.simple and part.simple) or (part.cells + 1) * (old.cells + 1) > MOST_PAIRS:
        lines, marked = list(looked.lines), looked.flagged.copy()
        hit = looked.nested_cells(earlier, old)
        looked.lines[:], looked.flagged[:] = lines, marked
        return hit
    table = looked.joint(old)
    groups, _ = pair_groups(table, looked.policy.threshold)
    for group in groups:
        own = looked.told.rounded and whole_columns([(b, a) for a, b in group], table.T)
        if not own and not whole_columns(group, table):
            return True
    return False


def strangers(looked: Comparison, earlier: Earlier, more: Told) -> bool:
    """Whether most values are those of an earlier output, or multiples of them, and the people are not."""
    told = looked.told
    if not same_values(told.sample, more.sample) and not same_values(told.spacing, more.spacing):
        return False
    old = looked.memory.read(earlier.digest)
    own, others = (np.logical_or.reduce([x > 0 for x in p.layers]) for p in (looked.part, old))
    return 2 * int((own & others).sum()) < min(int(own.sum()), int(others.sum()))


def renamed(looked: Comparison, earlier: Earlier, table: Ints, old: Partition) -> bool:
    """Whether it is nearly the same table of counts, of nobody who was in the earlier one, and hardly by chance."""
    if table[1:, 1:].any() or looked.part.cells != old.cells:
        return False
    counts, apart = looked.part.counts, np.abs(looked.part.counts - old.counts)
    same = looked.memory.labels((looked.out.merged or looked.out.query).frame()) == earlier.labels
    # How often independent counts of this size come as near as these (the middle of a normal law).
    chance = np.minimum(1.0, (2 * apart + 1) / np.sqrt(4 * np.pi * np.maximum(counts, 1))).prod()
    return bool(same and apart.sum() < looked.policy.threshold and chance < CHANCE)


def _along(one: Floats, two: Floats) -> bool:
    """Whether one column goes one way along another, or, if that has many values, falls and rises or rises and falls.

    Examples
    --------
    >>> x = np.arange(1.0, 13)
    >>> _along(x, -(x**3)), _along(x, (x - 6.3) ** 2), _along((x - 6.3) ** 2, x), _along(x, x % 4)
    (True, True, False, False)
    """
    levels, place = np.unique(one, return_inverse=True)
    steps = np.diff(np.bincount(place.ravel(), two) / np.bincount(place.ravel()))
    ways = np.sign(steps[steps != 0])
    return int((ways[1:] != ways[:-1]).sum()) <= (len(levels) >= TURNING)


def forms_of_one(looked: Comparison, earlier: Sequence[Earlier]) -> bool:
    """Whether sums of one column in many forms were shown of the same people, half as many as a cell has.

    As many sums of powers as people can be solved for what each has (Newton's identities). Forms of one column are
    those that put the people of the cell into the same order, or the opposite one; or that fall and rise again along
    it, as powers of the distance from a mean do.
    """
    held, part = looked.held, looked.part
    if looked.form or held is None or held.places is not None:
        return False
    names = {e.held for e in earlier if e.held and e.digest == looked.digest and not e.form}
    counts = part.counts
    fewest = int(counts[counts > 0].min(initial=1 << 40))
    if 2 * (len(names) + 1) < fewest:
        return False
    cell = int(np.flatnonzero(counts == fewest)[0]) + 1
    who = np.flatnonzero(part.layers[0] == cell)
    own, forms = held.amounts[who], 1
    for name in names:
        before = looked.memory.contributions(name).resized(len(held.hashes))
        if before.places is None:
            past = before.amounts[who]
            forms += _along(own, past) or _along(past, own)
    return 2 * forms >= fewest
