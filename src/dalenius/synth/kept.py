"""`KeptTable`: a model that is a table, kept column by column; what is drawn from it is up to the method."""

from __future__ import annotations

from typing import ClassVar

from dalenius.data.table import Table
from dalenius.synth.base import Model


class KeptTable(Model):
    """Base of models that keep their table; ``_draw`` is left to say."""

    keeps: ClassVar[tuple[str, ...]] = ("table",)

    def __init__(self, table: Table) -> None:
        super().__init__(table.schema, table.rows, table.origin)
        self.table = table
