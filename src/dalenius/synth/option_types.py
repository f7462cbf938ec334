"""Options that come from a file or the command line, checked against the types that a synthesizer declares.

A text where a number belongs would otherwise end in a comparison somewhere inside, without the name of the option.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dalenius.core.errors import OptionError

_WORDS: dict[Any, str] = {
    float: "a number", int: "a whole number", bool: "true or false", str: "a text", Mapping: "names with values",
    Sequence: "a list", tuple: "a list", type(None): "nothing",
}  # fmt: skip
_NUMBERS: dict[Any, Any] = {float: Real, int: Integral}


def check_types(method: str, kind: type[Any], options: Mapping[str, Any]) -> None:
    """Raise when an option of a synthesizer has a value of another type than the one declared.

    Examples
    --------
    >>> from dalenius.synth.base import SYNTHESIZERS
    >>> check_types("loglinear", SYNTHESIZERS["loglinear"], {"prior": "much"})
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: loglinear: option prior cannot be 'much'; it takes a number
    """
    hints = get_type_hints(kind)
    for name, value in options.items():
        if not _fits(value, hints[name]):
            words = dict.fromkeys(_WORDS[k] for k in _kinds(hints[name]) if k in _WORDS)
            raise OptionError(f"{method}: option {name} cannot be {value!r}; it takes {' or '.join(words)}")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value may stand for a type; words of a `Literal` and classes of ours have checks of their own."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    if hint in (bool, str, type(None)):
        return isinstance(value, hint)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(each, inner[1]) for each in value.values())
    if origin is Sequence:
        listed = isinstance(value, Iterable) and not isinstance(value, Mapping)
        return listed and all(_fits(each, inner[0]) for each in value)
    if origin is tuple and Ellipsis not in inner:
        fixed = isinstance(value, (list, tuple)) and len(value) == len(inner)
        return fixed and all(_fits(each, own) for each, own in zip(value, inner, strict=True))
    return True


def _kinds(hint: Any) -> list[Any]:
    """The plain types of a hint, those of a union one by one."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return [kind for each in get_args(hint) for kind in _kinds(each)]
    return [str if origin is Literal else origin or hint]
