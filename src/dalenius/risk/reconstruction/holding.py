"""`holds_for`: which cells of a planned release must not go out beside what is out already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalenius.published import Margin, Published
from dalenius.published.arrays import Ints
from dalenius.published.margin import NO_LIMIT
from dalenius.risk.reconstruction.differencing import Differences, Small, differencing


def holds_for(
    earlier: Published, planned: Published, *, threshold: int = 10, same_people: bool = True
) -> list[str]:
    """Cells of a planned release to hold back, so that no small group follows from it and what is out already.

    Only groups that neither follow from the earlier tables alone nor stand in them count. Empty where the planned
    tables may go out.

    Parameters
    ----------
    same_people
        Whether tables of different dates speak of the same people. Otherwise each date is looked at alone.

    Examples
    --------
    >>> domains = {"age": ["0-79", "80+"]}
    >>> out = Published.from_tables({"everybody": {"age": ["Total"], "n": [100]}}, domains=domains)
    >>> new = Published.from_tables({"young": {"age": ["0-79"], "n": [97]}}, domains=domains)
    >>> holds_for(out, new)
    ['young [age = 0-79]']
    """
    dates = sorted({margin.date for margin in planned.margins})
    if not same_people:  # what speaks of other people neither helps an outsider nor excuses anything
        parts = [[_of_date(side, date) for side in (earlier, planned)] for date in dates]
        return [cell for part in parts for cell in holds_for(*part, threshold=threshold)]
    own = len(earlier.margins)
    both = earlier | planned
    before = replace(both, margins=both.margins[:own])
    known = differencing(before, threshold=threshold, same_people=True)
    stand = [*(small.members for small in known.follows), *_printed(before, known.alive)]
    held: list[str] = []
    for _ in range(sum(len(m.keys) for m in planned.margins)):
        found = differencing(both, threshold=threshold, same_people=True)
        new = _not_among(found, stand, before.columns, known.alive)
        if not new:
            return held
        number, place = _most_used(new, both, own)
        held.append(both.margins[number].named(place))
        margins = (_held(m, place) if i == number else m for i, m in enumerate(both.margins))
        both = replace(both, margins=tuple(margins))
    return held


def _of_date(published: Published, date: str) -> Published:
    return replace(published, margins=tuple(m for m in published.margins if m.date == date))


def _printed(published: Published, cells: Ints) -> list[Ints]:
    """The possible cells of everything that is printed exactly."""
    made = []
    for margin in published.margins:
        place = margin.places(cells, published.columns)
        made += [cells[place == k] for k in np.flatnonzero(margin.low == margin.high).tolist()]
    return made


def _not_among(found: Differences, stand: list[Ints], columns: Sequence[str], cells: Ints) -> list[Small]:
    """Small groups that did not stand before.

    A cell that is withheld, or finer than what is printed of its people, is compared with all ``cells`` that were
    possible before, as a zero that goes out now may be what gives it away;
    of other groups cells that turned out to be empty make no difference.
    """
    alive = set(map(bytes, found.alive))
    whole = {frozenset(map(bytes, group)) for group in stand}
    known = {group & alive for group in whole}
    possible = set(map(bytes, cells))
    new = []
    for small in found.follows:
        if small.finer:
            finer = [frozenset(map(bytes, cell)) & possible for cell in small.finer]
            new += [small] if any(cell not in whole for cell in finer) else []
        elif small.withheld is None:
            new += [small] if frozenset(map(bytes, small.members)) not in known else []
        else:
            inside, key = small.withheld[0].keyed(cells, columns)
            group = frozenset(map(bytes, cells[inside & (key == small.withheld[1])]))
            new += [small] if group not in whole else []
    return new


def _most_used(new: list[Small], both: Published, own: int) -> tuple[int, int]:
    """The planned cell that most of the groups take; where they take none, what follows does so by planned zeros."""
    votes: dict[tuple[int, int], int] = {}
    for small in new:
        for margin, place in small.cells:
            if margin >= own:
                votes[margin, place] = votes.get((margin, place), 0) + 1
    shown = [
        (number, place)
        for number, margin in enumerate(both.margins)
        for place in np.flatnonzero(margin.high < NO_LIMIT).tolist()
        if number >= own
    ]
    zeros = [(number, place) for number, place in shown if both.margins[number].high[place] == 0]
    return max(sorted(votes), key=votes.__getitem__) if votes else (zeros or shown)[0]


def _held(margin: Margin, place: int) -> Margin:
    low, high, value = margin.low.copy(), margin.high.copy(), margin.value.copy()
    low[place], high[place], value[place] = 0, NO_LIMIT, np.nan
    return replace(margin, low=low, high=high, value=value)
