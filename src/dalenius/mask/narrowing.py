"""How much more narrowly a kept column pins a masked value than the mask alone: whatever the formula is, if any.

Two questions are put to the rows themselves, each row being left out when it is guessed. Cells: do rows that share what
the mask shows and the kept value also share the masked value? That finds remainders, codes and columns that are wrong
in some rows. Neighbours: do rows next to each other in the kept number have nearly the same masked number, or lack
nearly the same of it in what is shown; or, of a category, do rows near each other in it (or on a map) share it? That
finds formulas with noise, kinks or rates, and remainders with decimals. Both are asked again within each level of a
further column (a tax by sex).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.core.random import generator
from dalenius.data.lens import Lens
from dalenius.data.places import place_columns
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray, Vector
from dalenius.mask.neighbours import Floats
from dalenius.mask.remainders import FEWER, told_by_remainder

BITS, MANY = 0.3, 10
"""Of a column of so many values or more: share of what the mask left open (its entropy) that may not be told."""
GUESSED = 0.75
"""Share of the wrong guesses that may not become right."""
NEAR, PINNED = 0.1, 0.5
"""A number is pinned if it is found within this share of what the mask left open; so many of the rows may not be."""
FEWEST, SHARE = 30, 0.05
"""Rows in which a value is hidden and the kept one is there, and their share, for the question to be put."""
ALIKE, CHANCE = 3, 3.0
"""Rows that share a kept value and what the mask shows; and how many times what chance gives may not have one value."""
SOME, LEVELS, PAIRS, TOGETHER = 2500, 20, 4000, 10
"""Rows looked at, levels of a further column, pairs of columns tried at most, rows near each other in a number."""
HIDDEN = 12
"""Masked columns that are asked after at most, from all over the file: a year of readings is masked in one way."""


def too_narrow(
    table: Table, masked: Table, lens: Lens, kept: list[str], changed: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Kept columns that pin a masked one, alone or with one other of the released file: by name, which one.

    After them the masked columns that, as masked as they are, still pin another (the year of birth beside the age in
    decades).

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> rng = np.random.default_rng(1)
    >>> sex, pay = rng.choice(["f", "m"], 400), rng.normal(3000, 500, 400).round()
    >>> tax = (np.where(sex == "f", 0.3, 0.25) * pay).round()
    >>> table = Table.from_frame({"pay": pay, "tax": tax, "sex": sex, "age": rng.integers(20, 60, 400)})
    >>> made = Round("pay", 500).apply(table)
    >>> too_narrow(table, made.table, made.lens, ["tax", "sex", "age"], ["pay"])
    ({'tax': 'pay'}, {})
    """
    table = table if lens.links is None else table.take(lens.links)
    if table.rows != masked.rows or table.rows < FEWEST:
        return {}, {}
    rows = np.arange(0, table.rows, -(-table.rows // SOME))
    table, masked = table.take(rows), masked.take(rows)
    seen = {name: Seen.of(masked[name]) for name in masked.names}
    found: dict[str, str] = {}
    weakly: dict[str, str] = {}
    points = [n for n in place_columns(masked.schema) if n in kept]
    for other in changed[:: -(-len(changed) // HIDDEN) or 1]:
        hidden = Hidden.of(table, masked, other, lens)
        if len(points) == 2 and hidden.told_by(Seen.on_map(*(seen[name] for name in points))) >= 1:
            found |= dict.fromkeys(points, other)
        told = {name: hidden.told_by(seen[name]) for name in kept if name not in found}
        found |= {name: other for name, much in told.items() if much >= 1}
        blunt = [n for n in masked.names if n != other and (n in lens.mapped or n in lens.perturbed)]
        telling = {name for name in blunt if hidden.told_by(seen[name]) >= 1}
        weakly |= {name: other for name in blunt if name in telling and name not in weakly}
        further = [
            name for name in masked.names
            if name != other and name not in telling | found.keys() and 2 <= seen[name].size <= LEVELS
        ]  # fmt: skip
        pairs = [(a, b) for a in told for b in further if a != b and a not in found]
        for first, second in pairs[:PAIRS]:
            if first in found or second in found:
                continue
            if hidden.told_by(seen[first], seen[second].codes) >= 1:
                # of two that tell it together the one goes that tells more of it alone
                found[second if told.get(second, -1.0) > told[first] else first] = other
    return found, weakly


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
    near: IntArray | None = None

    @classmethod
    def of(cls, vector: Vector) -> Seen:
        """A column of a table."""
        codes = _numbered(vector.categories.codes.astype(np.int64))
        amounts = vector.floats() if vector.is_number else None
        present = vector.present if amounts is None else vector.present & np.isfinite(amounts)
        size = int(codes.max(initial=-1)) + 1
        near = _ranks(amounts) // TOGETHER if amounts is not None and size > len(codes) / TOGETHER else None
        return cls(codes, size, present, amounts, near)

    @classmethod
    def on_map(cls, x: Seen, y: Seen) -> Seen:
        """Two coordinates as one column: rows near each other have the same value."""
        assert x.amounts is not None
        assert y.amounts is not None
        strips = max(int(np.sqrt(len(x.codes) / TOGETHER)), 1)
        strip = _ranks(x.amounts) * strips // len(x.codes)
        order = np.lexsort((y.amounts, strip))
        codes = np.empty(len(order), np.int64)
        codes[order] = strip[order] * len(order) + np.arange(len(order)) // TOGETHER
        numbered = _numbered(codes)
        return cls(numbered, int(numbered.max()) + 1, x.present & y.present, None)


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
    dates: int = 0

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
        numbers = vector.floats() if vector.is_number else None
        dates = (1000 if vector.column.decimals == 9 else 1) if vector.column.kind is Kind.DATETIME else 0
        return cls(codes, column.size, band, rows, numbers, shown, dates)

    def take(self, rows: IntArray) -> Hidden:
        """Some of the rows."""
        some = [None if x is None else x[rows] for x in (self.numbers, self.shown)]
        return Hidden(
            self.codes[rows], self.size, self.band[rows], self.rows[rows], some[0], some[1], self.dates
        )

    def told_by(self, kept: Seen, within: IntArray | None = None) -> float:
        """How much a kept column tells, within the levels of a further one: 1 and more is too much."""
        known = kept.present if self.numbers is None else kept.present & np.isfinite(self.numbers)
        usable = np.flatnonzero(known)
        part = self if len(usable) == len(known) else self.take(usable)
        if part.rows.sum() < max(FEWEST, SHARE * self.rows.sum()):
            return 0.0
        level = np.zeros(len(usable), np.int64) if within is None else within[usable]
        told = part._by_cells(kept.codes[usable], level)
        if self.numbers is None and kept.near is not None and told < 1:
            told = max(told, part._by_cells(kept.near[usable], level))
        if self.numbers is not None and told < 1:
            amounts = None if kept.amounts is None else kept.amounts[usable]
            told = max(told, part._by_number(kept.codes[usable], amounts, level, within is None))
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
        return max(told / BITS if many else 0.0, mended / GUESSED, self._by_some_values(_numbered(cells)))

    def _by_some_values(self, cells: IntArray) -> float:
        """Whether some of the kept values settle the masked one, though most say nothing: a code for one in three.

        Rows whose cell of `ALIKE` or more all have one masked value, beside how many of them there would be if values
        fell into the cells by the shares they have under the mask.
        """
        size, pairs = np.bincount(cells), np.unique(cells * self.size + self.codes)
        kinds = np.bincount(pairs // self.size, minlength=len(size))
        open_bands = np.bincount(np.unique(self.band * self.size + self.codes) // self.size)[self.band] > 1
        settled = (size >= ALIKE) & (kinds == 1)
        sure = int((settled[cells] & self.rows & open_bands).sum())
        if sure < max(FEWEST, SHARE * self.rows.sum()):
            return 0.0
        held, place, count = np.unique(
            self.band * self.size + self.codes, return_inverse=True, return_counts=True
        )
        share = count / np.bincount(self.band)[held // self.size]
        by_chance = float(
            (share[place] ** (size[cells] - 1))[(size[cells] >= ALIKE) & self.rows & open_bands].sum()
        )
        return sure / (CHANCE * by_chance) if by_chance > sure / CHANCE else 1.0

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

    @cached_property
    def _off(self) -> Floats:
        """How far off each number is by what the mask shows alone."""
        assert self.numbers is not None
        if self.shown is not None and np.isfinite(self.shown[self.rows]).any():
            return np.full(len(self.rows), np.nanmean(np.abs(self.numbers - self.shown)[self.rows]))
        count = np.maximum(np.bincount(self.band), 1)
        mean = np.bincount(self.band, self.numbers) / count
        off: Floats = (np.bincount(self.band, np.abs(self.numbers - mean[self.band])) / count)[self.band]
        return off

    @cached_property
    def _asked(self) -> list[tuple[Floats, float, float]]:
        """The number, and what is lacking of it in what is shown: with what chance and the mask alone give."""
        assert self.numbers is not None
        nobody = np.zeros(len(self.rows), np.int64)
        chance = [(self._draw, nobody), (self._draw, self.band)]
        values = [self.numbers]
        if self.shown is not None:
            # a remainder says nothing of a number's size and all of what a rounded one lacks
            chance.append((np.nan_to_num(self.shown, nan=np.inf), nobody))
            values.append(self.numbers - self.shown)
        return [(y, *self._best(y, chance)) for y in values]

    @cached_property
    def _draw(self) -> Floats:
        return generator(0, "ghosts").random(len(self.rows))

    def _by_number(self, codes: IntArray, kept: Floats | None, level: IntArray, alone: bool) -> float:
        """How much is told of a number: by neighbours, and by remainders where no further column is looked at."""
        assert self.numbers is not None
        rows = np.flatnonzero(self.rows & (self._off > 0))
        if len(rows) < FEWEST:
            return 0.0
        told = self._by_neighbours(codes, kept, level)
        if told >= 1 or not alone:
            return told
        room = 4 * float(self._off[rows].mean())  # an even spread is a quarter of its width from its middle
        some = None if kept is None else kept[rows]
        return max(
            told, told_by_remainder(self.numbers[rows], some, _numbered(codes[rows]), room, self.dates)
        )

    def _by_neighbours(self, codes: IntArray, kept: Floats | None, level: IntArray) -> float:
        ways: list[tuple[Floats, IntArray]] = []
        ways += [(self._draw, level * (int(codes.max()) + 1) + codes)] if codes.max() < LEVELS else []
        if kept is not None:
            ways += [(kept, level), (kept, level * (int(self.band.max()) + 1) + self.band)]
        if (
            kept is not None and self.shown is not None
        ):  # less what is shown a remainder tells it in all groups alike
            shown = np.nan_to_num(self.shown, nan=np.inf)
            ways += [(kept - shown, level), (kept + shown, level)]
        told = 0.0
        for y, by_chance, far in self._asked if ways else []:
            found, near = self._best(y, ways)
            told = max(told, (found - by_chance) / (1 - by_chance) / PINNED if by_chance < 1 else 0.0)
            told = max(told, far / near / FEWER if near > 0 and np.isfinite(far) else 0.0)
        return told

    def _best(self, values: Floats, ways: Sequence[tuple[Floats, IntArray]]) -> tuple[float, float]:
        """Of several ways to guess the largest share that comes near, and the smallest of their middle distances."""
        rows = np.flatnonzero(self.rows & (self._off > 0))
        tries = [
            np.nan_to_num(_distance(values, x, groups, self._draw)[rows], nan=np.inf) for x, groups in ways
        ]
        room = NEAR * self._off[rows]
        return max(float((x <= room).mean()) for x in tries), min(float(np.median(x)) for x in tries)


def _numbered(codes: IntArray) -> IntArray:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64).ravel()


def _ranks(amounts: Floats) -> IntArray:
    """The place of each row in the order of a number."""
    order = np.argsort(amounts, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _distance(values: Floats, kept: Floats, groups: IntArray, draw: Floats) -> Floats:
    """How near a row before or after in the kept number, or the line between them, comes to each value.

    Equal ones stand in an order that is drawn: the file's own does not leave.
    """
    order = np.lexsort((draw, kept, groups))
    x, y, g = kept[order], values[order], groups[order]
    same = np.concatenate([[False], g[1:] == g[:-1], [False]])
    before = np.where(same[:-1], np.concatenate([[np.nan], y[:-1]]), np.nan)
    after = np.where(same[1:], np.concatenate([y[1:], [np.nan]]), np.nan)
    low, high = np.concatenate([[np.nan], x[:-1]]), np.concatenate([x[1:], [np.nan]])
    with np.errstate(divide="ignore", invalid="ignore"):
        between = before + np.where(high > low, (x - low) / (high - low), 0.5) * (after - before)
        off = np.fmin(np.fmin(np.abs(y - before), np.abs(y - after)), np.abs(y - between))
    found = np.empty(len(order))
    found[order] = np.where(off <= 1e-12 * np.abs(y), 0.0, off)
    return found
