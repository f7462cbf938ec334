"""Targeted swapping: households that stand out in their area change places with similar ones elsewhere.

Level by level from the largest areas down: a household at risk is swapped with one of another area of that level inside
the same area above, so that nothing above the level changes (Shlomo, Tudor and Groom 2010; Eurostat's method for the
census of 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Role
from dalenius.data.steps.step import Masked, Step, chosen, step
from dalenius.data.table import Table
from dalenius.data.units import owner_codes, units_of
from dalenius.data.vector import BoolArray, IntArray
from dalenius.mask._kernels.swaps import pair_up
from dalenius.mask.microaggregation import strata_of

ROUNDS = 6
"""Draws of further households until the rate is reached."""


@step
@dataclass(frozen=True)
class SwapHouseholds(Step):
    """Households with rare members exchange their place of living with similar households elsewhere.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> people = Table.from_frame(examples.population(2000, 1), examples.population_schema())
    >>> made = SwapHouseholds(("region",), keys=("sex", "marital", "education"), k=4).apply(people, 1)
    >>> made.figures["households at risk"] > 0, made.figures["households at risk left"]
    (True, 0.0)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="swap-households",
        title="Targeted swapping",
        meaning="Households that stand out in their area change places with similar ones elsewhere.",
        plain="Families that would be recognised where they live are shown as living somewhere near.",
        guarantee="none",
        reference="Shlomo, Tudor and Groom 2010",
        example_options={"hierarchy": ["region"], "keys": ["sex", "age"], "k": 2},
    )
    reversible: ClassVar[bool] = False
    hierarchy: Annotated[
        tuple[str, ...], Option(title="Areas", meaning="columns of areas, the largest first", knob=True)
    ]
    keys: Annotated[
        tuple[str, ...], Option(title="Keys", meaning="what an intruder may know of a member", knob=True)
    ] = ()
    k: Annotated[
        int,
        Option(
            at_least=2, title="k", meaning="rows that must be alike in an area: more swaps more", knob=True
        ),
    ] = 3
    similar: Annotated[
        tuple[str, ...],
        Option(title="Similar", meaning="what partners have in common, the most important first"),
    ] = ()
    household: Annotated[
        str | None, Option(title="Household", meaning="column that says who lives together")
    ] = None
    carry: Annotated[tuple[str, ...], Option(title="Carried", meaning="columns that move with the area")] = ()
    rate: Annotated[
        float, Option(at_least=0, at_most=0.5, title="Rate", meaning="least share of households swapped")
    ] = 0.0

    @property
    def named(self) -> tuple[str, ...]:
        """Also the areas, and what partners have in common."""
        return tuple(dict.fromkeys([*self.hierarchy, *self.similar, *self.carry, *super().named]))

    def conflicts(self) -> list[str]:
        """Areas, and nothing that is both an area and a key."""
        wrong = [] if self.hierarchy else ["hierarchy names no column of areas"]
        both = set(self.hierarchy) & {*self.keys, *self.similar}
        return wrong + (["a column of areas cannot be a key or a likeness"] if both else [])

    def _keys(self, table: Table) -> list[str]:
        moved = {*self.hierarchy, *self.carry}
        return [name for name in chosen(table, self.keys, Role.KEY) if name not in moved]

    def _household(self, table: Table) -> str | None:
        return self.household or next(iter(table.schema.by_role(Role.HOUSEHOLD)), None)

    def faults(self, table: Table) -> list[str]:
        """Keys, rows, and households that live in one place."""
        wrong = super().faults(table)
        if wrong:
            return wrong
        wrong += [] if self._keys(table) else ["no keys are named; say which columns an intruder may know"]
        if not table.rows:
            return [*wrong, "the file has no rows; there is nothing to swap"]
        homes = _homes(table, self._household(table))
        for name in self.hierarchy:
            codes = table[name].categories.codes
            split = int(np.count_nonzero(codes[homes.first[homes.of]] != codes))
            if split:
                wrong.append(
                    f"column {name!r}: {split:,} rows are in another area than the first row of their household"
                )
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """A few sorts of all households for each level."""
        return Cost(0.05 + 4e-6 * shape.rows * max(len(self.hierarchy), 1), 150.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        homes = _homes(table, self._household(table))
        profiles = [_profile(table, homes, self.similar[:n]) for n in range(len(self.similar), -1, -1)]
        profiles.append(np.zeros(homes.count, np.int64))  # the last resort: any size
        partner, at_risk = np.full(homes.count, -1, np.int64), np.zeros(homes.count, bool)
        keys = self._keys(table)
        areas = [
            strata_of(table, self.hierarchy[:level])[0][homes.first]
            for level in range(len(self.hierarchy) + 1)
        ]
        figures = {f"swaps at {name}": 0.0 for name in self.hierarchy}
        # people of a home count one by one, several rows of a person once
        people = units_of(table, "entity" if table.schema.by_role(Role.ENTITY) else "record")
        for level in range(len(self.hierarchy)):
            ids, count = strata_of(table, [*self.hierarchy[: level + 1], *keys])
            rare = (people.owners(ids, count) < self.k)[ids]
            risky = np.bincount(homes.of[rare], minlength=homes.count) > 0
            at_risk |= risky
            self._swap(level, risky, risky, areas, profiles, partner, figures, seed)
        for turn in range(ROUNDS):  # two that were drawn may have taken each other
            drawn = _more(partner, self.rate, generator(seed, "rate", turn))
            self._swap(len(self.hierarchy) - 1, drawn, drawn, areas, profiles, partner, figures, (seed, turn))
        left = int(np.count_nonzero(at_risk & (partner < 0)))
        done = int(np.count_nonzero(partner >= 0))
        figures |= {"households": float(homes.count), "households swapped": float(done),
                    "households at risk": float(at_risk.sum()), "households at risk left": float(left)}  # fmt: skip
        source = np.arange(table.rows)
        moved = partner[homes.of] >= 0
        source[moved] = homes.first[partner[homes.of[moved]]]
        figures |= _uneven(homes, partner, areas[-1][homes.of], source)
        names = [*self.hierarchy, *self.carry]
        vectors = [replace(v, data=v.data[source], state=None if v.state is None else v.state[source])
                   for v in (table[name] for name in names)]  # fmt: skip
        return Masked.of(table, table.with_vectors(*vectors), perturbed=names, figures=figures,
                         notes=[_told(figures, left)])  # fmt: skip

    def _swap(
        self, level: int, wanted: BoolArray, risky: BoolArray, areas: Sequence[IntArray], profiles: Sequence[IntArray],
        partner: IntArray, figures: dict[str, float], seed: Any,
    ) -> None:  # fmt: skip
        """Partners at a level; those without one look at the next level above, where there are more households."""
        for place in range(level, -1, -1):
            name = self.hierarchy[place]
            for i, profile in enumerate(profiles):
                rng = generator(
                    sequence(seed[0], "turn", seed[1]) if isinstance(seed, tuple) else seed, name, level, i
                )
                found = _level(wanted, risky, areas[place], profile, areas[place + 1], partner, rng)
                figures[f"swaps at {name}"] += found


@dataclass(frozen=True, eq=False, repr=False)
class _Homes:
    """The household of each row, and the first row of each household."""

    of: IntArray
    first: IntArray
    count: int


def _homes(table: Table, name: str | None) -> _Homes:
    of = np.arange(table.rows) if name is None else owner_codes(table[name])
    count = int(of.max(initial=-1)) + 1
    first = np.zeros(count, np.int64)
    first[of[::-1]] = np.arange(table.rows)[::-1]
    return _Homes(of, first, count)


def _profile(table: Table, homes: _Homes, similar: Sequence[str]) -> IntArray:
    """A number for the size of each household and what its members are like, in any order."""
    marks = strata_of(table, similar)[0].astype(np.uint64) + np.uint64(1)
    # a sum of well-mixed numbers is the same for the same members in any order, and for others only by a rare chance
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        marks = (marks ^ (marks >> np.uint64(shift))) * np.uint64(factor)
    marks ^= marks >> np.uint64(31)
    order = np.argsort(homes.of, kind="stable")
    starts = np.searchsorted(homes.of[order], np.arange(homes.count))
    total = np.add.reduceat(marks[order], starts) if homes.count else marks
    return np.unique(total, return_inverse=True)[1]


def _more(partner: IntArray, rate: float, rng: np.random.Generator) -> BoolArray:
    """Households drawn at random so that, with their partners, the rate is reached."""
    extra = np.zeros(len(partner), bool)
    free = np.flatnonzero(partner < 0)
    lacking = int(np.ceil((rate * len(partner) - (len(partner) - len(free))) / 2))
    if lacking > 0 and len(free):
        extra[rng.choice(free, min(len(free), lacking), replace=False)] = True
    return extra


def _level(
    wanted: BoolArray, risky: BoolArray, parent: IntArray, profile: IntArray, area: IntArray, partner: IntArray,
    rng: np.random.Generator,
) -> int:  # fmt: skip
    """Partners for the households that still want one, among those of the same profile and area above."""
    free = np.flatnonzero(partner < 0)
    asking = free[wanted[free]]
    if not len(asking):
        return 0
    pool = np.zeros(len(partner), np.int64)
    values, pool[free] = np.unique(
        parent[free] * (int(profile.max()) + 1) + profile[free], return_inverse=True
    )
    shuffled = rng.permutation(free)
    members = shuffled[
        np.lexsort((~risky[shuffled], pool[shuffled]))
    ]  # those at risk first: one swap helps two
    begins = np.searchsorted(pool[members], np.arange(len(values) + 1))
    return int(pair_up(rng.permutation(asking), pool, begins, members, area, partner))


def _uneven(homes: _Homes, partner: IntArray, area: IntArray, source: IntArray) -> dict[str, float]:
    """Households that changed places with one of another size, and by how many people areas are off for it."""
    size = np.bincount(homes.of, minlength=homes.count)
    swapped = np.flatnonzero(partner >= 0)
    uneven = np.count_nonzero(size[swapped] != size[partner[swapped]])
    off = np.abs(np.bincount(area) - np.bincount(area[source], minlength=int(area.max(initial=-1)) + 1)).sum()
    return {"households swapped with another size": float(uneven), "people counted in another area": off / 2}


def _told(figures: dict[str, float], left: int) -> str:
    swapped = (
        f"{figures['households swapped']:,.0f} of {figures['households']:,.0f} households changed places"
    )
    rest = "all that were at risk among them" if not left else f"{left:,} at risk found no partner"
    uneven = figures["households swapped with another size"]
    if not uneven:
        return f"{swapped}, {rest}; every area has as many people as before."
    return (
        f"{swapped}, {rest}. For {uneven:,.0f} no household of the same size was left to change places with: "
        f"{figures['people counted in another area']:,.0f} people are counted in another area than before. Protecting "
        "every household at risk and leaving the numbers of people as they are exclude each other here."
    )
