"""Local suppression: single cells of the keys emptied until every row is supported by enough others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import counted
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Role
from dalenius.data.steps.step import Masked, Step, chosen, step
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import IntArray, emptied
from dalenius.mask.microaggregation import strata_of
from dalenius.mask.needs import number_faults, rows_each, weights_of
from dalenius.mask.neighbours import Floats
from dalenius.mask.patterns import Classes, Enough, patterns_by_price
from dalenius.risk.sample.frequencies import Frequencies
from dalenius.risk.sample.individual import individual_risk

MOST_KEYS = 12
"""More keys have too many subsets to search."""
FREE_ROUNDS = 8
"""Rounds in which a row may get another pattern; later it can only lose more cells, so that the search ends."""
BATCHES = 4
"""Where gaps match everything, a suppressed row may save others: rows are treated in so many turns."""


@step
@dataclass(frozen=True)
class Suppress(Step):
    """Cells of the keys emptied until no combination of keys is shown by fewer than ``k`` rows.

    With ``alpha`` 0 a gap protects only its own row: a complete row needs k complete rows with its keys, a row with
    gaps needs k that are complete or have the same gaps. With 1 a gap matches everything, as sdcMicro reads it.

    Examples
    --------
    >>> people = Table.from_frame({"sex": list("ffmmm"), "job": ["clerk", "clerk", "clerk", "clerk", "judge"]})
    >>> made = Suppress(("sex", "job"), k=2).apply(people)
    >>> made.table.to_frame()["job"], made.figures["cells"]
    (['clerk', 'clerk', 'clerk', 'clerk', None], 1.0)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="suppress",
        title="Local suppression",
        meaning="Empties as few cells of the keys as it can until every row is like k others.",
        plain="Where a combination of answers is rare, one or two of them are left out.",
        guarantee="none",
        reference="Hundepool et al. 2012",
        example_options={"keys": ["sex", "age"], "k": 3},
    )
    reversible: ClassVar[bool] = False
    keys: Annotated[
        tuple[str, ...], Option(title="Keys", meaning="columns an intruder may know", knob=True)
    ] = ()
    k: Annotated[
        int, Option(at_least=2, title="k", meaning="rows that must be alike: the more, the safer", knob=True)
    ] = 3
    subsets: Annotated[
        Mapping[str, int],
        Option(at_least=2, title="Subsets", meaning="k for every so many of the keys, such as {'2': 10}"),
    ] = field(default_factory=dict, hash=False)
    importance: Annotated[
        Mapping[str, float],
        Option(above=0, title="Importance", meaning="price of an empty cell of a key, else 1"),
    ] = field(default_factory=dict, hash=False)
    strata: Annotated[
        tuple[str, ...], Option(title="Strata", meaning="rows are alike only within these")
    ] = ()
    risk: Annotated[
        float | None,
        Option(above=0, below=1, title="Risk", meaning="instead of k: the largest risk a row may keep"),
    ] = None
    weight: Annotated[str | None, Option(title="Weight", meaning="people a row stands for; risk uses it")] = (
        None
    )
    alpha: Annotated[
        float,
        Option(at_least=0, at_most=1, title="Alpha",
               meaning="how much a row with gaps protects others: 0 not at all, 1 as if its gaps matched everything"),
    ] = 0.0  # fmt: skip

    def conflicts(self) -> list[str]:
        """Sizes that are numbers, and keys that are priced or kept apart only once."""
        wrong = [
            f"subsets: {size!r} is no number of keys" for size in self.subsets if not str(size).isdigit()
        ]
        wrong += ["a key is named twice"] if len(set(self.keys)) < len(self.keys) else []
        both = set(self.keys) & {*self.strata, self.weight}
        return wrong + (["a key cannot be a stratum or the weight"] if both else [])

    def faults(self, table: Table) -> list[str]:
        """Keys that are there, not too many, and enough rows in each stratum."""
        wrong = super().faults(table)
        keys = chosen(table, self.keys, Role.KEY)
        wrong += [] if keys else ["no keys are named; say which columns an intruder may know"]
        if len(keys) > MOST_KEYS:
            wrong.append(f"{len(keys)} keys have too many subsets to search; name at most {MOST_KEYS}")
        unknown = [name for name in self.importance if name not in keys]
        wrong += [f"importance names {unknown[0]!r}, which is no key"] if unknown else []
        wrong += [f"subsets of {size} keys: there are {len(keys)}" for size in self.subsets
                  if str(size).isdigit() and not 1 <= int(size) <= len(keys)]  # fmt: skip
        if wrong:
            return wrong
        wrong += number_faults(table, [self.weight] if self.weight else [], positive=True)
        needed = max([1 if self.risk is not None else self.k, *self.subsets.values()]) * rows_each(table)
        ids, strata = strata_of(table, self.strata)
        short = int(np.count_nonzero(np.bincount(ids, minlength=strata) < needed))
        if short or not table.rows:
            place = f"{short} of {strata} strata have" if self.strata else "the file has"
            wrong.append(f"{place} fewer than k = {needed} rows; use a smaller k or fewer strata")
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """Every set of keys is counted a few times."""
        sets = 2 ** min(len(self.keys) or 4, MOST_KEYS)
        return Cost(0.02 + 2e-8 * shape.rows * sets, 60.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        keys = chosen(table, self.keys, Role.KEY)
        weights = weights_of(table, self.weight)
        classes, ids = classes_of(table, keys, self.strata, weights)
        prices = [float(self.importance.get(name, 1.0)) for name in keys]
        each = rows_each(table)
        wanted, whose = self._wanted(len(keys), weights is not None, each), "rows" if each == 1 else "people"
        now = settle(classes, wanted, prices, self.alpha)
        hidden = now[ids]
        gone = {name: (hidden >> j & 1 == 1) & table[name].present for j, name in enumerate(keys)}
        after = table.with_vectors(
            *(emptied(table[name], where) for name, where in gone.items() if where.any())
        )
        before = [classes.frequencies(classes.gaps, self.alpha, of) for of, _ in wanted]
        below = max(
            float(classes.rows[~fine(*found)].sum()) for (_, fine), found in zip(wanted, before, strict=True)
        )
        cells = sum(int(where.sum()) for where in gone.values())
        figures = {"cells": float(cells), "rows below before": below, "rows below": 0.0}
        return Masked.of(table, after, figures=figures, notes=[self._told(cells, keys, wanted, whose)])

    def _wanted(self, keys: int, weighted: bool, each: int) -> list[tuple[int, Enough]]:
        """Sets of keys with what is enough on them, the whole first; k people have at most ``each`` times k rows."""

        def safe(count: Floats, mass: Floats) -> np.ndarray:
            found = Frequencies(
                np.maximum(count, 1e-300), np.maximum(mass, 1e-300), weighted, Units(None, len(count))
            )
            return np.asarray(individual_risk(found) <= self.risk)

        first: Enough = at_least(self.k * each) if self.risk is None else safe
        sets: list[tuple[int, Enough]] = [((1 << keys) - 1, first)]
        for size, k in sorted(self.subsets.items(), key=lambda item: -int(item[0])):
            sets += [
                (sum(1 << j for j in part), at_least(k * each))
                for part in combinations(range(keys), int(size))
            ]
        return sets

    def _told(self, cells: int, keys: Sequence[str], wanted: Sequence[object], whose: str) -> str:
        rule = (
            f"shown by {self.k} {whose} or more"
            if self.risk is None
            else f"at a risk of {self.risk:g} or less"
        )
        more = f", and {counted(len(wanted) - 1, 'smaller set')} of keys as asked" if len(wanted) > 1 else ""
        reading = (
            "gaps protect only their own row"
            if self.alpha == 0
            else f"a gap counts {self.alpha:g} for others"
        )
        return f"{counted(cells, 'cell')} of {', '.join(keys)} suppressed; every row is {rule}{more} ({reading})."


def at_least(k: float) -> Enough:
    """Enough is k rows.

    Examples
    --------
    >>> at_least(3)(np.array([2.0, 3.0]), np.ones(2)).tolist()
    [False, True]
    """
    return lambda count, mass: count >= k


def classes_of(
    table: Table, keys: Sequence[str], strata: Sequence[str] = (), weights: Floats | None = None
) -> tuple[Classes, IntArray]:
    """Classes of rows with the same keys and gaps, and the class of each row."""
    columns = [table[name] for name in keys]
    codes = np.column_stack([np.where(v.present, v.categories.codes.astype(np.int64), 0) for v in columns])
    gaps = np.zeros(table.rows, np.int64)
    for j, vector in enumerate(columns):
        gaps |= (~vector.present).astype(np.int64) << j
    mass = np.ones(table.rows) if weights is None else weights
    return Classes.of(codes, [v.categories.size for v in columns], gaps, strata_of(table, strata)[0], mass)


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


def certificate(
    table: Table, keys: Sequence[str], strata: Sequence[str] = (), alpha: float = 0.0, k: int = 3
) -> pl.DataFrame:
    """For every set of keys: the fewest rows that support one, and how many rows are supported by fewer than k.

    Examples
    --------
    >>> people = Table.from_frame({"sex": list("ffmm"), "job": ["clerk", "clerk", "clerk", "judge"]})
    >>> certificate(people, ["sex", "job"], k=2).rows()
    [('sex', 1, 2.0, 0), ('job', 1, 1.0, 1), ('sex, job', 2, 1.0, 2)]
    """
    classes, _ = classes_of(table, keys, strata)
    told = []
    for size in range(1, len(keys) + 1):
        for part in combinations(range(len(keys)), size):
            count, _mass = classes.frequencies(classes.gaps, alpha, sum(1 << j for j in part))
            below = int(classes.rows[count < k].sum())
            told.append((", ".join(keys[j] for j in part), size, float(count.min(initial=np.inf)), below))
    names = ["keys", "size", "smallest", "rows below"]
    return pl.DataFrame(told, schema=names, orient="row")
