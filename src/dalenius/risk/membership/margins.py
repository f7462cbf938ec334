"""How much likelier the margins of the protected file make a person than the margins of people outside do.

Every person of the data is counted in its margins, so that even a file that keeps nothing but them gives his presence
away a little (Homer et al. 2008, for shares of alleles); all margins of a few columns are looked at together.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray

MOST_MARGINS = 20_000
HALF = 0.5
"""Added to every count, so that an empty cell is unlikely and not impossible."""


def margin_ratios(pair: Pair, order: int, others: AnyArray, reference: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Sum of logarithms of ratios over all margins of ``order`` columns: of original rows, and of some holdout rows.

    The reference is other rows of the holdout. Taking all of it, each outsider without himself, would not be fair: he
    would stand above a member of his own cell every time.

    Examples
    --------
    >>> pair = Pair({"c": ["a", "b"]}, {"c": ["a", "a", "a", "a"]}, {"c": ["a", "b", "b", "b", "b", "b"]})
    >>> members, outsiders = margin_ratios(pair, 1, np.array([5]), np.arange(5))
    >>> members.round(2).tolist(), outsiders.round(2).tolist()
    ([1.28, -2.01], [-2.01])
    """
    columns, usual = pair.columns, pair.holdout_units.subset(reference)
    if not 1 <= order <= len(columns) or math.comb(len(columns), order) > MOST_MARGINS:
        raise OptionError(
            f"margins of {order} columns cannot be compared: there are {len(columns)} columns; use 1, 2 or 3, or "
            "fewer columns"
        )
    members, outsiders = np.zeros(pair.original.rows), np.zeros(len(others))
    for chosen in combinations(columns, order):
        groups = pair.groups(list(chosen), grouped=True)
        assert groups.holdout is not None  # the caller asks for a holdout
        counts = (
            np.bincount(groups.protected, minlength=len(groups)),
            usual.owners(groups.holdout[reference], len(groups)),
        )
        cells = HALF * np.count_nonzero(counts[0] + counts[1])
        sizes = (len(groups.protected), usual.count)
        made, real = (np.log((c + HALF) / (n + cells)) for c, n in zip(counts, sizes, strict=True))
        members += (made - real)[groups.original]
        outsiders += (made - real)[groups.holdout[others]]
    return members, outsiders
