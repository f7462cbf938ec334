"""Everything that is inside a model: its arrays, tables and texts, however deep they are held and in whatever they are.

Lists of numbers, lists of records, dictionaries and data frames are turned into arrays, so that a record is found in
any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from dalenius.data.vector import AnyArray

DEEP = 12
"""Parts within parts that are looked into."""
MOST_PARTS = 1_000_000
"""Parts of one model that are looked at; what has more is told to be too large."""
PLAIN = (bool, int, float, str, type(None), np.generic)
NOT_LOOKED_INTO = ("Tree", "TreePredictor", "RandomState", "Generator")
"""Trees are judged by their leaves; a generator of random numbers knows no data."""


class TooManyParts(Exception):
    """A model has more parts than are looked at."""


def parts_of(model: Any, name: str | None = None) -> Iterator[tuple[str, Any]]:
    """Every array, text and string of bytes inside a model, with the name of the part it is in.

    Examples
    --------
    >>> class Held:
    ...     def __init__(self):
    ...         self.people = [{"age": 31.0, "pay": 2.5}, {"age": 64.0, "pay": 1.5}]
    >>> [(name, array.tolist()) for name, array in parts_of(Held())]
    [('Held.people', [[31.0, 2.5], [64.0, 1.5]])]
    """
    waiting: list[tuple[str, Any, int]] = [(name or type(model).__name__, model, 0)]
    seen: dict[int, Any] = {}  # what is seen is kept, so that its number is not given to something else
    while waiting:
        where, thing, depth = waiting.pop()
        if id(thing) in seen or depth > DEEP or type(thing).__name__ in NOT_LOOKED_INTO:
            continue
        seen[id(thing)] = thing
        if len(seen) > MOST_PARTS:
            raise TooManyParts
        made = packed(thing)
        if isinstance(thing, Mapping) and thing:
            waiting.append((where, list(thing), depth + 1))
        if made is None:
            waiting += [(f"{where}{step}", part, depth + 1) for step, part in inside(thing)]
        elif isinstance(made, (str, bytes)) or made.size:
            yield where, made


def packed(thing: Any) -> AnyArray | str | bytes | None:
    """A text, or an array of plain values; None for what has parts of its own, or nothing.

    Examples
    --------
    >>> packed([(1, "a"), (2, "b")]).shape, packed({"a": 1, "b": 2}).tolist(), packed([[1], [2, 3]])
    ((2, 2), [1.0, 2.0], None)
    """
    if isinstance(thing, (str, bytes, bytearray)):
        return bytes(thing) if isinstance(thing, bytearray) else thing
    if isinstance(thing, type):
        return None
    if hasattr(thing, "toarray") and hasattr(thing, "nnz"):
        thing = thing.toarray()
    elif hasattr(thing, "detach") and hasattr(thing, "cpu"):  # a tensor of PyTorch
        thing = thing.detach().cpu().numpy()
    elif type(thing).__name__.startswith(("KDTree", "BallTree")):
        thing = np.asarray(thing.data)
    elif hasattr(thing, "to_numpy") and hasattr(thing, "shape"):  # a frame or a column of one
        thing = np.asarray(thing.to_numpy())
    if isinstance(thing, np.ndarray):
        return _values(thing)
    if isinstance(thing, Mapping):
        return _packed_list(_lines(thing))
    return _packed_list(list(thing)) if isinstance(thing, (list, tuple, set, frozenset)) else None


def _values(array: AnyArray) -> AnyArray | None:
    if array.dtype != object:
        return None if array.dtype.names or not array.ndim else array
    plain = array.ndim and all(isinstance(x, PLAIN) for x in array.ravel())
    return _typed(array) if plain else None


def _lines(held: Mapping[Any, Any]) -> list[Any]:
    """Values of a dictionary, beside their keys where these are numbers."""
    keys, values = list(held), list(held.values())
    if not all(isinstance(key, PLAIN) and not isinstance(key, str) for key in keys):
        return values
    rows = [list(v) if isinstance(v, (list, tuple)) else [v] for v in values]
    return [[key, *row] for key, row in zip(keys, rows, strict=True)]


def _packed_list(held: list[Any]) -> AnyArray | None:
    if not held:
        return None
    if all(isinstance(x, PLAIN) for x in held):
        return _typed(np.array(held, dtype=object))
    rows = held
    if all(isinstance(x, Mapping) and x.keys() == held[0].keys() for x in held):
        rows = [tuple(x[key] for key in held[0]) for x in held]
    if not all(isinstance(x, (list, tuple)) and len(x) == len(rows[0]) for x in rows) or not rows[0]:
        return None
    if not all(isinstance(x, PLAIN) for row in rows for x in row):
        return None
    made = np.empty((len(rows), len(rows[0])), dtype=object)
    made[:] = rows
    return _typed(made)


def _typed(array: AnyArray) -> AnyArray:
    """Objects as numbers where all of them are."""
    if any(isinstance(x, str) for x in array.ravel()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def inside(thing: Any) -> Iterable[tuple[str, Any]]:
    """What a thing is made of, with how to get there."""
    if isinstance(thing, (list, tuple, set, frozenset)):
        return [_named(part) for part in thing]
    if isinstance(thing, np.ndarray):
        return [("", part) for part in thing.ravel()] if thing.dtype == object else []
    if isinstance(thing, Mapping):  # keys may be values of people, so that they are not told
        return [("", part) for part in thing.values()]
    if isinstance(thing, partial):
        return [("", thing.func), ("", thing.args), ("", thing.keywords)]
    if isinstance(thing, MethodType):
        return [("", thing.__self__), ("", thing.__func__)]
    if isinstance(thing, FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _filled(cell)]
        return [("", cells), ("", thing.__defaults__), ("", thing.__kwdefaults__)]
    if isinstance(thing, type) or type(thing).__module__ == "builtins":
        return []
    return [*_booster_parts(thing), *((f".{key}", part) for key, part in attributes(thing).items())]


def _named(part: Any) -> tuple[str, Any]:
    """A step of a pipeline is told by its name."""
    named = (
        isinstance(part, tuple)
        and len(part) > 1
        and isinstance(part[0], str)
        and hasattr(part[1], "get_params")
    )
    return (f"[{part[0]:.20}]" if named else "", part)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 (an empty cell has none)
    except ValueError:
        return False
    return True


def attributes(thing: Any) -> dict[str, Any]:
    """What an object holds under names: in its dictionary and in its slots.

    Examples
    --------
    >>> class Two:
    ...     __slots__ = ("a", "b")
    >>> two = Two()
    >>> two.a = 1
    >>> attributes(two)
    {'a': 1}
    """
    slots = [s for kind in type(thing).__mro__ for s in _slots(kind) if hasattr(thing, s)]
    held = {**{s: getattr(thing, s) for s in slots}, **getattr(thing, "__dict__", {})}
    return {
        key: part for key, part in held.items() if not key.startswith("__")
    }  # functions have their docs there


def _slots(kind: type) -> list[str]:
    held = kind.__dict__.get("__slots__", ())
    found = [held] if isinstance(held, str) else list(held)
    return [s for s in found if s not in ("__dict__", "__weakref__")]


def _booster_parts(thing: Any) -> list[tuple[str, Any]]:
    """What boosted trees write into their file beside the trees: ends of columns, and texts of anybody."""
    room = type(thing).__module__.split(".")[0]
    if type(thing).__name__ != "Booster" or room not in ("lightgbm", "xgboost"):
        return []
    if room == "xgboost":
        return [(".attributes", dict(thing.attributes()))]
    return [(".feature_infos", column_ends(thing)), (".pandas_categorical", thing.pandas_categorical)]


def column_ends(booster: Any) -> list[AnyArray]:
    """The smallest and largest value of each column, as LightGBM writes them into its file."""
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    held = [infos.get(name, {}) for name in booster.feature_name()]
    return [
        np.array([i["min_value"], i["max_value"], *i.get("values", ())] if i else [], np.float64)
        for i in held
    ]
