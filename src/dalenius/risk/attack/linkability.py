"""Linkability: two halves of a record, held by two people, joined through the protected file.

One file has some columns of a person, another the rest. The intruder takes the half he has, finds the protected record
nearest to it, and looks with that record's other half in a line-up: the true other half among those of strangers.
Naive is one in the size of the line-up; people outside the data show what ordinary dependence between the halves gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.outcome import Outcome
from dalenius.risk.distance._kernels import distances
from dalenius.risk.distance.space import Points, Space
from dalenius.risk.sampling import SEED, some_rows


@measure(
    MeasureInfo(
        name="linkability",
        title="Linkability",
        family="risk",
        meaning="How much more often two halves of a record are joined through the protected file for people in the "
        "data than for people outside it.",
        better="lower",
        bounds=(-100, 100),
        unit="%",
        reference="Article 29 WP216; attack of our own",
        default=False,
        random=True,
    )
)
def linkability(
    pair: Pair,
    first: Sequence[str] | None = None,
    second: Sequence[str] | None = None,
    attacks: int = 2000,
    lineup: int = 50,
    bridges: int = 5,
    seed: Seed = SEED,
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
        raise OptionError("the two halves need at least one column each and none in common")
    left, right = Space.of(pair, one), Space.of(pair, two)
    size = min(
        lineup, pair.original.rows, pair.holdout.rows if pair.holdout is not None else pair.original.rows
    )
    hits = _run(left, right, left.original, right.original, attacks, size, bridges, seed)
    control = None
    if left.holdout is not None and right.holdout is not None:
        control = _run(left, right, left.holdout, right.holdout, attacks, size, bridges, seed)
    outcome = Outcome(
        float(hits.sum()), len(hits), None if control is None else float(control.sum()),
        0 if control is None else len(control), 1 / size,
    )  # fmt: skip
    table = pl.DataFrame({"half": ["first", "second"], "columns": [", ".join(one), ", ".join(two)]})
    return outcome.result("linkability", f"Finding a person's other half in a line-up of {size}", table)


def _run(
    left: Space,
    right: Space,
    mine: Points,
    others: Points,
    attacks: int,
    lineup: int,
    bridges: int,
    seed: Seed,
) -> AnyArray:
    """Chance of picking the true half, per attacked record (ties share it)."""
    rows = some_rows(len(mine), attacks, seed, "linkability")
    k = min(bridges, len(left.protected))
    near_half = left.nearest(mine.take(rows), left.protected, k)
    bridge = near_half.row
    # only protected records as near as the nearest are tried: they share the half that is known
    equal = near_half.distance <= near_half.distance[:, :1] * (1 + 1e-9)
    rng = generator(seed, "line-up")
    strangers = rng.integers(0, max(len(others) - 1, 1), (len(rows), lineup - 1))
    # a stranger is never the person: skip over his row
    strangers = strangers + (strangers >= rows[:, None])
    shown = np.column_stack([rows, strangers]).astype(np.int64)
    gap = np.full(shown.shape, np.inf)
    for i in range(k):
        found = right.protected.take(bridge[:, i])
        near = distances(
            found.num, found.cat, others.num, others.cat, right.num_weights, right.cat_weights, right.cap,
            right.euclid, shown,
        )  # fmt: skip
        gap = np.where(equal[:, i : i + 1], np.minimum(gap, near), gap)
    best = gap.min(axis=1, keepdims=True)
    tied = (gap <= best).sum(axis=1)
    return (gap[:, 0] <= best[:, 0]) / tied
