"""`worst-column`: how far the least faithful column is off."""

from __future__ import annotations

import numpy as np

from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair


@measure(
    name="worst-column",
    title="Worst column",
    family="utility",
    meaning="Share of rows that would have to change in the column that is furthest off: 0 is the same.",
    better="lower",
    bounds=(0, 1),
    reference="Total variation distance",
    sees_dependence=False,
)
def worst_column(pair: Pair) -> Result:
    """Largest total variation distance between the columns of the files.

    Examples
    --------
    >>> worst_column(Pair({"a": ["x", "y"]}, {"a": ["x", "x"]})).value
    0.5
    """
    gaps = {}
    for name in pair.columns:
        column = pair.categories(name)
        shares = [
            np.bincount(side.codes, minlength=len(side.labels)) / max(len(side.codes), 1)
            for side in (column.original, column.protected)
        ]
        gaps[name] = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    worst = max(gaps, key=gaps.__getitem__)
    sentence = (
        f"The column {worst} is furthest off: {100 * gaps[worst]:.0f} % of its rows would have to change."
    )
    return Result("worst-column", gaps[worst], sentence)
