"""Disclosure control after synthesis: what still looks like somebody is taken out, coarsened or marked.

A synthetic row can agree by chance, or by an overfitted model, with a person who is unique in the original. `protect`
removes such rows, caps extreme values, smooths numbers, recodes categories and labels the file as synthetic; every step
is counted in its report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import one_of
from dalenius.core.random import Seed, sequence
from dalenius.counts.pair import Pair
from dalenius.data.schema import Level
from dalenius.data.steps.recoding import Bound, coded, labelled, recoded
from dalenius.data.steps.step import differs
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, Vector
from dalenius.synth.sequential.finishing import Finish, Smoothing


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
    bottom: Mapping[str, Bound] | None = None, top: Mapping[str, Bound] | None = None,
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
        Smallest and largest value allowed in a column of numbers or dates (text such as 2001-12-31 too); values
        beyond become that value.
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


def _smoothed(vector: Vector, original: Vector, kind: Smoothing, seed: Seed) -> Vector:
    finish = Finish.fit(original, kind)
    data = vector.data.copy()
    data[vector.present] = finish.apply(vector.values, seed)
    return replace(vector, data=data)


def _set(table: Table, vector: Vector, changed: dict[str, int]) -> Table:
    name = vector.column.name
    changed[name] = changed.get(name, 0) + int(np.count_nonzero(differs(table[name], vector)))
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
