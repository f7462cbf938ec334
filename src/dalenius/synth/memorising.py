"""`Guard`: whether rows that a model draws are copies of the people it was trained on.

Rows are held against people who were kept out of training: a row of theirs that somebody in training also has is
chance, and so is as much of what a model draws. Copies are counted as Miletic and Sariyar (2024) ask, and their
ε-identifiability is held against what fresh draws would give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.random import Seed
from dalenius.core.result import figure
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.counts.rounded import match_alike
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.synth._store import stored

WARN, REFUSE = 1.0, 5.0
"""Percentage points of copies above chance from which a model is warned of, and refused."""
ERRORS = 2.0
"""Standard errors of chance that copies must lie above besides; none where nobody is like anybody by chance."""
PEOPLE = 5000
"""Most people whose neighbours are looked at."""


@stored
@dataclass(frozen=True)
class Look:
    """How like the data some drawn rows are, in per cent.

    Attributes
    ----------
    epoch
        After which epoch they were drawn.
    rows
        How many were drawn.
    copies
        Rows equal to one that somebody in training has, and fewer than three people (``Schema.min_units``): what more
        people have is nobody's.
    holdout, chance
        The same share of the rows of people held out, and of all people, each held against the others: what fresh
        draws from the population would give.
    error
        Standard error of ``chance`` for so many rows.
    epsilon, null
        ε-identifiability, and what fresh draws would give.
    epsilon_error
        Standard error of ``null`` for so many people.
    """

    epoch: int
    rows: int
    copies: float
    holdout: float
    chance: float
    error: float
    epsilon: float
    null: float
    epsilon_error: float

    @property
    def added(self) -> float:
        """Percentage points of copies that chance does not explain.

        Examples
        --------
        >>> Look(1, 100, 8.0, 1.0, 2.0, 0.5, 40.0, 50.0, 2.0).added
        5.0
        """
        return self.copies - self.chance - ERRORS * self.error

    @property
    def clean(self) -> bool:
        """Whether training may go on: few copies, and people no more identifiable than by fresh draws."""
        return self.added <= WARN and not self.epsilon > self.null

    @property
    def told(self) -> str:
        """What was seen, in a sentence; a warning where there is reason for one.

        Examples
        --------
        >>> print(Look(1, 100, 0.0, 0.0, 0.0, 0.0, 40.0, 50.0, 2.0).told)
        of rows drawn 0 % are copies, and 0 % would be by chance; ε-identifiability 40 % (fresh draws: 50 %)
        """
        said = (
            f"of rows drawn {figure(self.copies, '%')} are copies, and {figure(self.chance, '%')} would be by chance; "
            f"ε-identifiability {figure(self.epsilon, '%')} (fresh draws: {figure(self.null, '%')})"
        )
        if self.added > WARN:
            return f"the model has memorised people: {said}; train for fewer epochs"
        if self.epsilon > self.null + ERRORS * self.epsilon_error:
            return f"the model comes nearer to people than fresh draws would: {said}"
        return said

    def judge(self, method: str, allowed: bool) -> None:
        """Refuse a model that draws too many copies."""
        if self.added > REFUSE and not allowed:
            raise DataError(
                f"{method}: the model has memorised people: {figure(self.copies, '%')} of the rows it draws are copies "
                f"of rows in the data, and {figure(self.chance, '%')} would be by chance. Train for fewer epochs, with "
                "patience, on more people; or keep it all the same with allow_copies=True"
            )


class Guard:
    """Looks at drawn rows beside those trained on and those held out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = [Table.from_frame({"x": rng.normal(size=n), "y": rng.normal(size=n)}) for n in (200, 50, 200)]
    >>> guard = Guard(people[0], people[1], seed=1)
    >>> guard.look(people[2]).clean, guard.look(people[0]).copies
    (True, 100.0)
    """

    def __init__(self, table: Table, held: Table, seed: Seed) -> None:
        self.table, self.held, self.seed = table, held, seed

    def look(self, drawn: Table, epoch: int = 0) -> Look:
        """How like the data the rows are."""
        pair = Pair(self.table, drawn, self.held)
        match = match_alike(pair, pair.columns)
        groups, few = match.groups, pair.original.schema.min_units
        assert groups.holdout is not None
        held = _rare(match.original[groups.holdout], few)
        own = _rare(match.original[groups.original] - 1, few)
        chance = 100 * float(np.concatenate([held, own]).mean())
        epsilon, null, people = self._epsilon(pair)
        spread = chance * (100 - chance) * (1 / drawn.rows + 1 / (len(held) + len(own)))
        return Look(
            epoch, drawn.rows, 100 * float(_rare(match.original[groups.protected], few).mean()),
            100 * float(held.mean()), chance, math.sqrt(spread), epsilon, null,
            math.sqrt(max(null * (100 - null), 0.0) / people),
        )  # fmt: skip

    def _epsilon(self, pair: Pair) -> tuple[float, float, int]:
        """ε-identifiability, what fresh draws would give, and by how many people it is told."""
        people = min(pair.units.count, PEOPLE)
        try:
            found = MEASURES["epsilon-identifiability"](pair, most=PEOPLE, seed=self.seed)
        except DataError:  # every column is constant: nobody can be told from anybody
            return 0.0, 100.0, people
        null = found.yardsticks.get("fresh draws", found.yardsticks.get("holdout", float("nan")))
        return float(found.value or 0.0), float(null), people


def _rare(others: AnyArray, few: int) -> AnyArray:
    """Rows that somebody in training has, but no more people than a few."""
    return (others > 0) & (others < few)
