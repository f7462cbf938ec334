"""`KeptTable`: a model that is a table, kept column by column; what is drawn from it is up to the method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth._store import vector_arrays, vector_from
from dalenius.synth.base import Arrays, Model


class KeptTable(Model):
    """Base of models that keep their table; ``_draw`` is left to say."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.schema, table.rows, table.origin)
        self.table = table

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """The rows, column by column."""
        held: dict[str, Any] = {}
        for i, name in enumerate(self.table.names):
            held |= vector_arrays(str(i), self.table[name])
        return {}, held

    @classmethod
    def from_parts(cls, schema: Schema, rows: int, facts: Mapping[str, Any], arrays: Arrays) -> Self:
        """Rebuild the rows."""
        vectors = [vector_from(str(i), column, arrays) for i, column in enumerate(schema)]
        model = cls(Table.from_vectors(vectors, len(vectors[0]), schema=schema))
        model.rows = rows
        return model
