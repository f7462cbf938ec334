"""Series averaged over groups: the worked cells, brute force, insiders, spikes, merging, wide and long, bad input."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data.table import Table
from dalenius.mask.series import (
    cell_sensitivity,
    choose_k,
    compare_partitions,
    example_homes,
    from_long,
    group_means,
    group_series,
    inject_spike,
    insider_bounds,
    merge_until_safe,
    own_cluster,
)
from dalenius.mask.series_step import AverageSeries
from dalenius.synth.base import METHODS
from dalenius.tables.rules import PPercent


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [([50, 30, 10, 5, 5], (0, 1, 1)), ([40, 25, 20, 10, 5], (0, 1, 0)), ([30, 25, 20, 15, 10], (0, 0, 0)),
     ([7, 3], (1, 1, 1)), ([0, 0, 0], (0, 0, 0))],
)  # fmt: skip
def test_worked_cells(parts: list[float], wanted: tuple[int, ...]) -> None:
    report = cell_sensitivity(np.array(parts, float)[:, None], np.zeros(len(parts), int))
    assert tuple(report.summary["sensitive"]) == wanted
    assert bool(report.zero[0, 0]) == (sum(parts) == 0)


def test_an_insider() -> None:
    two = insider_bounds(np.array([[3.0], [7.0]]), np.array([0, 0]), 0)
    assert two.select("mean of others", "exact").row(0) == (7.0, True)
    five = insider_bounds(np.array([[30.0], [25], [20], [15], [10]]), np.zeros(5, int), 0)
    assert five.select("mean of others", "upper").row(0) == (17.5, 70.0)


def test_groups_and_cells() -> None:
    column = np.array([1.0, 2, 3, 10, 11, 12, 20, 21, 22])[:, None]
    labels = group_series(column, 3)
    assert sorted(group_means(column, labels).ravel().tolist()) == [2, 11, 21]
    wanted = {79: (1872, 912, 624, 432, 336, 240, 144, 96), 983: (23568, 11760, 7824, 5856, 4704, 3120, 2352, 1536),
              1493: (35808, 17904, 11904, 8928, 7152, 4752, 3552, 2352)}  # fmt: skip
    for homes, cells in wanted.items():
        x = example_homes(homes, seed=3)
        for k, count in zip((2, 4, 6, 8, 10, 15, 20, 30), cells, strict=True):
            labels = group_series(x, k)
            sizes = np.bincount(labels)
            assert group_means(x, labels).size == count
            assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


def brute(values: np.ndarray, labels: np.ndarray, p: float = 0.66) -> set[tuple[int, int]]:
    found = set()
    for group in range(labels.max() + 1):
        for slot in range(values.shape[1]):
            c = sorted(values[labels == group, slot].tolist(), reverse=True)
            if sum(c) > 0 and sum(c[2:]) < p * c[0]:
                found.add((group, slot))
    return found


def test_brute_force_agrees() -> None:
    x = example_homes(60, seed=5).astype(float)[:, :12]
    for k in range(2, 12):
        labels = group_series(x, k)
        report = cell_sensitivity(x, labels)
        assert set(report.named("p %").rows()) == brute(x, labels)
        counts = report.summary["sensitive"].to_list()
        assert counts[0] <= counts[2] <= counts[1]  # dominance 1, p %, dominance 2
    best, _ = choose_k(x)
    safe = [k for k in range(2, 42) if not brute(x, group_series(x, k))]
    assert best == safe[0]


def test_shapes_of_the_paper() -> None:
    x = example_homes(500, seed=1).astype(float)
    shares, found = [], []
    for k in (2, 4, 6, 10, 20):
        labels = group_series(x, k)
        shares.append(cell_sensitivity(x, labels).marks["p %"].mean())
        found.append(own_cluster(x, labels).value)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.95
    assert shares[-1] < 0.001
    assert min(found) > 50
    rng = np.random.default_rng(1)
    ways = compare_partitions(x, {"mdav": group_series(x, 10), "random": rng.permutation(500) // 10})
    assert ways["p %"][1] > ways["p %"][0]
    assert ways["own group found in %"][1] < ways["own group found in %"][0]
    labels = rng.permutation(500) // 10
    tried = [
        np.mean([own_cluster(inject_spike(x, r, 30, h), labels, rows=[r]).value for r in range(0, 500, 20)])
        for h in (0.0, 30.0)
    ]
    assert tried[1] > 95 > tried[0]


def test_merged_until_safe() -> None:
    x = example_homes(200, seed=2).astype(float)
    labels = group_series(x, 4)
    assert cell_sensitivity(x, labels).marks["p %"].any()
    safe = merge_until_safe(x, labels)
    assert not cell_sensitivity(x, safe).marks["p %"].any()
    assert len(np.unique(safe)) > 2
    assert (np.unique(np.column_stack([labels, safe]), axis=0)[:, 0] == np.arange(labels.max() + 1)).all()
    giant = np.vstack([x, np.full((1, 48), 1e6)])
    with pytest.raises(DataError, match="leave the largest home out"):
        merge_until_safe(giant, group_series(giant, 4))


def test_long_is_wide() -> None:
    x = example_homes(5, seed=1).astype(float)
    home, slot = np.repeat(np.arange(5), 48), np.tile(np.arange(48), 5)
    order = np.random.default_rng(1).permutation(240)
    wide, homes, _ = from_long(home[order], slot[order], x.ravel()[order])
    assert (wide == x).all()
    assert homes.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DataError, match="2 faults"):  # a gap, and an hour that came twice
        from_long(home, np.where(np.arange(240) == 50, 1, slot), x.ravel())
    with pytest.raises(DataError, match="one home"):
        from_long(home[:48], slot[:48], x.ravel()[:48])


def test_the_step_and_its_faults() -> None:
    x = example_homes(80, seed=4).astype(float)[:, :6]
    table = Table.from_frame({f"s{j}": x[:, j] for j in range(6)})
    made = AverageSeries(tuple(table.names), k=4).apply(table)
    assert made.figures["sensitive cells"] == 0
    assert made.figures["sensitive cells before merging"] > 0
    assert made.table["s0"].data.mean() == pytest.approx(x[:, 0].mean())
    odd = Table.from_frame({"a": [1.5, None, -2.5], "b": [1.5, 2.5, 3.5]})
    with pytest.raises(DataError, match="2 faults"):
        AverageSeries(("a", "b"), k=2).apply(odd)
    with pytest.raises(DataError, match="fewer than k = 5"):
        AverageSeries(("b",)).apply(odd)
    with pytest.raises(DataError, match="two homes"):
        cell_sensitivity(np.ones((1, 3)), np.zeros(1, int))
    assert PPercent(66).p == 66


def test_one_row_a_reading_gives_what_one_row_a_home_gives() -> None:
    x = example_homes(40, seed=6).astype(float)[:, :12]
    wide = AverageSeries(tuple(f"s{j}" for j in range(12)), k=4).apply(
        Table.from_frame({f"s{j}": x[:, j] for j in range(12)})
    )
    order = np.random.default_rng(2).permutation(480)
    frame = pl.DataFrame(
        {
            "who": [f"home {i:02}" for i in np.repeat(np.arange(40), 12)],
            "at": [datetime(2024, 3, 1) + timedelta(minutes=30 * j) for j in range(12)] * 40,
            "kwh": x.ravel(),
        }
    )[order]
    long = AverageSeries(("kwh",), k=4, home="who", time="at").apply(Table.from_frame(frame))
    back = np.empty(480)
    back[order] = long.table["kwh"].data
    wanted = np.column_stack([wide.table[f"s{j}"].data for j in range(12)])
    np.testing.assert_allclose(back.reshape(40, 12), wanted, rtol=1e-12)
    assert long.figures == wide.figures
    with pytest.raises(OptionError, match="time needs home"):
        AverageSeries(("kwh",), time="at")
    with pytest.raises(OptionError, match="it is none of them"):
        AverageSeries(("s0", "who"), home="who")
    with pytest.raises(OptionError, match="the one other column"):
        AverageSeries(("kwh", "at"), home="who", time="at")


def test_the_smallest_k_looks_at_every_slot() -> None:
    """One home takes nearly everything in one late slot: no group is safe before all slots are looked at."""
    x = np.full((40, 1200), 5.0) + np.arange(40)[:, None] / 100
    assert choose_k(x, ks=range(2, 20))[0] == 3
    x[7, 1100] = 60.0
    best, tried = choose_k(x, ks=range(2, 41))
    safe = [k for k in tried["k"] if not brute(x[:, 1100:1101], group_series(x, k)) and k >= 3]
    assert best == min(safe)
    assert best == 10


@pytest.mark.parametrize("long", [True, False])
def test_no_meter_leaves_nor_what_tells_it(long: bool) -> None:
    """Meters get new numbers, each home its own, and the area of the flat, which nobody else has, goes."""
    x = example_homes(60, seed=6).astype(float)[:, :6]
    rng = np.random.default_rng(3)
    meters = rng.choice(np.arange(100_000, 900_000), 60, replace=False)
    if long:
        frame = {"meter": np.repeat(meters, 6), "at": np.tile(np.arange(6), 60), "kwh": x.ravel()}
        frame["flat"] = np.repeat(rng.permutation(60) + 40.5, 6)
        step = {"variables": ["kwh"], "home": "meter", "time": "at"}
    else:
        frame = {"meter": meters, **{f"s{j}": x[:, j] for j in range(6)}}
        step = {"variables": [f"s{j}" for j in range(6)], "home": "meter"}
    table = Table.from_frame(frame)
    made = METHODS["average-series"](k=4, **step).make(table, seed=1)
    out = made.table.to_frame("polars")
    assert sorted(out["meter"].unique().to_list()) == list(range(1, 61))
    assert out["meter"].value_counts()["count"].unique().to_list() == [6 if long else 1]
    assert "flat" not in out.columns
    assert not any("'meter': no step changes" in note for note in made.notes)
    known = table["meter"].data[made.lens().links]
    assert abs(np.corrcoef(known, out["meter"].to_numpy())[0, 1]) < 0.4
    again = METHODS["average-series"](k=4, **step).make(table, seed=2)
    assert (again.table["meter"].data != made.table["meter"].data).any()
