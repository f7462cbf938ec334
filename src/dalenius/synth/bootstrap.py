"""`bootstrap`: original rows drawn with replacement. Useful and unsafe: the upper reference for both."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.core.cost import Cost, Shape
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.table import Table
from dalenius.synth.base import Synthesizer, register
from dalenius.synth.kept import KeptTable


class BootstrapModel(KeptTable):
    """The original rows themselves."""

    method = "bootstrap"
    contents = "every original row: treat the file like the confidential data"

    def _draw(self, rows: int, seed: Seed) -> Table:
        return self.table.take(generator(seed, "rows").integers(0, max(self.table.rows, 1), rows))


@register
@dataclass(frozen=True)
class Bootstrap(Synthesizer):
    """Draw original rows with replacement.

    Not a way to protect anything: it shows what the measures say about a file that leaks everything.

    Examples
    --------
    >>> table = Table.from_frame({"a": [1, 2, 3]})
    >>> Bootstrap().fit(table).sample(2, seed=0).rows
    2
    """

    info = MethodInfo(
        name="bootstrap",
        title="Bootstrap of rows",
        meaning="Original rows drawn with replacement: the unsafe upper reference, never for release.",
        guarantee="none: every row is somebody's true record",
        reference="Efron 1979",
        copies_rows=True,
    )
    model = BootstrapModel

    def _fit(self, table: Table, seed: Seed) -> BootstrapModel:
        return BootstrapModel(table)

    def cost(self, shape: Shape) -> Cost:
        """One random read per cell."""
        cells = shape.rows * shape.columns
        return Cost(seconds=0.01 + 1e-8 * cells, bytes=9.0 * cells)
