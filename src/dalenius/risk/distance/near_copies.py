"""People who come out nearly whole: a record lies much closer to them than anybody else in the data does.

A copy with one value changed is no identical row, and a few such copies hardly move averages of distances. But nobody
else lies that close: the distance to the nearest other person says what is close where this person stands, in the crowd
or far out (the idea of ε-identifiability: Yoon, Drumright and van der Schaar 2020).
"""

from __future__ import annotations

import polars as pl

from dalenius.core.compared import compared
from dalenius.core.errors import DataError
from dalenius.core.intervals import Share
from dalenius.core.random import Seed
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.fellows import to_fellows
from dalenius.risk.distance.space import Index, Metric, Neighbours, Space
from dalenius.risk.sampling import SEED

NEAR = 0.5
"""A record is near a person when it is at less than this part of the way to the nearest other person."""


@measure(
    name="near-copies",
    covered=True,
    title="Nearly copied people",
    family="risk",
    dimension="copying",
    meaning="Share of original records that have a protected record at less than half the distance to the nearest "
    "other original.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="after Yoon, Drumright and van der Schaar 2020 (ADS-GAN)",
    random=True,
)
def near_copies(
    pair: Pair, metric: Metric = "gower", most: int = 5000, seed: Seed = SEED, records: bool = False
) -> Result:
    """People with a protected record at less than half the way to their nearest fellow, beside the same for outsiders.

    People who have a twin in the data are never near copies: a record like them points at two.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.normal(size=200) for c in "abc"} for _ in range(2))
    >>> moved = {**people, "a": people["a"] + 0.01}
    >>> found = near_copies(Pair(people, moved, others))
    >>> found.value > 90, found.outside < 30
    (True, True)
    """
    if pair.units.count < 2:
        raise DataError("near copies are told by the distance to other people; the original holds one only")
    space, units = Space.of(pair, metric=metric), pair.units
    originals, protected = Index(space, space.original), Index(space, space.protected)
    rows = units.rows_of_some(most, seed, "near")
    queries = space.original.take(rows)
    usual, met = to_fellows(originals, queries, units, rows), protected.search(queries)
    near = met.distance[:, 0] < NEAR * usual
    outside = None
    if space.holdout is not None:
        others = pair.holdout_units
        tried = others.rows_of_some(most, seed, "outsiders")
        people = space.holdout.take(tried)
        found = protected.search(people)
        strange = found.distance[:, 0] < NEAR * originals.search(people).distance[:, 0]
        outside = _share(others.subset(tried), strange, found)
    told = compared(_share(units.subset(rows), near, met), outside)
    value = units.subset(rows).share(near)
    return Result(
        name="near-copies",
        value=value,
        sentence=f"{figure(value, '%')} of the original {units.noun} have a protected record at less than half the "
        f"distance to anybody else in the data{_beside(told.get('outside'))}.",
        **told,
        yardsticks={"holdout": told["outside"]} if "outside" in told else {},
        trusted="outside" in told,
        records=pl.DataFrame(
            {"row": rows, "to_original": usual, "to_protected": met.distance[:, 0], "near": near}
        )
        if records
        else None,
    )


def _share(units: Units, near: AnyArray, met: Neighbours) -> Share:
    """Share of units; people whose nearest record is the same one are one witness."""
    return Share.of(units.any(near).astype(float), units.first(met.row[:, 0]))


def _beside(outside: float | None) -> str:
    if outside is None:
        return (
            "; without a holdout it cannot be told how many would by chance, so this must not be read as safe"
        )
    return f"; of people who are not in the data, {figure(outside, '%')} do"
