"""Parts of a model that no fit puts there, and parts that could hold records in a form nobody can look through.

A library writes its attributes by name. An attribute of a scikit-learn object that no line of its class, or of the
classes it comes from, ever names was put there by somebody else: a copy of the data under a key of his own is found by
no comparison.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Hashable, Iterator
from functools import cache
from types import FunctionType
from typing import Any, cast

import numpy as np

from dalenius.models.parts import PLAIN, TooManyParts, attributes, inside, packed, parts_of

LIBRARIES = ("sklearn", "xgboost", "lightgbm", "torch")
NOT_JUDGED = ("numpy", "scipy", "dalenius", "builtins")
LONG = 200
"""Longest text that is taken for a name, a level or a note."""
WORD = 8
"""Letters that hold as much as one number."""
COMMON_WORDS = (
    "sklearn.base",
    "sklearn.utils.validation",
    "sklearn.utils._set_output",
    "sklearn.utils._metadata_requests",
)
"""Modules that put attributes on any estimator."""


def strange_parts(model: Any, people: int) -> Iterator[str]:
    """Names of such parts.

    Parameters
    ----------
    people
        How many people the model was fitted on: what an own class holds is looked at where it has a value for each.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> list(strange_parts(model, 2))
    []
    >>> model.notes_ = [1.5, 2.5]
    >>> list(strange_parts(model, 2))
    ['LogisticRegression.notes_']
    """
    for path, thing in _objects(model):
        room = type(thing).__module__.split(".")[0]
        if room in NOT_JUDGED:
            continue
        # what is put on a library's object is strange at any size; a class of one's own has attributes of its own
        most = 1 if room in LIBRARIES else max(people, 2) - 1
        words = _words(cast("Hashable", type(thing)))
        yield from (
            f"{path}.{key}"
            for key, part in attributes(thing).items()
            if key not in words and _size(part) > most
        )
    yield from _long_texts(model)


def _long_texts(model: Any) -> Iterator[str]:
    try:
        for name, part in parts_of(model):
            if (isinstance(part, (str, bytes)) and len(part) > LONG and "Booster" not in name) or (
                isinstance(part, np.ndarray) and part.dtype.kind in "OUS" and _longest(part) > LONG
            ):
                yield name
    except TooManyParts:
        return


def _longest(array: Any) -> int:
    return max((len(x) for x in array.ravel() if isinstance(x, (str, bytes))), default=0)


def _objects(model: Any) -> list[tuple[str, Any]]:
    """Every object with attributes of its own inside a model."""
    waiting, found = [(type(model).__name__, model)], []
    seen: dict[int, Any] = {}
    while waiting:
        path, thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, PLAIN) or len(seen) > 100_000:
            continue
        seen[id(thing)] = thing
        if packed(thing) is not None or type(thing).__name__ == "Tree":
            continue
        if hasattr(thing, "__dict__") and not isinstance(thing, (type, FunctionType)):
            found.append((path, thing))
        waiting += [(f"{path}{step}", part) for step, part in inside(thing)]
    return found


def _size(part: Any) -> int:
    """How many numbers could be in a part, beside objects of a library, which are looked at on their own."""
    waiting, total = [part], 0
    seen: dict[int, Any] = {}
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or (thing is not part and _library(type(thing)) is not None):
            continue
        seen[id(thing)] = thing
        held = packed(thing)
        if isinstance(held, (str, bytes)):
            total += 1 if len(held) <= LONG else len(held) // WORD
        elif held is not None:
            total += held.size * max(1, _longest(held) // WORD if held.dtype.kind in "OUS" else 1)
        else:
            total += isinstance(thing, PLAIN)
            waiting += [part for _, part in inside(thing)]
    return total


def _library(kind: type) -> type | None:
    return next((base for base in kind.__mro__ if base.__module__.split(".")[0] in LIBRARIES), None)


@cache
def _words(kind: Any) -> frozenset[str]:
    """Every name that the sources of the library's classes write: what they can set on themselves."""
    rooms = [base.__module__ for base in kind.__mro__ if base.__module__.split(".")[0] in LIBRARIES]
    sources = [_source(room) for room in dict.fromkeys([*rooms, *(COMMON_WORDS if rooms else ())])]
    return frozenset(word for text in sources for word in re.findall(r"\w+", text))


@cache
def _source(room: str) -> str:
    module = sys.modules.get(room)
    if module is None or not str(getattr(module, "__file__", None)).endswith(".py"):
        return ""
    return inspect.getsource(module)
