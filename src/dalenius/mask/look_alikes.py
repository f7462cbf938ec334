"""Rows that look alike, gaps included: the fewest cells emptied so that every row has enough of them.

An intruder who knows somebody's keys and that he is in the file looks for the rows that fit. A complete row fits only
who has exactly these keys; that it agrees with what a row with gaps shows protects nobody, because he knows the cell
that was emptied. So a gap is a value like any other: a row is protected by rows with the same gaps that show the same.
Where a rare row has too few partners among rare ones, frequent ones that can be spared lend themselves: they get the
same gap. Each group has a price for each rare row that it takes, and the cheapest group is made first, as in greedy
covering (Chvátal 1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.vector import BoolArray, IntArray
from dalenius.mask.neighbours import Floats
from dalenius.mask.patterns import Classes, Enough, patterns_by_price

AGAIN = 6
"""How often dear groups are made anew, as long as that saves cells."""
SAME = 1 + 1e-9
"""Prices up to this factor are the same."""


class LookAlikes:
    """Rows of classes, on some of their keys (``of``): who looks alike with which gaps.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [0, 0], [0, 1]])
    >>> classes, ids = Classes.of(codes, [1, 2], np.zeros(4, int), np.zeros(4, int), np.ones(4))
    >>> rows = LookAlikes(classes, ids, np.ones(4), 0b11)
    >>> rows.settle(np.zeros(4, int), np.zeros(4, int), lambda count, mass: count >= 2, [1.0, 1.0]).tolist()
    [2, 0, 0, 2]
    """

    def __init__(self, classes: Classes, ids: IntArray, weights: Floats, of: int) -> None:
        self.classes, self.ids, self.weights, self.of = classes, ids, weights, of
        self._groups: dict[int, tuple[IntArray, int]] = {}
        self._all = np.arange(len(classes.rows))

    def groups(self, hidden: int) -> tuple[IntArray, int]:
        """Number the classes by what a pattern of gaps shows of them."""
        if hidden not in self._groups:
            self._groups[hidden] = self.classes.shown(self._all, hidden, self.of)
        return self._groups[hidden]

    def labels(self, mine: IntArray) -> tuple[IntArray, int]:
        """Number the rows by their gaps and what they show."""
        labels, offset = np.zeros(len(mine), np.int64), 0
        for hidden in np.unique(mine).tolist():
            here = mine == hidden
            ids, size = self.groups(hidden)
            labels[here] = offset + ids[self.ids[here]]
            offset += size
        return labels, offset

    def tally(self, mine: IntArray) -> tuple[Floats, Floats]:
        """Rows that look like each row, and their weight."""
        labels, size = self.labels(mine)
        count = np.bincount(labels, minlength=size).astype(float)
        return count[labels], np.bincount(labels, self.weights, size).astype(float)[labels]

    def settle(self, mine: IntArray, floor: IntArray, enough: Enough, prices: Sequence[float]) -> IntArray:
        """Gaps of each row with which enough look alike; ``floor`` are gaps that must stay."""
        work = _Search(self, enough, prices)
        while (left := ~enough(*self.tally(mine))).any():
            mine = work.round(mine, floor, left)
        fine = enough(*self.tally(floor))
        for _ in range(AGAIN):
            other = work.again(mine, floor, fine)
            saves = work.price[other].sum() * SAME < work.price[mine].sum()
            if not (saves and enough(*self.tally(other)).all()):
                break
            mine = other
        return mine


class _Search:
    """The greedy search for one set of keys."""

    def __init__(self, rows: LookAlikes, enough: Enough, prices: Sequence[float]) -> None:
        self.rows, self.enough = rows, enough
        self.cheapest = patterns_by_price(rows.of, prices, rows.classes.sizes)
        self.price = np.zeros(1 << len(prices))
        for hidden in self.cheapest:
            self.price[hidden] = sum(prices[j] for j in range(len(prices)) if hidden >> j & 1)

    def round(self, mine: IntArray, floor: IntArray, left: BoolArray) -> IntArray:
        """Give all rows that are left gaps, the cheapest groups first."""
        self.mine, self.left, self.floor = mine.copy(), left.copy(), floor
        self.spare = self._spare()
        while self.left.any():
            best, cheap = self._best(whole := False)
            if not cheap:
                best, cheap = self._best(whole := True)
            if not cheap:
                raise DataError(
                    "even with all keys empty a row would be at a greater risk than was asked for; allow a larger "
                    "risk, or use fewer strata"
                )
            for hidden in cheap:
                if self._take(hidden, best, whole) and whole:
                    break  # there may be rows to be spared again
        return self.mine

    def again(self, mine: IntArray, floor: IntArray, fine: BoolArray) -> IntArray:
        """Dissolve dear groups and make them anew: rows of groups with more than enough can be spared now, too."""
        labels, size = self.rows.labels(mine)
        least = min(self.price[hidden] for hidden in self.cheapest)
        dear = (mine != floor) & (fine | (self.price[mine] > least))
        dear = (np.bincount(labels, dear, size) > 0)[labels]
        return self.round(np.where(dear, floor, mine), floor, dear & ~fine)

    def _best(self, whole: bool) -> tuple[float, list[int]]:
        """The lowest price of a group for a row that is left, and patterns that have groups at that price."""
        best, lowest = np.inf, {}
        for hidden in self.cheapest:
            if self.price[hidden] > best * SAME:
                break
            lowest[hidden] = float(self._offer(hidden, whole)[1].min(initial=np.inf))
            best = min(best, lowest[hidden])
        return best, [
            hidden for hidden, price in lowest.items() if price <= best * SAME and np.isfinite(price)
        ]

    def _spare(self) -> BoolArray:
        """Rows that can leave their group, one after the other, with enough left in it."""
        labels, size = self.rows.labels(self.mine)
        order = np.argsort(labels, kind="stable")
        gone, weight = _running(labels[order], self.rows.weights[order], size)
        count = np.bincount(labels, minlength=size)[labels[order]]
        mass = np.bincount(labels, self.rows.weights, size)[labels[order]]
        spare = np.zeros(len(order), bool)
        spare[order] = (count > gone) & self.enough(count - gone, mass - weight) & ~self.left[order]
        return spare

    def _offer(self, hidden: int, whole: bool) -> tuple[IntArray, Floats, IntArray, IntArray]:
        """Rows that are left and may take these gaps, the price of each in his group, and lenders with their group.

        Lenders are rows that can be spared; with ``whole`` also groups as a whole.
        """
        ids, size = self.rows.groups(hidden)
        able = np.flatnonzero(self.left & (self.floor & ~hidden == 0))
        mine = ids[self.rows.ids[able]]
        there = np.concatenate([able, np.flatnonzero((self.mine == hidden) & ~self.left)])
        groups = ids[self.rows.ids[there]]
        count = np.bincount(groups, minlength=size).astype(float)
        mass = np.bincount(groups, self.rows.weights[there], size).astype(float)
        own = np.bincount(mine, minlength=size)
        price = np.full(size, np.inf)
        price[(own > 0) & self.enough(count, mass)] = self.price[hidden]
        lacking = (own > 0) & np.isinf(price)
        lenders, at = self._lenders(hidden, lacking, count, mass, whole)
        extra = np.bincount(at, self.price[hidden] - self.price[self.mine[lenders]], size)
        helped = np.bincount(at, minlength=size) > 0
        price[helped] = self.price[hidden] + extra[helped] / own[helped]
        return able, price[mine], lenders, at

    def _lenders(
        self, hidden: int, lacking: BoolArray, count: Floats, mass: Floats, whole: bool
    ) -> tuple[IntArray, IntArray]:
        """For each group that lacks support the rows that complete it, if there are enough of them."""
        ids = self.rows.groups(hidden)[0]
        free = self.spare & (self.floor & ~hidden == 0)  # they may show again what they hid
        if whole:
            free |= ~self.left & (self.mine & ~hidden == 0)
        able = np.flatnonzero(free & (self.mine != hidden) & lacking[ids][self.rows.ids])
        at = ids[self.rows.ids[able]]
        labels = self.rows.labels(self.mine)[0][able] if whole else np.zeros(len(able), np.int64)
        # who can be spared comes first, and who has gaps already lends more cheaply
        order = np.lexsort((labels, -self.price[self.mine[able]], ~self.spare[able], at))
        able, at, labels = able[order], at[order], labels[order]
        came, needed = self._needed(able, at, count, mass)
        used = (came <= needed[at]) & np.isfinite(needed[at])
        if whole:  # a group of which rows are taken that it needs goes with all of them
            used |= np.isin(labels, labels[used & ~self.spare[able]])
        return able[used], at[used]

    def _needed(self, able: IntArray, at: IntArray, count: Floats, mass: Floats) -> tuple[Floats, Floats]:
        """The place of each row that could join, in the order of groups, and how many a group needs; inf: too few."""
        came, weight = _running(at, self.rows.weights[able], len(count))
        done = self.enough(count[at] + came, mass[at] + weight)
        needed = np.full(len(count), np.inf)
        np.minimum.at(needed, at[done], came[done])
        return came, needed

    def _take(self, hidden: int, best: float, whole: bool) -> bool:
        """Make the groups of a pattern whose price is the best there is; whether there were any."""
        able, price, lenders, at = self._offer(hidden, whole)
        cheap = price <= best * SAME
        ids, size = self.rows.groups(hidden)
        made = np.zeros(size, bool)
        made[ids[self.rows.ids[able[cheap]]]] = True
        lent = lenders[made[at]]
        self.mine[able[cheap]] = self.mine[lent] = hidden
        self.left[able[cheap]] = self.spare[lent] = False
        return bool(cheap.any())


def _running(at: IntArray, weights: Floats, size: int) -> tuple[Floats, Floats]:
    """For rows in the order of their groups: how many of the group came up to each, and their weight."""
    first = np.searchsorted(at, np.arange(size))[at]
    weight = np.cumsum(weights)
    before = np.concatenate([[0.0], weight])[first]
    came: Floats = np.arange(1.0, len(at) + 1.0) - first
    return came, weight - before
