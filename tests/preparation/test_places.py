"""Synthetic points lie in their area, about as far from its middle as the real ones, and on nobody's doorstep."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.spatial import Delaunay

import dalenius
from dalenius import examples
from dalenius.data.schema import Kind, Role, Schema
from dalenius.data.steps import KeepPlace
from dalenius.data.steps.places import SIDES, reach_towards
from dalenius.data.table import Table
from dalenius.preparation.keeping import Kept
from dalenius.preparation.places import places
from dalenius.synth import Candidate, load_model, save_model

PLACE = ["longitude", "latitude"]


def towns(rows: int = 1200, seed: int = 3, shift: float = 0.0) -> pl.DataFrame:
    """Six towns; nothing is declared."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 6, rows)
    middle = np.column_stack([np.arange(6) * 0.5, np.arange(6) % 3 * 0.4 + 45])
    points = middle[at] + rng.normal(0, 0.03, (rows, 2)) * (1 + at[:, None] / 3)
    turned = (points[:, 0] + shift + 180) % 360 - 180
    return pl.DataFrame(
        {
            "town": np.array(list("ABCDEF"))[at],
            "lon": turned.round(5),
            "lat": points[:, 1].round(5),
            "age": rng.integers(18, 90, rows),
        }
    )


def outside(made: pl.DataFrame, original: pl.DataFrame, area: str, point: list[str]) -> int:
    """Points outside the hull of the original's points of the same area."""
    wrong = 0
    for level in made[area].drop_nulls().unique().to_list():
        here = made.filter(pl.col(area) == level).select(point).drop_nulls().to_numpy()
        there = np.unique(
            original.filter(pl.col(area) == level).select(point).drop_nulls().to_numpy(), axis=0
        )
        if len(here):
            assert len(there) >= 3
            wrong += int(np.count_nonzero(Delaunay(there).find_simplex(here) < 0))
    return wrong


def from_middle(frame: pl.DataFrame, original: pl.DataFrame, area: str, point: list[str]) -> float:
    """Mean distance to the middle of the area."""
    middle = original.group_by(area).agg([pl.col(name).mean().alias(f"{name}_") for name in point])
    both = frame.drop_nulls(point).join(middle, on=area)
    return float(np.hypot(*(both[name] - both[f"{name}_"] for name in point)).mean())


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "method", ["cart", pytest.param("forest", marks=SLOW), pytest.param("syndiffix", marks=SLOW)]
)
def test_points_of_the_example_stay_in_their_municipality(method: str) -> None:
    people = examples.population(5000, seed=1)
    made = dalenius.synthesize(people, method, schema=examples.population_schema(), seed=3)
    assert outside(made, people, "municipality", PLACE) == 0
    old, new = (from_middle(frame, people, "municipality", PLACE) for frame in (people, made))
    assert new == pytest.approx(old, rel=0.25)
    real = set(people.select(PLACE).iter_rows())
    assert not real & set(made.select(PLACE).iter_rows())


def test_without_preparation_points_leave_their_town() -> None:
    frame = towns()
    loose = dalenius.synthesize(frame, "independent", seed=1, prepare=False)
    kept = dalenius.synthesize(frame, "independent", seed=1)
    assert outside(loose, frame, "town", ["lon", "lat"]) > 500
    assert outside(kept, frame, "town", ["lon", "lat"]) == 0
    assert made_again(frame).words == ("lon and lat lie within their town",)


def made_again(frame: pl.DataFrame) -> Kept:
    return Kept.of(Table.from_frame(frame))


def test_the_date_line_and_metres_are_no_trouble() -> None:
    frame = towns(shift=179.2)
    assert frame["lon"].min() < -179 and frame["lon"].max() > 179  # noqa: PT018 (the towns lie on both sides)
    made = dalenius.synthesize(frame, "independent", seed=1)
    back = [each.with_columns((pl.col("lon") - 179.2 + 180) % 360 - 180) for each in (made, frame)]
    assert outside(*back, "town", ["lon", "lat"]) == 0
    far = [from_middle(each, back[1], "town", ["lon", "lat"]) for each in back]
    assert far[0] == pytest.approx(far[1], rel=0.15)
    metres = towns().with_columns(pl.col("lon") * 80_000, pl.col("lat") * 111_000)
    assert outside(dalenius.synthesize(metres, "independent", seed=1), metres, "town", ["lon", "lat"]) == 0


def test_the_column_a_point_lies_in_is_taken_at_its_word() -> None:
    frame = towns().with_columns(
        half=pl.col("town").is_in(["A", "B", "C"]).replace_strict({True: "n", False: "s"})
    )
    schema = Schema.infer(frame)
    step = places(Table.from_frame(frame, schema))
    assert step is not None and step.area == "town"  # noqa: PT018
    told = [c if c.name != "lon" else dalenius.Column(**{**vars(c), "parent": "half"}) for c in schema]
    step = places(Table.from_frame(frame, Schema(tuple(told))))
    assert step is not None and step.area == "half"  # noqa: PT018


def test_no_area_no_coordinates_and_columns_that_options_name() -> None:
    frame = towns()
    assert places(Table.from_frame(frame.drop("town"))) is None
    assert places(Table.from_frame(frame.drop("lon"))) is None
    kept = Kept.of(Table.from_frame(frame), ["lon"])
    assert "lon" not in kept.changed
    ruled = Schema.infer(frame)
    ruled = Schema(ruled.columns, ("lat > 40",))
    assert not Kept.of(Table.from_frame(frame, ruled)).changed


def test_an_area_of_few_has_no_points_and_is_not_in_the_recipe() -> None:
    """Two people live in G: what is known of that town is theirs alone."""
    frame = pl.concat(
        [towns(), towns(2).with_columns(town=pl.lit("G"), lon=pl.lit(9.12345), lat=pl.lit(44.4))]
    )
    column = dalenius.Column("town", Kind.CATEGORICAL, levels=tuple("ABCDEFG"), domain="declared")
    schema = Schema.infer(frame).replace_columns(column)
    made = Candidate("cart").make(Table.from_frame(frame, schema), seed=1)
    step = made.model.preparation.recipe.steps[0]
    assert isinstance(step, KeepPlace)
    assert "G" not in step.levels
    assert max(step.centres[::2]) < 5
    drawn = made.table.to_frame("polars")
    assert drawn.filter(pl.col("town") == "G")["lon"].null_count() == (drawn["town"] == "G").sum()
    assert drawn.filter(pl.col("town") != "G")["lon"].null_count() == 0


def test_no_corner_of_an_area_is_anybody_s_point() -> None:
    """Three units: their exact mean does not leave, nor any of them; rows of one owner count once."""
    frame = towns(1200)
    few = pl.DataFrame(
        {"town": ["G"] * 3, "lon": [7.111, 7.222, 7.334], "lat": [45.1, 45.2, 45.31], "age": [20, 30, 40]}
    )
    step = places(Table.from_frame(pl.concat([frame, few])))
    assert step is not None
    at = step.levels.index("G") + 1
    centre = np.array(step.centres).reshape(-1, 2)[at]
    mean = few.select("lon", "lat").to_numpy().mean(axis=0)
    assert 1e-6 < np.abs(centre - mean).max() < 0.05
    assert np.array(step.reach).reshape(-1, SIDES)[at].max() == 0
    heavy = pl.concat([few[:1]] * 50 + [few])
    owned = pl.concat([frame, heavy]).with_columns(
        who=pl.Series([*range(1200), *[1200] * 50, 1200, 1201, 1202])
    )
    schema = Schema.infer(owned).with_roles(entity="who")
    again = places(Table.from_frame(owned, schema))
    assert again is not None
    assert np.array(again.centres).reshape(-1, 2)[again.levels.index("G") + 1] == pytest.approx(
        centre, abs=1e-9
    )


def test_a_saved_model_draws_the_same_places(tmp_path) -> None:
    made = Candidate("cart").make(towns(), seed=4)
    save_model(made.model, tmp_path / "m.model")
    again = load_model(tmp_path / "m.model")
    kept = again.preparation
    assert json.dumps(kept.to_dict()) == json.dumps(made.model.preparation.to_dict())
    assert again.sample(1200, seed=4).to_frame("dict") == made.model.sample(1200, seed=4).to_frame("dict")


def test_gaps_stay_gaps() -> None:
    frame = towns().with_columns(
        lon=pl.when(pl.int_range(1200) % 10 == 0).then(None).otherwise(pl.col("lon")),
        town=pl.when(pl.int_range(1200) % 7 == 0).then(None).otherwise(pl.col("town")),
    )
    made = dalenius.synthesize(frame, "cart", seed=1)
    assert 0.05 < made["lon"].null_count() / 1200 < 0.17
    assert outside(made, frame, "town", ["lon", "lat"]) == 0


def test_the_reach_between_two_corners_is_a_straight_line() -> None:
    reach = np.zeros((1, SIDES))
    reach[0, 0], reach[0, 1] = 2.0, 1.0
    corners = [np.array([2.0, 0.0]), np.array([np.cos(np.pi / 8), np.sin(np.pi / 8)])]
    for part in (0.25, 0.5, 0.9):
        point = (1 - part) * corners[0] + part * corners[1]
        found = reach_towards(reach, np.array([np.arctan2(point[1], point[0])]))
        assert found[0] == pytest.approx(np.hypot(*point))


def test_roles_find_columns_of_any_name() -> None:
    frame = towns().rename({"lon": "east", "lat": "north"})
    schema = Schema.infer(frame).with_roles(longitude="east", latitude="north")
    made = dalenius.synthesize(frame, "independent", schema=schema, seed=1)
    assert outside(made, frame, "town", ["east", "north"]) == 0
    assert made.schema == frame.schema
    assert schema["east"].has(Role.LONGITUDE)


def test_columns_that_name_homes_or_people_are_no_areas() -> None:
    """A code of the home tells the place best, and nobody else lives there."""
    frame = towns(600).with_columns(home=pl.Series([f"h{i // 2}" for i in range(600)]))
    frame = frame.with_columns(
        pl.col("lon", "lat").gather(pl.int_range(600) // 2 * 2),
        town=pl.col("town").gather(pl.int_range(600) // 2 * 2),
    )
    schema = Schema.infer(frame)
    homes = [f"h{i}" for i in range(300)]
    schema = schema.replace_columns(dalenius.Column("home", Kind.CATEGORICAL, levels=tuple(homes)))
    step = places(Table.from_frame(frame, schema))
    assert step is not None and step.area == "town"  # noqa: PT018
    for role in ("identifier", "household"):
        named = schema.with_roles(**{role: "home"})
        step = places(Table.from_frame(frame, named))
        assert step is not None and step.area == "town"  # noqa: PT018
    told = [c if c.name != "lon" else dalenius.Column(**{**vars(c), "parent": "home"}) for c in named]
    assert places(Table.from_frame(frame, Schema(tuple(told)))) is None
    assert dalenius.synthesize(frame, "independent", schema=Schema(tuple(told)), seed=1).height == 600


def test_homes_far_from_all_others_do_not_show() -> None:
    """Two people of town A live two degrees away: the area reaches as far as without them."""
    frame = towns()
    far = pl.DataFrame({"town": ["A"] * 2, "lon": [2.01234, 2.05], "lat": [45.0, 45.01], "age": [50, 51]})
    steps = [places(Table.from_frame(each)) for each in (frame, pl.concat([frame, far]))]
    reach = [np.array(step.reach).reshape(-1, SIDES)[1 + step.levels.index("A")] for step in steps if step]
    assert reach[1].max() < 1.6 * reach[0].max()
    made = dalenius.synthesize(pl.concat([frame, far]), "independent", seed=1)
    assert made.filter(pl.col("town") == "A")["lon"].max() < 0.3
