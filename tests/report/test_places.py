"""The map of a report: cells with round edges, outlines of the file's own areas, and never a point."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius.counts.pair import Pair
from dalenius.evaluation import compare
from dalenius.report.places import places_picture
from dalenius.report.provenance import Provenance
from dalenius.report.render import render_report


def homes(rows: int = 900, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 4, rows)
    points = np.column_stack([at * 0.31, 50 + at % 2 * 0.27]) + rng.normal(0, 0.04, (rows, 2))
    return pl.DataFrame(
        {"town": np.array(list("ABCD"))[at], "lon": points[:, 0].round(6), "lat": points[:, 1].round(6),
         "sex": rng.choice(["f", "m"], rows)}
    )  # fmt: skip


def cells(picture: dict, panel: int = 0) -> pl.DataFrame:
    spec = picture["chart"].to_dict(validate=False)
    rows = [r for r in spec["datasets"].values() if "share" in r[0]]
    return pl.DataFrame(rows[panel])


def test_shares_of_cells_add_up_and_edges_are_round() -> None:
    frame = homes()
    picture = places_picture(Pair(frame, frame), "a copy")
    assert picture is not None
    drawn = cells(picture)
    assert drawn["share"].sum() == pytest.approx(100)
    width = (drawn["x2"] - drawn["x"]).to_numpy()
    assert width == pytest.approx(np.full(len(width), 0.05))
    assert np.abs(drawn["x"] / 0.05 - (drawn["x"] / 0.05).round()).max() < 1e-6
    assert "in all of them, and in no cell beyond" in picture["words"]


def test_a_public_map_shows_the_file_alone_and_no_cell_of_few() -> None:
    frame, other = homes(), homes(seed=2)
    pair = Pair(frame, other)
    picture = places_picture(pair, "made", public=True)
    assert picture is not None
    spec = picture["chart"].to_dict(validate=False)
    assert sum("share" in rows[0] for rows in spec["datasets"].values()) == 1
    drawn = cells(picture)
    assert drawn["share"].min() * len(other) / 100 >= pair.threshold - 1e-9
    again = places_picture(Pair(homes(seed=5), other), "made", public=True)
    assert again is not None
    assert json.dumps(again["chart"].to_dict(validate=False)) == json.dumps(spec)


@pytest.mark.parametrize("public", [False, True])
def test_no_point_of_anybody_is_in_a_report(public: bool) -> None:
    frame = homes()
    made = dalenius.synthesize(frame, "cart", seed=1)
    found = compare(frame, {"cart": made}, keys=["sex"], targets=["town"], measures=["two-way-utility"])
    page = render_report(found, Provenance.now(), title="Homes", public=public)
    assert "Where they are" in page
    text = page[page.index("Where they are") :]
    numbers = set(re.findall(r"\d+\.\d{4,}", text))
    real = {f"{value:.6f}".rstrip("0") for name in ("lon", "lat") for value in frame[name]}
    assert not numbers & real


def test_files_without_places_have_no_map() -> None:
    frame = homes().drop("lat")
    assert places_picture(Pair(frame, frame), "a copy") is None
    gone = homes().with_columns(lon=pl.lit(None, pl.Float64))
    assert places_picture(Pair(homes(), gone), "empty") is None
