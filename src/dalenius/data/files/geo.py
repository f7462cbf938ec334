"""GeoJSON and GeoParquet: points become two columns, longitude and latitude, and come back as points.

Coordinates are degrees of WGS84. A geometry that is no point (an outline, a line) is kept as text in one column with
the role ``geometry``; it tells a place exactly and never leaves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet

from dalenius.core.errors import DataError, FileError, MissingExtraError, counted
from dalenius.core.plain import plain
from dalenius.data.atomic import replacing, write_text
from dalenius.data.files.access import existing
from dalenius.data.files.columnar import arrow_from_table, table_from_arrow
from dalenius.data.places import place_columns
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray

LONGITUDE, LATITUDE, GEOMETRY = "longitude", "latitude", "geometry"
DEGREES = (
    "CRS84",
    "4326",
    "EPSG:4326",
    "OGC:CRS84",
    "urn:ogc:def:crs:OGC:1.3:CRS84",
    "urn:ogc:def:crs:EPSG::4326",
)
"""Names of degrees of WGS84."""
WKB = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])
"""A point as GeoParquet writes it: 21 bytes."""
HEAD = b"\x01\x01\x00\x00\x00"
"""How it begins: the order of bytes, and that it is a point."""


def read_geojson(path: str | Path, schema: Schema | None = None) -> Table:
    """Read a GeoJSON file: one row a feature, its properties and its point.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "homes.geojson"
    >>> write_geojson(Table.from_frame({"age": [31, 64], "lon": [6.95, 7.1], "lat": [50.94, 50.7]}), file)
    >>> read_geojson(file).to_frame("dict")
    {'age': [31, 64], 'longitude': [6.95, 7.1], 'latitude': [50.94, 50.7]}
    """
    where = existing(path)
    try:
        content = json.loads(where.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise FileError(f"{where}: not valid GeoJSON") from None
    features = content.get("features") if isinstance(content, dict) else None
    if not isinstance(features, list) or not all(isinstance(f, dict) for f in features):
        raise FileError(f"{where}: no features; give a GeoJSON FeatureCollection")
    wrong = _crs_faults(content.get("crs"))
    held = [f.get("properties") if isinstance(f.get("properties"), dict) else {} for f in features]
    named = dict.fromkeys(str(name) for facts in held for name in facts)
    shapes = [f.get("geometry") for f in features]
    points, odd, bad = _json_points(shapes)
    wrong += [f"{counted(bad, 'feature')} with a point of other than two or three numbers"] if bad else []
    if wrong:
        raise FileError.from_faults(str(where), wrong)
    columns = {name: _plain([facts.get(name) for facts in held]) for name in named}
    outlines = [json.dumps(shape) if no else None for shape, no in zip(shapes, odd, strict=True)]
    return _placed(pa.table(columns), points, outlines if any(odd) else None, schema, str(where))


def _json_points(shapes: Sequence[Any]) -> tuple[AnyArray, list[bool], int]:
    """Coordinates (NaN without a point), which geometries are no points, and how many points are none."""
    points, odd, bad = np.full((len(shapes), 2), np.nan), [], 0
    for row, shape in enumerate(shapes):
        point = isinstance(shape, dict) and shape.get("type") == "Point"
        odd.append(shape is not None and not point)
        if point:
            at = shape.get("coordinates")
            fine = isinstance(at, list) and len(at) in (2, 3) and all(_is_number(part) for part in at)
            bad += not fine
            points[row] = at[:2] if fine else np.nan
    return points, odd, bad


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _plain(values: list[Any]) -> pa.Array:
    """A property as a column: numbers, texts, yes and no as they are; what is nested or mixed as text."""
    nested = any(isinstance(value, (dict, list)) for value in values)
    try:
        made = None if nested else pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        made = None
    if made is not None:
        return made
    words = [
        None if v is None else v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values
    ]
    return pa.array(words, pa.string())


def _crs_faults(crs: Any) -> list[str]:
    """A file of before 2016 may say that it has other coordinates than degrees."""
    facts = crs.get("properties") if isinstance(crs, dict) else None
    name = str(facts.get("name", "")) if isinstance(facts, dict) else ""
    return (
        []
        if not name or name in DEGREES
        else ["coordinates are not degrees of WGS84; convert the file first"]
    )


def _placed(
    arrow: pa.Table,
    points: AnyArray,
    outlines: Sequence[str | None] | None,
    schema: Schema | None,
    where: str,
) -> Table:
    """A table with columns for points and for what is none; their names must be free."""
    new: dict[str, Any] = {}
    if np.isfinite(points).any():
        new |= {
            LONGITUDE: pa.array(points[:, 0], from_pandas=True),
            LATITUDE: pa.array(points[:, 1], from_pandas=True),
        }
    if outlines is not None:
        new[GEOMETRY] = pa.array(outlines, pa.string())
    taken = [name for name in new if name in arrow.column_names]
    if taken:
        raise FileError(f"{where}: a property is called {', '.join(map(repr, taken))}, like what the geometry becomes; "
                        "rename it")  # fmt: skip
    for name, column in new.items():
        arrow = arrow.append_column(name, column)
    table = table_from_arrow(arrow, schema)
    return table if schema is not None else table.with_schema(_with_places(table.schema, list(new)))


def _with_places(schema: Schema, new: Sequence[str]) -> Schema:
    """The schema with the roles of a point's two columns, and of outlines."""
    made = []
    for name, role, other in ((LONGITUDE, Role.LONGITUDE, LATITUDE), (LATITUDE, Role.LATITUDE, LONGITUDE)):
        if name in new:
            told = "of the points of the file"
            made.append(
                replace(schema[name], kind=Kind.POINT, roles=(role,), partner=other, levels=None, note=told)
            )
    if GEOMETRY in new:
        told = "outlines and lines, as text; never leaves"
        made.append(Column(GEOMETRY, Kind.TEXT, roles=(Role.GEOMETRY,), note=told))
    return schema.replace_columns(*made)


def write_geojson(table: Table, path: str | Path) -> None:
    """Write a GeoJSON file: one feature a row, a point where both coordinates are known."""
    x, y = _columns(table)
    points = [table[name].floats() for name in (x, y)]
    known = np.isfinite(points[0]) & np.isfinite(points[1])
    rest = table.drop([x, y]).to_frame("polars")
    days = [name for name, kind in rest.schema.items() if kind.is_temporal()]
    facts = rest.with_columns(pl.col(days).cast(pl.String)).to_dicts()
    features = [
        {
            "type": "Feature",
            "properties": plain(each),
            "geometry": {"type": "Point", "coordinates": [float(a), float(b)]} if there else None,
        }
        for each, a, b, there in zip(facts, *points, known, strict=True)
    ]
    lines = ",\n".join(json.dumps(feature, ensure_ascii=False, allow_nan=False) for feature in features)
    write_text(path, f'{{"type": "FeatureCollection", "features": [\n{lines}\n]}}\n')


def _columns(table: Table) -> tuple[str, str]:
    """Longitude and latitude of a table that is to be written as points."""
    x, y = place_columns(table.schema)
    wrong = []
    if not all(name in table for name in (x, y)):
        wrong.append("no longitude and latitude; give columns these roles, or write another type of file")
    elif not all(table[name].is_number for name in (x, y)):
        wrong.append("longitude and latitude are no numbers; read them as numbers first")
    elif any(np.any(np.abs(table[n].values) > most) for n, most in ((x, 180), (y, 90))):
        wrong.append("longitude and latitude are no degrees; convert them, or write another type of file")
    if wrong:
        raise DataError.from_faults("points", wrong)
    return x, y


def geo_table(arrow: pa.Table, schema: Schema | None, where: str) -> Table:
    """The table of a Parquet file whose metadata name a column of geometries; points become two columns."""
    try:
        facts = json.loads(arrow.schema.metadata[b"geo"])
        name = str(facts["primary_column"])
        about = facts["columns"][name]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise FileError(f"{where}: its geometry is not described as GeoParquet asks for") from None
    if name not in arrow.column_names:
        raise FileError(f"{where}: the column of geometries is not there")
    points, odd = _points(arrow[name], where)
    others = [n for n in facts["columns"] if n in arrow.column_names]
    rest = arrow.drop_columns(others).replace_schema_metadata()
    return _placed(rest, _in_degrees(points, about.get("crs", {})), odd, schema, where)


def _points(column: pa.ChunkedArray, where: str) -> tuple[AnyArray, list[str | None] | None]:
    """Coordinates, and as text the geometries that are no points."""
    whole = column.combine_chunks()
    points = np.full((len(whole), 2), np.nan)
    if pa.types.is_struct(whole.type):
        parts = [whole.field(part).to_numpy(zero_copy_only=False) for part in ("x", "y")]
        return np.where(np.asarray(whole.is_valid())[:, None], np.column_stack(parts), np.nan), None
    if not (pa.types.is_binary(whole.type) or pa.types.is_large_binary(whole.type)):
        raise FileError(f"{where}: geometries are neither WKB nor points of two numbers")
    held = whole.to_pylist()
    point = np.array(
        [
            each is not None and each[:5] == b"\x01\x01\x00\x00\x00" and len(each) == WKB.itemsize
            for each in held
        ]
    )
    records = np.frombuffer(b"".join(each for each, fine in zip(held, point, strict=True) if fine), WKB)
    points[point] = np.column_stack([records["x"], records["y"]])
    odd = [None if each is None or fine else each.hex() for each, fine in zip(held, point, strict=True)]
    return points, odd if any(odd) else None


def _in_degrees(points: AnyArray, crs: Mapping[str, Any] | None) -> AnyArray:
    """Points in degrees; those of a file that says nothing about its coordinates stay as they are."""
    code = (crs or {}).get("id", {})
    if not crs or str(code.get("code")) in DEGREES:
        return points
    turn = _projection(json.dumps(crs))
    return np.column_stack(turn.transform(points[:, 0], points[:, 1]))


@lru_cache
def _projection(crs: str) -> Any:
    try:
        from pyproj import CRS, Transformer  # noqa: PLC0415 (an extra)
        from pyproj.exceptions import CRSError  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("pyproj", "geo", "turn the file's coordinates into degrees") from None
    try:
        return Transformer.from_crs(CRS.from_json(crs), "OGC:CRS84", always_xy=True)
    except CRSError:
        raise DataError("the file's coordinates are not known; convert it to degrees of WGS84") from None


def write_geoparquet(table: Table, path: str | Path) -> None:
    """Write a Parquet file with a column of points (GeoParquet 1.1, degrees of WGS84).

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data.files.columnar import read_parquet
    >>> file = Path(tempfile.mkdtemp()) / "homes.geoparquet"
    >>> write_geoparquet(Table.from_frame({"age": [31, 64], "lon": [6.95, 7.1], "lat": [50.94, 50.7]}), file)
    >>> read_parquet(file).to_frame("dict")
    {'age': [31, 64], 'longitude': [6.95, 7.1], 'latitude': [50.94, 50.7]}
    """
    x, y = _columns(table)
    points = [table[name].floats() for name in (x, y)]
    known = np.isfinite(points[0]) & np.isfinite(points[1])
    made = np.zeros(table.rows, WKB)
    made["order"], made["kind"], made["x"], made["y"] = 1, 1, *points
    held = [
        each if fine else None for each, fine in zip(made.view("V21").tolist(), known.tolist(), strict=True)
    ]
    arrow = arrow_from_table(table.drop([x, y])).append_column(GEOMETRY, pa.array(held, pa.binary()))
    about = {"encoding": "WKB", "geometry_types": ["Point"]}
    told = {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: about}}
    arrow = arrow.replace_schema_metadata({b"geo": json.dumps(told).encode()})
    with replacing(path) as temporary:
        pa.parquet.write_table(arrow, temporary, compression="zstd")
