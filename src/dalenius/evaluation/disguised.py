"""Real people in disguise: what no measure of copying sees, and an intruder does who learns how values were changed."""

from __future__ import annotations

from dalenius.core.random import generator
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.counts.renaming import turned_back
from dalenius.risk.distance.linked import Linked, as_they_are, linked

MEASURED = ("identical-matches", "near-copies", "part-copies")
"""What sees people who come out whole, nearly so or in part."""
SURELY = 2.5
"""Points more people than strangers who must surely be linked to a line."""
SURELY_OF_LINES = 10.0
"""The same of a file with fewer lines than there are people, if it had as many."""
COPIED = 5.0
"""Points that measures of copying must surely add before they are left to say it: the default limits."""
SEED = 0


def people_disguised(pair: Pair) -> str:
    """That lines are those of real people with values renamed, moved or exchanged; empty where they are not.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.integers(0, 9, 300) ** 2 // 4 for c in "abcde"} for _ in range(2))
    >>> people_disguised(Pair(people, {c: 90 - v for c, v in people.items()}, others))[:70]
    'Lines of the protected file lead back to people of the data: whoever l'
    >>> people_disguised(Pair(people, others, others))
    ''
    """
    if pair.holdout is None or pair.lens is not None or pair.units.count < 2 or not pair.protected.rows:
        return ""
    half = generator(SEED, "half").permutation(pair.units.count) < pair.units.count / 2
    learnt = half[pair.units.owners_of_rows]
    columns = [as_they_are(pair), turned_back(pair, learnt)]
    found = next((told for c in columns if c and _surely(told := linked(pair, c, learnt), pair)), None)
    # a copy that can be seen as it is is refused by the limits on copying
    if found is None or any(_adds(MEASURES[name](pair)) for name in MEASURED):
        return ""
    return (
        "Lines of the protected file lead back to people of the data: whoever learns from half of the "
        "people how values were renamed, moved or exchanged surely finds a line of "
        f"{figure(found.value, '%')} of the others, and of {figure(found.outside, '%')} of strangers."
    )


def _surely(found: Linked, pair: Pair) -> bool:
    return (
        found.added.low > SURELY or found.added.low * pair.units.count / pair.protected.rows > SURELY_OF_LINES
    )


def _adds(result: Result) -> bool:
    return result.added_interval is not None and result.added_interval.low > COPIED
