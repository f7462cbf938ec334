"""Where the columns of a pandas call come from: their units, their names, the functions that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.core.errors import DataError
from dalenius.outputs.checks import Finding, finding
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.wraps.columns import units
from dalenius.outputs.wraps.registered import trusted
from dalenius.outputs.wraps.traced import traced

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

LIBRARIES = ("numpy", "pandas", "builtins", "scipy")
OWN = "own function"


def units_of(desk: Desk, source: Any) -> tuple[tuple[Any, Any], tuple[str, ...]]:
    """Unit of each row of a series or frame: by its own frame, or by one the desk knows; else rows, and a note."""
    index = source.index if isinstance(source, pd.Series | pd.DataFrame) else None
    plain = (None, index if index is not None and index.is_unique else None)
    if desk.unit is None:
        return plain, ()
    if isinstance(source, pd.DataFrame) and desk.unit in source.columns:
        return units(source[desk.unit]), retold(desk, source)
    frame = getattr(source, "_source", None)
    if frame is not None and desk.unit in frame.columns and index is not None:
        column = pd.DataFrame.__getitem__(frame, desk.unit)
        if index is frame.index or index.equals(frame.index):
            return units(column), retold(desk, frame)
        if frame.index.is_unique and index.nlevels == frame.index.nlevels and index.isin(frame.index).all():
            return units(column.loc[index]), retold(desk, frame)
    if index is not None and (names := index_names(desk, index)) is not None:
        return units(names), ()
    return plain, (
        f"the column {desk.unit!r} of the unit was not found with these data: rows were counted, not units",
    )


def index_names(desk: Desk, index: Any) -> Any:
    """Names of units that came with the data and are an index now, by row; None where it holds none."""
    if desk.unit is None or list(index.names).count(desk.unit) != 1:
        return None
    names = pd.Series(index.get_level_values(desk.unit))
    return names if traced(names) else None


def unit_rows(desk: Desk, frame: Any, keys: Sequence[tuple[str, Any]]) -> bool:
    """Whether something is grouped by units that came with the data, alone or with other columns."""
    return any(name == desk.unit and traced(key) for name, key in keys) and trusted(desk, frame)


def by_unit(desk: Desk, raw: Any) -> Any:
    """What was made of each unit's own rows: rows of units again, looked at on the screen, and no output."""
    kind = desk.pandas.frame_class
    made = kind._sliced(raw) if isinstance(raw, pd.Series) else kind(raw)
    return indexed(desk, made, raw.index)


def indexed(desk: Desk, made: Any, index: Any) -> Any:
    """A checked frame or column by names of units that are those of its own rows."""
    if index_names(desk, index) is not None:
        usual = pd.Series if isinstance(made, pd.Series) else pd.DataFrame
        usual._set_axis(made, 0 if made.ndim == 1 else 1, index)  # type: ignore[attr-defined,unused-ignore]
    return made


def retold(desk: Desk, frame: Any) -> tuple[str, ...]:
    """What to say where the names of units did not come with the data: nobody would be known again."""
    if trusted(desk, frame):
        return ()
    return (f"the column {desk.unit!r} of the unit was changed in these data, or did not come with them",)


def given_units(desk: Desk, unit: Any) -> tuple[tuple[Any, Any], tuple[str, ...]]:
    """Units that were handed over as a column of their own."""
    column = unit if isinstance(unit, pd.Series) else pd.Series(np.asarray(unit))
    sure = traced(column) or not (desk.frames or desk.strange)
    return units(unit), () if sure else ("the units given did not come with the data",)


def noted(notes: Sequence[str], evidence: Evidence) -> list[Finding]:
    """A note about units as a finding: a person looks."""
    return [finding("unit", evidence, np.ones(1, np.bool_), note, verdict="review") for note in notes[:1]]


def listed(given: Any) -> list[Any]:
    """What was given as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def functions(given: Any) -> list[Any]:
    """All functions of an aggregation."""
    if isinstance(given, dict):
        return [f for fs in given.values() for f in functions(fs)]
    return list(given) if isinstance(given, list | tuple) else [given]


def stat_of(function: Any) -> str:
    """Name of an aggregation; a researcher's own function has none that could be trusted, whatever it is called."""
    if isinstance(function, str):
        return function
    home = str(getattr(function, "__module__", None)).split(".")[0]
    return str(getattr(function, "__name__", OWN)) if home in LIBRARIES else OWN


def name_of(series: Any) -> str:
    """Name of a column."""
    found = getattr(series, "name", None)
    return "values" if found is None else str(found)


def named(series: Sequence[Any], given: Sequence[Any]) -> list[str]:
    """Names of the dimensions of a table."""
    if given and len(given) == len(series):
        return [str(g) for g in given]
    found = [getattr(s, "name", None) for s in series]
    return [f"dimension {i + 1}" if n is None else str(n) for i, n in enumerate(found)]


def aligned(series: Sequence[Any], values: Any) -> list[Any]:
    """Columns with the rows in one order, as pandas joins them by index."""
    wanted = [*series, *([] if values is None else [values])]
    frames = [s for s in wanted if isinstance(s, pd.Series)]
    if frames and any(not s.index.equals(frames[0].index) for s in frames):
        raise DataError("the columns of the table have different indexes; take them from one frame")
    return list(series)


def keyed(frame: Any, by: Any) -> list[tuple[str, Any]] | None:
    """What a table is grouped by, as named columns; None where it is something that has no column."""
    found: list[tuple[str, Any]] = []
    for number, key in enumerate(listed(by), 1):
        if isinstance(key, str) and key in frame.columns:
            found.append((key, pd.DataFrame.__getitem__(frame, key)))
        elif isinstance(key, pd.Series) and key.index.equals(frame.index):
            name = f"group {number}" if key.name is None else str(key.name)
            found.append((name if name not in dict(found) else f"{name} {number}", key))
        else:
            return None
    return found


def kept(desk: Desk, frame: Any) -> pd.DataFrame:
    """A plain frame without the column that names units: nothing is computed of it."""
    return pd.DataFrame(frame).drop(columns=[desk.unit], errors="ignore")
