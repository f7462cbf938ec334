"""Figures that nobody can check here, with the rows they were computed of: what few people change in them is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.design import marks
from dalenius.outputs.query import Query
from dalenius.outputs.wraps.columns import numbers
from dalenius.outputs.wraps.sources import units_of

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


def figure_of(columns: pd.DataFrame, unit: Any, ids: Any) -> Query:
    """The rows behind a figure, for `Desk.declare`: whose they are, and what they have in all columns together."""
    values = columns.to_numpy(np.float64)
    complete = ~np.isnan(values).any(axis=1)
    value = np.where(complete, marks(np.nan_to_num(values)), np.nan)
    facts = {"figure": True, "outcome": values[:, 0], "columns": np.where(complete[:, None], values, np.nan)}
    named = " + ".join(map(str, columns.columns))
    return Query("figure", rows=len(values), value=value, variable=named, unit=unit, ids=ids, facts=facts)


def figure_of_frame(desk: Desk, frame: Any, names: Any = None) -> Query | None:
    """The same of the columns of numbers of a checked frame, or of some of them; None where there are none."""
    wanted = [c for c in (names or frame.columns) if c in frame.columns and c != desk.unit]
    wanted = [c for c in dict.fromkeys(wanted) if pd.api.types.is_numeric_dtype(frame[c])]
    if not wanted or not len(frame):
        return None
    (unit, ids), _ = units_of(desk, frame)
    columns = pd.DataFrame({c: numbers(frame[c], str(c)) for c in wanted})
    return None if unit is None and ids is None else figure_of(columns, unit, ids)
