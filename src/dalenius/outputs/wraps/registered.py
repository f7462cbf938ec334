"""Which frames are data: the column of the unit is trusted where it came with them, and nowhere else.

A file that is read is data, and so is the first frame of a desk. Another frame that is made at the desk is trusted if
all its rows are rows of such data, or if it is said where it comes from (`Desk.data`), which the trail keeps.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl

from dalenius.outputs.wraps.traced import Traced, TracedDtype, bare, held, traced

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


def registered(desk: Desk, frame: pd.DataFrame, *, sure: bool) -> pd.DataFrame:
    """A frame as data of a desk; ``sure`` where nobody made it at the desk."""
    unit = desk.unit
    if unit is None or list(frame.columns).count(unit) != 1:
        return frame
    if not sure and desk.frames and not known(desk, frame):
        return frame
    place = list(frame.columns).index(unit)
    made = frame.copy(deep=False)
    names = bare(pd.DataFrame(frame)[unit])
    pd.DataFrame.isetitem(made, place, Traced(held(names)))
    desk.frames.append(weakref.ref(made))
    return made


def known(desk: Desk, data: Any) -> bool:
    """Whether all rows of a frame are rows of data that the desk knows, in all its columns."""
    frame = data.to_pandas() if isinstance(data, pl.DataFrame) else data
    if not isinstance(frame, pd.DataFrame) or len(frame.columns) < 2 or not frame.columns.is_unique:
        return False
    for base in (found() for found in desk.frames):
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


def trusted(desk: Desk, frame: Any) -> bool:
    """Whether the units of a frame are those that came with data; any, while the desk was given plain frames only."""
    if not desk.frames:
        return True
    if isinstance(frame, pd.DataFrame):
        column = pd.DataFrame.__getitem__(frame, desk.unit)
        if isinstance(column, pd.DataFrame):
            return False
        if isinstance(column.dtype, TracedDtype):
            return traced(column)
    return known(desk, frame)
