"""Checks of options that are told in one line where a call asks for something there is not."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

from dalenius.core.errors import OptionError, names


def at_least(name: str, value: float, least: float) -> None:
    """Raise when an option is smaller than it can be.

    Examples
    --------
    >>> at_least("order", 2, 1)
    """
    if not value >= least:
        raise OptionError(f"{name} is {value}; use {least} or more")


def whole_number(name: str, value: object, least: int) -> None:
    """Raise when an option is not a whole number, or smaller than it can be.

    Examples
    --------
    >>> whole_number("groups", 5, 2)
    >>> whole_number("groups", 2.5, 2)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: groups is 2.5; use a whole number, 2 or more
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OptionError(f"{name} is {value!r}; use a whole number, {least} or more")


def real_number(name: str, value: object) -> None:
    """Raise when an option is not a number (a text, say): a comparison with it would end without a word of help.

    Examples
    --------
    >>> real_number("epsilon", 0.5)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(f"{name} is {value!r}; use a number")


def one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise when an option has none of the values it can have.

    Examples
    --------
    >>> one_of("gaps", "drop", ["level", "drop"])
    """
    if value not in allowed:
        raise OptionError(f"{name} is {value!r}; use one of {names(allowed)}")
