"""Areas: outlines within which points must stay, and people who live in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, FileError, MissingExtraError, counted
from dalenius.data.vector import BoolArray, IntArray
from dalenius.mask.geo.earth import AXIS, Unit
from dalenius.mask.neighbours import Floats


def shapely() -> Any:
    """The library that knows polygons."""
    try:
        import shapely as library  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("shapely", "geo", "keep points inside areas") from None
    return library


@dataclass(frozen=True, eq=False)
class Areas:
    """Outlines (polygons of one GeoJSON file), how many people live in each, and which are forbidden (lakes, parks).

    A feature with the property ``"forbidden": true`` is one that no point may land in; ``population`` is the number of
    people in it.
    """

    shapes: Any
    population: Floats
    forbidden: BoolArray

    @classmethod
    def read(cls, path: str | Path) -> Areas:
        """Read a GeoJSON file; an error says what is wrong with it."""
        where = Path(path)
        try:
            content = json.loads(where.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(f"{where}: cannot read the areas ({error.strerror})") from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise FileError(f"{where}: the areas are not valid GeoJSON") from None
        return cls.of(content, str(where))

    @classmethod
    def of(cls, content: Any, where: str = "areas") -> Areas:
        """Areas of GeoJSON content."""
        library = shapely()
        features = content.get("features") if isinstance(content, dict) else None
        if not isinstance(features, list) or not features:
            raise DataError(f"{where}: no features; give a GeoJSON FeatureCollection of polygons")
        kinds = [(f.get("geometry") or {}).get("type") for f in features]
        odd = sum(kind not in ("Polygon", "MultiPolygon") for kind in kinds)
        if odd:
            raise DataError(f"{where}: {counted(odd, 'feature')} without a polygon; leave them out")
        shapes = np.array([library.geometry.shape(f["geometry"]) for f in features], dtype=object)
        bad = int(np.count_nonzero(~library.is_valid(shapes)))
        if bad:
            raise DataError(f"{where}: {counted(bad, 'polygon')} that crosses itself; mend them first")
        facts = [f.get("properties") or {} for f in features]
        people = np.array([_number(each.get("population")) for each in facts])
        return cls(shapes, people, np.array([each.get("forbidden") is True for each in facts]))

    def locate(self, points: Floats) -> IntArray:
        """The area of each point, the last of several; -1 outside of all, -2 in a forbidden one."""
        library = shapely()
        tree = library.STRtree(self.shapes)
        rows, which = tree.query(library.points(points), predicate="intersects")
        found = np.full(len(points), -1, np.int64)
        allowed = ~self.forbidden[which]
        found[rows[allowed]] = which[allowed]
        found[rows[~allowed]] = -2
        return found

    def density(self, unit: Unit) -> Floats:
        """People on a square metre of each area."""
        library = shapely()
        size = library.area(self.shapes)
        if unit == "degrees":
            middle = np.radians(library.get_y(library.centroid(self.shapes)))
            size = size * (np.pi / 180 * AXIS) ** 2 * np.cos(middle)
        made: Floats = self.population / size
        return made

    def faults(self, points: Floats, need_people: bool) -> list[str]:
        """Points outside of every area, and areas without people where radii come from people."""
        found = self.locate(points)
        outside, wet = int(np.count_nonzero(found == -1)), int(np.count_nonzero(found == -2))
        wrong = (
            [f"{counted(outside, 'point')} in no area; give areas that hold all points"] if outside else []
        )
        wrong += [f"{counted(wet, 'point')} in a forbidden area; move them, or allow the area"] if wet else []
        if need_people:
            lacking = int(np.count_nonzero(~(self.population[~self.forbidden] > 0)))
            if lacking:
                wrong.append(
                    f"{counted(lacking, 'area')} without people; give every area the property 'population', above 0"
                )
        return wrong


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")
