"""Coordinates as places within an area, so that whatever draws them stays inside it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.data.encode import level_key
from dalenius.data.schema import Kind, Level
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, BoolArray, IntArray, Vector, states

Floats = npt.NDArray[np.float64]
SIDES = 16
"""Directions into which the reach of an area is known, the first to the east, against the clock."""


def turned(longitude: Floats) -> Floats:
    """Degrees between -180 and 180.

    Examples
    --------
    >>> turned(np.array([181.0, -10.0])).tolist()
    [-179.0, -10.0]
    """
    return np.where(np.abs(longitude) <= 180, longitude, (longitude + 180) % 360 - 180)


def reach_towards(reach: Floats, angle: Floats) -> Floats:
    """How far an area reaches into a direction: corners at `SIDES` distances, straight lines between them.

    Examples
    --------
    >>> reach_towards(np.ones((1, 16)), np.array([0.0])).tolist()
    [1.0]
    """
    width = 2 * np.pi / SIDES
    turn = (angle % (2 * np.pi)) / width
    side = np.minimum(turn.astype(np.int64), SIDES - 1)
    rows = np.arange(len(angle))
    first, second = reach[rows, side], reach[rows, (side + 1) % SIDES]
    into = (turn - side) * width
    # Where the ray cuts the line between the two corners: the sine rule in the triangles on both sides of it.
    below = first * np.sin(into) + second * np.sin(width - into)
    flat = below <= 0
    return np.where(flat, 0.0, first * second * np.sin(width) / np.where(flat, 1.0, below))


@step
@dataclass(frozen=True)
class KeepPlace(Step):
    """Two coordinates become a place in the unit circle that stands for their area; undone, they lie inside it.

    ``levels`` are the areas; ``centres`` holds longitude and latitude of each, ``reach`` its extent into `SIDES`
    directions. The first centre and extent are those of the whole file, for rows whose area is not known. An area that
    is not listed has too few people for a point that points at none of them: coordinates there are left empty. The
    distance from the centre is taken to the ``power`` of the area: less than 1 moves points outwards, where the extent
    that may be known is smaller than the area.

    Examples
    --------
    >>> around = (0.0, 0.0, 10.0, 50.0), (1.0,) * 16 + (0.1,) * 16
    >>> step = KeepPlace("lon", "lat", "town", ("Aa",), *around)
    >>> table = Table.from_frame({"lon": [10.05, 9.98], "lat": [50.0, 50.02], "town": ["Aa", "Aa"]})
    >>> inside = step.apply(table).table
    >>> inside["lon"].data.round(2).tolist()
    [0.5, -0.2]
    >>> step.undo(inside)["lon"].data.round(6).tolist()
    [10.05, 9.98]
    """

    do: ClassVar[str] = "keep-place"
    longitude: str
    latitude: str
    area: str
    levels: Annotated[tuple[Level, ...], Option(secret=True)] = field(repr=False)
    centres: Annotated[tuple[float, ...], Option(secret=True)] = field(repr=False)
    reach: Annotated[tuple[float, ...], Option(secret=True)] = field(repr=False)
    power: Annotated[tuple[float, ...], Option(secret=True)] = field(default=(), repr=False)
    decimals: tuple[int, ...] = ()
    degrees: bool = True

    def conflicts(self) -> list[str]:
        """A centre and an extent for the whole file and for each area."""
        size = len(self.levels) + 1
        fits = len(self.centres) == 2 * size and len(self.reach) == SIDES * size
        fits &= len(self.power) in (0, size)
        return (
            []
            if fits
            else ["centres, reach, power: give 2, 16 and 1 numbers for the whole file and for each area"]
        )

    @property
    def named(self) -> tuple[str, ...]:
        """The two coordinates."""
        return (self.longitude, self.latitude)

    @property
    def needs(self) -> tuple[str, ...]:
        """The column of the area."""
        return (self.area,)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        own, known = self._own(table)
        which = self._areas(table)
        gaps = own - np.array(self.centres).reshape(-1, 2)[which]
        if self.degrees:
            gaps[:, 0] = turned(gaps[:, 0])
        far = reach_towards(self._reach(which), np.arctan2(gaps[:, 1], gaps[:, 0]))
        inside = folded(gaps / np.where(far > 0, far, np.inf)[:, None])
        made = []
        for name, place in zip(self.named, inside.T, strict=True):
            old = table[name]
            column = replace(
                old.column, kind=Kind.CONTINUOUS, bounds=(-1.0, 1.0), decimals=None, partner=None, parent=None,
                roles=(), note="",
            )  # fmt: skip
            made.append(Vector(column, np.where(known, place, 0.0), _state(old, known)).tidy())
        return Masked.of(table, table.with_vectors(*made))

    def undo(self, table: Table) -> Table:
        """Places of the area, as far from its centre as the circle says."""
        own, known = self._own(table)
        which = self._areas(table)
        known &= (which > 0) | ~table[self.area].present
        inside = folded(own)
        if self.power:
            length = np.hypot(*inside.T)
            inside = (
                inside * (np.where(length > 0, length, 1.0) ** (np.array(self.power)[which] - 1))[:, None]
            )
        far = reach_towards(self._reach(which), np.arctan2(inside[:, 1], inside[:, 0]))
        points = np.array(self.centres).reshape(-1, 2)[which] + far[:, None] * inside
        if self.degrees:
            points[:, 0] = turned(points[:, 0])
        made = []
        for j, name in enumerate(self.named):
            data = np.where(known, points[:, j], 0.0)
            data = np.round(data, self.decimals[j]) if self.decimals else data
            column = replace(table[name].column, kind=Kind.POINT, bounds=None)
            made.append(Vector(column, data, _state(table[name], known)).tidy())
        return table.with_vectors(*made)

    def _own(self, table: Table) -> tuple[Floats, BoolArray]:
        """Both coordinates, 0 where one is not known."""
        both = [table[name] for name in self.named]
        known = both[0].present & both[1].present
        return np.where(known[:, None], np.column_stack([v.data.astype(float) for v in both]), 0.0), known

    def _areas(self, table: Table) -> IntArray:
        """Place of each row's area in the lists."""
        source = table[self.area]
        place = {level_key(level): i for i, level in enumerate(self.levels, 1)}
        of = np.array([place.get(level_key(level), 0) for level in source.levels] or [0])
        return np.where(source.present, of[source.data], 0)

    def _reach(self, which: IntArray) -> Floats:
        held: Floats = np.array(self.reach).reshape(-1, SIDES)[which]
        return held


def folded(inside: Floats) -> Floats:
    """Places beyond the circle come back into it on the same side, the nearest to its edge first."""
    square = (inside**2).sum(axis=1)
    return np.where(square[:, None] > 1, inside / np.maximum(square, 1)[:, None], inside)


def _state(old: Vector, known: BoolArray) -> npt.NDArray[np.uint8]:
    """Gaps as they were; empty too where only the other coordinate is known."""
    return np.where(known, 0, np.where(old.present, MISSING, states(old))).astype(np.uint8)
