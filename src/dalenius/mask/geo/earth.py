"""Points on the earth or on a plane: which columns they are in, how far they are apart, where a move ends.

Degrees are WGS84. Distances are straight lines between points of the ellipsoid, which differ from those along the
ground by less than a part in a million up to 10 km, and know neither poles nor a date line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dalenius.core.errors import counted
from dalenius.data.places import place_columns
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.mask.needs import number_faults
from dalenius.mask.neighbours import Floats

AXIS, SQUARED = 6_378_137.0, 6.694379990141316e-3
"""Half the axis of WGS84 in metres, and its eccentricity squared."""
POLE = 89.0
"""Beyond this latitude directions turn within a ring."""
FINEST = 12
"""Decimals beyond which a degree holds nothing but errors of rounding."""
Unit = Literal["degrees", "metres"]


def solid(points: Floats) -> Floats:
    """Longitudes and latitudes in degrees as points in space, in metres.

    Examples
    --------
    >>> solid(np.array([[0.0, 0.0]])).round().tolist()
    [[6378137.0, 0.0, 0.0]]
    """
    lon, lat = np.radians(points[:, 0]), np.radians(points[:, 1])
    across = AXIS / np.sqrt(1 - SQUARED * np.sin(lat) ** 2)
    made: Floats = np.column_stack(
        [
            across * np.cos(lat) * np.cos(lon),
            across * np.cos(lat) * np.sin(lon),
            across * (1 - SQUARED) * np.sin(lat),
        ]
    )
    return made


def in_metres(points: Floats, unit: Unit) -> Floats:
    """Points whose differences are metres: in space for degrees, on the plane as they are."""
    return solid(points) if unit == "degrees" else points


def moved(points: Floats, distance: Floats, direction: Floats, unit: Unit = "degrees") -> Floats:
    """Points moved by metres into a direction (radians from east, against the clock); longitudes stay within ±180.

    Examples
    --------
    >>> east = moved(np.array([[179.9999, 0.0]]), np.array([100.0]), np.array([0.0]))
    >>> bool(east[0, 0] < -179.99)
    True
    """
    east, north = distance * np.cos(direction), distance * np.sin(direction)
    if unit == "metres":
        return points + np.column_stack([east, north])
    lat = np.radians(points[:, 1])
    bent = 1 - SQUARED * np.sin(lat) ** 2
    across, along = AXIS / np.sqrt(bent), AXIS * (1 - SQUARED) / bent**1.5
    new = points[:, 1] + np.degrees(north / along)
    half = np.radians(
        (points[:, 1] + new) / 2
    )  # the parallel halfway, so that the move is as long as asked for
    lon = points[:, 0] + np.degrees(east / (across * np.cos(half)))
    return np.column_stack([(lon + 180) % 360 - 180, new])


def apart(first: Floats, second: Floats, unit: Unit = "degrees") -> Floats:
    """Metres between points, row by row.

    Examples
    --------
    >>> apart(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]), "metres").tolist()
    [5.0]
    """
    gap: Floats = np.linalg.norm(in_metres(first, unit) - in_metres(second, unit), axis=1)
    return gap


@dataclass(frozen=True, eq=False)
class Places:
    """The points of a table: which columns hold them, in which unit."""

    x: str
    y: str
    points: Floats
    unit: Unit

    @classmethod
    def of(cls, table: Table, x: str, y: str, unit: Unit) -> Places:
        """The points of a table without faults."""
        names = place_columns(table.schema, x, y)
        return cls(*names, np.column_stack([table[name].floats() for name in names]), unit)

    def vectors(self, table: Table, points: Floats, finest: int = 0) -> list[Vector]:
        """The columns with other points, of at least so many decimals."""
        return [with_numbers(table[name], points[:, j], finest) for j, name in enumerate((self.x, self.y))]


def with_numbers(vector: Vector, new: Floats, finest: int = 0) -> Vector:
    """A column with other numbers, rounded as it was, or less: to ``finest`` decimals."""
    column = replace(vector.column, bounds=None)
    if column.kind is Kind.INTEGER:
        if not finest:
            return replace(vector, column=column, data=np.rint(new).astype(vector.data.dtype))
        column = replace(column, kind=Kind.CONTINUOUS, decimals=finest)
    if column.decimals is None:
        return replace(vector, column=column, data=new)
    digits = max(column.decimals, finest)
    return replace(vector, column=replace(column, decimals=digits), data=np.round(new, digits))


def decimals_for(metres: float, unit: Unit) -> int:
    """Decimals at which rounding moves a point by less than a hundredth of so many metres.

    Examples
    --------
    >>> decimals_for(100, "degrees"), decimals_for(100, "metres"), decimals_for(2, "metres")
    (6, 0, 2)
    """
    step = metres / 100 / (np.radians(AXIS) if unit == "degrees" else 1)
    return int(np.clip(np.ceil(-np.log10(step)), 0, FINEST))


def place_faults(table: Table, x: str, y: str, unit: Unit, farthest: float = 0.0) -> list[str]:
    """Everything that keeps points from being moved: gaps, units, poles; no value is quoted.

    Named columns that are not there are for the step to name.
    """
    names = place_columns(table.schema, x, y)
    if not all(names):
        return ["no longitude and latitude; name the columns, or give them the roles longitude and latitude"]
    wrong = number_faults(table, names)
    usable = [name for name in names if name in table and table[name].is_number]
    for name in usable:
        gaps = int(np.count_nonzero(~table[name].present))
        if gaps:
            wrong.append(
                f"column {name!r} has {counted(gaps, 'row')} without a coordinate; leave them out or fill them"
            )
    nothing = np.full(table.rows, np.nan)
    points = np.column_stack([table[name].floats() if name in usable else nothing for name in names])
    if unit == "metres":
        return wrong + _flat_faults(points[np.isfinite(points).all(axis=1)])
    for name, values, most in zip(names, points.T, (180, 90), strict=True):
        column = values[np.isfinite(values)]
        beyond = int(np.count_nonzero(np.abs(column) > most))
        if beyond == len(column) and beyond:
            wrong.append(f"column {name!r} holds no degrees; say unit='metres', or convert it")
        elif beyond:
            wrong.append(
                f"column {name!r} mixes units: {counted(beyond, 'row')} beyond ±{most} degrees; convert them"
            )
    polar = int(np.count_nonzero((np.abs(points[:, 1]) > POLE) & (np.abs(points[:, 1]) <= 90)))
    if polar:
        wrong.append(f"{counted(polar, 'point')} beyond {POLE:g} degrees of latitude, where a ring has no directions; "
                     "use metres of a polar projection")  # fmt: skip
    if farthest > 100_000:
        wrong.append(
            f"a move of {farthest / 1000:,.0f} km is too far for a ring on the earth; use 100 km or less"
        )
    return wrong


def _flat_faults(points: Floats) -> list[str]:
    """Metres that look like degrees: all within ±180 and ±90, with decimals."""
    small = (np.abs(points) <= (180, 90)).all() and len(points) > 1
    close = small and bool((points != np.round(points)).any()) and float(np.ptp(points, axis=0).max()) < 30
    return ["the coordinates look like degrees; say unit='degrees'"] if close else []
