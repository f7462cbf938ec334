"""How many people several cells hold together: fewer than the largest counts of each, added up.

Two cells that share a printed total of three may hold three each, but not six together. One linear program over all
that is published says between which numbers the sum lies.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.published.arrays import Bools, Ints
from dalenius.published.margin import NO_LIMIT
from dalenius.published.system import System

MOST_OPEN = 50_000
"""Open cells beyond which no program is solved: what single cells and totals say stays then."""


def held_together(system: System, low: Ints, high: Ints, inside: Bools) -> tuple[int, int]:
    """Fewest and most people of some cells in any table that fits; `NO_LIMIT` where nothing says how many.

    Both are outer bounds: no table holds fewer or more, though it may be that none of whole numbers holds so many.

    Examples
    --------
    >>> from dalenius.published import Published
    >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}
    >>> found = System.of(Published.count(people, [["sex"], ["town"]]))
    >>> low, high = found.bounds()
    >>> int(high[1:].sum()), held_together(found, low, high, np.array([False, True, True, True]))
    (4, (2, 3))
    """
    unlimited = bool((high[inside] >= NO_LIMIT).any())
    least, most = int(low[inside].sum()), NO_LIMIT if unlimited else int(high[inside].sum())
    open_cells = np.flatnonzero(low < high)
    if least == most or len(open_cells) > MOST_OPEN:
        return least, most
    rows = system.rows[:, open_cells]
    used = np.diff(rows.indptr) > 0
    fixed = low.copy()
    fixed[open_cells] = 0
    held = np.asarray(system.rows @ fixed)[used]
    bottom, top = (
        np.where(side[used] < NO_LIMIT, side[used] - held, np.inf) for side in (system.low, system.high)
    )
    sums = [LinearConstraint(rows[used], bottom, top)] if used.any() else []
    within = Bounds(low[open_cells], np.where(high[open_cells] < NO_LIMIT, high[open_cells], np.inf))
    wanted, base = inside[open_cells].astype(np.float64), int(fixed[inside].sum())
    ends = []
    for sense in (1, -1):
        found = milp(sense * wanted, bounds=within, constraints=sums)
        ends.append(None if found.x is None else base + float(wanted @ found.x))
    # A solver's last digits must not take a person away.
    if ends[0] is not None:
        least = max(least, int(np.ceil(ends[0] - 1e-6 * max(1.0, ends[0]))))
    if ends[1] is not None:
        most = min(most, int(np.floor(ends[1] + 1e-6 * max(1.0, ends[1]))))
    return least, most
