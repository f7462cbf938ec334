"""`OddCount`: odd counts up to a limit are protected."""

from __future__ import annotations

from dataclasses import dataclass

from dalenius.tables.model import TableModel
from dalenius.tables.protection import Protection
from dalenius.tables.rule_text import rule


@rule("odd")
@dataclass(frozen=True)
class OddCount:
    """Odd counts up to ``most``; on the command line ``--rule odd:5``.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> OddCount().protects(define({"a": ["x", "y"], "n": [8, 3]}, by="a", freq="n")).mask.tolist()
    [False, False, True]
    """

    most: int = 5
    name: str = "odd count"

    def protects(self, model: TableModel) -> Protection:
        """Mark odd counts."""
        return Protection.of(model, (model.frequency <= self.most) & (model.frequency % 2 == 1))
