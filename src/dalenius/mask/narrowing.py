"""How much more narrowly a kept column pins a masked value than the mask alone: whatever the formula is, if any.

Two questions are put to the rows themselves, each row being left out when it is guessed. Cells: do rows that share what
the mask shows and the kept value also share the masked value? That finds remainders, codes and columns that are wrong
in some rows. Neighbours: do rows next to each other in the kept number have nearly the same masked number, or lack
nearly the same of it in what is shown? That finds formulas with noise, kinks or rates, and remainders with decimals.
Both are asked again within each level of a further column (a tax by sex).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.random import generator
from dalenius.data.lens import Lens
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray, Vector
from dalenius.mask.neighbours import Floats

BITS, MANY = 0.3, 10
"""Of a column of so many values or more: share of what the mask left open (its entropy) that may not be told."""
GUESSED = 0.75
"""Share of the wrong guesses that may not become right."""
NEAR, PINNED = 0.1, 0.5
"""A number is pinned if it is found within this share of what the mask left open; so many of the rows may not be."""
FEWEST, SHARE = 30, 0.05
"""Rows in which a value is hidden and the kept one is there, and their share, for the question to be put."""
SOME, LEVELS, PAIRS = 2500, 20, 4000
"""Rows that are looked at, levels of a further column, and pairs of columns that are tried at most."""


def too_narrow(
    table: Table, masked: Table, lens: Lens, kept: list[str], changed: list[str]
) -> dict[str, str]:
    """Kept columns that pin a masked one, alone or with one other of the released file: by name, which one.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> rng = np.random.default_rng(1)
    >>> sex, pay = rng.choice(["f", "m"], 400), rng.normal(3000, 500, 400).round()
    >>> tax = (np.where(sex == "f", 0.3, 0.25) * pay).round()
    >>> table = Table.from_frame({"pay": pay, "tax": tax, "sex": sex, "age": rng.integers(20, 60, 400)})
    >>> made = Round("pay", 500).apply(table)
    >>> too_narrow(table, made.table, made.lens, ["tax", "sex", "age"], ["pay"])
    {'tax': 'pay'}
    """
    table = table if lens.links is None else table.take(lens.links)
    if table.rows != masked.rows or table.rows < FEWEST:
        return {}
    rows = np.arange(0, table.rows, -(-table.rows // SOME))
    table, masked = table.take(rows), masked.take(rows)
    seen = {name: Seen.of(masked[name]) for name in masked.names}
    found: dict[str, str] = {}
    for other in changed:
        hidden = Hidden.of(table, masked, other, lens)
        told = {name: hidden.told_by(seen[name]) for name in kept if name not in found}
        found |= {name: other for name, much in told.items() if much >= 1}
        further = [n for n in masked.names if n != other and n not in found and 2 <= seen[n].size <= LEVELS]
        pairs = [(a, b) for a in told for b in further if a != b and a not in found]
        for first, second in pairs[:PAIRS]:
            if first in found or second in found:
                continue
            if hidden.told_by(seen[first], seen[second].codes) >= 1:
                # of two that tell it together the one goes that tells more of it alone
                found[second if told.get(second, -1.0) > told[first] else first] = other
    return found


@dataclass(frozen=True, eq=False)
class Seen:
    """A released column: its values as numbers from 0 on, how many they are, and as amounts where it has them.

    Examples
    --------
    >>> Seen.of(Table.from_frame({"age": [30, 50, 30]})["age"]).codes.tolist()
    [0, 1, 0]
    """

    codes: IntArray
    size: int
    present: BoolArray
    amounts: Floats | None

    @classmethod
    def of(cls, vector: Vector) -> Seen:
        """A column of a table."""
        codes = _numbered(vector.categories.codes.astype(np.int64))
        amounts = vector.floats() if vector.is_number else None
        return cls(codes, int(codes.max(initial=-1)) + 1, vector.present, amounts)


@dataclass(frozen=True, eq=False)
class Hidden:
    """A masked column: its values, what the mask shows of them, and the rows in which that is something else.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> table = Table.from_frame({"age": [*range(20, 60)] * 3, "digit": [*range(10)] * 12})
    >>> made = Recode("age", width=10).apply(table)
    >>> Hidden.of(table, made.table, "age", made.lens).told_by(Seen.of(table["digit"])) > 1
    True
    """

    codes: IntArray
    size: int
    band: IntArray
    rows: BoolArray
    numbers: Floats | None
    shown: Floats | None

    @classmethod
    def of(cls, table: Table, masked: Table, name: str, lens: Lens) -> Hidden:
        """A column of a table beside its masked version, row by row."""
        vector = table[name]
        column = vector.categories
        codes, rows = column.codes.astype(np.int64), vector.present
        band: IntArray = np.zeros(len(codes), np.int64)
        shown: Floats | None = None
        noisy = name in lens.perturbed
        if name in masked and (noisy or name in lens.mapped):
            seen = masked[name].categories
            band = _numbered(seen.codes.astype(np.int64))
            shown = masked[name].floats() if vector.is_number and masked[name].is_number else None
            if not noisy:  # what was not changed is seen; of noise nobody knows where it was 0
                places = {label: i for i, label in enumerate(column.labels)}
                same = np.array([places.get(label, -1) for label in seen.labels], np.int64)
                rows = rows & (same[seen.codes.astype(np.int64)] != codes)
        return cls(codes, column.size, band, rows, vector.floats() if vector.is_number else None, shown)

    def take(self, rows: IntArray) -> Hidden:
        """Some of the rows."""
        some = [None if x is None else x[rows] for x in (self.numbers, self.shown)]
        return Hidden(self.codes[rows], self.size, self.band[rows], self.rows[rows], some[0], some[1])

    def told_by(self, kept: Seen, within: IntArray | None = None) -> float:
        """How much a kept column tells, within the levels of a further one: 1 and more is too much."""
        known = kept.present if self.numbers is None else kept.present & np.isfinite(self.numbers)
        usable = np.flatnonzero(known)
        part = self.take(usable)
        if part.rows.sum() < max(FEWEST, SHARE * self.rows.sum()):
            return 0.0
        level = np.zeros(len(usable), np.int64) if within is None else within[usable]
        told = part._by_cells(kept.codes[usable], level)
        if self.numbers is not None and kept.amounts is not None and told < 1:
            told = max(told, part._by_neighbours(kept.amounts[usable], level))
        return told

    def _by_cells(self, kept: IntArray, level: IntArray) -> float:
        cells = (kept * (int(level.max()) + 1) + level) * (int(self.band.max()) + 1) + self.band
        alone, hit = self._guess(self.band, np.full(len(kept), 1 / self.size), np.zeros(len(kept)))
        more, right = self._guess(_numbered(cells), alone, hit)
        had = float(-np.log(alone[self.rows]).mean())
        told = 1 - float(-np.log(more[self.rows]).mean()) / had if had > 0 else 0.0
        wrong = 1 - float(hit[self.rows].mean())
        mended = 1 - (1 - float(right[self.rows].mean())) / wrong if wrong > 0 else 0.0
        many = len(np.unique(self.codes[self.rows])) >= MANY
        return max(told / BITS if many else 0.0, mended / GUESSED)

    def _guess(self, cells: IntArray, prior: Floats, known: Floats) -> tuple[Floats, Floats]:
        """The chance that others of a cell give each row's value, and whether the commonest among them is it."""
        pairs, place, count = np.unique(
            cells * self.size + self.codes, return_inverse=True, return_counts=True
        )
        owner = pairs // self.size
        total = np.bincount(cells)
        first, second = np.zeros(len(total), np.int64), np.zeros(len(total), np.int64)
        np.maximum.at(first, owner, count)
        np.maximum.at(second, owner, np.where(count < first[owner], count, 0))
        tied = np.bincount(owner, count == first[owner], len(total)) > 1
        own, n = count[place] - 1, total[cells] - 1
        other = np.where((count[place] == first[cells]) & ~tied[cells], second[cells], first[cells])
        right = np.where(own > other, 1.0, np.where((own == other) & (own > 0), 0.5, 0.0))
        return (own + prior) / (n + 1), np.where(n > 0, right, known)

    def _by_neighbours(self, kept: Floats, level: IntArray) -> float:
        assert self.numbers is not None
        band = self.band if self.shown is None else np.zeros(len(kept), np.int64)
        if self.shown is not None and np.isfinite(self.shown[self.rows]).any():
            off = np.full(len(kept), np.nanmean(np.abs(self.numbers - self.shown)[self.rows]))
        else:
            count = np.maximum(np.bincount(band), 1)
            mean = np.bincount(band, self.numbers) / count
            off = (np.bincount(band, np.abs(self.numbers - mean[band])) / count)[band]
        open_rows = self.rows & (off > 0)
        if open_rows.sum() < FEWEST:
            return 0.0
        both = level * (int(band.max()) + 1) + band
        ways = [(kept, level), (kept, both)]
        chance = [(generator(0, "ghosts").random(len(kept)), band)]
        # a remainder says nothing of a number's size and all of what a rounded one lacks
        values = [self.numbers]
        if self.shown is not None:
            chance.append((np.nan_to_num(self.shown, nan=np.inf), band))
            values.append(self.numbers - self.shown)
        told = 0.0
        for y in values:
            found, by_chance = (
                max(float(_near(y, x, groups, NEAR * off)[open_rows].mean()) for x, groups in tries)
                for tries in (ways, chance)
            )
            told = max(told, (found - by_chance) / (1 - by_chance) / PINNED if by_chance < 1 else 0.0)
        return told


def _numbered(codes: IntArray) -> IntArray:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64).ravel()


def _near(values: Floats, kept: Floats, groups: IntArray, room: Floats) -> BoolArray:
    """Whether a row before or after in the kept number, or the line between them, gives each value within its room."""
    order = np.lexsort((kept, groups))
    x, y, g = kept[order], values[order], groups[order]
    same = np.concatenate([[False], g[1:] == g[:-1], [False]])
    before = np.where(same[:-1], np.concatenate([[np.nan], y[:-1]]), np.nan)
    after = np.where(same[1:], np.concatenate([y[1:], [np.nan]]), np.nan)
    low, high = np.concatenate([[np.nan], x[:-1]]), np.concatenate([x[1:], [np.nan]])
    with np.errstate(divide="ignore", invalid="ignore"):
        between = before + np.where(high > low, (x - low) / (high - low), 0.5) * (after - before)
        off = np.fmin(np.fmin(np.abs(y - before), np.abs(y - after)), np.abs(y - between))
        found = np.zeros(len(order), bool)
        found[order] = off <= room[order] + 1e-12 * np.abs(y)
    return found
