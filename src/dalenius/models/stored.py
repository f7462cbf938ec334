"""Training records that a model carries around: neighbours, support vectors, and whatever else has a row for everybody.

What a model keeps is found by looking, not by a list of its kinds: every array in it that is as wide as the records is
compared with them, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.data.vector import AnyArray, BoolArray
from dalenius.models.case import ModelCase

DEEP = 10
"""Parts within parts that are looked into."""
MOST_PARTS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Stored:
    """What was found.

    Attributes
    ----------
    rows, strangers
        Training rows, and rows of the holdout, that stand in the model as they are.
    where
        Names of the parts of the model that hold them.
    for_everybody
        Parts that hold a value for every training row, as wide as they may be.
    """

    rows: BoolArray
    strangers: BoolArray | None
    where: tuple[str, ...]
    for_everybody: tuple[str, ...]


def stored_records(case: ModelCase) -> Stored:
    """Look for training records in the model.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = KNeighborsClassifier(2).fit([[a] for a in people["age"]], people["ill"])
    >>> stored_records(ModelCase.of(model, people, target="ill")).rows.all()
    np.True_
    """
    views = list(_views(case))
    rows = np.zeros(case.train.rows, bool)
    strangers = None if case.holdout is None else np.zeros(case.holdout.rows, bool)
    where: list[str] = []
    everybody: list[str] = []
    kept: dict[int, AnyArray] = {}
    for name, array in _arrays(case.fitted.model):
        if len(array) == case.train.rows and array.size and case.train.rows > 4:
            everybody.append(name)
        if (
            array.ndim != 2
            or len(array) < 1
            or id(array) in kept
            or not np.issubdtype(array.dtype, np.number)
        ):
            continue
        kept[id(array)] = array
        for train, outside in views:
            if train.shape[1] != array.shape[1]:
                continue
            found = _among(train, array)
            if found.any():
                where.append(name)
                rows |= found
                if strangers is not None and outside is not None:
                    strangers |= _among(outside, array)
    return Stored(rows, strangers, tuple(dict.fromkeys(where)), tuple(dict.fromkeys(everybody)))


def _views(case: ModelCase) -> Iterator[tuple[AnyArray, AnyArray | None]]:
    """Records as they go in, and after every part of a pipeline."""
    outside = None if case.holdout is None else case.design.inputs(case.design.matrix(case.holdout))
    held = [case.inputs, outside]
    yield case.matrix, None if case.holdout is None else case.design.matrix(case.holdout)
    for part in case.fitted.steps[:-1]:
        if part is None or part == "passthrough":
            continue
        held = [None if x is None else part.transform(x) for x in held]
        plain = [None if x is None else np.asarray(x.toarray() if hasattr(x, "toarray") else x) for x in held]
        if plain[0] is not None and plain[0].ndim == 2 and np.issubdtype(plain[0].dtype, np.number):
            yield plain[0], plain[1]


def _arrays(model: Any) -> Iterator[tuple[str, AnyArray]]:
    """Every array of numbers inside a model, with the name of the part it is in."""
    for name, thing in parts_of(model):
        if isinstance(thing, np.ndarray):
            yield name, thing


def parts_of(model: Any) -> Iterator[tuple[str, Any]]:
    """Every array and text inside a model, with the name of the part it is in."""
    waiting: list[tuple[str, Any, int]] = [(type(model).__name__, model, 0)]
    seen: set[int] = set()
    while waiting:
        name, thing, depth = waiting.pop()
        if id(thing) in seen or depth > DEEP:
            continue
        seen.add(id(thing))
        if hasattr(thing, "toarray") and hasattr(thing, "nnz"):
            thing = thing.toarray()
        if isinstance(thing, str) or (isinstance(thing, np.ndarray) and thing.dtype != object):
            yield name, thing
        elif isinstance(thing, (list, tuple)) and len(thing) <= MOST_PARTS:
            waiting += [(name, part, depth + 1) for part in thing]
        elif isinstance(thing, np.ndarray):
            waiting += [(name, part, depth + 1) for part in thing.ravel()[:MOST_PARTS]]
        elif isinstance(thing, dict):
            waiting += [(f"{name}[{key!s:.20}]", part, depth + 1) for key, part in thing.items()]
        elif type(thing).__name__.startswith(("KDTree", "BallTree")):
            yield f"{name}.data", np.asarray(thing.data)
        elif hasattr(thing, "__dict__") and not isinstance(thing, type):
            waiting += [(f"{name}.{key}", part, depth + 1) for key, part in vars(thing).items()]


def _among(records: AnyArray, array: AnyArray) -> BoolArray:
    """Which records stand in an array as they are; the array may be less precise."""
    kind = np.float32 if array.dtype == np.float32 else np.float64
    mine, theirs = (
        np.add(np.ascontiguousarray(x, kind), kind(0)) for x in (records, array)
    )  # minus zero is zero
    row = np.dtype((np.void, kind().itemsize * mine.shape[1])) if mine.shape[1] else None
    if row is None:
        return np.zeros(len(records), bool)
    return np.isin(mine.view(row).ravel(), theirs.view(row).ravel())
