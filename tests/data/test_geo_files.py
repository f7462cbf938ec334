"""GeoJSON and GeoParquet: points come in as two columns with roles and go out as points; what is odd is one error."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.test_commands import run

import dalenius
from dalenius.core.errors import DataError, FileError
from dalenius.data.exit import releasable
from dalenius.data.schema import Kind, Role


def feature(at: object, kind: str = "Point", **facts: object) -> dict:
    geometry = None if at is None else {"type": kind, "coordinates": at}
    return {"type": "Feature", "properties": facts, "geometry": geometry}


def collection(path: Path, *features: dict, **more: object) -> Path:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features, **more}), encoding="utf-8")
    return path


def test_points_and_properties(tmp_path: Path) -> None:
    file = collection(
        tmp_path / "a.geojson", feature([6.95, 50.94], name="Ä", age=3), feature([7.1, 50.7, 12.0], age=None),
        feature(None, name="b", tags=["x", 1]),
    )  # fmt: skip
    table = dalenius.read(file)
    assert table.to_frame("dict") == {
        "name": ["Ä", None, "b"], "age": [3, None, None], "tags": [None, None, '["x", 1]'],
        "longitude": [6.95, 7.1, None], "latitude": [50.94, 50.7, None],
    }  # fmt: skip
    column = table.schema["longitude"]
    assert (column.kind, column.roles, column.partner) == (Kind.POINT, (Role.LONGITUDE,), "latitude")


def test_outlines_become_a_text_that_never_leaves(tmp_path: Path) -> None:
    ring = [[[0, 0], [1, 0], [1, 1], [0, 0]]]
    file = collection(tmp_path / "a.geojson", feature(ring, "Polygon", n=1), feature([1.5, 2.5], n=2))
    table = dalenius.read(file)
    assert table.schema["geometry"].has(Role.GEOMETRY)
    assert table.to_frame("dict")["geometry"][1] is None
    assert releasable(table).names == ["n", "longitude", "latitude"]


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "not valid GeoJSON"), ("[]", "no features"), ('{"features": [1]}', "no features"),
     (json.dumps({"features": [feature(["x", 1]), feature([1])],
                  "crs": {"properties": {"name": "urn:ogc:def:crs:EPSG::3035"}}}), "2 faults.*WGS84.*2 features"),
     (json.dumps({"features": [feature([1, 2], longitude=3)]}), "a property is called 'longitude'")],
)  # fmt: skip
def test_bad_files(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "a.geojson"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=told):
        dalenius.read(file)


@pytest.mark.parametrize("ending", ["geojson", "geoparquet"])
def test_there_and_back(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"town": ["a", "b", None] * 40, "n": rng.integers(0, 9, 120), "lon": rng.uniform(-180, 180, 120).round(5),
         "lat": rng.uniform(-90, 90, 120).round(5)}
    ).with_columns(lon=pl.when(pl.int_range(120) == 7).then(None).otherwise("lon"))  # fmt: skip
    file = tmp_path / f"a.{ending}"
    dalenius.write(frame, file)
    back = dalenius.read(file).to_frame("polars")
    wanted = frame.rename({"lon": "longitude", "lat": "latitude"})
    wanted = wanted.with_columns(latitude=pl.when(pl.int_range(120) == 7).then(None).otherwise("latitude"))
    assert back.equals(wanted)
    again = tmp_path / f"b.{ending}"
    dalenius.write(back, again)
    assert again.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("ending", ["geojson", "geoparquet"])
def test_without_points_nothing_is_written(tmp_path: Path, ending: str) -> None:
    for frame, told in (
        ({"a": [1]}, "no longitude"),
        ({"lon": [400_000.5, 1.5], "lat": [1.5, 2.5]}, "no degrees"),
    ):
        with pytest.raises(DataError, match=told):
            dalenius.write(frame, tmp_path / f"a.{ending}")
    assert not list(tmp_path.iterdir())


def geo(path: Path, geometry: pa.Array, **about: object) -> Path:
    told = {"version": "1.1.0", "primary_column": "geom", "columns": {"geom": {"encoding": "WKB", **about}}}
    table = pa.table({"n": [1, 2], "geom": geometry}).replace_schema_metadata({"geo": json.dumps(told)})
    pq.write_table(table, path)
    return path


def test_geoparquet_of_others(tmp_path: Path) -> None:
    """Big-endian points are kept as text, points of two numbers are read, other coordinates become degrees."""
    small = [struct.pack("<BIdd", 1, 1, 10.0, 52.0), None]
    assert dalenius.read(geo(tmp_path / "a.parquet", pa.array(small))).to_frame("dict")["longitude"] == [
        10.0,
        None,
    ]
    large = dalenius.read(
        geo(tmp_path / "b.parquet", pa.array([small[0], struct.pack(">BIdd", 0, 1, 1.0, 2.0)]))
    )
    assert large.schema["geometry"].has(Role.GEOMETRY)
    two = pa.array([{"x": 10.0, "y": 52.0}, None], pa.struct([("x", pa.float64()), ("y", pa.float64())]))
    assert dalenius.read(geo(tmp_path / "c.parquet", two)).to_frame("dict")["latitude"] == [52.0, None]
    pyproj = pytest.importorskip("pyproj")
    flat = struct.pack("<BIdd", 1, 1, 4_321_000.0, 3_210_000.0)
    crs = json.loads(pyproj.CRS("EPSG:3035").to_json())
    table = dalenius.read(geo(tmp_path / "d.parquet", pa.array([flat, flat]), crs=crs))
    assert table["longitude"].data == pytest.approx([10, 10], abs=1e-9)
    assert table["latitude"].data == pytest.approx([52, 52], abs=1e-9)
    with pytest.raises(FileError, match="neither WKB"):
        dalenius.read(geo(tmp_path / "e.parquet", pa.array(["POINT (1 2)", None])))


def test_the_command_line_reads_and_writes_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    at = rng.integers(0, 3, 300)
    homes = [
        feature([float(a + rng.normal(0, 0.02)), float(50 + rng.normal(0, 0.02))], town="ABC"[a]) for a in at
    ]
    file = collection(tmp_path / "homes.geojson", *homes)
    run("synth", file, "-o", tmp_path / "made.geojson", "--seed", 1)
    made = dalenius.read(tmp_path / "made.geojson").to_frame("polars")
    middle = made["town"].replace_strict({"A": 0.0, "B": 1.0, "C": 2.0})
    assert (made["longitude"] - middle).abs().max() < 0.1
    run("synth", file, "-o", tmp_path / "made.geoparquet", "--seed", 1)
    assert dalenius.read(tmp_path / "made.geoparquet").to_frame("polars").equals(made)
