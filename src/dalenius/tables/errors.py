"""Refusing options of tables that make no sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.errors import OptionError


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
