"""Whether people set aside are too near to people in the data: the same ones, every value changed a little.

A stranger is as far from his nearest person in the data as a person in the data is from his nearest fellow. Copies that
were moved are nearer. How often a stranger is nearer than a person in the data, ties counted half, is 0.5 by chance.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.later import stats
from dalenius.core.random import Seed, generator
from dalenius.core.result import figure
from dalenius.counts.pair import Pair
from dalenius.counts.rounded import match_alike
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.fellows import to_fellows
from dalenius.risk.distance.space import Index, Space
from dalenius.risk.sampling import SEED

TOO_NEAR = 0.6
"""From here on people set aside are no strangers: about one in four is somebody in the data, hardly changed."""
SURE = 4.0
"""Standard errors by which chance must be left behind."""
LOOKED_AT = 1000


def nearness(usual: AnyArray, strangers: AnyArray) -> float:
    """How often a stranger is nearer to the data than people in it are to their fellows; 0.5 where chance explains it.

    Examples
    --------
    >>> far = np.linspace(1, 2, 100)
    >>> nearness(far, far), nearness(far, far / 100)
    (0.5, 1.0)
    """
    first, second = usual[np.isfinite(usual)], strangers[np.isfinite(strangers)]
    if not len(first) or not len(second):
        return 0.5
    ranks = stats.rankdata(np.concatenate([first, second]))
    pairs = len(first) * len(second)
    share = (ranks[: len(first)].sum() - len(first) * (len(first) + 1) / 2) / pairs
    error = np.sqrt((len(first) + len(second) + 1) / (12 * pairs))
    return float(share) if share - SURE * error > 0.5 else 0.5


def too_near(share: float) -> str:
    """Why such people are no yardstick; empty where they are one."""
    if share < TOO_NEAR:
        return ""
    return (
        "People of the holdout lie closer to people in the data than these lie to one another, more than chance "
        "explains: they seem to be the same people, changed a little. What strangers reach is then told too high, and "
        "what the file adds too low. Not trusted; set other people aside."
    )


def nearness_of_holdout(pair: Pair, most: int = LOOKED_AT, seed: Seed = SEED) -> float:
    """`nearness` of the holdout of a pair, for some people of each side.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.normal(size=200) for c in "abc"} for _ in range(2))
    >>> moved = {name: values + 0.001 for name, values in people.items()}
    >>> nearness_of_holdout(Pair(people, others, others)), nearness_of_holdout(Pair(people, others, moved)) > 0.9
    (0.5, True)
    """
    space = Space.of(pair)
    if space.holdout is None or pair.units.count < 2:
        return 0.5
    index = Index(space, space.original)
    rows = pair.units.rows_of_some(most, seed, "fellows")
    aside = pair.holdout_units.rows_of_some(most, seed, "strangers")
    usual = to_fellows(index, space.original.take(rows), pair.units, rows)
    # a person's own rows are no fellows: strangers go without somebody's rows too, or a large firm makes them near
    without = rows[generator(seed, "without").integers(0, len(rows), len(aside))]
    return nearness(usual, to_fellows(index, space.holdout.take(aside), pair.units, without))


IN_FILE = 0.05
"""Share of the people set aside who may be in the file whole beyond that of people in the data."""
BY_CHANCE = 1e-6
"""Chance that strangers are taken for lines of the file."""
SELDOM = 0.01
"""Share of rows that agree whole if columns had nothing to do with each other, below which equal rows are no chance.
Where they are, lines equal to people in the data may have been taken out of the file, and only strangers' are left."""


def strangers_in_file(pair: Pair, most: int = LOOKED_AT, seed: Seed = SEED) -> str:
    """Why people set aside are no yardstick for this file: it holds them, or was made from them; empty where not.

    A file can be no nearer to strangers than to the people it was made from.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others, made = ({c: rng.normal(size=300) for c in "abc"} for _ in range(3))
    >>> strangers_in_file(Pair(people, made, others)), strangers_in_file(Pair(people, made, made))[:46]
    ('', '100 % of the people of the holdout are in the ')
    """
    if pair.holdout is None or not pair.columns:
        return ""
    match = match_alike(pair, pair.columns)
    there = match.protected > 0
    inside, outside = match.inside(there), match.outside(there)
    more = 0.0 if outside is None else outside.above(inside, 1 - BY_CHANCE).low
    if more > IN_FILE and by_chance(pair) < SELDOM:
        return f"{figure(100 * (outside.value if outside else 0), '%')} of the people of the holdout {_IN_IT}"
    space = Space.of(pair)
    assert space.holdout is not None
    index, units, others = Index(space, space.protected), pair.units, pair.holdout_units
    rows, aside = units.rows_of_some(most, seed, "in file"), others.rows_of_some(most, seed, "aside in file")
    near = -units.subset(rows).most(-index.search(space.original.take(rows)).distance[:, 0])
    theirs = -others.subset(aside).most(-index.search(space.holdout.take(aside)).distance[:, 0])
    return "" if nearness(near, theirs) < TOO_NEAR else f"The holdout is nearer to {_NEARER}"


_TOLD = "What strangers reach is then told too high, and what the file adds too low. Not trusted; set"
_IN_IT = (
    "are in the protected file whole, far more than of the people in the data: it holds them or was made from them. "
    f"{_TOLD} people aside whom no method saw."
)
_NEARER = (
    "the protected file than the people in the data are, more than chance explains: the file holds its records, or the "
    f"holdout was made by a method like the file's. {_TOLD} real people aside whom no method saw."
)


def by_chance(pair: Pair) -> float:
    """Share of the protected file with a double in the original if columns had nothing to do with each other."""
    logs = np.zeros(pair.protected.rows)
    for name in pair.columns:
        aligned = pair.categories(name, grouped=False)
        shares = (
            np.bincount(aligned.original.codes, minlength=len(aligned.original.labels)) / pair.original.rows
        )
        logs += np.log(np.maximum(shares[aligned.protected.codes], 1e-300))
    return float(np.mean(-np.expm1(-pair.original.rows * np.exp(logs))))
