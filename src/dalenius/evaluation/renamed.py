"""Real people under other names of values: the measures of copying asked again once the names are turned back."""

from __future__ import annotations

from dalenius.core.errors import names
from dalenius.core.result import Result
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.counts.renaming import turned_back

MEASURED = ("identical-matches", "near-copies", "part-copies")
"""What sees people who come out whole, nearly so or in part."""
SURELY = 5.0
"""Points that must be added for sure: in few groups many rows are alike by chance, and half the people scatter."""


def people_renamed(pair: Pair) -> str:
    """That lines are those of real people with values exchanged one for one; empty where they are not.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.integers(0, 9, 300) ** 2 // 4 for c in "abcde"} for _ in range(2))
    >>> people_renamed(Pair(people, {c: 90 - v for c, v in people.items()}, others))[:70]
    "With the values of 'a', 'b', 'c', 'd', 'e' exchanged one for one, line"
    >>> people_renamed(Pair(people, others, others))
    ''
    """
    if pair.holdout is None or pair.lens is not None or pair.units.count < 2:
        return ""
    found = turned_back(pair)
    if found is None:
        return ""
    plain = [{name: codes.astype(str) for name, codes in file.items()} for file in found.files]
    turned = Pair(plain[0], plain[1], plain[2])
    turned.units, turned.holdout_units = pair.units.subset(found.rows), pair.holdout_units
    if not any(_surely(MEASURES[name](turned)) for name in MEASURED):
        return ""
    # a copy that can be seen as it is is refused by the limits on copying
    if any(_surely(MEASURES[name](pair)) for name in MEASURED):
        return ""
    return (
        f"With the values of {names(found.columns, len(found.columns))} exchanged one for one, lines of the protected "
        "file are those of people in the data: a copy in other words, which whoever counts them turns back."
    )


def _surely(result: Result) -> bool:
    return result.added_interval is not None and result.added_interval.low > SURELY
