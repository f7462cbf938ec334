"""Distance to the closest record (DCR), its ratio to the second closest (NNDR), and identical rows.

A protected record close to an original is only suspicious when it is closer than to people who are not in the data:
therefore the holdout. DCR alone misses leaks that do not show as nearness (Yao et al. 2025, arXiv 2505.01524); read it
together with membership inference.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.later import altair as alt
from dalenius.core.random import Seed, some_rows
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Interval, Result, figure
from dalenius.core.style import HOLDOUT, ORIGINAL
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.fellows import to_two_units
from dalenius.risk.distance.space import Index, Metric, Progress, Space
from dalenius.risk.needs import compared_columns, need_holdout
from dalenius.risk.sampling import SEED

QUANTILES = (0.01, 0.05, 0.25, 0.5)


@measure(
    MeasureInfo(
        name="dcr",
        title="Distance to closest record (DCR share)",
        family="risk",
        dimension="copying",
        meaning="Share of protected records that are closer to an original record than to a record of equally many "
        "people who are not in the data; 50 % when nothing is copied.",
        better="lower",
        bounds=(0, 100),
        unit="%",
        reference="Platzer and Reutterer 2021 (Frontiers in Big Data)",
        needs=frozenset({"holdout"}),
        random=True,
    )
)
def dcr(
    pair: Pair,
    metric: Metric = "gower",
    most: int | None = 5000,
    seed: Seed = SEED,
    progress: Progress | None = None,
    records: bool = False,
) -> Result:
    """DCR share: how often the closest record is an original rather than an outsider.

    Parameters
    ----------
    metric
        "gower", "heom" or "euclidean".
    most
        Protected records looked at (None: all).
    progress
        Called with (done, all).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = {"x": rng.normal(size=200)}, {"x": rng.normal(size=200)}
    >>> dcr(Pair(people, people, others)).value > 95
    True
    """
    need_holdout(pair, "the DCR share")
    space = Space.of(pair, metric=metric)
    outside = space.holdout
    assert outside is not None
    units, others = pair.units, pair.holdout_units
    size = min(units.count, others.count)
    inside = space.original.take(units.rows_of_some(size, seed, "original"))
    outside = outside.take(others.rows_of_some(size, seed, "holdout"))
    rows = some_rows(len(space.protected), most, seed, "protected")
    queries = space.protected.take(rows)
    near = space.nearest(queries, inside, progress=progress).distance[:, 0]
    far = space.nearest(queries, outside, progress=progress).distance[:, 0]
    share = 100 * float(np.mean(near < far) + np.mean(near == far) / 2)
    distances = {"to original": np.quantile(near, QUANTILES), "to holdout": np.quantile(far, QUANTILES)}
    return Result(
        name="dcr",
        value=share,
        unit="%",
        sentence=f"{figure(share, '%')} of {len(rows):,} protected records are closer to an original than to one of "
        f"equally many {units.noun} not in the data; 50 % would say that the originals are no closer than strangers.",
        interval=wilson(share * len(rows) / 100, len(rows), scale=100),
        yardsticks={"nothing copied": 50.0},
        values={"median to original": float(np.median(near)), "median to holdout": float(np.median(far))},
        table=pl.DataFrame({"quantile": QUANTILES, **distances}),
        chart=lambda: _chart(near, far),
        records=pl.DataFrame({"protected_row": rows, "to_original": near, "to_holdout": far})
        if records
        else None,
    )


def _chart(near: AnyArray, far: AnyArray) -> alt.TopLevelMixin:
    edges = np.linspace(0, max(near.max(), far.max(), 1e-12), 31)
    middle = (edges[1:] + edges[:-1]) / 2
    frames = [
        pl.DataFrame({"distance": middle, "records": np.histogram(values, edges)[0], "to": name})
        for values, name in ((near, "closest original"), (far, "closest outsider"))
    ]
    colours = alt.Scale(domain=["closest original", "closest outsider"], range=[ORIGINAL, HOLDOUT])
    return (
        alt.Chart(pl.concat(frames).to_arrow())
        .mark_line(interpolate="step")
        .encode(x="distance:Q", y="records:Q", color=alt.Color("to:N", scale=colours, title=None))
        .properties(width=420, height=180)
    )


@measure(
    MeasureInfo(
        name="identical-matches",
        title="Identical rows",
        family="risk",
        dimension="copying",
        meaning="Share of original records that occur whole, with every column alike, in the protected file.",
        better="lower",
        bounds=(0, 100),
        unit="%",
        reference="Platzer and Reutterer 2021 (identical match share); Francis 2024",
    )
)
def identical_matches(pair: Pair, records: bool = False) -> Result:
    """Original records that are found whole in the protected file, beside the same share of outsiders.

    Examples
    --------
    >>> pair = Pair({"a": [1, 2], "b": [1, 2]}, {"a": [1, 2], "b": [1, 3]})
    >>> identical_matches(pair).value, identical_matches(pair).trusted
    (50.0, False)
    """
    groups, units = pair.groups(compared_columns(pair), grouped=False), pair.units
    there = np.bincount(groups.protected, minlength=len(groups)) > 0
    value = units.share(there[groups.original])
    yardsticks = {}
    if groups.holdout is not None:
        yardsticks["holdout"] = pair.holdout_units.share(there[groups.holdout])
    ours = np.bincount(groups.original, minlength=len(groups)) > 0
    back = 100 * float(np.mean(ours[groups.protected]))
    text = f"{figure(value, '%')} of the original {units.noun} occur whole in the protected file"
    if groups.holdout is None:
        text += "; without a holdout it cannot be told how many would by chance, so this must not be read as safe."
    else:
        text += f"; of people who are not in the data, {figure(yardsticks['holdout'], '%')} do."
    return Result(
        name="identical-matches",
        value=value,
        unit="%",
        sentence=text,
        interval=units.interval(value),
        yardsticks=yardsticks,
        values={"protected rows that are original rows": back},
        trusted=groups.holdout is not None,
        records=pl.DataFrame({"row": np.arange(pair.original.rows), "identical": there[groups.original]})
        if records
        else None,
    )


@measure(
    MeasureInfo(
        name="nndr",
        title="Nearest-neighbour distance ratio",
        family="risk",
        dimension="copying",
        meaning="Distance of a protected record to the closest original over that to the second closest: near 0 when "
        "one original (of another unit than the second) stands out as its source (mean).",
        better="higher",
        bounds=(0, 1),
        reference="Lu et al. 2019; used by several synthetic-data vendors",
        default=False,
        random=True,
    )
)
def nndr(
    pair: Pair, metric: Metric = "gower", most: int | None = 5000, seed: Seed = SEED, records: bool = False
) -> Result:
    """Mean ratio of nearest to second nearest distance, beside the same for the holdout.

    Examples
    --------
    >>> data = {"x": [0.0, 1.0, 3.0, 7.0]}
    >>> nndr(Pair(data, data)).value
    0.0
    """
    space = Space.of(pair, metric=metric)
    index, units = Index(space, space.original), pair.units
    rows = some_rows(len(space.protected), most, seed, "nndr")
    mine = _ratios(*to_two_units(index, space.protected.take(rows), units))
    yardsticks, shown = {}, ""
    if space.holdout is not None:
        others = pair.holdout_units.one_row_each(most, seed, "hold")
        theirs = _ratios(*to_two_units(index, space.holdout.take(others), units))
        yardsticks["holdout"] = float(theirs.mean())
        shown = f"; for people who are not in the data it is {figure(yardsticks['holdout'])}"
    value = float(mine.mean())
    half = 1.96 * float(mine.std(ddof=1)) / np.sqrt(len(mine)) if len(mine) > 1 else 0.0
    return Result(
        name="nndr",
        value=value,
        sentence=f"The closest original is {figure(value)} times as far from a protected record as the second closest "
        f"(0: one original stands out as its source; 1: none does){shown}."
        + ("" if yardsticks else " Without a holdout this cannot be interpreted."),
        interval=Interval(max(0.0, value - half), min(1.0, value + half)),
        yardsticks=yardsticks,
        values={"5 % quantile": float(np.quantile(mine, 0.05))},
        trusted=bool(yardsticks),
        records=pl.DataFrame({"protected_row": rows, "ratio": mine}) if records else None,
    )


def _ratios(near: AnyArray, next_: AnyArray) -> AnyArray:
    """Nearest over second nearest; a record at distance 0 gives 0, two equally far ones give 1."""
    return np.divide(near, next_, out=np.zeros(len(near)), where=next_ > 0)
