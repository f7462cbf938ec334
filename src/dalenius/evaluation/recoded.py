"""Keys by which nobody could be found whatever the file holds, so that every figure about them would read as safe.

Who knows 37 looks for 30-39: a figure that compares 37 with "30-39" finds nobody. Nor does one that compares what all
have in common.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.core.errors import names
from dalenius.core.result import Result, figure
from dalenius.counts.pair import Pair

FEWEST = 4
"""Values of a key that can be told to be coarser: of two or three the noise of a small private file may leave none."""
ALONE = 1.0
"""Per cent of the people who must be alone on the keys before figures about them can tell files apart."""
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


def nobody_found(pair: Pair) -> str:
    """Why nobody can be found by the keys, whoever is in the file; empty where people can.

    Examples
    --------
    >>> people = {"land": ["no"] * 40, "age": list(range(40))}
    >>> nobody_found(Pair(people, people, keys=["land"]))
    "everybody in the original has the same 'land', so who knows it knows nobody; name as keys what tells people apart"
    >>> nobody_found(Pair(people, people, keys=["land", "age"]))
    ''
    """
    recoded = recoded_keys(pair)
    if recoded:
        return (
            f"the protected file shows {names(recoded)} coarser than the original, and is not seen through the mask "
            "that made it; give its recipe (--recipe) or its lens"
        )
    rows = pair.for_rows()[0]
    if rows.original.rows > 1 and all(_alike(rows, key) for key in pair.keys) and pair.keys:
        return (
            f"everybody in the original has the same {names(list(pair.keys))}, so who knows it knows nobody; name as "
            "keys what tells people apart"
        )
    return ""


def hardly_apart(pair: Pair) -> str:
    """That the keys single hardly anybody out, so that their figures are small for any file; empty where they do.

    Examples
    --------
    >>> people = {"sex": ["f", "m"] * 40, "age": list(range(80))}
    >>> hardly_apart(Pair(people, people, keys=["sex"]))[:53]
    "Of the people in the data 0 % are alone on 'sex': who"
    >>> hardly_apart(Pair(people, people, keys=["sex", "age"]))
    ''
    """
    rows = pair.for_rows()[0]
    if not pair.keys or not rows.original.rows or pair.lens is not None:
        return ""
    match = rows.match(pair.keys)
    alone = rows.units.share(match.single[match.groups.original])
    if alone >= ALONE:
        return ""
    return (
        f"Of the people in the data {figure(alone, '%')} are alone on {names(list(pair.keys))}: who knows no more "
        "finds hardly anybody in any file, so figures about him say little. Name as keys what somebody may well know."
    )


def _alike(pair: Pair, key: str) -> bool:
    codes = pair.categories(key, grouped=False).original.codes
    return bool((codes == codes[0]).all())


def distrusted(result: Result, why: str) -> Result:
    """A figure about keys that cannot be told, with the reason.

    Examples
    --------
    >>> print(distrusted(Result("disco", 0.0, "Nobody.", unit="%"), "all have the same").sentence)
    Nobody. This must not be read as safe: all have the same.
    """
    said = f"{result.sentence} This must not be read as safe: {why}."
    return replace(result, trusted=False, sentence=said)
