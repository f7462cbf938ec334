"""Faults of table definitions: all of them are reported at once."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.core.errors import DaleniusError


class TableError(DaleniusError):
    """A hierarchy, a table or its microdata are wrong; ``faults`` lists every fault found.

    Examples
    --------
    >>> str(TableError("region.hrc", ["line 3: code 'A' appears twice", "line 9: empty code"]))
    "region.hrc: 2 faults: line 3: code 'A' appears twice; line 9: empty code"
    """

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        count = f"{len(faults)} faults: " if len(faults) > 1 else ""
        super().__init__(f"{where}: {count}{'; '.join(faults)}")
        self.faults = tuple(faults)
