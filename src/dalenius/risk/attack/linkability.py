"""Linkability: two halves of a record, held by two people, joined through the protected file.

One file has some columns of a person, another the rest. The intruder takes the half he has, finds the protected record
nearest to it, and looks with that record's other half in a line-up: the true other half among those of strangers. He
points at somebody only when he is sure (see `sure`). Naive is one in the size of the line-up for as many tries; people
outside the data show what ordinary dependence between the halves gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.outcome import CONTROLS, Outcome
from dalenius.risk.attack.sure import SURE, sure_distance
from dalenius.risk.distance._kernels.neighbours import distances
from dalenius.risk.distance.space import Index, Points, Space
from dalenius.risk.sampling import SEED


@measure(
    name="linkability",
    title="Linkability",
    family="risk",
    dimension="singling out",
    meaning="How much more often two halves of a record are joined through the protected file for people in the "
    "data than for people outside it.",
    better="lower",
    bounds=(-100, 100),
    unit="%",
    reference="Article 29 WP216; attack of our own",
    default=False,
    random=True,
)
def linkability(
    pair: Pair,
    first: Sequence[str] | None = None,
    second: Sequence[str] | None = None,
    attacks: int = 2000,
    lineup: Annotated[int, Option(at_least=2)] = 50,
    bridges: Annotated[int, Option(at_least=1)] = 5,
    sure: Annotated[float, Option(above=0, at_most=1)] = SURE,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Linkability attack.

    Parameters
    ----------
    first, second
        Columns of the two halves; by default the columns are dealt out alternately.
    lineup
        Other halves to choose from, the true one among them.
    bridges
        Protected records that are tried, if equally near: several people may share the half that is known.
    sure
        The intruder points at somebody whose half is as near as this share of protected records are to a fellow; 1
        makes him always point.
    records
        Give one row per person attacked too (confidential).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {c: rng.normal(size=300) for c in "abcd"}
    >>> people = draw()
    >>> linkability(Pair(people, people, draw())).value > 90
    True
    """
    names = pair.columns
    one = list(first) if first is not None else names[::2]
    two = list(second) if second is not None else names[1::2]
    if not one or not two or set(one) & set(two):
        raise OptionError("linkability needs two halves of at least one column each and none in common")
    left, right = Space.of(pair, one), Space.of(pair, two)
    size = min(lineup, pair.units.count, *([] if left.holdout is None else [pair.holdout_units.count]))
    limit = sure_distance(Index(right, right.protected), right.protected, sure, seed)
    plan = _LineUp(left, right, size, bridges, limit, seed)
    members, pointed, rows = plan.tries(left.original, right.original, pair.units, attacks)
    control = None
    if left.holdout is not None and right.holdout is not None:
        outside = pair.holdout_units
        control = plan.tries(left.holdout, right.holdout, outside, CONTROLS * attacks)[0]
    table = pl.DataFrame({"half": ["first", "second"], "columns": [", ".join(one), ", ".join(two)]})
    return Outcome.of(members, control, float(pointed.mean()) / size).result(
        "linkability",
        f"Finding a person's other half in a line-up of {size}",
        table,
        records=pl.DataFrame({"row": rows, "pointed": pointed, "chance": members}) if records else None,
    )


@dataclass(frozen=True, eq=False)
class _LineUp:
    """How the other half is looked for."""

    left: Space
    right: Space
    size: int
    bridges: int
    limit: float
    seed: Seed

    def tries(
        self, mine: Points, others: Points, units: Units, attacks: int
    ) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Chance of picking the true half per unit (ties share it), whether the intruder points, and the rows."""
        rows = units.one_row_each(attacks, self.seed, "linkability")
        rows = rows[np.argsort(units.owners_of_rows[rows])]  # in an order that does not depend on the file's
        k = min(self.bridges, len(self.left.protected))
        near_half = self.left.nearest(mine.take(rows), self.left.protected, k)
        # only protected records as near as the nearest are tried: they share the half that is known
        equal = near_half.distance <= near_half.distance[:, :1] * (1 + 1e-9)
        shown = self._shown(rows, units)
        gap = np.full(shown.shape, np.inf)
        for i in range(k):
            here = np.flatnonzero(equal[:, i])
            found = self.right.protected.take(near_half.row[here, i])
            near = distances(
                found.num, found.cat, others.num, others.cat, self.right.num_weights, self.right.cat_weights,
                self.right.cap, self.right.euclid, shown[here],
            )  # fmt: skip
            gap[here] = np.minimum(gap[here], near)
        best = gap.min(axis=1)
        points = best <= self.limit
        tied = (gap <= best[:, None]).sum(axis=1)
        return ((gap[:, 0] <= best) & points) / tied, points, rows

    def _shown(self, rows: AnyArray, units: Units) -> AnyArray:
        """Rows in each line-up: the person first, then strangers, each by one of his rows."""
        rng = generator(self.seed, "line-up")
        strangers = rng.integers(0, max(units.count - 1, 1), (len(rows), self.size - 1))
        # a stranger is never the person: skip over him
        strangers = strangers + (strangers >= units.owners_of_rows[rows][:, None])
        if units.codes is not None:
            order, owned = np.argsort(units.codes, kind="stable"), np.bincount(units.codes)
            one = (rng.random(strangers.shape) * owned[strangers]).astype(np.int64)
            strangers = order[(np.cumsum(owned) - owned)[strangers] + one]
        return np.column_stack([rows, strangers]).astype(np.int64)
