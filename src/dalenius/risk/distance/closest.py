"""Distance to the closest record (DCR), its ratio to the second closest (NNDR), and identical rows.

A protected record close to an original is only suspicious when it is closer than to people who are not in the data:
therefore the holdout. DCR alone misses leaks that do not show as nearness (Yao et al. 2025, arXiv 2505.01524); read it
together with membership inference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from dalenius.core.compared import Compared, compared
from dalenius.core.intervals import Share, clustered_mean
from dalenius.core.later import altair as alt
from dalenius.core.random import Seed, some_rows
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.core.style import HOLDOUT, ORIGINAL
from dalenius.counts.match import Match
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.counts.rounded import match_alike
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.fellows import to_two_units
from dalenius.risk.distance.space import Index, Metric, Points, Progress, Space
from dalenius.risk.needs import compared_columns, need_holdout
from dalenius.risk.sampling import SEED

QUANTILES = (0.01, 0.05, 0.25, 0.5)


@measure(
    name="dcr",
    covered=True,
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
    rows = some_rows(len(space.protected), most, seed, "protected")
    queries = space.protected.take(rows)
    mine = space.nearest(queries, space.original, progress=progress)
    theirs = space.nearest(queries, outside, progress=progress)
    near, far = mine.distance[:, 0], theirs.distance[:, 0]
    units, others = pair.units, pair.holdout_units
    n, m = units.count, others.count
    closer = np.where(near == far, 0.5, near < far)
    if n != m:
        tied = queries.take(np.flatnonzero(near == far))
        closer[near == far] = _tied(space, tied, (space.original, units), (outside, others))
    # protected records with one and the same closest person are one witness, not several
    people = units.owners_of_rows[mine.row[:, 0]], others.owners_of_rows[theirs.row[:, 0]]
    nearest = np.where(closer >= 0.5, people[0], n + people[1])
    witnesses = Share.of(closer, nearest)
    share, spread = _equal_sizes(witnesses.value, n, m), witnesses.interval()
    spread = replace(spread, low=_equal_sizes(spread.low, n, m), high=_equal_sizes(spread.high, n, m))
    distances = {"to original": np.quantile(near, QUANTILES), "to holdout": np.quantile(far, QUANTILES)}
    return Result(
        name="dcr",
        value=share,
        sentence=f"{figure(share, '%')} of {len(rows):,} protected records are closer to an original than to one of "
        f"equally many {units.noun} not in the data; 50 % would say that originals are no closer than strangers.",
        interval=spread,
        yardsticks={"nothing copied": 50.0},
        outside=50.0,
        added_interval=replace(spread, low=spread.low - 50, high=spread.high - 50),
        values={"median to original": float(np.median(near)), "median to holdout": float(np.median(far))},
        table=pl.DataFrame({"quantile": QUANTILES, **distances}),
        counts=WHOLE,
        chart=lambda: _chart(near, far),
        records=pl.DataFrame({"protected_row": rows, "to_original": near, "to_holdout": far})
        if records
        else None,
    )


TIES = 64
"""People at one and the same distance that are counted; more are taken to be as many as the sizes say."""


def _tied(space: Space, queries: Points, *sides: tuple[Points, Units]) -> AnyArray:
    """Of the people who are all closest to a record, the share of originals."""
    counts = []
    for among, units in sides:
        near = space.nearest(queries, among, min(TIES, len(among)))
        owners = np.where(near.distance == near.distance[:, :1], units.owners_of_rows[near.row], -1)
        owners.sort(axis=1)
        new = np.diff(owners, axis=1, prepend=-1) != 0
        counts.append(np.count_nonzero(new & (owners >= 0), axis=1))
    many = (counts[0] >= TIES) | (counts[1] >= TIES)
    usual = sides[0][1].count / (sides[0][1].count + sides[1][1].count)
    shares: AnyArray = np.where(many, usual, counts[0] / np.maximum(counts[0] + counts[1], 1))
    return shares


def _equal_sizes(closer: float, originals: int, outsiders: int) -> float:
    """Per cent closer to an original if there were as many outsiders: of n and m strangers n / (n + m) come first.

    Examples
    --------
    >>> _equal_sizes(0.8, 400, 100), _equal_sizes(0.5, 100, 100)
    (50.0, 50.0)
    """
    first, second = closer / originals, (1 - closer) / outsiders
    return 100 * first / (first + second)


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
        .encode(
            x=alt.X("distance:Q"), y=alt.Y("records:Q"), color=alt.Color("to:N", scale=colours, title=None)
        )
        .properties(width=420, height=180)
    )


LINES = "lines surely added"
"""Of a small file few people can come out, however many of its lines are theirs: so its lines are counted too."""


def _lines_added(match: Match, people: Compared) -> dict[str, float]:
    """What is surely added if the file had as many lines as there are people; of one that has, what is.

    Lines of a small file are held against the people who come out and not against strangers who are like somebody: a
    method that draws combinations that occur, among few of them, gives lines that somebody has and copies nobody.
    """
    if "outside" not in people:
        return {}
    low, lines = people["added_interval"].low, len(match.groups.protected)
    if lines < match.units.count:
        return {LINES: low * match.units.count / lines}
    return {LINES: max(low, (match.share(match.protected > 0) - people["outside"]) / 2)}


@measure(
    name="identical-matches",
    added_covered=True,
    title="Identical rows",
    family="risk",
    dimension="copying",
    meaning="Share of original records that occur whole, with every column alike, in the protected file; numbers alike "
    "to a thousandth of their usual range.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Platzer and Reutterer 2021 (identical match share); Francis 2024",
)
def identical_matches(pair: Pair, records: bool = False) -> Result:
    """Original records that are found whole in the protected file, beside the same share of outsiders.

    Examples
    --------
    >>> pair = Pair({"a": [1, 2], "b": [1, 2]}, {"a": [1, 2], "b": [1, 3]})
    >>> identical_matches(pair).value, identical_matches(pair).trusted
    (50.0, False)
    """
    columns, units = compared_columns(pair), pair.units
    match = pair.match(columns) if pair.streams else match_alike(pair, columns)
    groups, there = match.groups, match.protected > 0
    value = match.share(there)
    told = compared(match.inside(there), match.outside(there))
    yardsticks = {"holdout": told["outside"]} if "outside" in told else {}
    back = 100 * float(np.mean((match.original > 0)[groups.protected]))
    text = f"{figure(value, '%')} of the original {units.noun} occur whole in the protected file"
    if groups.holdout is None:
        text += "; without a holdout it cannot be told how many would by chance, so this must not be read as safe."
    else:
        text += f"; of people who are not in the data, {figure(yardsticks['holdout'], '%')} do."
    return Result(
        name="identical-matches",
        value=value,
        sentence=text,
        **told,
        yardsticks=yardsticks,
        values={"protected rows that are original rows": back} | _lines_added(match, told),
        trusted=groups.holdout is not None,
        records=pl.DataFrame({"row": np.arange(pair.original.rows), "identical": there[groups.original]})
        if records
        else None,
    )


@measure(
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
    near, far, source = to_two_units(index, space.protected.take(rows), units)
    mine = _ratios(near, far)
    value, half = clustered_mean(mine, source)
    yardsticks, shown, added = {}, "", None
    if space.holdout is not None:
        others = pair.holdout_units.one_row_each(most, seed, "hold")
        near, far, source = to_two_units(index, space.holdout.take(others), units)
        yardsticks["holdout"], room = clustered_mean(_ratios(near, far), source)
        gap, room = yardsticks["holdout"] - value, float(np.hypot(half, room))
        added = Interval(gap - room, gap + room, redrawn=("people", "file"))
        shown = f"; for people who are not in the data it is {figure(yardsticks['holdout'])}"
    return Result(
        name="nndr",
        value=value,
        sentence=f"The closest original is {figure(value)} times as far from a protected record as the second closest "
        f"(0: one original stands out as its source; 1: none does){shown}."
        + ("" if yardsticks else " Without a holdout this cannot be interpreted."),
        interval=Interval(max(0.0, value - half), min(1.0, value + half), redrawn=("people", "file")),
        added_interval=added,
        yardsticks=yardsticks,
        values={"5 % quantile": float(np.quantile(mine, 0.05))},
        trusted=bool(yardsticks),
        records=pl.DataFrame({"protected_row": rows, "ratio": mine}) if records else None,
    )


def _ratios(near: AnyArray, next_: AnyArray) -> AnyArray:
    """Nearest over second nearest; a record at distance 0 gives 0, two equally far ones give 1."""
    return np.divide(near, next_, out=np.zeros(len(near)), where=next_ > 0)
