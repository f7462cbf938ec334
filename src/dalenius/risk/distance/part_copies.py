"""People who come out in part: a record has values of theirs that are together too rare to be anybody else's.

A row of which half the cells were exchanged is far from its person by any distance, and yet holds a combination of real
answers of his. Whether it does is told by how rare the values are that both share: equal sex says little, equal income
much (`coded.py`). A record that shares much more with a person than anybody else in the data does was not made without
him. By chance that happens to people outside too, and these are the yardstick.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.compared import Compared, compared
from dalenius.core.errors import DataError
from dalenius.core.intervals import Share
from dalenius.core.kernels import threads_for
from dalenius.core.random import Seed
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.distance._kernels import part_copies as kernels
from dalenius.risk.distance.closest import LINES
from dalenius.risk.distance.coded import Coded
from dalenius.risk.needs import compared_columns
from dalenius.risk.sampling import SEED

RARER = 50.0
"""How many times as rare the shared values must be as those anybody else in the data shares."""

MANY_ROWS, FEWEST_LOOKED_AT = 100_000, 1000
"""Rows up to which all people asked for are searched, and people who are in any case."""


@measure(
    name="part-copies",
    covered=True,
    title="Partly copied people",
    family="risk",
    dimension="copying",
    meaning="Share of original records of which a protected record has values that are together fifty times as rare as "
    "those any other original shares with them.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="weights after Fellegi and Sunter 1969",
    random=True,
)
def part_copies(
    pair: Pair, rarer: float = RARER, most: int = 5000, seed: Seed = SEED, records: bool = False
) -> Result:
    """People of whom a record has rarer values than any fellow shares with them, beside the same for outsiders.

    Parameters
    ----------
    rarer
        How many times as rare the shared values must be.
    most
        People looked at inside the data, and outside it; of files beyond 100,000 rows fewer, but 1,000.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.integers(0, 30, 300) for c in "abcdef"} for _ in range(2))
    >>> torn = {c: rng.permutation(v) if c in "ab" else v for c, v in people.items()}
    >>> found = part_copies(Pair(people, torn, others))
    >>> found.value > 50, found.outside < 10
    (True, True)
    """
    compared_columns(pair)
    if pair.units.count < 2:
        raise DataError("copies in part are told by what other people share; the original holds one only")
    coded, most = Coded.of(pair), _looked_at(most, max(pair.original.rows, pair.protected.rows))
    units, rows = pair.units, pair.units.rows_of_some(most, seed, "in part")
    met = _copied(coded, 0, rows, units.owners_of_rows[rows], rarer)
    outside = None
    if pair.holdout is not None:
        others = pair.holdout_units
        tried = others.rows_of_some(most, seed, "outsiders in part")
        strangers = _copied(coded, 2, tried, np.full(len(tried), -1), rarer)
        outside = _share(others.subset(tried), strangers, pair.protected.rows)
    inside = units.subset(rows)
    told = compared(_share(inside, met, pair.protected.rows), outside)
    value = inside.share(met >= 0)
    return Result(
        name="part-copies",
        value=value,
        sentence=f"Of {figure(value, '%')} of the original {units.noun} some protected record has values that are "
        f"together {rarer:g} times as rare as those anybody else in the data shares with them"
        f"{_beside(told.get('outside'))}.",
        **told,
        yardsticks={"holdout": told["outside"]} if "outside" in told else {},
        values=_lines_added(told, units.count, pair.protected.rows),
        trusted="outside" in told,
        records=pl.DataFrame({"row": rows, "in_part": met >= 0}) if records else None,
    )


def _looked_at(most: int, rows: int) -> int:
    """How many people are searched for: each costs as much as there are rows.

    Examples
    --------
    >>> [_looked_at(5000, rows) for rows in (4000, 200_000, 1_000_000)], _looked_at(200, 1_000_000)
    ([5000, 2500, 1000], 200)
    """
    return min(most, max(FEWEST_LOOKED_AT, most * MANY_ROWS // max(rows, 1)))


def _copied(coded: Coded, file: int, rows: IntArray, own: IntArray, rarer: float) -> AnyArray:
    """Which protected record holds too rare a part of each row of a file; -1 where none does."""
    queries, weights = coded.asked(file, rows)
    with threads_for(queries.size * len(coded.files[1]) // 64):
        return kernels.copied_in_part(
            queries, weights, coded.units.owners_of_rows, own, float(np.log(rarer)), coded.offset,
            *coded.listed(0), *coded.listed(1),
        )  # fmt: skip


def _share(units: Units, met: AnyArray, records: int) -> Share:
    """Share of units; people whose values one and the same record holds are one witness."""
    witness = np.where(met >= 0, met, records + np.arange(len(met)))
    return Share.of(units.any(met >= 0).astype(float), units.first(witness))


def _lines_added(told: Compared, people: int, lines: int) -> dict[str, float]:
    """What is surely added, and of a file with fewer lines than there are people what would be if it had as many."""
    if "outside" not in told:
        return {}
    return {LINES: told["added_interval"].low * max(people / max(lines, 1), 1.0)}


def _beside(outside: float | None) -> str:
    if outside is None:
        return (
            "; without a holdout it cannot be told how many would by chance, so this must not be read as safe"
        )
    return f"; of {figure(outside, '%')} of people who are not in the data some record has"
