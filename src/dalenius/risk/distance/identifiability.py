"""ε-identifiability and shared-neighbour identifiability (Miletic and Sariyar 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.compared import compared
from dalenius.core.errors import DataError
from dalenius.core.intervals import Share
from dalenius.core.option import one_of
from dalenius.core.random import Seed
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.risk.distance.fellows import to_fellows
from dalenius.risk.distance.space import Index, Metric, Points, Space
from dalenius.risk.sampling import SEED


def inverse_entropy(pair: Pair, columns: Sequence[str]) -> dict[str, float]:
    """Weight of each column: one over the entropy of its distinct values in the original; constant columns get 0.

    Examples
    --------
    >>> inverse_entropy(Pair({"a": [1, 1, 2, 2]}, {"a": [1]}), ["a"])["a"].__round__(6)
    1.442695
    """
    weights, units = {}, pair.units
    for name in columns:
        found = pair.original[name].categories
        counts = units.owners(found.codes, len(found.labels))
        shares = counts[counts > 0] / counts.sum()
        entropy = float(-(shares * np.log(shares)).sum())
        weights[name] = 1 / entropy if entropy > 0 else 0.0
    return weights


@measure(
    name="epsilon-identifiability",
    covered=True,
    title="ε-identifiability",
    family="risk",
    dimension="copying",
    meaning="Share of original records whose closest protected record is closer than their closest fellow "
    "original; fresh draws from the same population give m / (m + n - 1).",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Yoon, Drumright and van der Schaar 2020 (ADS-GAN); Miletic and Sariyar 2024",
    default=False,
    random=True,
)
def epsilon_identifiability(
    pair: Pair,
    metric: Metric = "gower",
    weights: Literal["inverse_entropy"] | None = "inverse_entropy",
    columns: Sequence[str] | None = None,
    most: int | None = 5000,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Share of originals that have a protected record nearer than any other original.

    ``metric="euclidean"`` with inverse-entropy weights is the paper's; "gower" is what we recommend, because it does
    not depend on units. Strictly nearer counts; originals that have a twin are counted as ties.

    Examples
    --------
    >>> data = {"x": [0.0, 1.0, 3.0, 7.0]}
    >>> result = epsilon_identifiability(Pair(data, data))
    >>> result.value, round(result.yardsticks["fresh draws"], 1)
    (100.0, 57.1)
    """
    used = list(columns) if columns is not None else pair.columns
    if weights is not None:
        one_of("weights", weights, ("inverse_entropy",))
    weight = inverse_entropy(pair, used) if weights is not None else None
    used = [name for name in used if weight is None or weight[name] > 0]
    if not used or pair.original.rows < 2:
        raise DataError("ε-identifiability needs two original rows and a column that is not constant")
    space, units = Space.of(pair, used, metric, weight), pair.units
    n, m = len(space.original), len(space.protected)
    rows = units.rows_of_some(most, seed, "identifiability")
    queries = space.original.take(rows)
    originals, protected = Index(space, space.original), Index(space, space.protected)
    r = to_fellows(originals, queries, units, rows)
    met = protected.search(queries)
    found = met.distance[:, 0]
    tried, flags = units.subset(rows), found < r
    value, null = tried.share(flags), 100 * m / (m + n - 1)
    yardsticks, outside = {"fresh draws": null}, None
    if space.holdout is not None:
        outside = _outsiders(pair.holdout_units, space.holdout, originals, protected, most, seed)
        yardsticks["holdout"] = 100 * outside.value
    told = compared(Share.of(tried.any(flags).astype(float), tried.first(met.row[:, 0])), outside)
    if units.codes is not None:  # records of one unit are no independent draws, so there is no closed form
        del yardsticks["fresh draws"]
    ties = int(np.count_nonzero((r == 0) & (found == 0)))
    return Result(
        name="epsilon-identifiability",
        value=value,
        sentence=f"{figure(value, '%')} of the original {units.noun} have a protected record closer than any other "
        f"original{_beside(yardsticks)}.",
        **told,
        yardsticks=yardsticks,
        values={
            "above fresh draws": value - yardsticks.get("fresh draws", float("nan")),
            "ties": float(ties),
        },
        records=pl.DataFrame({"row": rows, "to_original": r, "to_protected": found, "identifiable": flags})
        if records
        else None,
    )


def _outsiders(
    units: Units, points: Points, originals: Index, protected: Index, most: int | None, seed: Seed
) -> Share:
    """Share of outsiders with a protected record closer than any original."""
    rows = units.rows_of_some(most, seed, "outsiders")
    people = points.take(rows)
    met, tried = protected.search(people), units.subset(rows)
    nearer = met.distance[:, 0] < originals.search(people).distance[:, 0]
    return Share.of(tried.any(nearer).astype(float), tried.first(met.row[:, 0]))


def _beside(yardsticks: Mapping[str, float]) -> str:
    words = {
        "fresh draws": "; fresh draws from the same population would give {}",
        "holdout": "; of people who are not in the data {} have one closer than any original",
    }
    return "".join(words[name].format(figure(value, "%")) for name, value in yardsticks.items())
