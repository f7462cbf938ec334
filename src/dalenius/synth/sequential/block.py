"""`Block`: the first columns of a sequence drawn at once from a table of them (synthpop's catall and ipf as a start).

A log-linear table has all pairs of its columns without asking which comes first; the columns after it are drawn one by
one, given the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.rules import Rule
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray, Vector, states
from dalenius.synth._store import stored
from dalenius.synth.joint.coding import Coding
from dalenius.synth.joint.loglinear import LogLinear
from dalenius.synth.joint.model import Distribution
from dalenius.synth.joint.saturated import Saturated

BlockMethod = Literal["loglinear", "saturated"]
TRIES = 20
"""Times that rows which break a rule are drawn again, before they become like rows that keep it."""


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A joint distribution of the first columns.

    Attributes
    ----------
    coding, table
        How the columns become codes and back, and the chances of their combinations.
    """

    coding: Coding
    table: Distribution

    @classmethod
    def fit(
        cls, table: Table, columns: Sequence[str], method: BlockMethod, proper: bool, seed: Seed
    ) -> tuple[Block, list[str]]:
        """The block, and what a person should know about it; ``proper`` draws its parameters by resampling rows.

        Examples
        --------
        >>> table = Table.from_frame({"sex": ["f", "m"] * 50, "old": ["n", "n", "y", "y"] * 25})
        >>> block, notes = Block.fit(table, ["sex", "old"], "saturated", False, 1)
        >>> block.draw(4, 1, ())["sex"].levels
        ('f', 'm')
        """
        part = table.select(list(columns))
        if proper and part.rows:
            part = part.take(generator(seed, "rows").integers(0, part.rows, part.rows))
        kind = LogLinear() if method == "loglinear" else Saturated(prior=0)
        model = kind._fit(part, seed)
        said = [f"first {len(columns)} columns drawn together: {note}" for note in model.notes]
        return cls(model.coding, model.strata[0].table), said

    def draw(self, rows: int, seed: Seed, rules: Sequence[Rule]) -> Mapping[str, Vector]:
        """The columns of so many rows, all of which keep the rules about these columns alone."""
        inside = [rule for rule in rules if set(rule.columns) <= set(self.coding.names)]
        drawn = self._drawn(rows, sequence(seed, 0))
        bad = np.flatnonzero(_broken(drawn, inside))
        for turn in range(TRIES):
            if not len(bad):
                return drawn.vectors
            fresh = self._drawn(rows, sequence(seed, turn + 1))
            good = np.flatnonzero(~_broken(fresh, inside))
            filled = bad[: len(good)]
            drawn = _put(drawn, filled, fresh, good[: len(filled)])
            bad = bad[len(filled) :]
        kept = np.setdiff1d(np.arange(rows), bad)
        if len(bad) and not len(kept):
            raise DataError(
                f"block: no combination of {names(self.coding.names)} that was drawn keeps the rules about them; "
                "take the columns of these rules out of the block"
            )
        return _put(drawn, bad, drawn, generator(seed, "kept").choice(kept, len(bad))).vectors

    def _drawn(self, rows: int, seed: Seed) -> Table:
        codes = self.table.sample(rows, generator(seed, "codes"), even=False)
        loose = [
            replace(v, column=replace(v.column, parent=None, partner=None))
            for v in self.coding.decode(codes, seed)
        ]
        return Table.from_vectors(loose, rows)


def _broken(table: Table, rules: Sequence[Rule]) -> BoolArray:
    broken = np.zeros(table.rows, bool)
    for rule in rules:
        broken |= rule.violations(table)
    return broken


def _put(table: Table, rows: IntArray, other: Table, at: IntArray) -> Table:
    """A table with some of its rows taken from another one of the same columns."""
    vectors = []
    for name in table.names:
        first, second = table[name], other[name]
        data, state = first.data.copy(), states(first).copy()
        data[rows], state[rows] = second.data[at], states(second)[at]
        vectors.append(Vector(first.column, data, state).tidy())
    return Table.from_vectors(vectors, table.rows)
