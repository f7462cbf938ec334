"""Options that come from a file or the command line, checked against the types a method or a measure declares.

A text where a number belongs would otherwise end in a comparison somewhere inside, without the name of the option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dalenius.core.errors import OptionError

_WORDS: dict[Any, str] = {
    float: "a number", int: "a whole number", bool: "true or false", str: "a text", Mapping: "names with values",
    Sequence: "a list", tuple: "a list", type(None): "nothing",
}  # fmt: skip
_NUMBERS: dict[Any, Any] = {float: Real, int: Integral}


def check_types(owner: str, declared: Any, options: Mapping[str, Any]) -> None:
    """Raise when an option has a value of another type than a function or class declares for it.

    Examples
    --------
    >>> def share(rows: int, weight: float | None = None) -> None: ...
    >>> check_types("share", share, {"rows": 5, "weight": "much"})
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: share: option weight cannot be 'much'; it takes a number or nothing
    """
    hints = get_type_hints(declared)
    for name, value in options.items():
        if not _fits(value, hints[name]):
            words = " or ".join(dict.fromkeys(_words(hints[name])))
            raise OptionError(f"{owner}: option {name} cannot be {value!r}; it takes {words}")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value may stand for a type; a dataclass may be written as plain data.

    Examples
    --------
    >>> _fits(5, int | None), _fits("five", int | None), _fits(True, int), _fits("sex", Sequence[str])
    (True, False, False, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(each, inner[1]) for each in value.values())
    if origin is Sequence:
        listed = isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
        return listed and all(_fits(each, inner[0]) for each in value)
    if origin is tuple and Ellipsis not in inner:
        fixed = isinstance(value, (list, tuple)) and len(value) == len(inner)
        return fixed and all(_fits(each, own) for each, own in zip(value, inner, strict=True))
    if hint is Any or not isinstance(hint, type):
        return True
    return isinstance(value, hint) or (is_dataclass(hint) and isinstance(value, Mapping))


def _words(hint: Any) -> list[str]:
    """What a type asks for, the types of a union one by one."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [word for each in inner for word in _words(each)]
    if origin is Literal:
        return list(map(repr, inner))
    kind = origin or hint
    return [_WORDS.get(kind, getattr(kind, "__name__", str(kind)))]
