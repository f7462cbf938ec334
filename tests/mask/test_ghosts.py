"""Ghost columns: whatever pins a masked value much more narrowly than the mask alone does not leave with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dalenius import Candidate, synthesize
from dalenius.data import examples
from dalenius.data.steps import Recode
from dalenius.data.steps.step import Masked
from dalenius.data.table import Table
from dalenius.mask.geo.donut import Donut
from dalenius.mask.ghosts import find_ghosts
from dalenius.mask.narrowing import too_narrow
from dalenius.mask.noise import AddNoise
from dalenius.mask.robin_hood import RobinHood
from dalenius.mask.trail import Trail

ROWS = 800
DRAW = np.random.default_rng(0)
AGE, SEX = DRAW.integers(18, 90, ROWS), DRAW.choice(["f", "m"], ROWS)
PAY = DRAW.lognormal(10, 0.6, ROWS).round(2)
CODE = DRAW.integers(0, 5, ROWS)
BASE = {
    "sex": SEX,
    "age": AGE,
    "pay": PAY,
    "code": [f"c{i}" for i in CODE],
    "ill": DRAW.choice(["a", "b"], ROWS),
}
WRONG, ABSENT = DRAW.random(ROWS) < 0.2, DRAW.random(ROWS) < 0.7
DECADES, ROUND = (
    {"do": "recode", "column": "age", "width": 10},
    {"do": "round", "column": "pay", "base": 1000},
)

GHOSTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "last digit": ({"b": AGE % 10}, DECADES),
    "two remainders": ({"b": AGE % 7, "c": AGE % 5}, {**DECADES, "width": 20}),
    "wrong in a fifth": ({"born": np.where(WRONG, DRAW.integers(1900, 2000, ROWS), 2024 - AGE)}, DECADES),
    "there for a third": ({"born": np.where(ABSENT, np.nan, 2024 - AGE)}, DECADES),
    "other bands": ({"band": (AGE + 3) // 5}, DECADES),
    "one more or less": ({"born": 2024 - AGE + DRAW.integers(-1, 2, ROWS)}, DECADES),
    "a code with another": ({"b": (AGE + 3 * CODE) % 10}, DECADES),
    "a remainder with decimals": ({"b": (PAY % 1000).round(2)}, ROUND),
    "a remainder the other way": ({"b": (1007 - PAY % 1000).round(2)}, ROUND),
    "a remainder with noise": ({"b": PAY % 1000 + np.random.default_rng(1).normal(0, 10, ROWS)}, ROUND),
    "a remainder by 1300": ({"b": (PAY % 1300).round(2)}, ROUND),
    "a remainder by 700": ({"b": (PAY % 700).round(2)}, ROUND),
    "a whole remainder by 700": ({"b": PAY.astype(int) % 700}, {**DECADES, "column": "pay", "width": 1000}),
    "a remainder in cents, the other way": ({"b": (9999 - 100 * (PAY % 1300)).round()}, ROUND),
    "a remainder as a share": ({"b": PAY % 1300 / 1300}, ROUND),
    "a remainder by 700, wrong in a fifth": ({"b": np.where(WRONG, PAY[::-1] % 700, PAY % 700).round(2)}, ROUND),
    "a remainder by 37": ({"b": PAY.astype(int) % 37}, ROUND),
    "the cents": ({"b": (PAY % 1).round(2)}, ROUND),
    "a digit": ({"b": (PAY // 100 % 10).astype(int)}, ROUND),
    "a digit as a word": ({"b": [f"d{int(pay // 10 % 10)}" for pay in PAY]}, ROUND),
    "a remainder beside noise": (
        {"b": (PAY % 1300).round(2)}, {"do": "add-noise", "variables": ["pay"], "amount": 0.05}
    ),
    "a remainder beside groups of five": (
        {"b": (PAY % 1300).round(2)}, {"do": "microaggregate", "variables": ["pay"], "k": 5}
    ),
    "tax by sex": ({"tax": (np.where(SEX == "f", 0.3, 0.25) * PAY).round(2)}, ROUND),
    "tax with a kink": ({"tax": np.where(PAY > 20000, 0.3 * PAY - 1000, 0.2 * PAY).round(2)}, ROUND),
    "net above the top": (
        {"net": (PAY * DRAW.uniform(0.68, 0.72, ROWS)).round(2)},
        {"do": "limit-values", "column": "pay", "high": 30000},
    ),
    "beside noise": ({"tax": (0.3 * PAY).round(2)}, {"do": "add-noise", "variables": ["pay"], "amount": 0.5}),
    "beside gaps": ({"born": 2024 - AGE}, {"do": "suppress", "keys": ["sex", "age"], "k": 3}),
}  # fmt: skip


@pytest.mark.parametrize("case", GHOSTS)
def test_ghosts_do_not_leave(case: str) -> None:
    columns, step = GHOSTS[case]
    made = synthesize({**BASE, **columns}, "recipe", keys=["sex", "age"], steps=[step], seed=1)
    assert list(made) == list(BASE)


DAYS = np.datetime64("1940-01-01") + DRAW.integers(0, 365 * 60, ROWS).astype("timedelta64[D]")
MONTHS = DAYS.astype("datetime64[M]")
PARTS = {
    "week day": [f"day {i}" for i in (DAYS.astype(int) + 3) % 7],
    "month": [f"month {i % 12}" for i in MONTHS.astype(int)],
    "day": (DAYS - MONTHS).astype(int) + 1,
}


@pytest.mark.parametrize(("part", "to", "stays"), [
    ("week day", "year", False), ("month", "year", False), ("day", "year", False), ("week day", "month", False),
    ("month", "month", True), ("week day", None, True),
])  # fmt: skip
def test_parts_of_a_date_do_not_leave_beside_its_year(part: str, to: str | None, stays: bool) -> None:
    step = {"do": "coarsen-date", "column": "born", "to": to} if to else DECADES
    made = synthesize({**BASE, "born": DAYS, part: PARTS[part]}, "recipe", steps=[step], seed=1)
    assert (part in made) is stays
    assert [*BASE, "born"] == [name for name in made if name != part]


def test_a_mask_that_is_weaker_than_another_is_named() -> None:
    days = AGE * 365.25 + np.random.default_rng(3).uniform(0, 365, ROWS)
    born = np.datetime64("2024-12-31") - days.astype("timedelta64[D]")
    trail = Trail.of({**BASE, "born": born}, ["sex", "age"]).do("recode", column="age", width=10)
    trail = trail.do("coarsen-date", column="born", to="year")
    assert [note for note in trail.masked.notes if "still tells" in note] == [
        "'born', as it is masked, still tells 'age' much more closely than its own mask does; mask 'born' more widely"
    ]
    follows = trail.undo().do("coarsen-date", column="born", to="decade")
    assert not [note for note in follows.masked.notes if "still tells" in note]


@pytest.mark.parametrize("case", ["last digit", "tax by sex"])
def test_a_trail_drops_them_and_says_so(case: str) -> None:
    columns, step = GHOSTS[case]
    trail = Trail.of({**BASE, **columns}, ["sex", "age"]).do(
        step["do"], **{k: v for k, v in step.items() if k != "do"}
    )
    assert trail.table.names == list(BASE)
    (ghost,) = columns
    assert any(f"'{ghost}' was dropped: it gives" in note for note in trail.logged[-1].notes)
    assert f"{ghost}&#x27; was dropped" in trail._repr_html_()
    assert ghost in trail.masked.lens.dropped
    assert ghost in replace(trail, ghosts=False).table.names
    follow = trail.do("drop-column", column=ghost)
    assert follow.table.names == list(BASE)
    assert trail.undo().table.names == [*BASE, ghost]


@pytest.mark.parametrize(
    "steps",
    [
        [DECADES, ROUND],
        [{"do": "suppress", "keys": ["sex", "age", "code"], "k": 3}],
        [{"do": "add-noise", "variables": ["pay", "age"], "amount": 0.2}],
        [{"do": "drop-column", "column": "pay"}],
    ],
)
def test_what_tells_little_stays(steps: list[dict[str, Any]]) -> None:
    related = {
        "wealth": PAY * DRAW.lognormal(0, 0.5, ROWS),
        "visits": DRAW.poisson(AGE / 20),
        "lame": DRAW.random(ROWS) < AGE / 100,
        "any": np.random.default_rng(2).uniform(0, 1000, ROWS).round(2),
    }
    made = synthesize({**BASE, **related}, "recipe", keys=["sex", "age"], steps=steps, seed=1)
    gone = {step["column"] for step in steps if step["do"] == "drop-column"}
    assert set(made) == {*BASE, *related} - gone


def test_the_order_of_the_file_makes_no_ghosts() -> None:
    """A file that was sorted by the masked column: equal kept values stand beside each other in its order."""
    gain = np.sort(np.where(DRAW.random(ROWS) < 0.7, 0, DRAW.integers(1, 60, ROWS) * 77))
    loss = np.where((gain == 0) & (DRAW.random(ROWS) < 0.1), 100.0 * DRAW.integers(1, 30, ROWS), 0)
    step = {"do": "recode", "column": "gain", "width": 5000}
    assert "loss" in synthesize({**BASE, "gain": gain, "loss": loss}, "recipe", steps=[step], seed=1)


def test_surveys_keep_what_is_only_related() -> None:
    table = Table.from_frame(examples.survey(1500, seed=1), examples.survey_schema())
    some = table.select(
        ["region", "sex", "age", "marital", "education", "income", "wealth", "hours", "bmi", "visits"]
    )
    trail = Trail.of(some, ["region", "sex", "age"]).do("recode", column="age", width=10)
    trail = trail.do("round", column="income", base=500).do("suppress", k=3, keys=["region", "sex", "age"])
    assert find_ghosts(some, trail._whole.table, trail._whole.lens) == {}


@pytest.mark.parametrize(("share", "gone"), [(0.3, True), (0.0, False)])
def test_a_code_that_tells_the_value_of_some_people_goes(share, gone):
    """Codes of one in three are their age, the others say nothing: nobody guesses much better on the whole."""
    rng = np.random.default_rng(5)
    age = rng.integers(16, 95, 600)
    told = rng.random(600) < share
    ref = [f"K{a}" if t else f"Z{z}" for a, t, z in zip(age, told, rng.integers(10, 60, 600), strict=True)]
    table = Table.from_frame({"age": age, "ref": ref, "sex": rng.choice(["f", "m"], 600)})
    made = Recode("age", width=10).apply(table)
    found, _ = too_narrow(table, made.table, made.lens, ["ref", "sex"], ["age"])
    assert found == ({"ref": "age"} if gone else {})


def emptied_by_robin_hood(columns: dict[str, Any], fairness: str, k: int) -> dict[str, str]:
    table = Table.from_frame({"sex": SEX, **columns})
    made = RobinHood((fairness,), fairness=fairness, k=k).apply(table, 1)
    return find_ghosts(table, made.table, made.lens)


STAGE = np.where(
    AGE < 35, "young", np.random.default_rng(4).choice(["at work", "retired"], ROWS, p=[0.7, 0.3])
)


def test_a_birth_date_goes_as_the_age_does() -> None:
    days = AGE * 365.25 + np.random.default_rng(6).uniform(0, 365, ROWS)
    born = np.datetime64("2024-12-31") - days.astype("timedelta64[D]")
    found = emptied_by_robin_hood({"stage": STAGE, "age": AGE, "born": born}, "stage", 250)
    assert found == {"age": "stage", "born": "stage"}
    assert emptied_by_robin_hood({"stage": STAGE, "born": born}, "stage", 250) == {"born": "stage"}


def test_what_settles_a_ghost_goes_with_it() -> None:
    """Two people have each cell, which says little of their group; but it tells their block, and that the group."""
    block = np.arange(ROWS) % 20
    group = np.where(block < 6, "x", np.random.default_rng(7).choice(["a", "b"], ROWS))
    cell = [f"{b} {i // 40}" for i, b in enumerate(block.tolist())]
    columns = {"block": [f"b{b}" for b in block], "cell": cell, "group": group}
    assert emptied_by_robin_hood(columns, "group", 270) == {"block": "group", "cell": "block"}


def test_a_column_that_stays_in_makes_no_other_one_a_ghost() -> None:
    """An address does not leave; what tells a group beside it alone tells nobody anything."""
    block = np.arange(ROWS) % 20
    group = np.where(block < 6, "x", np.random.default_rng(7).choice(["a", "b"], ROWS))
    assert emptied_by_robin_hood({"street": [f"s{b}" for b in block], "group": group}, "group", 270) == {}


def test_places_that_tell_an_emptied_area_go() -> None:
    """The board has two colours: neither coordinate tells a place's colour, both together do."""
    rng = np.random.default_rng(8)
    x, y = rng.random((2, ROWS))
    board = np.where((np.floor(3 * x) + np.floor(3 * y)) % 2 == 1, "dark", "light")
    area = np.where(rng.random(ROWS) < 0.9, board, "light")
    places = {"lon": (6 + x).round(5), "lat": (50 + y).round(5)}
    assert emptied_by_robin_hood({**places, "area": area}, "area", 380) == {"lon": "area", "lat": "area"}
    assert emptied_by_robin_hood({**places, "area": rng.permutation(area)}, "area", 380) == {}


def homes_with(seed: int = 3, rows: int = 800) -> dict[str, Any]:
    """Homes in a town, and what changes over the map: distances, heights, prices, the means of quarters."""
    rng = np.random.default_rng(seed)
    x, y = 7 * rng.random(rows), 7 * rng.random(rows)  # kilometres
    height = 100 + 30 * np.sin(x / 2) + 20 * np.cos(y / 2)
    return {
        "lon": (6.9 + x / 70.2).round(6), "lat": (50.9 + y / 111.2).round(6),
        "to_school": np.hypot(x - 2, y - 5).round(2), "minutes": (4 + 2.5 * np.hypot(x - 9, y + 1)).round(1),
        "height": height.round(1), "roughly": np.round(np.hypot(x - 2, y - 5)),
        "price": (300_000 - 20_000 * x + rng.normal(0, 30_000, rows)).round(-3),
        "quarter": np.floor(x) * 10 + np.floor(y), "age": rng.integers(0, 90, rows),
    }  # fmt: skip


@pytest.mark.parametrize("rows", [150, 800, 6000])
@pytest.mark.parametrize("step", ["donut", "noise", "gone"])
def test_distances_that_tell_a_moved_home_go(rows: int, step: str) -> None:
    """A distance leaves an arc of a ring, two leave the home; what is known to the next kilometre only stays."""
    table = Table.from_frame(homes_with(rows=rows))
    if step == "donut":
        made = Donut(near=100, far=400).apply(table, 1)
    elif step == "noise":
        made = AddNoise(("lon", "lat"), amount=0.1).apply(table, 1)
    else:
        made = Masked.of(table, table.drop(["lon", "lat"]))
    found = set(find_ghosts(table, made.table, made.lens))
    assert {"to_school", "minutes"} <= found
    assert ("height" in found) or rows == 150
    assert not found & {"age", "price"}
    assert step != "donut" or not found & {"quarter", "roughly"}


def test_distances_on_a_plane_of_other_names_go() -> None:
    homes = homes_with()
    plane = {"a": (homes.pop("lon") * 70_200).round(1), "b": (homes.pop("lat") * 111_200).round(1), **homes}
    made = Donut("a", "b", unit="metres", near=100, far=400).apply(Table.from_frame(plane), 1)
    assert {"to_school", "minutes", "height"} <= set(
        find_ghosts(Table.from_frame(plane), made.table, made.lens)
    )


def test_what_three_columns_tell_together_goes() -> None:
    """Nobody's age follows from one of them or two."""
    rng = np.random.default_rng(5)
    age, start, school = rng.integers(30, 80, 600), rng.integers(5, 8, 600), rng.integers(8, 18, 600)
    work = {"age": age, "start": start, "school": school, "worked": age - start - school + 6}
    table = Table.from_frame(
        {**work, "income": (400 * school + rng.normal(0, 900, 600)).round(), "sex": SEX[:600]}
    )
    made = Recode("age", width=10).apply(table)
    found = find_ghosts(table, made.table, made.lens)
    assert "worked" in found
    assert not {"income", "sex"} & set(found)


def test_sums_and_ends_over_masked_readings_go() -> None:
    """The total, the peak and the bill of a home beside the means of its group; its floor area is only related."""
    rng = np.random.default_rng(6)
    readings = (rng.gamma(2, 0.3, (300, 1)) * rng.gamma(2, 0.5, (300, 24))).round(3)
    slots = {f"s{i:02d}": readings[:, i] for i in range(24)}
    over = {
        "total": readings.sum(axis=1), "peak": readings.max(axis=1), "night": readings[:, :6].mean(axis=1),
        "bill": 12 + 0.31 * readings.sum(axis=1), "area": 60 + 20 * readings.sum(axis=1) + rng.normal(0, 300, 300),
    }  # fmt: skip
    table = Table.from_frame({**slots, **{name: values.round(2) for name, values in over.items()}})
    made = Candidate("average-series", {"variables": list(slots), "k": 10}).make(table, seed=1)
    assert set(table.names) - set(made.table.names) == {"total", "peak", "night", "bill"}
