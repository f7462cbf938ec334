"""Points moved in rings and put into cells: worked figures, the torus oracle, uniform directions, areas, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data import read, write
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.mask.geo.donut import Donut, donut, keyed_uniform
from dalenius.mask.geo.earth import apart, moved
from dalenius.mask.geo.figures import (
    address_k,
    average_nearest_neighbour,
    k_report,
    repeated_release,
    spatial_k,
    zone_proportions,
)
from dalenius.mask.geo.grid import Grid, cell_codes, on_plane
from dalenius.synth import Candidate

RADII = [(100, 200), (100, 300), (100, 400), (200, 300), (200, 400), (300, 400)]


def test_worked_figures() -> None:
    old = np.array([[0.0, 0], [10, 0], [0, 10], [20, 20], [5, 5]])
    new = np.array([[3.0, 4], [10, 6], [0, 14], [20, 14], [5, -1]])
    assert apart(old, new, "metres").tolist() == [5, 6, 4, 6, 6]
    assert spatial_k(old, new).tolist() == [1, 2, 1, 1, 3]
    assert spatial_k(old, new, np.array([0, 1, 0, 1, 0])).tolist() == [1, 1, 1, 1, 2]
    grid = np.array([[x, y] for x in range(4) for y in range(4)], float)
    found = average_nearest_neighbour(grid)
    assert found["area"] == pytest.approx(9)
    assert (found["observed"], found["expected"]) == pytest.approx((1, 0.375))
    assert (found["ratio"], found["z"]) == pytest.approx((2.6667, 12.7538), abs=1e-4)


def test_identities_of_the_paper() -> None:
    n, expected = 109_210, 36.4899
    assert 8.3477 / expected == pytest.approx(0.2288, abs=5e-5)
    area = n * (2 * expected) ** 2
    assert area / 1e6 == pytest.approx(581.658, abs=2e-3)
    error = 0.26136 / np.sqrt(n**2 / area)
    assert error == pytest.approx(0.057718, abs=1e-6)
    assert (8.3477 - expected) / error == pytest.approx(-487.6, abs=0.05)
    masked = [n * (2 * m) ** 2 / 1e6 for m in (36.9746, 37.0750, 37.4633, 37.2443, 37.4761, 37.4284, 37.7105)]
    assert masked == pytest.approx([597.21, 600.46, 613.10, 605.96, 613.52, 611.96, 621.22], abs=6e-3)


TORUS = {
    (100, 200): (59.64, 6.86, 6.14), (100, 300): (109.91, 11.89, 3.07), (100, 400): (176.93, 18.59, 2.05),
    (200, 300): (160.17, 16.92, 0.00), (200, 400): (235.57, 24.46, 0.00), (300, 400): (310.97, 32.00, 0.00),
}  # fmt: skip


def test_the_torus_in_theory() -> None:
    """E[k] = 1 + λ π E[d²], and the critical share integrated over the ring."""
    density = 20_000 / 5000**2
    for (a, b), (mean, tenth, critical) in TORUS.items():
        square = (a * a + a * b + b * b) / 3
        assert 1 + density * np.pi * square == pytest.approx(mean, abs=6e-3)
        assert 1 + density * np.pi * square / 10 == pytest.approx(tenth, abs=6e-3)
        d = np.linspace(a, b, 20_001)
        mu = density * np.pi * d**2 / 10
        assert 100 * np.mean(np.exp(-mu) * (1 + mu)) == pytest.approx(critical, abs=6e-3)


@pytest.mark.parametrize(
    "radii",
    [
        (100, 200),
        (100, 400),
        *(pytest.param(r, marks=pytest.mark.slow) for r in RADII if r[0] > 100 or r[1] == 300),
    ],
)
def test_the_torus_in_simulation(radii: tuple[int, int]) -> None:
    """20,000 uniform points on a torus: the middle of a plane with the torus repeated around it."""
    rng = np.random.default_rng(7)
    old = rng.random((20_000, 2)) * 5000
    new = donut(old, *radii, seed=7) % 5000
    kinds = rng.integers(0, 10, 20_000)
    shifts = [(dx, dy) for dx in (-5000, 0, 5000) for dy in (-5000, 0, 5000)]
    around = np.concatenate([new + shift for shift in shifts])
    close = ((around > -500) & (around < 5500)).all(axis=1)
    whose = np.tile(np.arange(20_000), 9)[close]
    gap = np.abs(new - old)
    far = np.linalg.norm(np.minimum(gap, 5000 - gap), axis=1)
    from scipy.spatial import cKDTree

    found = [np.zeros(20_000), np.zeros(20_000)]
    found[0] = cKDTree(around[close]).query_ball_point(old, far * (1 + 1e-9), return_length=True)
    for kind in range(10):
        mine = kinds == kind
        tree = cKDTree(around[close][kinds[whose] == kind])
        found[1][mine] = tree.query_ball_point(old[mine], far[mine] * (1 + 1e-9), return_length=True)
    mean, tenth, critical = TORUS[radii]
    assert found[0].mean() == pytest.approx(mean, rel=0.02)
    assert found[1].mean() == pytest.approx(tenth, rel=0.02)
    assert 100 * np.mean(found[1] < 3) == pytest.approx(critical, abs=0.8)
    assert average_nearest_neighbour(old)["ratio"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("law", ["radius", "area"])
@pytest.mark.parametrize("unit", ["metres", "degrees"])
def test_distances_and_directions(law, unit) -> None:
    rows, a, b = 50_000, 100.0, 400.0
    old = np.zeros((rows, 2)) if unit == "metres" else np.tile([6.95, 50.94], (rows, 1))
    new = donut(old, a, b, law=law, unit=unit, seed=3)
    far = apart(old, new, unit)
    assert far.min() >= a * (1 - 1e-4)
    assert far.max() <= b * (1 + 1e-4)
    wanted = (a * a + a * b + b * b) / 3 if law == "radius" else (a * a + b * b) / 2
    assert np.mean(far**2) == pytest.approx(wanted, rel=0.02)
    east, north = (new - old).T
    east = east * np.cos(np.radians(50.94)) if unit == "degrees" else east
    angle = np.arctan2(north, east)
    length = abs(np.mean(np.exp(1j * angle)))
    assert rows * length**2 < 14  # Rayleigh: above with a chance of e^-14
    quadrant = np.degrees(np.arctan2(np.abs(north), np.abs(east)))
    assert quadrant.mean() == pytest.approx(45, abs=0.8)


def test_moves_over_the_date_line_are_as_long_as_asked_for() -> None:
    old = np.array([[179.9995, -16.8], [-179.9999, 68.0]] * 500)
    new = donut(old, 200, 300, unit="degrees", seed=1)
    far = apart(old, new)
    assert 199 < far.min() < far.max() < 301
    assert np.abs(new[:, 0]).max() <= 180
    assert (new[:, 0] * old[:, 0] < 0).any()
    assert moved(np.array([[0.0, 0.0]]), np.array([5.0]), np.array([0.0]), "metres").tolist() == [[5.0, 0.0]]


def test_finer_knowledge_never_raises_k() -> None:
    rng = np.random.default_rng(4)
    old = rng.random((2000, 2)) * 2000
    new = donut(old, 100, 300, seed=4)
    fine = rng.integers(0, 8, 2000)
    k = [spatial_k(old, new, cells) for cells in (fine, fine // 2, None)]
    assert (k[0] <= k[1]).all()
    assert (k[1] <= k[2]).all()
    means = {r: spatial_k(old, donut(old, *r, seed=4)).mean() for r in RADII}
    order = [(100, 200), (100, 300), (200, 300), (100, 400), (200, 400), (300, 400)]
    assert sorted(means, key=means.get) == order
    assert k_report(k[0]).value > k_report(k[2]).value


def test_a_second_release_shows_more_and_a_key_stops_it() -> None:
    old = np.random.default_rng(1).random((300, 2)) * 1000
    many = [donut(old, 100, 200, seed=s) for s in range(36)]
    found = repeated_release(old, many)
    wanted = np.sqrt((100**2 + 100 * 200 + 200**2) / 3 / 36)
    assert found.value == pytest.approx(wanted, rel=0.15)
    table = homes(300)
    first, second = (Donut(near=100, far=200, key="long s3cret").apply(table, seed).table for seed in (1, 2))
    assert first["lon"].data.tobytes() == second["lon"].data.tobytes()
    part = table.take(np.arange(0, 300, 2))
    alone = Donut(near=100, far=200, key="long s3cret").apply(part, 3).table
    assert alone["lon"].data.tobytes() == first.take(np.arange(0, 300, 2))["lon"].data.tobytes()
    other = Donut(near=100, far=200, key="another one").apply(table, 1).table
    assert other["lon"].data.tobytes() != first["lon"].data.tobytes()
    assert "long s3cret" not in json.dumps(Donut(key="long s3cret").to_dict())
    spread = keyed_uniform(old, "k", 0)
    assert abs(spread.mean() - 0.5) < 0.12


def test_rows_at_one_address_are_one_home_to_hide_in() -> None:
    made = Donut().apply(homes(1).take(np.zeros(60, np.int64)), 1)
    assert (made.figures["spatial k, mean"], made.figures["spatial k below 3 in %"]) == (1, 100)


@pytest.mark.parametrize("key", ["k", "1234567"])
def test_a_key_that_can_be_tried_out_is_refused(key) -> None:
    with pytest.raises(
        OptionError, match="key is too short to be a secret; give at least 8 characters"
    ) as told:
        Donut(key=key)
    assert f"{key!r}" not in str(told.value)
    with pytest.raises(OptionError, match="too short"):
        Candidate("recipe", {"steps": [{"do": "donut", "key": key}]}).make(homes(30), seed=1)
    assert Donut(key="12345678").key == "12345678"


def homes(rows: int = 400, **more: object) -> Table:
    rng = np.random.default_rng(2)
    columns = [
        Column("lon", Kind.CONTINUOUS, (Role.LONGITUDE,), decimals=6),
        Column("lat", Kind.CONTINUOUS, (Role.LATITUDE,), decimals=6),
        *(Column(name, Kind.CATEGORICAL) for name in more),
    ]
    frame = {
        "lon": np.round(6.9 + rng.random(rows) / 20, 6),
        "lat": np.round(50.9 + rng.random(rows) / 30, 6),
        **more,
    }
    return Table.from_frame(frame, Schema(tuple(columns)))


def test_people_who_live_together_move_together() -> None:
    table = homes(400).take(np.repeat(np.arange(100), 4))
    made = Donut(near=50, far=90).apply(table, 1)
    gaps = made.table["lon"].data.reshape(-1, 4)
    assert (gaps == gaps[:, :1]).all()
    assert made.figures["addresses"] == 100
    flats = [f"h{i // 2}" for i in range(400)]
    pair = Donut(together=("home",)).apply(homes(400, home=flats), 1).table
    assert (np.diff(pair["lat"].data.reshape(-1, 2), axis=1) == 0).all()


@pytest.mark.parametrize(("decimals", "ring"), [(0, (100, 400)), (1, (100, 400)), (2, (0.5, 1)), (6, (5, 6))])
def test_what_is_written_lies_in_the_ring_however_coarse_the_file_is(decimals, ring, tmp_path) -> None:
    rng = np.random.default_rng(3)
    old = np.round([4.0, 20.0] + 60 * rng.random((40, 2)), decimals)
    file = tmp_path / "homes.csv"
    pl.DataFrame(old if decimals else old.astype(int), schema=["lon", "lat"]).write_csv(file)
    made = Donut("lon", "lat", near=ring[0], far=ring[1]).apply(read(file), 1)
    write(made.table, tmp_path / "out.csv")
    new = pl.read_csv(tmp_path / "out.csv").select("lon", "lat").to_numpy()
    gaps = apart(old, new)
    assert ring[0] * 0.99 < gaps.min() < gaps.max() < ring[1] * 1.01
    assert made.figures["nearest move in m"] == pytest.approx(gaps.min())
    places = len(np.unique(old, axis=0))
    assert made.notes[0] == f"{places} places moved, each as a whole."


def outlines(tmp_path: Path, **facts: object) -> str:
    def box(west: float, east: float, south: float, north: float, **own: object) -> dict[str, object]:
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        return {"type": "Feature", "properties": own, "geometry": {"type": "Polygon", "coordinates": [ring]}}

    west, east = (box(a, b, 50.8, 51.0, **facts) for a, b in ((6.8, 6.925), (6.925, 7.05)))
    lake = box(6.93, 6.94, 50.91, 50.92, forbidden=True)
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [west, east, lake]}))
    return str(path)


def test_points_stay_in_their_area_and_out_of_the_lake(tmp_path: Path) -> None:
    path = outlines(tmp_path, population=50_000)
    table = homes(600)
    wet = (
        (table["lon"].data > 6.93)
        & (table["lon"].data < 6.94)
        & (table["lat"].data > 50.91)
        & (table["lat"].data < 50.92)
    )
    dry = table.take(np.flatnonzero(~wet))
    made = Donut(near=300, far=800, within=path).apply(dry, 1).table
    assert ((made["lon"].data < 6.925) == (dry["lon"].data < 6.925)).all()
    inside = (
        (made["lon"].data > 6.93)
        & (made["lon"].data < 6.94)
        & (made["lat"].data > 50.91)
        & (made["lat"].data < 50.92)
    )
    assert not inside.any()
    by_people = Donut(within=path, people=20).apply(dry, 1)
    size = np.radians(0.125) * np.radians(0.2) * 6378137.0**2 * np.cos(np.radians(50.9))
    assert by_people.figures["nearest move in m"] == pytest.approx(
        np.sqrt(20 * size / 50_000 / np.pi), rel=0.15
    )
    with pytest.raises(DataError, match="in a forbidden area"):
        Donut(within=path).apply(table, 1)


def test_bad_input_is_told_at_once(tmp_path: Path) -> None:
    path = outlines(tmp_path)
    frame = homes(30).to_frame()
    away = Table.from_frame({**frame, "lon": [9.5, *list(frame["lon"])[1:]]}, homes(30).schema)
    with pytest.raises(DataError) as error:
        Donut(within=path, people=20).apply(away)
    assert [word in str(error.value) for word in ("1 point in no area", "2 areas without people")] == [
        True,
        True,
    ]
    lon, lat = list(frame["lon"]), list(frame["lat"])
    odd = {**frame, "lon": [9.5, 356_000.0, *lon[2:]], "lat": [lat[0], lat[1], None, 89.5, *lat[4:]]}
    with pytest.raises(DataError, match="6 faults") as error:
        Donut(within=path, people=20).apply(Table.from_frame(odd, homes(30).schema))
    told = (
        "1 row without",
        "mixes units: 1 row",
        "1 point beyond 89",
        "2 points in no area",
        "2 areas without",
    )
    assert [word for word in told if word not in str(error.value)] == []
    mixed = Table.from_frame({**frame, "lon": [356_000.0, *list(frame["lon"])[1:]]}, homes(30).schema)
    with pytest.raises(DataError, match="mixes units: 1 row"):
        Donut().apply(mixed)
    polar = Table.from_frame({**frame, "lat": [89.9, *list(frame["lat"])[1:]]}, homes(30).schema)
    with pytest.raises(DataError, match="beyond 89 degrees"):
        Donut().apply(polar)
    holes = Table.from_frame({**frame, "lat": [None, *list(frame["lat"])[1:]]}, homes(30).schema)
    with pytest.raises(DataError, match="1 row without a coordinate"):
        Donut().apply(holes)
    with pytest.raises(DataError, match="look like degrees"):
        Donut(unit="metres").apply(homes(30))
    with pytest.raises(DataError, match="no longitude and latitude"):
        Donut().apply(Table.from_frame({"a": [1.5, 2.5]}))
    with pytest.raises(DataError, match="fewer than k"):
        Grid(k=50).apply(homes(30))
    with pytest.raises(OptionError, match="far must be more"):
        Donut(near=500, far=100)
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(DataError, match="not valid GeoJSON"):
        Donut(within=str(tmp_path / "x.json")).apply(homes(30))
    with pytest.raises(DataError, match="two points"):
        average_nearest_neighbour(np.zeros((1, 2)))


def test_cells_hold_k_and_have_their_codes() -> None:
    assert cell_codes(np.array([[10.0, 52.0], [6.95, 50.94]]))[0] == "1kmN3210E4321"
    table = homes(3000)
    made = Grid(size=4096, halvings=5, k=20).apply(table)
    shown = made.table
    there = shown["lon"].present
    flat = on_plane(np.column_stack([shown["lon"].data, shown["lat"].data])[there], "degrees")
    counts = np.unique(flat.round(), axis=0, return_counts=True)[1]
    assert counts.min() >= 20
    assert made.figures["fewest points of a cell"] == counts.min()
    assert made.figures["cells"] == len(counts) > 20
    alone = Grid(size=256, k=20).apply(table)
    assert 0 < alone.figures["points left out"] == np.count_nonzero(~alone.table["lon"].present)
    assert there.all()
    far = apart(np.column_stack([table[n].data for n in ("lon", "lat")])[there],
                np.column_stack([shown[n].data for n in ("lon", "lat")])[there])  # fmt: skip
    assert far.max() <= 4096 / np.sqrt(2) * 1.01
    seen = made.lens.see_own(table)
    assert (seen["lon"].data == shown["lon"].data).all()


def test_zones_and_addresses() -> None:
    rng = np.random.default_rng(6)
    old = rng.random((20_000, 2)) * 3000
    zone = lambda p: np.clip(p[:, 0] // 500, 0, 5).astype(int)  # noqa: E731
    sick = rng.random(20_000) < 0.1 + 0.05 * zone(old)
    off = [zone_proportions(old, donut(old, *r, seed=1), sick, zone) for r in ((100, 200), (300, 400))]
    assert off[0].value < off[1].value
    assert off[1].values["order kept"] > 0.9
    assert address_k(old[:3], old[:3] + 40.0, old).min() >= 1


def city(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """109,210 people on streets with one of eleven ages and a sex, and the same with four ages."""
    rng = np.random.default_rng(seed)
    n, streets = 109_210, 9100
    length, turn = rng.uniform(100, 300, streets), rng.uniform(0, 2 * np.pi, streets)
    centres = rng.normal(0, 1.35 * 3800, (86, 2))
    weight = rng.gamma(2, size=86)
    around = centres[rng.choice(86, streets, p=weight / weight.sum())] + rng.normal(0, 620, (streets, 2))
    middle = np.where(rng.random(streets)[:, None] < 0.35, rng.normal(0, 3800, (streets, 2)), around)
    which = rng.choice(streets, n, p=length / length.sum())
    along = rng.uniform(-0.5, 0.5, n) * length[which]
    points = middle[which] + along[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])[which]
    shares = [0.028, 0.028, 0.083, 0.026, 0.028, 0.205, 0.345, 0.062, 0.092, 0.035, 0.068]
    age = rng.choice(11, n, p=shares)
    sex = rng.integers(0, 2, n)
    return points, age * 2 + sex, np.array([0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3])[age] * 2 + sex


@pytest.mark.slow
def test_cities_like_the_paper_s() -> None:
    """All 18 means of k within 15 % of the paper's Table 1, medians within 2 or 15 %, over six cities.

    One city differs from the next by 7 % in its means: where people are drawn to is drawn too.
    """
    means, medians = np.zeros((2, 6, len(CITY), 3))
    for seed in range(6):
        old, *known = city(seed + 1)
        before = average_nearest_neighbour(old)["ratio"]
        for i, radii in enumerate(CITY):
            new = donut(old, *radii, seed=seed)
            for j, cells in enumerate((*known, None)):
                k = spatial_k(old, new, cells)
                means[seed, i, j], medians[seed, i, j] = k.mean(), np.median(k)
            # a jump once points are moved, and still clustered
            assert 2 * before < average_nearest_neighbour(new)["ratio"] < 1
    wanted = np.array(list(CITY.values()))
    np.testing.assert_allclose(means.mean(axis=0), wanted[..., 0], rtol=0.15)
    off = np.abs(medians.mean(axis=0) - wanted[..., 1])
    assert (off <= np.maximum(2, 0.15 * wanted[..., 1])).all()


CITY = {
    (100, 200): ((5.61, 3), (7.23, 6), (52.43, 43)), (100, 300): ((9.67, 5), (12.42, 9), (90.22, 68)),
    (100, 400): ((15.02, 7), (19.26, 13), (139.75, 98)), (200, 300): ((13.76, 8), (17.66, 14), (128.04, 109)),
    (200, 400): ((19.58, 11), (25.10, 19), (182.07, 146)), (300, 400): ((25.46, 14), (32.65, 26), (236.90, 203)),
}  # fmt: skip
"""Mean and median of the spatial k by radii: with eleven ages and sex, with four ages and sex, with neither."""
