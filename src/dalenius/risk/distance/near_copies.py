"""People who come out nearly whole: a record lies much closer to them than anybody else in the data does.

A copy with one value changed is no identical row, and a few such copies hardly move averages of distances. But nobody
else lies that close: the distance to the nearest other person says what is close where this person stands, in the crowd
or far out (the idea of ε-identifiability: Yoon, Drumright and van der Schaar 2020).

A record that has a person's own values in some columns and others elsewhere may be far from him and still be his. So
columns are counted too: a record with more values of a person than anybody else in the data shares with him holds a
combination that he alone has. One more happens by chance, two hardly.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from dalenius.risk.distance.twins import nearness, too_near
from dalenius.risk.sampling import SEED

NEAR = 0.5
"""A record is near a person when it is at less than this part of the way to the nearest other person,"""
MORE = 2
"""or when it has the person's values in so many columns more than anybody else in the data."""
SERIAL = 0.2
"""By what share more people outside than inside may have a value of somebody else in the data, before a column is taken
for a number that rows were given: of other people of one population as many do."""


@measure(
    name="near-copies",
    covered=True,
    title="Nearly copied people",
    family="risk",
    dimension="copying",
    meaning="Share of original records that have a protected record at less than half the distance to the nearest "
    "other original, or with their values in at least two columns more than any other original.",
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

    Or with one that has their own values in two columns more than any fellow has. People who have a twin in the data
    are never near copies: a record like them points at two.

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
    units, rows = pair.units, pair.units.rows_of_some(most, seed, "near")
    counted = [name for name in pair.columns if not numbers_rows(pair, name)] or pair.columns
    spaces = [Space.of(pair, metric=metric), Space.of(pair, counted, "equality")]
    originals, protected = (
        [Index(s, getattr(s, file)) for s in spaces] for file in ("original", "protected")
    )
    queries = [s.original.take(rows) for s in spaces]
    usual = [to_fellows(index, some, units, rows) for index, some in zip(originals, queries, strict=True)]
    met = [index.search(some) for index, some in zip(protected, queries, strict=True)]
    near = _near(usual, met, len(counted))
    outside, doubt = None, ""
    if pair.holdout is not None:
        others = pair.holdout_units
        tried = others.rows_of_some(most, seed, "outsiders")
        people = [s.holdout.take(tried) for s in spaces if s.holdout is not None]
        found = [index.search(some) for index, some in zip(protected, people, strict=True)]
        fellows = [index.search(some).distance[:, 0] for index, some in zip(originals, people, strict=True)]
        outside = _share(others.subset(tried), _near(fellows, found, len(counted)), found[0])
        doubt = too_near(nearness(usual[0], fellows[0]))
    told = compared(_share(units.subset(rows), near, met[0]), outside)
    value = units.subset(rows).share(near)
    return Result(
        name="near-copies",
        value=value,
        sentence=f"{figure(value, '%')} of the original {units.noun} have a protected record at less than half the "
        "distance to anybody else in the data, or with two more of their values than anybody else has"
        f"{_beside(told.get('outside'))}.{f' {doubt}' if doubt else ''}",
        **told,
        yardsticks={"holdout": told["outside"]} if "outside" in told else {},
        trusted="outside" in told and not doubt,
        records=pl.DataFrame(
            {"row": rows, "to_original": usual[0], "to_protected": met[0].distance[:, 0], "near": near}
        )
        if records
        else None,
    )


def numbers_rows(pair: Pair, name: str) -> bool:
    """Whether a column numbers the rows: people outside share its values with the data, people inside hardly do."""
    held = pair.match([name])
    if pair.holdout is None or not held.holdout.sum():
        return False
    shared = held.original[held.original > 1].sum() / held.original.sum()
    return float(held.holdout[held.original > 0].sum() / held.holdout.sum() - shared) > SERIAL


def _near(usual: Sequence[AnyArray], met: Sequence[Neighbours], columns: int) -> AnyArray:
    """Who has a record much nearer than his fellows are: by distance, or by the number of equal columns."""
    by_distance = met[0].distance[:, 0] < NEAR * usual[0]
    equal = usual[1] - met[1].distance[:, 0]  # by how many columns more, as a share of them
    return by_distance | (columns * equal > MORE - 0.5)


def _share(units: Units, near: AnyArray, met: Neighbours) -> Share:
    """Share of units; people whose nearest record is the same one are one witness."""
    return Share.of(units.any(near).astype(float), units.first(met.row[:, 0]))


def _beside(outside: float | None) -> str:
    if outside is None:
        return (
            "; without a holdout it cannot be told how many would by chance, so this must not be read as safe"
        )
    return f"; of people who are not in the data, {figure(outside, '%')} do"
