"""Local suppression: single cells of the keys emptied until every row looks like enough others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import counted
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Role
from dalenius.data.steps.step import Masked, Step, chosen, step
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import MISSING, IntArray, emptied, states
from dalenius.mask.look_alikes import LookAlikes
from dalenius.mask.microaggregation import strata_of
from dalenius.mask.needs import number_faults, rows_each, weights_of
from dalenius.mask.neighbours import Floats
from dalenius.mask.patterns import Classes, Enough
from dalenius.mask.wildcards import settle
from dalenius.risk.sample.fitting import rows_that_fit
from dalenius.risk.sample.frequencies import Frequencies
from dalenius.risk.sample.individual import individual_risk

MOST_KEYS = 12
"""More keys have too many subsets to search."""


@step
@dataclass(frozen=True)
class Suppress(Step):
    """Cells of the keys emptied until every row looks like ``k`` rows, gaps included.

    A gap is a value of its own, so that a row with gaps needs rows with the same gaps: a complete row that agrees in
    what it shows protects nobody, since who knows the person knows what the gap hides. With ``compat="sdcMicro"`` such
    rows count, and with ``alpha`` rows with other gaps, too.

    Examples
    --------
    >>> people = Table.from_frame({"sex": list("ffmmm"), "job": ["clerk", "clerk", "clerk", "clerk", "judge"]})
    >>> made = Suppress(("sex", "job"), k=2).apply(people)
    >>> made.table.to_frame()["job"], made.figures["cells"], made.figures["smallest group"]
    (['clerk', 'clerk', None, None, None], 3.0, 2.0)
    >>> print(Suppress(("sex", "job"), k=2, compat="sdcMicro").apply(people).notes[0])
    1 cell of sex, job suppressed; every row is supported by 2 rows or more as sdcMicro counts (alpha 0); but looking as
    an intruder does, 1 row is like fewer than 2, and the keys of 1 row fit fewer than 2
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
    compat: Annotated[
        Literal["sdcMicro"] | None,
        Option(
            title="Compatible", meaning="sdcMicro: count as it does, which leaves people who can be found"
        ),
    ] = None
    alpha: Annotated[
        float,
        Option(at_least=0, at_most=1, title="Alpha",
               meaning="as sdcMicro counts: what a row with gaps adds to others, 1 as if its gaps matched all"),
    ] = 0.0  # fmt: skip

    def conflicts(self) -> list[str]:
        """Sizes that are numbers, and keys that are priced or kept apart only once."""
        wrong = [
            f"subsets: {size!r} is no number of keys" for size in self.subsets if not str(size).isdigit()
        ]
        if self.alpha and self.compat is None:
            wrong.append("alpha is how sdcMicro counts rows with gaps; add compat: sdcMicro, or leave it out")
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
        wanted = self._wanted(len(keys), weights is not None, each)
        if self.compat is None:
            order = generator(seed, "lenders").permutation(
                table.rows
            )  # who lends himself is drawn, not the first
            hidden: IntArray = np.empty(table.rows, np.int64)
            mass = np.ones(table.rows) if weights is None else weights
            hidden[order] = settle_rows(classes, ids[order], mass[order], wanted, prices)
        else:
            hidden = settle(classes, wanted, prices, self.alpha)[ids]
        gone = {
            name: (hidden >> j & 1 == 1) & (states(table[name]) != MISSING) for j, name in enumerate(keys)
        }
        after = table.with_vectors(
            *(emptied(table[name], where) for name, where in gone.items() if where.any())
        )
        cells = sum(int(where.sum()) for where in gone.values())
        figures = {"cells": float(cells), **self._figures(table, after, keys, each)}
        note = self._told(int(cells), keys, len(wanted), figures, "rows" if each == 1 else "people")
        return Masked.of(table, after, figures=figures, notes=[note])

    def _figures(self, table: Table, after: Table, keys: Sequence[str], each: int) -> dict[str, float]:
        """What an intruder finds: rows that look alike, gaps included, and rows that a person's keys fit."""
        of, least = (1 << len(keys)) - 1, self.k * each
        old, new = (classes_of(made, keys, self.strata)[0] for made in (table, after))
        before, now = alike_rows(old, old.gaps, of), alike_rows(new, new.gaps, of)
        fit = rows_that_fit(table, after, [*keys, *self.strata])
        return {
            "rows below before": float(old.rows[before < least].sum()),
            "rows below": float(new.rows[now < least].sum()), "smallest group": float(now.min(initial=np.inf)),
            "fewest rows that fit": float(fit.min(initial=table.rows)),
            "people whom fewer than k rows fit": float(np.count_nonzero(fit < least)),
        }  # fmt: skip

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

    def _told(
        self, cells: int, keys: Sequence[str], sets: int, figures: Mapping[str, float], whose: str
    ) -> str:
        begin = f"{counted(cells, 'cell')} of {', '.join(keys)} suppressed; every row"
        more = f", and {counted(sets - 1, 'smaller set')} of keys as asked" if sets > 1 else ""
        if self.compat is not None:
            below, found = (
                int(figures[name]) for name in ("rows below", "people whom fewer than k rows fit")
            )
            rule = (
                f"supported by {self.k} {whose} or more"
                if self.risk is None
                else f"at a risk of {self.risk:g} or less"
            )
            are = "is" if below == 1 else "are"
            return (
                f"{begin} is {rule} as sdcMicro counts (alpha {self.alpha:g}){more}; but looking as an intruder does, "
                f"{counted(below, 'row')} {are} like fewer than {self.k}, and the keys of {counted(found, 'row')} fit "
                f"fewer than {self.k}"
            )
        rule = (
            f"looks like {self.k} {whose} or more"
            if self.risk is None
            else f"is at a risk of {self.risk:g} or less"
        )
        return (
            f"{begin} {rule}, gaps included{more}; the smallest group has {figures['smallest group']:,.0f} rows, and "
            f"the keys of each person fit {figures['fewest rows that fit']:,.0f} or more"
        )


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
    empty = [states(vector) == MISSING for vector in columns]
    codes = np.column_stack(
        [
            np.where(gone, 0, v.categories.codes.astype(np.int64))
            for v, gone in zip(columns, empty, strict=True)
        ]
    )
    gaps = np.zeros(table.rows, np.int64)
    for j, gone in enumerate(empty):
        gaps |= gone.astype(np.int64) << j
    mass = np.ones(table.rows) if weights is None else weights
    return Classes.of(codes, [v.categories.size for v in columns], gaps, strata_of(table, strata)[0], mass)


def settle_rows(
    classes: Classes,
    ids: IntArray,
    weights: Floats,
    wanted: Sequence[tuple[int, Enough]],
    prices: Sequence[float],
) -> IntArray:
    """Gaps of each row with which enough rows look alike on every set of keys that is asked for."""
    sets = [(of, enough, LookAlikes(classes, ids, weights, of)) for of, enough in wanted]
    now: IntArray = classes.gaps[ids]
    while True:
        for of, enough, rows in sets:  # what one set of keys asked for stays when the next is looked at
            now = (now & ~of) | rows.settle(now & of, now & of, enough, prices)
        if len(sets) == 1 or all(enough(*rows.tally(now & of)).all() for of, enough, rows in sets):
            return now


def alike_rows(classes: Classes, hidden: IntArray, of: int) -> Floats:
    """Rows that look like those of each class, on some of the keys: the same gaps, and the same beside them."""
    ids = np.arange(len(classes.rows))
    labels, size = LookAlikes(classes, ids, classes.rows, of).labels(hidden & of)
    return np.asarray(np.bincount(labels, classes.rows, size)[labels], float)


def certificate(
    table: Table, keys: Sequence[str], strata: Sequence[str] = (), k: int = 3, *, compat: str | None = None,
    alpha: float = 0.0,
) -> pl.DataFrame:  # fmt: skip
    """For every set of keys: the smallest group of rows that look alike, and how many rows are in one below k.

    It needs the released file alone: a gap is a value of its own. With ``compat="sdcMicro"`` rows are counted as
    sdcMicro does.

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
            of = sum(1 << j for j in part)
            if compat is None:
                count = alike_rows(classes, classes.gaps, of)
            else:
                count = classes.frequencies(classes.gaps, alpha, of)[0]
            below = int(classes.rows[count < k].sum())
            told.append((", ".join(keys[j] for j in part), size, float(count.min(initial=np.inf)), below))
    names = ["keys", "size", "smallest", "rows below"]
    return pl.DataFrame(told, schema=names, orient="row")
