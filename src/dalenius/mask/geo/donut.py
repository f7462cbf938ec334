"""Donut masking: every point moved a random distance between two radii into a random direction (Cremer et al. 2024)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DaleniusError, DataError, counted
from dalenius.core.option import Option
from dalenius.core.random import SHORTEST, Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.places import place_columns
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.mask.geo.areas import Areas
from dalenius.mask.geo.earth import Places, Unit, apart, decimals_for, moved, place_faults
from dalenius.mask.geo.figures import k_report, spatial_k
from dalenius.mask.microaggregation import strata_of
from dalenius.mask.neighbours import Floats

TRIES = 200
"""Draws for a point that has to stay inside an area."""
Law = Literal["radius", "area"]


def draws(
    uniform: Floats, near: Floats | float, far: Floats | float, law: Law = "radius"
) -> tuple[Floats, Floats]:
    """Distances and directions out of two uniform numbers a point.

    Parameters
    ----------
    law
        "radius": every distance is as likely as any other; "area": every place of the ring is.

    Examples
    --------
    >>> distance, direction = draws(np.array([[0.5, 0.25]]), 100.0, 300.0)
    >>> distance.tolist(), direction.round(4).tolist()
    ([200.0], [1.5708])
    """
    low, high = np.asarray(near, float), np.asarray(far, float)
    u = uniform[:, 0]
    distance = low + u * (high - low) if law == "radius" else np.sqrt(low**2 + u * (high**2 - low**2))
    return distance, 2 * np.pi * uniform[:, 1]


def donut(
    points: Floats, near: Floats | float, far: Floats | float, *, law: Law = "radius", unit: Unit = "metres",
    seed: Seed = None,
) -> Floats:  # fmt: skip
    """Points each moved by itself.

    Examples
    --------
    >>> from dalenius.mask.geo.earth import apart
    >>> old = np.zeros((1000, 2))
    >>> gap = apart(old, donut(old, 100, 200, seed=1), "metres")
    >>> bool(gap.min() >= 100), bool(gap.max() <= 200)
    (True, True)
    """
    distance, direction = draws(generator(seed, "donut").random((len(points), 2)), near, far, law)
    return moved(points, distance, direction, unit)


def keyed_uniform(points: Floats, key: str, turn: int) -> Floats:
    """Two uniform numbers for each point that depend on the point and a secret alone, whatever file it is in.

    Examples
    --------
    >>> keyed_uniform(np.array([[1.0, 2.0]]), "secret", 0).tolist() == keyed_uniform(
    ...     np.array([[9.0, 9.0], [1.0, 2.0]]), "secret", 0
    ... )[1:].tolist()
    True
    """
    secret = hashlib.blake2b(key.encode(), digest_size=32).digest()
    salt = turn.to_bytes(8, "little")
    rows = np.ascontiguousarray(points, "<f8").view("V16").ravel().tolist()
    held = b"".join([hashlib.blake2b(row, key=secret, salt=salt, digest_size=16).digest() for row in rows])
    words = np.frombuffer(held, "<u8").reshape(-1, 2)
    return (words >> np.uint64(11)).astype(float) / 2.0**53


@step
@dataclass(frozen=True)
class Donut(Step):
    """Points moved between two radii; rows at one address, or of one household, move together.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> homes = Table.from_frame({"lon": 6.9 + rng.random(200) / 20, "lat": 50.9 + rng.random(200) / 20})
    >>> made = Donut("lon", "lat", near=100, far=200).apply(homes, 1)
    >>> made.lens.perturbed == {"lon", "lat"}, 100 <= made.figures["nearest move in m"] <= 110
    (True, True)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="donut",
        title="Donut masking of points",
        meaning="Moves every point a random distance between two radii into a random direction.",
        plain="Every home is moved on the map, at least so far and at most so far, wherever chance sends it.",
        guarantee="none",
        reference="Cremer, Jehmlich and Lenz 2024",
        example_options={},
    )
    reversible: ClassVar[bool] = False
    longitude: Annotated[str, Option(title="Longitude", meaning="column, else the one with this role")] = ""
    latitude: Annotated[str, Option(title="Latitude", meaning="column, else the one with this role")] = ""
    near: Annotated[
        float,
        Option(at_least=0, title="Nearest", meaning="metres moved at least: the more, the safer", knob=True),
    ] = 100.0
    far: Annotated[float, Option(above=0, title="Farthest", meaning="metres moved at most", knob=True)] = (
        400.0
    )
    law: Annotated[
        Law,
        Option(title="Law", meaning="every distance as likely (radius), or every place of the ring (area)"),
    ] = "radius"
    unit: Annotated[Unit, Option(title="Unit", meaning="degrees of WGS84, or metres of a projection")] = (
        "degrees"
    )
    together: Annotated[
        tuple[str, ...],
        Option(title="Together", meaning="rows alike in these move together; rows at one point always do"),
    ] = ()
    within: Annotated[
        str,
        Option(title="Areas", meaning="GeoJSON file of areas that no point may leave, and of forbidden ones"),
    ] = ""
    people: Annotated[
        float | None,
        Option(
            above=0, title="People", meaning="instead of radii: people expected inside the nearest radius"
        ),
    ] = None
    ratio: Annotated[float, Option(above=1, title="Ratio", meaning="of the radii, where people set them")] = (
        2.0
    )
    key: Annotated[
        str,
        Option(title="Key", meaning="secret from which the same point is always moved alike", secret=True),
    ] = ""
    cells: Annotated[
        tuple[str, ...], Option(title="Also known", meaning="columns an intruder knows beside the address")
    ] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Also columns that hold points together and that an intruder knows."""
        own = [name for name in (self.longitude, self.latitude) if name]
        return tuple(dict.fromkeys((*own, *self.together, *self.cells)))

    def conflicts(self) -> list[str]:
        """A ring that is one, areas where people set it, and a key that nobody can try out."""
        wrong = [] if self.far > self.near else [f"far is {self.far:g}, near {self.near:g}; far must be more"]
        if 0 < len(self.key) < SHORTEST:
            wrong.append(f"the key is too short to be a secret; give at least {SHORTEST} characters, or none")
        return wrong + (
            ["people needs within: areas that say how many live there"]
            if self.people and not self.within
            else []
        )

    def to_dict(self) -> dict[str, object]:
        """Plain data without the key, which is a secret."""
        return {name: value for name, value in super().to_dict().items() if name != "key"}

    def faults(self, table: Table) -> list[str]:
        """Points, areas around them, and people in the areas, all at once."""
        wrong = super().faults(table)
        wrong += place_faults(table, self.longitude, self.latitude, self.unit, self.far)
        if not table.rows:
            wrong.append("the file has no rows; there is nothing to move")
        if self.within:
            try:
                areas = Areas.read(self.within)
                wrong += areas.faults(self._usable(table), self.people is not None)
            except DaleniusError as error:
                wrong += error.faults
        return wrong

    def _usable(self, table: Table) -> Floats:
        """Points that can be looked up on a map: both coordinates are known and within the range of their unit."""
        names = place_columns(table.schema, self.longitude, self.latitude)
        if not all(name in table and table[name].is_number for name in names):
            return np.zeros((0, 2))
        points = Places.of(table, *names, self.unit).points
        most = np.array([180, 90]) if self.unit == "degrees" else np.inf
        fine: Floats = points[(np.abs(points) <= most).all(axis=1)]
        return fine

    def cost(self, shape: Shape) -> Cost:
        """Trees find who is near."""
        return Cost(0.05 + 4e-6 * shape.rows, 200.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        places = Places.of(table, self.longitude, self.latitude, self.unit)
        home, ids = self._homes(table, places)
        areas = Areas.read(self.within) if self.within else None
        near, far = self._radii(home, areas)
        # a tenth of a degree is 11 km: rounded as the file is, points would be back where they were
        ring = np.where(near > 0, np.minimum(near, far - near), far)
        finest = decimals_for(float(ring.min()), self.unit)
        new = self._moved(home, near, far, areas, seed)[ids]
        vectors = places.vectors(table, new, finest)
        shown = np.column_stack([vector.floats() for vector in vectors])
        names = place_columns(table.schema, self.longitude, self.latitude)
        report = k_report(self._spatial_k(table, places.points, shown, ids))
        gaps = apart(places.points, shown, self.unit)
        figures = {
            "nearest move in m": float(gaps.min()), "farthest move in m": float(gaps.max()),
            "spatial k, mean": report.values["mean"], "spatial k below 3 in %": report.value,
            "addresses": float(len(home)),
        }  # fmt: skip
        away = len(np.unique(ids[gaps > 0]))
        notes = [f"{counted(away, 'place')} moved, each as a whole.", report.sentence]
        if not self.key:
            notes.append(
                "A second release with fresh draws would let their mean show the true points; use a key."
            )
        return Masked.of(table, table.with_vectors(*vectors), perturbed=names, notes=notes, figures=figures)

    def _spatial_k(self, table: Table, points: Floats, shown: Floats, ids: IntArray) -> IntArray:
        """Spatial k of each row, in homes: who lives at one address moves as one, and nobody hides among his own."""
        cells, _ = strata_of(table, self.cells)
        _, some, back = np.unique(
            np.column_stack([ids, cells]), axis=0, return_index=True, return_inverse=True
        )
        return spatial_k(points[some], shown[some], cells[some], self.unit)[back.ravel()]

    def _homes(self, table: Table, places: Places) -> tuple[Floats, IntArray]:
        """Places that move as one, and which each row belongs to: a household is where its first row is."""
        if self.together:
            ids, _ = strata_of(table, self.together)
            _, first, ids = np.unique(ids, return_index=True, return_inverse=True)
            return places.points[first], ids
        home, ids = np.unique(places.points, axis=0, return_inverse=True)
        return home, ids.ravel()

    def _radii(self, points: Floats, areas: Areas | None) -> tuple[Floats, Floats]:
        """The ring of each place: as asked for, or by the people of its area."""
        if areas is None or self.people is None:
            return np.full(len(points), self.near), np.full(len(points), self.far)
        near = np.sqrt(self.people / (np.pi * areas.density(self.unit)[areas.locate(points)]))
        return near, self.ratio * near

    def _moved(self, points: Floats, near: Floats, far: Floats, areas: Areas | None, seed: Seed) -> Floats:
        """Each place moved; drawn again while it leaves its area."""
        home = areas.locate(points) if areas is not None else None
        rng = generator(seed, "donut")
        made, left = points.copy(), np.arange(len(points))
        for turn in range(TRIES):
            some = points[left]
            uniform = keyed_uniform(some, self.key, turn) if self.key else rng.random((len(left), 2))
            distance, direction = draws(uniform, near[left], far[left], self.law)
            made[left] = moved(some, distance, direction, self.unit)
            if areas is None or home is None:
                return made
            left = left[areas.locate(made[left]) != home[left]]
            if not len(left):
                return made
        raise DataError(f"{counted(len(left), 'point')} found no place within its area in {TRIES} draws; use smaller "
                        "radii, or larger areas")  # fmt: skip
