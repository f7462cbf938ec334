"""Keys that the protected file shows coarser than the original, without a word about it.

Who knows 37 looks for 30-39. A figure that compares 37 with "30-39" finds nobody, and would read as safe.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.core.errors import names
from dalenius.core.result import Result
from dalenius.counts.pair import Pair

FEWEST = 4
"""Values of a key that can be told to be coarser: of two or three the noise of a small private file may leave none."""
HARDLY = 0.05
"""Share of the original's records whose own value of a key is to be found in the protected file."""


def recoded_keys(pair: Pair) -> list[str]:
    """Keys of which the protected file has at most half as many values, and hardly any of the original's.

    Examples
    --------
    >>> ages = list(range(20, 60)) * 3
    >>> recoded_keys(Pair({"age": ages}, {"age": [f"{a // 10}0-{a // 10}9" for a in ages]}, keys=["age"]))
    ['age']
    >>> recoded_keys(Pair({"age": ages}, {"age": ages[::-1]}, keys=["age"]))
    []
    """
    if pair.lens is not None:
        return []
    rows = pair.for_rows()[0]  # of a stream, its sample
    return [key for key in pair.keys if _coarser(rows, key)]


def _coarser(pair: Pair, key: str) -> bool:
    both = pair.categories(key, grouped=False)
    mine, theirs = both.original.codes, both.protected.codes
    values, all_of_them = np.unique(theirs), len(np.unique(mine))
    few = all_of_them >= FEWEST and len(values) <= all_of_them / 2
    return few and float(np.isin(mine, values).mean()) < HARDLY


def distrusted(result: Result, recoded: list[str]) -> Result:
    """A figure about keys that cannot be told, with the reason.

    Examples
    --------
    >>> print(distrusted(Result("disco", 0.0, "Nobody.", unit="%"), ["age"]).sentence)
    Nobody. This must not be read as safe: the protected file shows 'age' coarser than the original, and is not seen
    through the mask that made it; give its recipe (--recipe) or its lens.
    """
    why = (
        f"This must not be read as safe: the protected file shows {names(recoded)} coarser than the original, and is "
        "not seen through the mask that made it; give its recipe (--recipe) or its lens."
    )
    return replace(result, trusted=False, sentence=f"{result.sentence} {why}")
