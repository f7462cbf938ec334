"""Whether people set aside are too near to people in the data: the same ones, every value changed a little.

A stranger is as far from his nearest person in the data as a person in the data is from his nearest fellow. Copies that
were moved are nearer. How often a stranger is nearer than a person in the data, ties counted half, is 0.5 by chance.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.later import stats
from dalenius.core.random import Seed, generator
from dalenius.counts.pair import Pair
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
