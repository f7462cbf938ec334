"""Whether people set aside have rows of their own in the data, when nobody said whose rows are whose.

Of a panel without a number of the person every record set aside has near-equal rows in the data. What strangers reach
is then what the person's own rows give away, and every file looks harmless. Distances alone do not show it: rows in the
data have rows of the same person near by too. But columns do. Look for the nearest row by some of the columns: of a
stranger it has the other columns hardly more right than a row further off; a person's own row has nearly all right.

That is a mean over people, and sees no panel in which one in three has a second row. So single records are looked at
too: a person's own row shares most of what his values weigh (`coded.py`), and far more than any other row does.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.intervals import wilson
from dalenius.core.random import Seed, generator, some_rows
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.distance._kernels import part_copies as kernels
from dalenius.risk.distance.coded import Coded
from dalenius.risk.distance.space import Index, Space
from dalenius.risk.sampling import SEED

FOLDS = 4
"""Parts of the columns, each of which is told from the others."""
FEWEST_COLUMNS, FEWEST_ROWS = 4, 20
"""Below these there is too little to tell a person by."""
LOOKED_AT = 400
TELLS = 0.02
"""How far apart two rows must be in a column, as a part of the most they can be, before it tells people apart."""
FURTHER = 100
"""The nearest row is held against the one that comes at this place: far enough to be somebody else's, and no further
than that columns which go together still do."""
MOST_COLUMNS = 0.75
"""Share of the columns that must be told so well: some change from row to row of a person."""
OWN = 0.6
"""From here down the nearest row is the same person's: strangers of thirteen files gave 0.76 and more, panels 0.5 and
less."""
MOST_OF_IT, RARER = 0.6, 50.0
"""A person's own row shares this part of what his values weigh, and is so many times as rare as any other row."""
SEVERAL = 0.13
"""Lower end of the share of people set aside who have such a row, from which on rows are somebody's: strangers of
sixteen files gave 0.10 at most, panels in which a third have a second row, one cell in five another, 0.14 and more."""


def told_by_nearest(pair: Pair, most: int = LOOKED_AT, seed: Seed = SEED) -> float:
    """How far the nearest row of the data is off in columns it was not looked for by; 1: as far as one further off.

    A quantile over columns, for people set aside.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.normal(size=300) for c in "abcde"} for _ in range(2))
    >>> moved = {name: values + 0.1 * rng.normal(size=300) for name, values in people.items()}
    >>> told_by_nearest(Pair(people, people, others)) > 0.8, told_by_nearest(Pair(people, people, moved)) < 0.5
    (True, True)
    """
    held, data = pair.holdout, pair.original.rows
    if held is None or pair.units.codes is not None or min(data, held.rows) < FEWEST_ROWS:
        return 1.0
    rows = some_rows(held.rows, most, seed, "own rows")
    any_row = generator(seed, "any row").integers(0, data, len(rows))
    telling = [name for name in pair.columns if _apart(pair, name, rows, any_row) >= TELLS]
    if len(telling) < FEWEST_COLUMNS:
        return 1.0
    ratios = []
    for fold in range(FOLDS):
        asked = telling[fold::FOLDS]
        space = Space.of(pair, [name for name in telling if name not in asked])
        assert space.holdout is not None
        found = Index(space, space.original).search(space.holdout.take(rows), min(FURTHER, data // 4)).row
        for name in asked:
            first, last = (_apart(pair, name, rows, found[:, place]) for place in (0, -1))
            ratios.append(first / last if last > 0 else 1.0)
    return float(np.quantile(ratios, MOST_COLUMNS))


def with_own_row(pair: Pair, most: int = LOOKED_AT, seed: Seed = SEED) -> float:
    """Share of people set aside of whom one row of the data is the own one, by values; its lower 95 % end.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.integers(0, 9, 400) for c in "abcdef"} for _ in range(2))
    >>> again = {name: np.append(values[:200], others[name][200:]) for name, values in people.items()}
    >>> with_own_row(Pair(people, people, others)) < 0.1, with_own_row(Pair(people, people, again)) > 0.3
    (True, True)
    """
    held, data = pair.holdout, pair.original.rows
    if held is None or pair.units.codes is not None or min(data, held.rows) < FEWEST_ROWS:
        return 0.0
    coded = Coded.of(pair)
    if len(coded.counts) < FEWEST_COLUMNS:
        return 0.0
    queries, weights = coded.asked(2, some_rows(held.rows, most, seed, "own rows"))
    found = kernels.own_rows(
        queries, weights, MOST_OF_IT, float(np.log(RARER)), coded.offset, *coded.listed(0)
    )
    return wilson(float(np.count_nonzero(found >= 0)), len(found)).low


def _apart(pair: Pair, name: str, rows: AnyArray, others: AnyArray) -> float:
    """How far rows of the holdout are from rows of the data in one column, on average: 0 the same, 1 the most."""
    space = Space.of(pair, [name])
    assert space.holdout is not None
    mine, theirs = space.holdout.take(rows), space.original.take(others)
    if pair.original[name].is_number:
        return float(np.minimum(np.abs(mine.num - theirs.num), 1.0).mean())
    return float((mine.cat != theirs.cat).mean())


def has_own_rows(told: float, several: float = 0.0) -> str:
    """Why such people are no yardstick, by `told_by_nearest` and `with_own_row`; empty where they are one."""
    if told > OWN:
        return _SOME if several > SEVERAL else ""
    return (
        "Records of the holdout have a row in the data that is like them in nearly every column, also in those it was "
        f"not looked for by: the same people seem to have several rows. {_REMEDY}"
    )


_REMEDY = (
    "What strangers reach is then told too high, and what the file adds too low. Not trusted; say whose rows are whose "
    "(role entity in the schema; where every row is a person of its own, a column that numbers them)."
)

_SOME = (
    "Many records of the holdout have one row in the data that shares most of their values, where no other row does: "
    f"some people seem to have several rows. {_REMEDY}"
)
