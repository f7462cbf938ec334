"""Whether the people set aside are strangers: a holdout that holds the same people is no yardstick."""

from __future__ import annotations

from dalenius.core.errors import DataError
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.risk.distance.own_rows import has_own_rows, told_by_nearest, with_own_row
from dalenius.risk.distance.twins import by_chance, nearness_of_holdout, too_near

FEWEST = 20
"""People outside the data below whom chance decides what a file seems to add."""
DOUBLES, BY_CHANCE = 0.5, 0.1
"""From which share on doubles are the same people, if chance alone would give no more than the second."""


def check_strangers(original: Table, holdout: Table) -> None:
    """Refuse people set aside who are in the data as well, or too few to be a yardstick.

    Examples
    --------
    >>> people = Table.from_frame({"age": range(20, 80), "pay": [37 * x % 101 for x in range(60)]})
    >>> check_strangers(people, people)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: 100 % of the people of the holdout are in the data too, ...
    """
    pair = Pair(original, holdout, holdout)
    people = pair.holdout_units.count
    if people < FEWEST:
        raise DataError(
            f"only {people} people are set aside, too few to tell what a file gives away from what chance does; set at "
            f"least {FEWEST} aside (holdout_share), better some hundred"
        )
    if not pair.columns:
        return
    _ = pair.doubt  # an error where many of them are in the data; where few are, the figures are not trusted
    match = pair.match(pair.columns)
    shared = float(match.protected[match.original > 0].sum() / match.protected.sum())
    if shared > DOUBLES and by_chance(pair) < BY_CHANCE:
        raise DataError(
            f"{100 * shared:.0f} % of the records set aside have a double in the data, which chance does not explain: "
            "the same people seem to have several rows; say whose they are (role entity), or take the doubles out"
        )
    doubt = too_near(nearness_of_holdout(pair)) or has_own_rows(told_by_nearest(pair), with_own_row(pair))
    if doubt:
        raise DataError(doubt)
