"""Membership attacks that need the protected file and people outside the data.

*distance*: a person close to a protected record was in the data. *density ratio*: a person is suspicious when protected
records are denser around him than people outside are, so that common people are not accused (the idea of DOMIAS: van
Breugel et al. 2023, with densities by nearest neighbours or by margins).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.option import at_least
from dalenius.core.random import Seed, generator
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.space import Index, Metric, Space
from dalenius.risk.membership.curve import Curve
from dalenius.risk.membership.margins import margin_ratios
from dalenius.risk.needs import need_holdout
from dalenius.risk.sampling import SEED


@measure(
    name="membership-distance",
    covered=True,
    title="Membership inference by distance (AUC)",
    family="risk",
    dimension="membership",
    meaning="Chance that a person in the data is closer to a protected record than a person outside it.",
    better="lower",
    bounds=(0, 1),
    reference="Chen et al. 2020 (GAN-Leaks), black-box distance attack",
    needs=frozenset({"holdout"}),
    random=True,
)
def membership_distance(
    pair: Pair, metric: Metric = "gower", most: int = 5000, seed: Seed = SEED, records: bool = False
) -> Result:
    """Membership inference from the distance to the closest protected record.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = {"x": rng.normal(size=300)}, {"x": rng.normal(size=300)}
    >>> membership_distance(Pair(people, people, others)).value > 0.95
    True
    """
    need_holdout(pair, "membership inference")
    space = Space.of(pair, metric=metric)
    assert space.holdout is not None
    index = Index(space, space.protected)
    inside, outside = pair.units, pair.holdout_units
    rows = inside.rows_of_some(most, seed, "members")
    others = outside.rows_of_some(most, seed, "outsiders")
    members = -index.search(space.original.take(rows)).distance[:, 0]
    strangers = -index.search(space.holdout.take(others)).distance[:, 0]
    curve = Curve(inside.subset(rows).most(members), outside.subset(others).most(strangers))
    return _result(
        "membership-distance", "the distance to the closest protected record", curve,
        pl.DataFrame({"row": rows, "score": members}) if records else None,
    )  # fmt: skip


@measure(
    name="membership-density",
    covered=True,
    title="Membership inference by density ratio (AUC)",
    family="risk",
    dimension="membership",
    meaning="Chance that protected records are denser, relative to people outside, around a person in the data "
    "than around a person outside it.",
    better="lower",
    bounds=(0, 1),
    reference="van Breugel et al. 2023 (DOMIAS); Homer et al. 2008 for margins",
    needs=frozenset({"holdout"}),
    default=False,
    random=True,
)
def membership_density(
    pair: Pair,
    metric: Metric = "gower",
    neighbours: int = 1,
    margins: int | None = None,
    most: int = 5000,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Membership inference from the ratio of densities; half of the holdout is the reference, half the outsiders.

    Parameters
    ----------
    neighbours
        Densities are told by the mean distance to so many neighbours: sharp on copied records.
    margins
        Tell densities by all margins of so many columns instead (1, 2 or 3): sharp on files that keep exact margins
        and copy nobody.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = {"x": rng.normal(size=300)}, {"x": rng.normal(size=300)}
    >>> membership_density(Pair(people, people, others), neighbours=1).value > 0.9
    True
    """
    need_holdout(pair, "membership inference")
    at_least("neighbours", neighbours, 1)
    held = pair.holdout
    assert held is not None
    if held.rows < 4:
        raise DataError(
            "the holdout has fewer than 4 rows; the density attack needs half of it as a reference"
        )
    inside, outside = pair.units, pair.holdout_units
    rows = inside.rows_of_some(most, seed, "members")
    others, reference = _outsiders(outside, most, seed)
    if margins is not None:
        every, strangers = margin_ratios(pair, margins, others, reference)
        members, by = every[rows], f"the ratio of {margins}-way margins"
    else:
        members, strangers = _nearby_ratios(pair, metric, neighbours, rows, others, reference)
        by = "the density ratio"
    curve = Curve(inside.subset(rows).most(members), outside.subset(others).most(strangers))
    shown = pl.DataFrame({"row": rows, "score": members}) if records else None
    return _result("membership-density", by, curve, shown)


def _outsiders(outside: Units, most: int, seed: Seed) -> tuple[AnyArray, AnyArray]:
    """Rows of the holdout that are accused, and those of the other half, which is the reference."""
    first = generator(seed, "split").permutation(outside.count) < outside.count // 2
    half = first[outside.owners_of_rows]
    rest = np.flatnonzero(~half)
    return rest[outside.subset(rest).rows_of_some(most, seed, "outsiders")], np.flatnonzero(half)


def _nearby_ratios(
    pair: Pair, metric: Metric, neighbours: int, rows: AnyArray, others: AnyArray, reference: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Logarithms of the ratios of distances to the reference and to the protected file."""
    space = Space.of(pair, metric=metric)
    assert space.holdout is not None
    k = max(1, min(neighbours, len(space.protected), len(reference)))
    synthetic, real = Index(space, space.protected), Index(space, space.holdout.take(reference))
    scores = []
    for points in (space.original.take(rows), space.holdout.take(others)):
        near = synthetic.search(points, k).distance.mean(axis=1)
        usual = real.search(points, k).distance.mean(axis=1)
        # the ratio of two densities falls with the ratio of the distances; 0/0 tells nothing
        scores.append(np.log((usual + 1e-9) / (near + 1e-9)))
    return scores[0], scores[1]


def _result(name: str, by: str, curve: Curve, records: pl.DataFrame | None) -> Result:
    auc, found, spread = curve.auc, curve.tpr_at(0.01), curve.interval()
    return Result(
        name=name,
        value=auc,
        sentence=f"Told by {by}, a person in the data looks more like a member than a person outside with chance "
        f"{figure(auc)} (0.5 is a coin). Accusing 1 % of outsiders finds {figure(100 * found, '%')} of the members "
        "(1 % is a coin).",
        interval=spread,
        yardsticks={"coin": 0.5},
        outside=0.5,
        added_interval=replace(spread, low=spread.low - 0.5, high=spread.high - 0.5),
        values={"members found at 1 % false positives": found, "at 10 %": curve.tpr_at(0.1)},
        table=curve.table(),
        counts=WHOLE,
        records=records,
    )
