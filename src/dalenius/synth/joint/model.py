"""`JointModel`: columns as codes, one table of codes per stratum, and the notes a reader must see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.counts.junction import JunctionTree
from dalenius.counts.tree_table import TreeTable
from dalenius.data.frames import Origin
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.synth._store import stored
from dalenius.synth.base import Model
from dalenius.synth.joint.bayes import Network
from dalenius.synth.joint.cells import Cells
from dalenius.synth.joint.coding import Coding
from dalenius.synth.joint.merged import Merged

stored(JunctionTree)
stored(TreeTable)
Distribution: TypeAlias = Cells | TreeTable | Merged | Network


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Stratum:
    """One part of the records: codes of the stratifying columns, its size, and the table of the other columns."""

    codes: tuple[int, ...]
    rows: int
    table: Distribution


class JointModel(Model):
    """A joint distribution of categories.

    Attributes
    ----------
    coding
        How columns become codes and back.
    strata
        Parts of the records, each with its own table; one part when there are no strata.
    split
        Positions of the stratifying columns.
    notes
        What was done and what a reader must know: which fit was used, its convergence, what was taken as public.
    ledger
        Every spend of the privacy budget; empty without differential privacy.
    even
        Whether cells get their expected number of rows, rounded by chance, instead of independent draws.
    """

    keeps = ("coding", "strata", "split", "poisson", "even", "notes", "ledger")

    def __init__(
        self, schema: Schema, rows: int, coding: Coding, strata: Sequence[Stratum], *, split: Sequence[int] = (),
        poisson: bool = False, even: bool = False, notes: Sequence[str] = (), ledger: str = "",
        origin: Origin | None = None,
    ) -> None:  # fmt: skip
        super().__init__(schema, rows, origin)
        self.coding = coding
        self.strata = list(strata)
        self.split = tuple(split)
        self.poisson = poisson
        self.even = even
        self.notes = list(notes)
        self.ledger = ledger

    @property
    def divisible(self) -> bool:
        """Not where each cell gets its share of all rows, or their number is drawn."""
        return not self.even and not self.poisson

    def _draw(self, rows: int, seed: Seed) -> Table:
        rng = generator(seed, "codes")
        wanted = int(rng.poisson(rows)) if self.poisson else rows
        sizes = self._sizes(wanted, rng)
        drawn = [self._stratum_codes(s, n, rng) for s, n in zip(self.strata, sizes, strict=True)]
        codes = drawn[0] if len(drawn) == 1 else [np.concatenate(each) for each in zip(*drawn, strict=True)]
        if len(self.strata) > 1:
            order = rng.permutation(wanted)
            codes = [c[order] for c in codes]
        return Table.from_vectors(self.coding.decode(codes, seed), wanted, self.origin, self.schema)

    def _sizes(self, rows: int, rng: np.random.Generator) -> list[int]:
        """Rows of each stratum: as in the data when as many are wanted, otherwise in proportion."""
        own = np.array([stratum.rows for stratum in self.strata], dtype=np.float64)
        if len(own) == 1 or rows == 0:
            return [rows] + [0] * (len(own) - 1)
        if own.sum() == rows:
            return [stratum.rows for stratum in self.strata]
        shares = own / own.sum() if own.sum() else np.full(len(own), 1 / len(own))
        return [int(n) for n in rng.multinomial(rows, shares)]

    def _stratum_codes(self, stratum: Stratum, rows: int, rng: np.random.Generator) -> list[IntArray]:
        inner = iter(stratum.table.sample(rows, rng, even=self.even))
        fixed = dict(zip(self.split, stratum.codes, strict=True))
        return [
            np.full(rows, fixed[i], dtype=np.int64) if i in fixed else next(inner)
            for i in range(len(self.coding.columns))
        ]
