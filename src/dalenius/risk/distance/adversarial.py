"""Nearest-neighbour adversarial accuracy: whether nearness tells original from protected records.

AA(A, B) is the accuracy of a guess by nearest neighbour whether a record is of A or of B: 1 when the files are far
apart, 1/2 when they are alike, 0 when each is a copy of the other. The privacy loss compares the file the protected
records were made from with one they were not (Yale et al. 2020). With fewer people outside the data than in it only the
people are asked, not the protected records: these would need as many strangers.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import Seed, some_rows
from dalenius.core.result import Interval, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.fellows import to_fellows
from dalenius.risk.distance.space import Index, Metric, Points, Space
from dalenius.risk.needs import need_holdout
from dalenius.risk.sampling import SEED


def told_apart(
    space: Space, mine: Points, units: Units, other: Points, most: int, seed: Seed, name: str
) -> tuple[AnyArray, AnyArray]:
    """Say for units of one file and for records of the other whether a fellow of its own file is the nearest.

    Equally near counts half, so that duplicates do not look safe; a unit has the mean of its rows.
    """
    own, strange = Index(space, mine), Index(space, other)
    rows = units.rows_of_some(most, seed, name)
    queries = mine.take(rows)
    told = _nearer(strange.search(queries).distance[:, 0], to_fellows(own, queries, units, rows))
    picked = some_rows(len(other), most, seed, "queries")
    theirs = other.take(picked)
    fellows = to_fellows(strange, theirs, Units(None, len(other)), picked)
    return units.subset(rows).mean(told), _nearer(own.search(theirs).distance[:, 0], fellows)


def _nearer(far: AnyArray, near: AnyArray) -> AnyArray:
    scores: AnyArray = (far > near) + 0.5 * (far == near)
    return scores


@measure(
    name="adversarial-accuracy",
    title="Nearest-neighbour adversarial accuracy, privacy loss",
    family="risk",
    dimension="membership",
    meaning="How much better nearness tells protected records from outsiders than from the originals: 0 when "
    "nothing is copied, 1/2 for a copy.",
    better="lower",
    bounds=(-1, 1),
    reference="Yale et al. 2020 (Neurocomputing)",
    needs=frozenset({"holdout"}),
    default=False,
    random=True,
)
def adversarial(
    pair: Pair, metric: Metric = "gower", most: int = 5000, seed: Seed = SEED, records: bool = False
) -> Result:
    """Privacy loss: adversarial accuracy against outsiders minus that against the originals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = {"x": rng.normal(size=300)}, {"x": rng.normal(size=300)}
    >>> 0.4 < adversarial(Pair(people, people, others)).value < 0.6
    True
    """
    need_holdout(pair, "adversarial accuracy")
    space = Space.of(pair, metric=metric)
    assert space.holdout is not None
    size = min(pair.units.count, len(space.protected))
    scores = (_both_sides if pair.holdout_units.count >= size else _people_only)(
        pair, space, size, most, seed
    )
    (train, train_back), (test, test_back) = scores
    train_mean, test_mean = (float(np.mean([side.mean() for side in sides if len(side)])) for sides in scores)
    value = test_mean - train_mean
    # the same protected records are asked twice: their difference is paired
    spread = train.var() / len(train) + test.var() / len(test)
    if len(test_back):
        spread = (spread + (test_back - train_back).var() / len(test_back)) / 4
    half = 1.96 * float(np.sqrt(spread))
    return Result(
        name="adversarial-accuracy",
        value=value,
        sentence=f"Nearness tells protected records from originals with accuracy {figure(train_mean)}, from "
        f"people who are not in the data with {figure(test_mean)}; the difference {figure(value)} is what "
        "being in the data costs (0: nothing; 0.5: the protected file is a copy).",
        interval=Interval(value - half, value + half),
        yardsticks={"nothing copied": 0.0},
        outside=0.0,
        added_interval=Interval(value - half, value + half),
        values={"against original": train_mean, "against holdout": test_mean},
        records=pl.DataFrame({"unit": np.arange(len(train)), "told_apart": train}) if records else None,
    )


Sides = tuple[AnyArray, AnyArray]
"""Who is told apart: people, protected records."""


def _both_sides(pair: Pair, space: Space, size: int, most: int, seed: Seed) -> tuple[Sides, Sides]:
    """Originals, then outsiders, against the protected file, all of one size."""
    assert space.holdout is not None
    protected = space.protected.take(some_rows(len(space.protected), size, seed, "protected"))
    scores = []
    for points, units, name in (
        (space.original, pair.units, "original"), (space.holdout, pair.holdout_units, "holdout"),
    ):  # fmt: skip
        rows = units.rows_of_some(size, seed, name)
        scores.append(
            told_apart(space, points.take(rows), units.subset(rows), protected, most, seed, "queries")
        )
    return scores[0], scores[1]


def _people_only(pair: Pair, space: Space, size: int, most: int, seed: Seed) -> tuple[Sides, Sides]:
    """Whether a protected record or one of as many originals is nearer, asked of originals and of outsiders."""
    assert space.holdout is not None
    rows = pair.units.rows_of_some(size, seed, "original")
    units, originals = pair.units.subset(rows), space.original.take(rows)
    protected = space.protected.take(some_rows(len(space.protected), size, seed, "protected"))
    inside, _ = told_apart(space, originals, units, protected, most, seed, "queries")
    chosen = pair.holdout_units.rows_of_some(most, seed, "queries")
    queries = space.holdout.take(chosen)
    # an original has all others as fellows; an outsider gets as many
    fellows = Index(space, originals.take(units.rows_of_some(max(units.count - 1, 1), seed, "fellows")))
    told = _nearer(
        Index(space, protected).search(queries).distance[:, 0], fellows.search(queries).distance[:, 0]
    )
    nobody = np.zeros(0)
    return (inside, nobody), (pair.holdout_units.subset(chosen).mean(told), nobody)
