"""Local suppression as sdcMicro reads gaps: rows are matched with rows, and a gap matches what stands there.

A row with gaps is supported by complete rows that agree in what it shows (and, with ``alpha``, by rows with other
gaps), although who knows the person knows what the gap hides. It is kept so that figures can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.data.vector import IntArray
from dalenius.mask.neighbours import Floats
from dalenius.mask.patterns import Classes, Enough, patterns_by_price

FREE_ROUNDS = 8
"""Rounds in which a row may get another pattern; later it can only lose more cells, so that the search ends."""
BATCHES = 4
"""Where gaps match everything, a suppressed row may save others: rows are treated in so many turns."""


def settle(
    classes: Classes, wanted: Sequence[tuple[int, Enough]], prices: Sequence[float], alpha: float = 0.0
) -> IntArray:
    """Gaps of each class with which every set of keys has enough support, found greedily, the cheapest gaps first."""
    now: IntArray = classes.gaps.copy()
    kept: IntArray = classes.gaps
    while True:
        for of, enough in wanted:
            now = _settle_one(classes, now, kept & of, of, enough, prices, alpha)
            kept = now  # what one set of keys asked for stays when the next is looked at
        if len(wanted) == 1 or all(e(*classes.frequencies(now, alpha, of)).all() for of, e in wanted):
            return now


def _settle_one(
    classes: Classes,
    now: IntArray,
    kept: IntArray,
    of: int,
    enough: Enough,
    prices: Sequence[float],
    alpha: float,
) -> IntArray:
    """The same for one set of keys; ``kept`` are gaps that must stay."""
    cheapest = patterns_by_price(of, prices, classes.sizes)
    mine: IntArray = now & of
    rest, turn = now & ~of, 0
    while True:
        bad = ~enough(*classes.frequencies(mine, alpha, of))
        if not bad.any():
            return rest | mine
        floor = (
            kept if turn < FREE_ROUNDS else mine
        )  # more gaps only, from some round on: that comes to an end
        mine = (_exact if alpha == 0 else _wild)(classes, mine, floor, bad, cheapest, enough, alpha, of)
        turn += 1


def _exact(
    classes: Classes, mine: IntArray, floor: IntArray, bad: np.ndarray, cheapest: Sequence[int], enough: Enough,
    alpha: float, of: int,
) -> IntArray:  # fmt: skip
    """Give rows that lack support the cheapest gaps with which they have enough: with those that join them."""
    made, left = mine.copy(), bad.copy()
    for hidden in cheapest:
        able = np.flatnonzero(left & (floor & ~hidden == 0))
        if not len(able):
            continue
        backing = np.flatnonzero(~bad & ((mine == 0) | (mine == hidden)))
        both = np.concatenate([able, backing])
        ids, size = classes.shown(both, hidden, of)
        first = slice(0, len(able))
        count: Floats = np.bincount(ids, classes.rows[both], size).astype(float)[ids[first]]
        mass: Floats = np.bincount(ids, classes.weight[both], size).astype(float)[ids[first]]
        saved = able if hidden == of else able[enough(count, mass)]
        made[saved] = hidden
        left[saved] = False
    return made


def _wild(
    classes: Classes, mine: IntArray, floor: IntArray, bad: np.ndarray, cheapest: Sequence[int], enough: Enough,
    alpha: float, of: int,
) -> IntArray:  # fmt: skip
    """The same where gaps match everything: one turn after the other, because a new gap may save others too."""
    made = mine.copy()
    left = np.flatnonzero(bad)
    for hidden in cheapest:
        for turn in range(BATCHES):
            able = left[(floor[left] & ~hidden == 0) & (left % BATCHES == turn)]
            if not len(able):
                continue
            lacking = np.zeros(len(able), bool)
            for own in np.unique(made[able]).tolist():
                some = made[able] == own
                lacking[some] = ~enough(*classes.support(able[some], own, made, alpha, of))
            able = able[lacking]
            saved = able if hidden == of else able[enough(*classes.support(able, hidden, made, alpha, of))]
            made[saved] = hidden
            left = np.setdiff1d(left, saved, assume_unique=True)
    return made
