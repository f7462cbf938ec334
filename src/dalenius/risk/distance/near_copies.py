"""People who come out nearly whole: a record lies much closer to them than anybody else in the data does.

A copy with one value changed is no identical row, and a few such copies hardly move averages of distances. But nobody
else lies that close: the distance to the nearest other person says what is close where this person stands, in the crowd
or far out (the idea of ε-identifiability: Yoon, Drumright and van der Schaar 2020).

A record that has a person's own values in some columns and others elsewhere may be far from him and still be his. So
columns are counted too: a record with more values of a person than anybody else in the data shares with him holds a
combination that he alone has. One more happens by chance, two hardly.
"""

from __future__ import annotations

import numpy as np
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
from dalenius.risk.distance.equal_columns import closer_than_fellows
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
    space, values = Space.of(pair, metric=metric), Space.of(pair, counted, "equality")
    owners = units.owners_of_rows
    files = values.original.cat, owners, values.protected.cat
    originals, protected = Index(space, space.original), Index(space, space.protected)
    usual = to_fellows(originals, space.original.take(rows), units, rows)
    met = protected.search(space.original.take(rows))
    more = closer_than_fellows(values.original.cat[rows], owners[rows], *files, MORE)
    near = (met.distance[:, 0] < NEAR * usual) | more
    outside, doubt = None, ""
    if space.holdout is not None and values.holdout is not None:
        others = pair.holdout_units
        tried = others.rows_of_some(most, seed, "outsiders")
        people = space.holdout.take(tried)
        found, fellows = protected.search(people), originals.search(people).distance[:, 0]
        more = closer_than_fellows(values.holdout.cat[tried], np.full(len(tried), -1), *files, MORE)
        outside = _share(others.subset(tried), (found.distance[:, 0] < NEAR * fellows) | more, found)
        doubt = too_near(nearness(usual, fellows))
    told = compared(_share(units.subset(rows), near, met), outside)
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
            {"row": rows, "to_original": usual, "to_protected": met.distance[:, 0], "near": near}
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


def _share(units: Units, near: AnyArray, met: Neighbours) -> Share:
    """Share of units; people whose nearest record is the same one are one witness."""
    return Share.of(units.any(near).astype(float), units.first(met.row[:, 0]))


def _beside(outside: float | None) -> str:
    if outside is None:
        return (
            "; without a holdout it cannot be told how many would by chance, so this must not be read as safe"
        )
    return f"; of people who are not in the data, {figure(outside, '%')} do"
