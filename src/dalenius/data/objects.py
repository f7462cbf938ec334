"""Columns of Python objects: lists, and object columns of pandas. The one place that looks at values row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.core.errors import DataError
from dalenius.data.raw import Raw, Storage, coded, read_arrow, scalar, sorted_levels
from dalenius.data.schema import typed
from dalenius.data.vector import NAN

NESTED = frozenset({list, dict, set, tuple})


@dataclass(frozen=True)
class Objects:
    """How a column of Python objects (a list, or an object column of pandas) was filled.

    ``kind`` is the Arrow type its values share, None when they are of several types; ``gap`` is what stood in empty
    cells; ``stamped`` says that its moments were pandas Timestamps.

    Examples
    --------
    >>> Objects().gap is None
    True
    """

    kind: Any = None
    gap: Any = None
    stamped: bool = False


def read_objects(name: str, values: Sequence[Any]) -> tuple[Raw, Objects]:
    """Let Arrow type the values if they are of one kind, otherwise keep each as it is.

    Examples
    --------
    >>> raw, objects = read_objects("a", ["x", float("nan")])
    >>> raw.storage, objects.gap
    ('text', nan)
    """
    kinds = {_plain_kind(kind) for kind in set(map(type, values))} - {type(None)}
    blanks = {kind for kind in kinds if kind.__name__ in ("NAType", "NaTType")}
    kinds -= blanks
    only_nan = (
        float in kinds and len(kinds) > 1 and all(math.isnan(v) for v in values if isinstance(v, float))
    )
    kinds -= {float} if only_nan else set()
    gap = _gap(values, bool(blanks) or only_nan)
    if (len(kinds) <= 1 or kinds <= {int, float}) and not kinds & NESTED:
        one = _one_kind(values, kinds, bool(blanks) or only_nan)
        if one is not None and not (only_nan and any(v is None for v in values)):
            stamped = {kind.__name__ for kind in kinds} == {"Timestamp"}
            return read_arrow(name, one), Objects(one.type, gap, stamped)
    # also where NaN stands among numbers and words: it is the empty cell of such a column
    return _keep_each(name, values), Objects(None, _gap(values, True))


def _plain_kind(kind: type) -> type:
    """NumPy's scalars stand for the Python values they hold."""
    for numpy_kind, plain in ((np.floating, float), (np.integer, int), (np.bool_, bool), (np.str_, str)):
        if issubclass(kind, numpy_kind):
            return plain
    return kind


def _gap(values: Sequence[Any], odd: bool) -> Any:
    """What stands in empty cells; where None and another stand, NaN has a state of its own and the rest are None."""
    if not odd or any(value is None for value in values):
        return None
    return next((value for value in values if _is_gap(value)), None)


def _one_kind(values: Sequence[Any], kinds: set[type], from_pandas: bool) -> pa.Array | None:
    if kinds == {bool, int} or (from_pandas and kinds <= {int, float} and float in kinds):
        return None
    try:
        return pa.array(values, from_pandas=from_pandas)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def _keep_each(name: str, values: Sequence[Any]) -> Raw:
    position: dict[tuple[str, Any], int] = {}
    try:
        codes = np.fromiter(
            (-1 if _is_gap(v) else position.setdefault(typed(scalar(v)), len(position)) for v in values),
            dtype=np.int64,
            count=len(values),
        )
        if any(type(value) in NESTED for value in values):
            raise TypeError
    except TypeError as error:
        raise DataError(
            f"column {name!r} holds lists or other nested values; turn each into its own column"
        ) from error
    levels = tuple(key[1] for key in position)
    if any(isinstance(v, str) and not v.isascii() and _is_broken(v) for v in levels):
        raise DataError(
            f"column {name!r} holds text that is not valid Unicode; read the file with its own encoding"
        )
    storage: Storage = "text" if all(isinstance(v, str) for v in levels) else "mixed"
    raw = sorted_levels(coded(name, storage if levels else "null", codes, codes < 0, levels, False))
    nan = np.fromiter((type(v) is float and math.isnan(v) for v in values), dtype=bool, count=len(values))
    if raw.state is not None and nan.any() and not np.array_equal(nan, codes < 0):
        raw.state[nan] = NAN
    return raw


def _is_broken(text: str) -> bool:
    """Whether a text has halves of characters (surrogates), which no file can hold."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _is_gap(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )
