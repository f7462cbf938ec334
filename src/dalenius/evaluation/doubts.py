"""What stands against believing any figure about a file: columns nobody looks at, and strangers who are none."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import names
from dalenius.counts.pair import Pair
from dalenius.evaluation.disguised import people_disguised
from dalenius.evaluation.recoded import HARDLY
from dalenius.risk.distance.own_rows import has_own_rows, told_by_nearest, with_own_row
from dalenius.risk.distance.twins import strangers_in_file

FEWEST = 20
"""People outside the data below whom chance decides what a file seems to add."""
FEWEST_COLUMNS = 2
"""Columns of other words below which a file is judged by the others."""


def doubts(pair: Pair) -> list[str]:
    """Sentences about what makes every risk figure of a file say too little; none where nothing does.

    They are found once for all intruders.

    Examples
    --------
    >>> people = {"age": list(range(40)), "pay": [37 * i % 101 for i in range(40)]}
    >>> doubts(Pair(people, {**people, "note": ["a", "b"] * 20}))
    ["The protected file has a column that the original has not ('note'): no figure looks there, ..."]
    """
    rows = pair.for_rows()[0]  # of a stream, its sample
    if "doubts" not in rows.remembered:
        told = [*rows.leftovers, *_in_other_words(rows), *_about_strangers(rows)]
        # a yardstick is needed to tell a copy from chance
        rows.remembered["doubts"] = told or [doubt for doubt in [people_disguised(rows)] if doubt]
    reasons: list[str] = rows.remembered["doubts"]
    return reasons


def _in_other_words(pair: Pair) -> list[str]:
    """That most columns of words hold other words than the original: then nobody is found, whoever is in the file."""
    words = [name for name in pair.columns if not pair.original[name].is_number]
    strange = [name for name in words if _hardly_shared(pair, name)] if pair.lens is None else []
    if len(strange) < max(FEWEST_COLUMNS, len(words) / 2):
        return []
    return [
        f"The protected file has hardly any of the original's categories in {names(strange, len(strange))}: recoded "
        "people are not found, whoever they are, so nothing can be judged. Give both files the same words, or the "
        "recipe of the mask."
    ]


def _hardly_shared(pair: Pair, name: str) -> bool:
    both = pair.categories(name, grouped=False)
    mine, theirs = np.unique(both.original.codes), both.protected.codes
    return bool(
        np.isin(theirs, mine).mean() < HARDLY and np.isin(both.original.codes, theirs).mean() < HARDLY
    )


def _about_strangers(pair: Pair) -> list[str]:
    """Why the people set aside are no yardstick."""
    if pair.holdout is None or pair.lens is not None or not pair.columns:
        return []
    people = pair.holdout_units.count
    if people < FEWEST:
        return [
            f"Only {people} {'person is' if people == 1 else 'people are'} in the holdout, too few to tell what a file "
            f"gives away from what chance does. Not trusted; set at least {FEWEST} aside, better some hundred."
        ]
    told = [strangers_in_file(pair), has_own_rows(told_by_nearest(pair), with_own_row(pair))]
    return [doubt for doubt in told if doubt]
