"""Faults of table definitions: all of them are reported at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import DaleniusError, OptionError


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


def need_whole(number: Any, least: int, what: str) -> None:
    """Refuse an option that is not a whole number of at least ``least``; NaN would be smaller than nothing.

    Examples
    --------
    >>> need_whole(0, 1, "the number of contributors")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: the number of contributors must be a whole number of at least 1
    """
    if not isinstance(number, int | float | np.integer) or not number >= least or number % 1 != 0:
        raise OptionError(f"{what} must be a whole number of at least {least}")
