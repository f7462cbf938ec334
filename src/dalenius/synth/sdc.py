"""Disclosure control after synthesis: what still looks like somebody is taken out, coarsened or marked.

A synthetic row can agree by chance, or by an overfitted model, with a person who is unique in the original. `protect`
removes such rows, caps extreme values, smooths numbers, recodes categories and labels the file as synthetic; every step
is counted in its report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import one_of, real_number
from dalenius.core.random import Seed, sequence
from dalenius.counts.pair import Pair
from dalenius.data.encode import level_key
from dalenius.data.schema import Column, Kind, Level
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, Vector, compact
from dalenius.synth.sequential.finishing import Finish, Smoothing

LABEL = "SYNTHETIC DATA"


@dataclass(frozen=True)
class Protected:
    """A synthetic table after disclosure control, and what was done to it.

    Attributes
    ----------
    removed
        Rows taken out because they repeat a unique original.
    changed
        Cells changed in each column.
    """

    table: Table
    removed: int
    changed: Mapping[str, int]

    def __str__(self) -> str:
        cells = (
            ", ".join(f"{count:,} cells of {name!r}" for name, count in self.changed.items()) or "no cells"
        )
        return f"{self.removed:,} rows that repeat a unique original removed; {cells} changed"


def protect(
    synthetic: Any, original: Any = None, *, uniques: bool = False, keys: Sequence[str] | None = None,
    bottom: Mapping[str, float] | None = None, top: Mapping[str, float] | None = None,
    smooth: Mapping[str, Smoothing] | Sequence[str] = (), recode: Mapping[str, Mapping[Level, Level]] | None = None,
    label: str | None = None, seed: Seed = None,
) -> Protected:  # fmt: skip
    """Apply disclosure control to a synthetic table.

    Parameters
    ----------
    original
        The confidential table; needed to find repeated uniques and to smooth.
    uniques, keys
        Whether to remove rows that are unique in both files, on all columns or on some (an intruder's keys).
    bottom, top
        Smallest and largest value allowed in a column of numbers; values beyond become that value.
    smooth
        Columns of numbers to smooth ("density" unless said), so that no unique original value is left.
    recode
        For categories, which level becomes which.
    label
        Text of a first column that marks every row, for example ``"SYNTHETIC DATA"``.

    Examples
    --------
    >>> real = {"age": [31, 64, 64, 12], "job": ["a", "b", "b", "c"]}
    >>> fake = {"age": [31, 64, 64, 40], "job": ["a", "b", "b", "c"]}
    >>> done = protect(fake, real, uniques=True, top={"age": 50}, label="SYNTHETIC DATA")
    >>> print(done)
    1 rows that repeat a unique original removed; 2 cells of 'age' changed
    >>> done.table.to_frame()["age"]
    [50, 50, 40]
    """
    table = Table.from_frame(synthetic)
    real = None if original is None else Table.from_frame(original)
    smoothing: dict[str, Smoothing] = (
        dict(smooth) if isinstance(smooth, Mapping) else dict.fromkeys(smooth, "density")
    )
    limits = {
        name: ((bottom or {}).get(name), (top or {}).get(name)) for name in {**(bottom or {}), **(top or {})}
    }
    _check(table, real, uniques, [*limits, *smoothing, *(recode or {})])
    _check_smoothing(table, real, smoothing)
    removed = 0
    if uniques and real is not None:
        again = replicated_uniques(real, table, keys)
        removed = int(again.sum())
        table = table.take(~again)
    changed: dict[str, int] = {}
    for name, kind in smoothing.items():
        if real is not None:
            table = _set(table, _smoothed(table[name], real[name], kind, sequence(seed, name)), changed)
    for name, (low, high) in limits.items():
        table = _set(table, coded(table[name], low, high), changed)
    for name, pairs in (recode or {}).items():
        table = _set(table, recoded(table[name], pairs), changed)
    return Protected(labelled(table, label) if label else table, removed, changed)


def replicated_uniques(original: Any, synthetic: Any, keys: Sequence[str] | None = None) -> BoolArray:
    """Synthetic rows whose combination of keys no other synthetic row and one person of the original has.

    Without keys all columns are compared but identifiers, weights and free text; a person may own several rows.

    Examples
    --------
    >>> replicated_uniques({"a": [1, 1, 2, 3]}, {"a": [1, 2, 2, 3]}).tolist()
    [False, False, False, True]
    """
    pair = Pair(original, synthetic)
    match = pair.match(list(keys) if keys is not None else pair.columns)
    return match.single_in_both[match.groups.protected]


def coded(vector: Vector, low: float | None, high: float | None) -> Vector:
    """Bottom- and top-coded numbers; special codes and gaps stay.

    Examples
    --------
    >>> coded(Table.from_frame({"age": [3, 40, 99]})["age"], 16, 90).data.tolist()
    [16, 40, 90]
    """
    if not vector.is_number:
        raise DataError(
            f"column {vector.column.name!r} is {vector.column.kind}; only numbers can be top-coded"
        )
    low, high = _limit(vector, low, math.ceil), _limit(vector, high, math.floor)
    if low is not None and high is not None and low > high:
        raise OptionError(f"column {vector.column.name!r}: no value lies between bottom {low} and top {high}")
    capped = np.clip(vector.data, low, high).astype(vector.data.dtype)
    return replace(vector, data=np.where(vector.present, capped, vector.data))


def _limit(vector: Vector, limit: float | None, inwards: Callable[[float], int]) -> float | None:
    """A bound as the column can hold it: for whole numbers the next whole one inside."""
    if limit is None:
        return None
    real_number(f"limit of column {vector.column.name!r}", limit)
    return limit if vector.data.dtype.kind == "f" else inwards(limit)


def recoded(vector: Vector, pairs: Mapping[Level, Level]) -> Vector:
    """Categories with some levels renamed or merged.

    Examples
    --------
    >>> out = recoded(Table.from_frame({"job": ["judge", "clerk", "judge"]})["job"], {"judge": "other"})
    >>> out.levels, out.data.tolist()
    (('clerk', 'other'), [1, 0, 1])
    """
    if vector.is_number:
        raise DataError(f"column {vector.column.name!r} holds numbers; recode is for categories")
    wanted = {level_key(old): new for old, new in pairs.items()}
    known = {level_key(level) for level in vector.levels}
    absent = [old for old in pairs if level_key(old) not in known]
    if absent:
        raise OptionError(
            f"recode: {len(absent)} of the values for {vector.column.name!r} are not levels of it"
        )
    place: dict[Any, int] = {}
    levels: list[Level] = []
    moved = np.zeros(len(vector.levels), np.int64)
    for i, level in enumerate(vector.levels):
        new = wanted.get(level_key(level), level)
        if level_key(new) not in place:
            place[level_key(new)] = len(levels)
            levels.append(new)
        moved[i] = place[level_key(new)]
    column = replace(vector.column, levels=tuple(levels))
    return replace(vector, column=column, data=compact(moved[vector.data], len(levels)))


def labelled(table: Table, text: str = LABEL, name: str = "label") -> Table:
    """The table with a first column that says what it is.

    Examples
    --------
    >>> labelled(Table.from_frame({"a": [1, 2]})).to_frame()
    {'label': ['SYNTHETIC DATA', 'SYNTHETIC DATA'], 'a': [1, 2]}
    """
    if name in table:
        raise OptionError(f"there is already a column {name!r}")
    column = Column(name, Kind.CATEGORICAL, levels=(text,), label="made by a computer, not collected")
    mark = Vector(column, np.zeros(table.rows, np.uint8))
    return Table.from_vectors([mark, *table.vectors.values()], table.rows, table.origin)


def _smoothed(vector: Vector, original: Vector, kind: Smoothing, seed: Seed) -> Vector:
    finish = Finish.fit(original, kind)
    data = vector.data.copy()
    data[vector.present] = finish.apply(vector.values, seed)
    return replace(vector, data=data)


def _set(table: Table, vector: Vector, changed: dict[str, int]) -> Table:
    name = vector.column.name
    before = table[name]
    differs: npt.NDArray[np.bool_] = before.data != vector.data
    if not vector.is_number:
        old, new = np.array(before.levels, object), np.array(vector.levels, object)
        differs = old[before.data] != new[vector.data]
    changed[name] = changed.get(name, 0) + int(np.count_nonzero(differs & before.present))
    return table.with_vectors(vector)


def _check_smoothing(table: Table, real: Table | None, smoothing: Mapping[str, Smoothing]) -> None:
    """Smoothing that cannot be done is an error: a caller who asks for it relies on it."""
    if smoothing and real is None:
        raise OptionError("numbers are smoothed with the help of the original file; give it as original")
    for name, kind in smoothing.items():
        one_of(f"smooth of column {name!r}", kind, get_args(Smoothing))
        if real is not None and not (table[name].is_number and name in real and real[name].is_number):
            raise DataError(
                f"column {name!r} does not hold numbers in both files; only numbers can be smoothed"
            )


def _check(table: Table, real: Table | None, uniques: bool, columns: Sequence[str]) -> None:
    absent = [name for name in dict.fromkeys(columns) if name not in table]
    if absent:
        raise DataError(f"no column {names(absent)}; there are {names(table.names)}")
    if uniques and real is None:
        raise OptionError("repeated uniques can only be found with the original file; give it as original")
