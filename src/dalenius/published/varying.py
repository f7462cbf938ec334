"""`vary`: tables that fit and differ, so that no cell is called open or proved without one.

The cheapest way first: a walk, then the smallest changes through the cells that were the same in every table so far,
then tables by integer programs in which as many of those as possible change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.random import generator
from dalenius.published.arrays import Ints
from dalenius.published.circuits import Circuits
from dalenius.published.walking import Walker

if TYPE_CHECKING:
    from dalenius.published.ends import Ends

STEPS_EACH = 2000
"""Proposed moves of a walk for every possible cell: what they show needs no program."""
MOST_STEPS = 2_000_000
MOST_WALKS = 60
MOST_ROUNDS = 200
CIRCUITS = 40
"""Cells whose smallest changes are looked for from one table."""
MOST_SHAKES = 100
AT_ONCE = 100
"""Cells one table is asked to change: with more, finding it takes longer than it saves."""
WORTH = 0.01
"""A way is left for the next when it changes less than this share of the cells that are still the same."""


def vary(ends: Ends, *, walks_only: bool = False) -> None:
    """Widen what was seen of cells of which only one count has been met."""
    walker = started(ends)
    steps = min(MOST_STEPS, STEPS_EACH * len(ends.low))
    if walker is not None:
        for _ in range(MOST_WALKS):
            before = len(_still(ends))
            _walk(ends, walker, steps)
            if before - len(_still(ends)) <= WORTH * before:
                break
    if walks_only or not len(_still(ends)):
        return
    _by_circuits(ends, walker, steps)
    _by_programs(ends, walker, steps)


def started(ends: Ends) -> Walker | None:
    """A walk that begins at the first table; None where there is none, or none can be made."""
    if ends.solution is None or not ends.walk:
        return None
    return Walker.of(ends.system, ends.solution, ends.seed)


def walk_from(ends: Ends, walker: Walker | None, table: Ints) -> None:
    """A short walk from a table that an integer program found: what lies near it is for free."""
    if walker is not None:
        walker.jump(table)
        _walk(ends, walker, min(MOST_STEPS, STEPS_EACH * len(ends.low)) // 10)


def _still(ends: Ends) -> Ints:
    """Cells that may differ and were the same in all tables so far."""
    return np.flatnonzero(ends.undecided)


def _walk(ends: Ends, walker: Walker | None, steps: int) -> None:
    if walker is not None:
        walker.steps(steps)
        ends.saw(walker.low, walker.high)


def _by_circuits(ends: Ends, walker: Walker | None, steps: int) -> None:
    """Small changes that go through cells which did not move; each is a move of the walk from then on."""
    assert ends.solution is not None
    rng = generator(ends.seed, "circuits")
    circuits = Circuits(ends.system, ends.low, ends.high)
    for _ in range(MOST_ROUNDS):
        still = _still(ends)
        table = ends.solution if walker is None else walker.counts.copy()
        circuits.start(table, rng)
        for cell in rng.permutation(still)[:CIRCUITS].tolist():
            if ends.seen_low[cell] < ends.seen_high[cell]:
                continue
            change = circuits.through(cell)
            if change is None:
                continue
            if walker is not None and not np.any(ends.system.rows @ change):
                walker.add(change)
            for moved in (table + change, table - change):
                if (moved >= 0).all() and ends.system.keeps(moved).all():
                    ends.saw(moved)
        _walk(ends, walker, steps)
        gained = len(still) - len(_still(ends))
        if gained <= WORTH * len(still):
            return


def _by_programs(ends: Ends, walker: Walker | None, steps: int) -> None:
    """Tables in which as many as possible of the cells change that were the same in all tables so far."""
    rng = generator(ends.seed, "shake")
    for _ in range(MOST_SHAKES):
        still = _still(ends)
        if not len(still):
            return
        # Where nobody was, somebody is wanted, and the other way round.
        drawn = rng.permutation(still)[:AT_ONCE]
        _, table = ends.whole.ask({int(c): 1 if ends.seen_low[c] == ends.low[c] else -1 for c in drawn})
        if table is None:
            return
        ends.saw(table)
        if walker is not None:
            walker.jump(table)
            _walk(ends, walker, steps)
        if len(_still(ends)) == len(still):
            return
