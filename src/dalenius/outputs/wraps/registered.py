"""Which frames are data: the column of the unit is trusted where it came with them, and nowhere else.

A file that is read is data, and so is the first frame of a desk. Another frame that is made at the desk is trusted if
all its rows are rows of such data, or if it is said where it comes from (`Desk.data`), which the trail keeps.
"""

from __future__ import annotations

import weakref
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.outputs.made import Base
from dalenius.outputs.wraps.columns import units
from dalenius.outputs.wraps.traced import Traced, TracedDtype, bare, held, traced

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

TEXTS, MOST_LEVELS = ("object", "str", "string", "String", "Categorical"), 5000
"""Kinds of columns of texts, and how many categories of one are kept in sight."""
FIRST, KEPT = 1, 3
"""Frames whose columns are kept in sight: the first, and the newest others."""


def registered(desk: Desk, frame: pd.DataFrame, *, sure: bool) -> pd.DataFrame:
    """A frame as data of a desk; ``sure`` where nobody made it at the desk."""
    unit = desk.unit
    if unit is None and not desk.base:
        based(desk, frame)
    if unit is not None and list(frame.index.names) == [unit] and unit not in frame.columns:
        made = frame.copy(deep=False)
        index = pd.Index(Traced(held(bare(frame.index))), name=unit)
        pd.DataFrame._set_axis(made, 1, index)  # type: ignore[attr-defined,unused-ignore]
        return _kept(desk, made) if sure or not desk.frames else frame
    if unit is None or list(frame.columns).count(unit) != 1:
        desk.strange = desk.strange or unit is not None
        return frame
    if not sure and desk.frames and not known(desk, frame):
        return frame
    place = list(frame.columns).index(unit)
    made = frame.copy(deep=False)
    names = bare(pd.DataFrame(frame)[unit])
    pd.DataFrame.isetitem(made, place, Traced(held(names)))
    based(desk, frame)
    return _kept(desk, made)


def _kept(desk: Desk, made: pd.DataFrame) -> pd.DataFrame:
    """A frame as data, with its columns as they came: who writes into it later does not write into those."""
    object.__setattr__(made, "_as_read", pd.DataFrame(made).copy(deep=False))
    desk.frames.append(weakref.ref(made))
    return made


def based(desk: Desk, data: Any) -> None:
    """Keep the columns of numbers as they came: what is made of them later is known by them.

    They are those of the frame, not copies: pandas and Polars write into columns of their own.
    """
    frame = pd.DataFrame(data) if isinstance(data, pd.DataFrame) else data
    names = [c for c in frame.columns if isinstance(c, str) and c != desk.unit]
    if len(set(frame.columns)) < len(frame.columns) or not len(frame):
        return
    held = {c: frame[c].to_numpy() for c in names if _plain_numbers(frame[c])}
    if desk.unit is not None and desk.unit in frame.columns:
        unit, ids = units(frame[desk.unit])
    elif isinstance(frame, pd.DataFrame) and desk.unit is None and frame.index.is_unique:
        unit, ids = None, frame.index
    else:
        return
    desk.base = [*desk.base[:FIRST], *desk.base[FIRST:][1 - KEPT :], Base(held, unit, ids, _named(frame))]


def _named(frame: Any) -> frozenset[str]:
    """Names of columns, and categories of texts with digits in them, as they came."""
    found = {str(c) for c in frame.columns}
    for column in (frame[c] for c in frame.columns):
        if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
            found |= {str(v) for v in column.cat.categories}
        elif str(column.dtype) in TEXTS:
            levels = column.unique()
            found |= {str(v) for v in levels} if len(levels) <= MOST_LEVELS else set()
    return frozenset(found)


def _plain_numbers(column: Any) -> bool:
    """Whether a column is an array of numbers without a copy."""
    if isinstance(column, pl.Series):
        return column.dtype.is_numeric() and not column.null_count()
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb"


def known(desk: Desk, data: Any) -> bool:
    """Whether all rows of a frame are rows of data that the desk knows, in all its columns."""
    frame = data.to_pandas() if isinstance(data, pl.DataFrame) else data
    if not isinstance(frame, pd.DataFrame) or len(frame.columns) < 2 or not frame.columns.is_unique:
        return False
    for base in (_as_read(desk, found()) for found in desk.frames):
        if base is None or not set(frame.columns) <= set(base.columns):
            continue
        plain = bare(pd.DataFrame(frame))
        words = [
            pd.util.hash_pandas_object(f, index=False)
            for f in (plain, bare(pd.DataFrame(base))[plain.columns])
        ]
        if words[0].isin(words[1]).all():
            return True
    return False


def _as_read(desk: Desk, frame: Any) -> Any:
    """A frame of data; as it was read, where somebody wrote into its column of the unit since."""
    if frame is None:
        return None
    own = desk.unit in frame.columns and traced(pd.DataFrame.__getitem__(frame, desk.unit))
    return frame if own else getattr(frame, "_as_read", None)


def lacking(desk: Desk, names: AbstractSet[str]) -> set[int]:
    """Numbers of the units that lack a value of one of these columns in the data as they came."""
    gaps: set[int] = set()
    for frame in (getattr(found(), "_as_read", None) for found in desk.frames):
        if frame is None or desk.unit not in frame.columns:
            continue
        plain = bare(pd.DataFrame(frame))
        codes, ids = units(plain[desk.unit])
        gone = np.zeros(len(plain), np.bool_)
        for name in names:
            if list(plain.columns).count(name) == 1 and name != desk.unit:
                gone |= plain[name].isna().to_numpy()
        if gone.any():
            gaps |= set(np.unique(desk.memory.known(ids)[codes[gone]]).tolist())
    for base in desk.base:
        numbers = base.numbers(desk.memory)
        for name in names & base.columns.keys():
            column = np.asarray(base.columns[name])
            if column.dtype.kind == "f":
                gaps |= set(np.unique(numbers[np.isnan(column)]).tolist())
    return gaps - {-1}


def trusted(desk: Desk, frame: Any) -> bool:
    """Whether the units of a frame are those that came with data.

    Any are, while the desk was given plain frames only; none beside data that came without units.
    """
    if not desk.frames and not desk.strange:
        return True
    if isinstance(frame, pd.DataFrame):
        column = pd.DataFrame.__getitem__(frame, desk.unit)
        if isinstance(column, pd.DataFrame):
            return False
        if isinstance(column.dtype, TracedDtype):
            return traced(column)
    return known(desk, frame)
