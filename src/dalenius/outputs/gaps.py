"""Whose values quantiles are computed of: two figures between the same two people tell the values of both.

A quantile is a value, or lies between two of them. One such figure is nobody's in particular; as many of them as people
whose values they are made of are equations that can be solved, also if they stand in different outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dalenius.outputs.hashing import Words
from dalenius.outputs.position import asked, between, rows_by_cell
from dalenius.outputs.query import Bools, Floats, Ints, Query

Gap = tuple[str, str, float]
"""Who has the value below and who has the one above (keyed hashes), and the share of the one above."""
DUST = 1e-7
"""Places closer to a whole number are that number: shares of rows carry rounding errors."""


def gaps_of(query: Query, hidden: Bools, numbers: Ints, words: Words, few: int) -> list[tuple[int, Gap]]:
    """The equations that the shown quantiles are, each with its cell; values that ``few`` people share are nobody's.

    Examples
    --------
    >>> query = Query("median", rows=4, value=np.array([3.0, 1, 2, 9]), facts={"quantiles": [0.5]})
    >>> words = np.arange(10, 14, dtype=np.uint64)
    >>> gaps_of(query, np.zeros(1, bool), np.arange(4), words, 2)
    [(0, ('c', 'a', 0.5))]
    """
    found: list[tuple[int, Gap]] = []
    shares, start = asked(query), 0
    if query.value is None or not shares:
        return found
    way = str(between(query))
    for over in query.parts:
        for cell, at in rows_by_cell(query.collapsed(over), query.value):
            if hidden[start + cell]:
                continue
            rows = at[np.argsort(query.value[at], kind="stable")]
            for share in shares:
                gap = _gap(query.value[rows], numbers[rows], words, share, way, few)
                found += [(start + cell, gap)] if gap is not None else []
        start += query.size(over)
    return found


def _gap(value: Floats, numbers: Ints, words: Words, share: float, way: str, few: int) -> Gap | None:
    """One quantile of sorted values as an equation; None where its values are nobody's."""
    place = share * (len(value) - 1)
    low = int(np.floor(place + DUST))
    part = max(place - low, 0.0)
    if part < DUST or low + 1 >= len(value):
        part = 0.0
    part = {"lower": 0.0, "higher": float(part > 0), "midpoint": 0.5 * (part > 0), "nearest": float(np.rint(part))}.get(
        way, part
    )  # fmt: skip
    ends = value[low], value[min(low + 1, len(value) - 1)]
    if ends[0] == ends[1]:
        part = 0.0
    names = [_people(value, numbers, words, end, few) for end in ends]
    wanted = [n for n, weight in zip(names, (1 - part, part), strict=True) if weight > 0 and n]
    if not wanted:
        return None
    return (wanted[0], "", 0.0) if len(wanted) == 1 else (wanted[0], wanted[1], round(part, 6))


def _people(value: Floats, numbers: Ints, words: Words, end: float, few: int) -> str:
    """Everybody who has a value, as one keyed hash; nothing where they are many."""
    who = np.unique(numbers[np.searchsorted(value, end, "left") : np.searchsorted(value, end, "right")])
    return "" if len(who) >= few else f"{int(np.bitwise_xor.reduce(words[who])):x}"


def solved(new: Sequence[tuple[int, Gap]], old: Iterable[Gap]) -> list[int]:
    """Cells of new quantiles that tell values of people together with one another and with earlier ones.

    People are nodes and quantiles ties between them, or loops: as many different ties as nodes can be solved.

    Examples
    --------
    >>> solved([(0, ("a", "b", 0.2))], [("a", "b", 0.8)]), solved([(0, ("a", "b", 0.2))], [("b", "c", 0.8)])
    ([0], [])
    >>> solved([(0, ("a", "b", 0.2))], [("a", "b", 0.2)]), solved([(0, ("a", "", 0))], [("a", "b", 0.2)])
    ([], [0])
    """
    every = {*old, *(gap for _, gap in new)}
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for low, high, _ in every:
        root[find(high or low)] = find(low)
    nodes: dict[str, int] = {}
    ties: dict[str, int] = {}
    for name in list(root):
        nodes[find(name)] = nodes.get(find(name), 0) + 1
    for low, _, _ in every:
        ties[find(low)] = ties.get(find(low), 0) + 1
    return sorted({cell for cell, (low, _, _) in new if 1 < nodes[find(low)] <= ties[find(low)]})
