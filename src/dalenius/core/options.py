"""Checks of options that are told in one line where a call asks for something there is not."""

from __future__ import annotations

from collections.abc import Sequence

from dalenius.core.errors import OptionError, names


def at_least(name: str, value: float, least: float) -> None:
    """Raise when an option is smaller than it can be.

    Examples
    --------
    >>> at_least("order", 2, 1)
    """
    if not value >= least:
        raise OptionError(f"{name} is {value}; use {least} or more")


def one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise when an option has none of the values it can have.

    Examples
    --------
    >>> one_of("gaps", "drop", ["level", "drop"])
    """
    if value not in allowed:
        raise OptionError(f"{name} is {value!r}; use one of {names(allowed)}")
