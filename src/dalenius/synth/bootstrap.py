"""`bootstrap`: original rows drawn with replacement. Useful and unsafe: the upper reference for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.cost import Cost, Shape
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth._store import vector_arrays, vector_from
from dalenius.synth.base import Arrays, Model, Synthesizer, register


class BootstrapModel(Model):
    """The original rows themselves."""

    method = "bootstrap"
    contents = "every original row: treat the file like the confidential data"

    def __init__(self, table: Table) -> None:
        super().__init__(table.schema, table.rows, table.origin)
        self.table = table

    def _draw(self, rows: int, seed: Seed) -> Table:
        return self.table.take(generator(seed, "rows").integers(0, max(self.rows, 1), rows))

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """The rows, column by column."""
        held: dict[str, Any] = {}
        for i, name in enumerate(self.table.names):
            held |= vector_arrays(str(i), self.table[name])
        return {}, held

    @classmethod
    def from_parts(
        cls, schema: Schema, rows: int, facts: Mapping[str, Any], arrays: Arrays
    ) -> BootstrapModel:
        """Rebuild the rows."""
        vectors = [vector_from(str(i), column, arrays) for i, column in enumerate(schema)]
        return cls(Table.from_vectors(vectors, rows, schema=schema))


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
