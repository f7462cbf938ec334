"""`two-halves`: the first half of the columns of one row beside the second half of another."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.core.cost import Cost, Shape
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.table import Table
from dalenius.synth.base import Synthesizer, register
from dalenius.synth.kept import KeptTable


class TwoHalvesModel(KeptTable):
    """The rows themselves."""

    method = "two-halves"
    contents = "every original row: treat the file like the confidential data"

    def _draw(self, rows: int, seed: Seed) -> Table:
        names, most = self.table.names, max(self.rows, 1)
        picked = [generator(seed, half).integers(0, most, rows) for half in ("first", "second")]
        halves = [0 if 2 * place < len(names) else 1 for place in range(len(names))]
        vectors = [self.table[name].take(picked[half]) for name, half in zip(names, halves, strict=True)]
        return Table.from_vectors(vectors, rows, self.origin, self.schema)


@register
@dataclass(frozen=True)
class TwoHalves(Synthesizer):
    """Join halves of different rows.

    Examples
    --------
    >>> TwoHalves().fit(Table.from_frame({"a": [1, 2, 3], "b": [4, 5, 6]})).sample(2, seed=0).rows
    2
    """

    info = MethodInfo(
        name="two-halves",
        title="Two halves",
        meaning="The first half of the columns of one row beside the second half of another.",
        guarantee="none: halves of true records come out",
        reference="An example, not a method",
        keeps_joint=False,
    )
    model = TwoHalvesModel

    def _fit(self, table: Table, seed: Seed) -> TwoHalvesModel:
        return TwoHalvesModel(table)

    def cost(self, shape: Shape) -> Cost:
        """Two random reads per row."""
        cells = shape.rows * shape.columns
        return Cost(seconds=0.01 + 1e-8 * cells, bytes=9.0 * cells)
