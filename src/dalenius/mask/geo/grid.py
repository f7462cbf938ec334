"""Points into cells: one grid, or a quad-tree whose cells all hold at least k points; codes as INSPIRE writes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, MissingExtraError, counted
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.places import place_columns
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, emptied
from dalenius.mask.geo.earth import Places, Unit, place_faults
from dalenius.mask.needs import rows_each
from dalenius.mask.neighbours import Floats

INSPIRE = "EPSG:3035"
"""Equal areas of Europe, on which the common grid lies."""


@lru_cache
def _projection(crs: str) -> Any:
    try:
        from pyproj import Transformer  # noqa: PLC0415 (an extra)
        from pyproj.exceptions import ProjError  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("pyproj", "geo", "turn degrees into cells of a grid") from None
    try:
        return Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    except ProjError:
        raise DataError(f"crs: {crs!r} is not known; use a code such as EPSG:3035") from None


def on_plane(points: Floats, unit: Unit, crs: str = INSPIRE) -> Floats:
    """Points in metres of a projection.

    Examples
    --------
    >>> on_plane(np.array([[10.0, 52.0]]), "degrees").round().tolist()
    [[4321000.0, 3210000.0]]
    """
    if unit == "metres":
        return points
    return np.column_stack(_projection(crs).transform(points[:, 0], points[:, 1]))


def off_plane(points: Floats, unit: Unit, crs: str = INSPIRE) -> Floats:
    """Points back in their own unit."""
    if unit == "metres":
        return points
    return np.column_stack(_projection(crs).transform(points[:, 0], points[:, 1], direction="INVERSE"))


def cell_codes(points: Floats, size: int = 1000, unit: Unit = "degrees") -> list[str]:
    """The code of each point's cell as INSPIRE writes it: size, then northing and easting of the south-west corner.

    Examples
    --------
    >>> cell_codes(np.array([[10.0, 52.0]])), cell_codes(np.array([[10.0, 52.0]]), 250)
    (['1kmN3210E4321'], ['250mN321000E432100'])
    """
    text = f"{size // 1000}km" if size % 1000 == 0 else f"{size}m"
    zeros = len(str(size)) - len(str(size).rstrip("0"))
    corner = (np.floor(on_plane(points, unit) / size + 1e-9).astype(np.int64) * size) // 10**zeros
    return [f"{text}N{north}E{east}" for east, north in corner.tolist()]


@step
@dataclass(frozen=True)
class Grid(Step):
    """Points replaced by the middle of their cell; with ``k`` cells are halved only while all parts hold k points.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> homes = Table.from_frame({"x": rng.random(500) * 4000 + 0.5, "y": rng.random(500) * 4000 + 0.5})
    >>> made = Grid("x", "y", size=4000, halvings=4, k=10, unit="metres").apply(homes)
    >>> made.figures["fewest points of a cell"] >= 10, made.figures["cells"] > 16
    (True, True)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="grid",
        title="Points into grid cells",
        meaning="Replaces points by the middle of their cell; cells are made smaller only where enough points are.",
        plain="Homes are put into squares on the map, small ones in towns and large ones in the country.",
        guarantee="every cell that is shown holds at least k points",
        reference="Cremer, Jehmlich and Lenz 2024",
        promise="On the map, at least as many homes as asked for share a square.",
        example_options={"size": 64000, "halvings": 3, "k": 5},
    )
    reversible: ClassVar[bool] = False
    longitude: Annotated[str, Option(title="Longitude", meaning="column, else the one with this role")] = ""
    latitude: Annotated[str, Option(title="Latitude", meaning="column, else the one with this role")] = ""
    size: Annotated[
        int,
        Option(
            at_least=1, title="Cell", meaning="metres of the largest cells: the more, the safer", knob=True
        ),
    ] = 1000
    halvings: Annotated[
        int, Option(at_least=0, at_most=16, title="Halvings", meaning="how often a cell may be halved")
    ] = 0
    k: Annotated[
        int,
        Option(at_least=1, title="Fewest points", meaning="that a cell must hold; points in others are left out",
               knob=True),
    ] = 5  # fmt: skip
    unit: Annotated[Unit, Option(title="Unit", meaning="degrees of WGS84, or metres of a projection")] = (
        "degrees"
    )
    crs: Annotated[str, Option(title="Projection", meaning="in which the grid lies")] = INSPIRE
    leaves: Annotated[
        tuple[tuple[int, int, int], ...] | list[Any],
        Option(title="Cells", meaning="found by the step itself"),
    ] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Longitude and latitude, where they are named."""
        return tuple(name for name in (self.longitude, self.latitude) if name)

    def faults(self, table: Table) -> list[str]:
        """Points, and enough of them."""
        wrong = super().faults(table) + place_faults(table, self.longitude, self.latitude, self.unit)
        needed = self.k * rows_each(table)
        if table.rows < needed:
            wrong.append(
                f"the file has {counted(table.rows, 'row')}, fewer than k = {needed}; use a smaller k"
            )
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """Every point is projected, and counted at every size of cells."""
        return Cost(0.05 + 2e-6 * shape.rows * (1 + self.halvings), 120.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        x, y = place_columns(table.schema, self.longitude, self.latitude)
        places = Places.of(table, x, y, self.unit)
        flat = on_plane(places.points, self.unit, self.crs)
        each = rows_each(table)
        leaves = quad_tree(flat, self.size, self.halvings, self.k * each)
        whole = replace(self, longitude=x, latitude=y, leaves=leaves)
        made = whole.see(table)
        level, counts = whole._levels(flat)
        lost = level < 0
        if lost.any():
            made = made.with_vectors(*(emptied(made[name], lost) for name in (x, y)))
        figures = {
            "cells": float(len(leaves)), "fewest points of a cell": float(min(counts, default=0)),
            "points left out": float(lost.sum()),
        }  # fmt: skip
        note = (
            f"{counted(len(leaves), 'cell')} of {self.size / 2**self.halvings:g} to {self.size} m, each with "
        )
        note += f"{self.k} points or more; {counted(int(lost.sum()), 'point')} in emptier cells left out."
        return Masked.of(table, made, maps=[whole], notes=[note], figures=figures)

    def _levels(self, flat: Floats) -> tuple[IntArray, list[int]]:
        """How often each point's cell was halved, -1 in no cell, and the points of each cell."""
        level = np.full(len(flat), -1, np.int64)
        held = np.array(self.leaves, np.int64).reshape(-1, 3)
        counts: list[int] = []
        for at in range(self.halvings + 1):
            here = held[held[:, 0] == at][:, 1:]
            if not len(here):
                continue
            both = np.concatenate([here, cells_of(flat, self.size / 2**at)])
            _, ids = np.unique(both, axis=0, return_inverse=True)
            known, mine = ids.ravel()[: len(here)], ids.ravel()[len(here) :]
            inside = np.isin(mine, known)
            level[inside] = at
            counts += np.bincount(mine[inside], minlength=ids.max() + 1)[known].tolist()
        return level, counts

    def see(self, table: Table) -> Table:
        """Points in the middle of their cells; those in no cell as in the largest."""
        if self.longitude not in table or self.latitude not in table:
            return table
        places = Places.of(table, self.longitude, self.latitude, self.unit)
        there = np.isfinite(places.points).all(axis=1)
        new = places.points.copy()
        flat = on_plane(places.points[there], self.unit, self.crs)
        size = self.size / 2.0 ** np.maximum(self._levels(flat)[0], 0)[:, None]
        new[there] = off_plane((np.floor(flat / size + 1e-9) + 0.5) * size, self.unit, self.crs)
        return table.with_vectors(*places.vectors(table, np.nan_to_num(new)))


def cells_of(flat: Floats, size: float) -> IntArray:
    """Column and row of each point's cell."""
    return np.floor(flat / size + 1e-9).astype(np.int64)


def quad_tree(flat: Floats, size: int, halvings: int, k: int) -> tuple[tuple[int, int, int], ...]:
    """Cells (halvings, column, row) that hold at least k points: halved wherever every part that is not empty does.

    Examples
    --------
    >>> quad_tree(np.array([[1.0, 1], [2, 2], [9, 9], [8, 8]]), 10, 1, 2)
    ((1, 0, 0), (1, 1, 1))
    """
    found: list[tuple[int, int, int]] = []
    left = np.arange(len(flat))
    for at in range(halvings + 1):
        cells, ids, counts = np.unique(
            cells_of(flat[left], size / 2**at), axis=0, return_inverse=True, return_counts=True
        )
        ids = ids.ravel()
        if at == 0:  # what is too empty at the largest size is left out
            fine = counts >= k
            keep = fine[ids]
            left, ids = left[keep], np.cumsum(fine)[ids[keep]] - 1
            cells, counts = cells[fine], counts[fine]
        if at == halvings:
            found += [(at, int(column), int(row)) for column, row in cells]
            break
        _, parts, sizes = np.unique(
            cells_of(flat[left], size / 2 ** (at + 1)), axis=0, return_inverse=True, return_counts=True
        )
        short = np.zeros(len(cells), bool)
        np.logical_or.at(short, ids, sizes[parts.ravel()] < k)
        found += [(at, int(column), int(row)) for column, row in cells[short]]
        left = left[~short[ids]]
        if not len(left):
            break
    return tuple(found)
