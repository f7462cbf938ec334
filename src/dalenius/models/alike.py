"""Whether two fitted objects are the same in everything that they learnt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dalenius.data.vector import AnyArray

CLOSE = 1e-12
"""How far numbers may be apart, as a share of each: libraries add up in other orders on other computers."""
CLOCKS = frozenset(
    ["refit_time_", "mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time", "_sklearn_version"]
)
"""What a library writes down about the time a fit took, or about itself."""


def differences(first: Any, second: Any, close: float = CLOSE) -> Iterator[str]:
    """Names of the parts of one fitted object that another does not have, or has with other numbers.

    Examples
    --------
    >>> list(differences({"a": [1.0, 2.0], "b": "x"}, {"a": [1.0, 2.5], "b": "x"}))
    ['a']
    """
    yield from _Compared(close).parts("", first, second)


class _Compared:
    """One walk through two objects at once."""

    def __init__(self, close: float) -> None:
        self.close = close
        self.seen: dict[tuple[int, int], Any] = {}

    def parts(self, where: str, a: Any, b: Any) -> Iterator[str]:
        """Compare two values; ``where`` is the last name that led to them."""
        if (id(a), id(b)) in self.seen:
            return
        if isinstance(a, np.ma.MaskedArray) and isinstance(b, np.ma.MaskedArray):
            yield from self._arrays(where, a.data, b.data)
            yield from self._arrays(where, np.ma.getmaskarray(a), np.ma.getmaskarray(b))
        elif isinstance(a, np.ndarray) and type(a) is not np.ndarray:
            yield where
        elif isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)):
            yield from self._arrays(where, np.asarray(a), np.asarray(b))
        elif isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
            if not self._numbers(np.asarray(a), np.asarray(b)):
                yield where
        elif type(a) is not type(b):
            yield where
        elif a is None or isinstance(a, (str, bytes, complex, type, np.dtype)):
            if a != b:
                yield where
        else:
            self.seen[id(a), id(b)] = (a, b)  # held, so that no other object gets their place in memory
            yield from self._inside(where, a, b)

    def _inside(self, where: str, a: Any, b: Any) -> Iterator[str]:
        if isinstance(a, Mapping):
            if list(map(str, a)) != list(map(str, b)):
                yield where
                return
            for key, mine, theirs in zip(a, a.values(), b.values(), strict=True):
                name = key if isinstance(key, str) else where
                if name not in CLOCKS:
                    yield from self.parts(name, mine, theirs)
        elif isinstance(a, (set, frozenset)):
            if a != b:
                yield where
        elif isinstance(a, (list, tuple)):
            if len(a) != len(b):
                yield where
                return
            for mine, theirs in zip(a, b, strict=True):
                yield from self.parts(where, mine, theirs)
        elif isinstance(a, slice):
            yield from self.parts(where, (a.start, a.stop, a.step), (b.start, b.stop, b.step))
        elif isinstance(a, partial):
            yield from self.parts(where, (a.func, a.args, a.keywords), (b.func, b.args, b.keywords))
        else:
            yield from self._object(where, a, b)

    def _object(self, where: str, a: Any, b: Any) -> Iterator[str]:
        if (state := _state(a)) is not None:
            yield from self.parts(where or "trees", state, _state(b))
        elif callable(a) and hasattr(a, "__qualname__"):
            if a is not b:
                yield where
        elif hasattr(a, "__dict__"):
            mine, theirs = vars(a), vars(b)
            for name in mine:
                if name in CLOCKS:
                    continue
                if name not in theirs:
                    yield name
                else:
                    yield from self.parts(name, mine[name], theirs[name])
        else:
            try:
                mine, theirs = (x.__reduce__()[1:] for x in (a, b))
            except TypeError:  # cannot be looked into
                yield where
            else:
                yield from self.parts(where, mine, theirs)

    def _arrays(self, where: str, a: AnyArray, b: AnyArray) -> Iterator[str]:
        if a.shape != b.shape:
            yield where
        elif a.dtype.names:
            fields = a.dtype.names
            if fields != b.dtype.names or any(list(self._arrays("x", a[f], b[f])) for f in fields):
                yield where
        elif a.dtype.kind in "fiubc" and b.dtype.kind in "fiubc":
            if not self._numbers(a, b):
                yield where
        elif "O" in (a.dtype.kind, b.dtype.kind):
            for mine, theirs in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
                yield from self.parts(where, mine, theirs)
        elif not np.array_equal(a.astype(str), b.astype(str)):
            yield where

    def _numbers(self, a: AnyArray, b: AnyArray) -> bool:
        """Whether every number is the other's, but for rounding."""
        if "f" not in (a.dtype.kind, b.dtype.kind):
            return bool(np.array_equal(a, b))
        single = 4 in (a.dtype.itemsize, b.dtype.itemsize)
        return bool(np.allclose(a, b, rtol=max(self.close, 1e-7 if single else 0), atol=0, equal_nan=True))


def _state(thing: Any) -> Any:
    """What boosters and generators of random numbers write of themselves; None for anything else."""
    if type(thing).__name__ == "Booster" and type(thing).__module__.split(".")[0] in ("xgboost", "lightgbm"):
        return bytes(thing.save_raw("json")) if hasattr(thing, "save_raw") else thing.model_to_string()
    if isinstance(thing, np.random.RandomState):
        return thing.get_state()
    return thing.bit_generator.state if isinstance(thing, np.random.Generator) else None
