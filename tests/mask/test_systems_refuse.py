"""Bad input at the users' door: one error with every fault, no value of anybody, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.cli import app
from dalenius.cli.mask import _typed
from dalenius.core.errors import DataError
from dalenius.core.option import declared
from dalenius.data.steps.at_once import faults_at_once
from dalenius.data.steps.step import STEPS
from dalenius.data.table import Table
from dalenius.mask.geo.donut import Donut
from dalenius.mask.series import from_long, series_faults
from dalenius.mask.simulation import replication_audit
from dalenius.synth import METHODS, Candidate
from tests.cli.test_commands import runner

CLOCK = {  # an hour that comes twice, one that is missing, what is fed in, and fewer homes than k
    "who": ["a", "a", "a", "b", "b"], "at": [f"2024-10-27 0{h}:00" for h in (2, 2, 3, 2, 4)],
    "kwh": [1.5, 1.25, -0.5, 1.0, 2.0],
}  # fmt: skip
HOMES = {"lon": [6.91, 6.92, 6.93], "lat": [50.91, 50.92, 50.93]}


@pytest.mark.parametrize(
    ("frame", "step", "told"),
    [
        ({**HOMES, "lon": [6.91, 692345.5, None]}, "donut", ("without a coordinate", "mixes units")),
        ({**HOMES, "lat": [89.91, 50.5, None]}, "donut", ("without a coordinate", "beyond 89")),
        ({"lon": [692345.5, 692346.5], "lat": [50.5, 51.5]}, "donut", ("holds no degrees",)),
        (HOMES, "donut near=10 far=5", ("far must be more",)),
        (HOMES, "grid k=5", ("fewer than k = 5",)),
        ({"a": [1.5], "b": [2.5]}, "average-series variables=a,b k=2", ("1 home, fewer than k = 2",)),
        ({"a": [1.5, None, -3.5], "b": [2.5, 1.5, 1.25]}, "average-series variables=a,b k=2", ("gaps", "below 0")),
        ({"a": [1.5, 2.5], "b": [2.5, 1.5]}, "average-series variables=a,b k=5", ("fewer than k = 5",)),
        (CLOCK, "average-series variables=kwh home=who time=at k=9",
         ("4 faults", "2 homes, fewer than k = 9", "1 home with a time twice", "2 homes with gaps", "below 0")),
        ({name: cells[1:3] for name, cells in CLOCK.items()}, "average-series variables=kwh home=who time=at",
         ("one home", "below 0")),
        (CLOCK, "average-series variables=kwh home=flat time=at", ("no column 'flat'", "below 0")),
        ({"a": [1.5, 2.5], "b": ["x", "y"]}, "spectral variables=a,b", ("b",)),
        ({**HOMES, "lon": ["x", "y", "z"], "lat": [91.5, 89.5, None]}, "donut longitude=lon latitude=lat together=flat",
         ("no column 'flat'", "'lon' is categorical", "'lat' has 1 row without", "mixes units",
          "1 point beyond 89")),
        ({**HOMES, "lat": [91.5, 50.5, None]}, "grid k=5",
         ("3 faults", "'lat' has 1 row without", "'lat' mixes units", "fewer than k = 5")),
        ({"a": [1.5, None], "b": ["x", "y"], "c": [-1.0, 2.0]}, "average-series variables=a,b,c,d k=3",
         ("5 faults", "no column 'd'", "2 homes, fewer than k = 3", "'b' is", "gaps", "1 reading below 0")),
        ({"a": [-1.5], "b": [None]}, "average-series variables=a,b k=2",
         ("3 faults", "1 home, fewer than k = 2", "'b' is", "below 0")),
        ({**CLOCK, "who": ["a", "a", "a", "b", None], "kwh": [1.5, None, -0.5, 1.0, 2.0]},
         "average-series variables=kwh home=who time=at k=9",
         ("'who' has 1 row without", "2 homes, fewer than k = 9", "with a time twice", "with gaps", "gaps in 1",
          "below 0")),
        ({"a": [1.5, None], "b": ["x", "y"]}, "spectral variables=a,b,c",
         ("3 faults", "no column 'c'", "'a' has 1", "'b' is")),
        ({"sex": ["f", "m"], "race": ["x", None]}, "robin-hood keys=sex,job,race fairness=race k=3",
         ("3 faults", "no column 'job'", "'race' has 1 empty cell", "fewer than k = 3")),
        ({"sex": ["f", "m"]}, "safepub variables=sex,job target=flat score=classification",
         ("2 faults", "no column 'job'", "the target 'flat'")),
        ({"sex": ["f", "m"]}, "safepub variables=sex,job", ("no column 'job'",)),
        ({"s1": [1.5, 2.5], "s2": [2.5, 1.5], "s3": [1.0, 2.0]}, "average-series variables=s1,s2 k=2",
         ("'s3'", "called like")),
        ({"s1": [1.5, 2.5], "s2": [2.5, 1.5]}, "average-series variables=t* k=2", ("no column 't*'",)),
        ({"a": [1.5, 2.5], "b": [2.5, 1.5]}, "spectral variables=a,b,c components=9",
         ("components is 9", "no column 'c'")),
        ({"sex": ["f", "m"], "race": ["x", "y"]}, "robin-hood keys=sex,race fairness=job k=3", ("job",)),
    ],
)  # fmt: skip
def test_one_error_and_no_file(tmp_path: Path, frame: dict, step: str, told: tuple[str, ...]) -> None:
    pl.DataFrame(frame, strict=False).write_csv(tmp_path / "in.csv")
    words = ["mask", str(tmp_path / "in.csv"), "--step", step, "-o", str(tmp_path / "out.csv")]
    done = runner.invoke(app, words)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.exit_code != 0
    assert [word for word in told if word not in said] == []
    assert "692345" not in said and "89.91" not in said  # noqa: PT018
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_gaps_and_the_hour_that_is_there_twice() -> None:
    """When clocks go back an hour comes twice, when they go forward one is missing; both are told at once."""
    home = np.repeat(["a", "b"], 3)
    with pytest.raises(DataError, match=r"2 faults: 1 home with a time twice.*2 homes with gaps") as error:
        from_long(home, np.array([1, 2, 2, 1, 3, 4]), np.arange(6.0))
    assert "do not change with the clock" in str(error.value)
    assert len(series_faults(np.array([[1.0, np.nan], [-1.0, 2.0]]), np.zeros(3, int))) == 3


def square(x: float, **facts: object) -> dict[str, object]:
    """A square of a tenth of a degree as a GeoJSON feature."""
    ring = [[x, 50.0], [x + 0.1, 50.0], [x + 0.1, 50.1], [x, 50.1], [x, 50.0]]
    return {"type": "Feature", "properties": facts, "geometry": {"type": "Polygon", "coordinates": [ring]}}


def test_points_areas_and_people_are_told_at_once(tmp_path: Path) -> None:
    areas = [square(6.0, population=900), square(6.2), square(6.4, population=0), square(6.6, forbidden=True)]
    path = tmp_path / "areas.json"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": areas}))
    homes = Table.from_frame({"lon": [6.05, 6.15, 6.65, 692345.5, None], "lat": [50.05] * 5})
    with pytest.raises(DataError, match="5 faults") as error:
        Donut(within=str(path), people=20).apply(homes)
    told = str(error.value)
    for part in ("without a coordinate", "mixes units", "1 point in no area", "1 point in a forbidden area",
                 "2 areas without people"):  # fmt: skip
        assert part in told
    assert "692345" not in told


def test_an_audit_of_runs_names_all_that_is_missing() -> None:
    people = pl.DataFrame({"age": [20, 30]})
    with pytest.raises(DataError, match="4 faults") as error:
        replication_audit([], people, ["age", "sex"], ["ill"], holdout=people)
    for part in ("'sex' in every run", "'ill' in every run", "'sex' in the holdout", "no runs"):
        assert part in str(error.value)


TYPED = [
    # options that contradict each other, a file they do not suit, and steps after one that cannot be done
    ({"lon": [6.91, 692345.5, None], "lat": [89.91, 50.5, 50.5]}, ["donut near=10 far=5 key=abc"],
     ("5 faults", "far must be more", "the key is too short", "without a coordinate", "mixes units", "beyond 89")),
    ({**HOMES, "pay": ["x", "y", "z"]}, ["donat", "grid kk=5", "add-noise variables=pay,lon", "grid k=-1"],
     ("step 1 (donat): no step 'donat'", "step 2 (grid): no option 'kk'", "step 2 (grid, without step 1): the file has "
      "3 rows, fewer than k", "step 3 (add-noise, without step 1 and 2): column 'pay' is categorical",
      "step 4 (grid): k is -1")),
    ({"age": [31.5, 38.5], "pay": [1.5, None]}, ["round column=age base=10", "spectral variables=age,pay",
     "average-series variables=age,flat k=9 time=age"],
     ("step 2 (spectral): column 'pay' has 1", "step 3 (average-series): time needs home",
      "step 3 (average-series, without step 2): no column 'flat'")),
    (CLOCK, ["average-series variables=kwh,who time=at k=9", "robin-hood keys=who,job fairness=flat k=1"],
     ("step 1 (average-series): time needs home", "'who' is categorical", "step 2 (robin-hood", "no column 'job'")),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "steps", "told"), TYPED)
def test_options_file_and_all_steps_at_once(
    tmp_path: Path, frame: dict, steps: list[str], told: tuple[str, ...]
) -> None:
    """From the command line and from a file of steps: one error, and no step hides what is wrong with another."""
    pl.DataFrame(frame, strict=False).write_csv(tmp_path / "in.csv")
    (tmp_path / "steps.json").write_text(json.dumps({"steps": [_typed(step) for step in steps]}))
    typed = [word for step in steps for word in ("--step", step)]
    for words in (typed, ["--recipe", str(tmp_path / "steps.json")]):
        done = runner.invoke(app, ["mask", str(tmp_path / "in.csv"), *words, "-o", str(tmp_path / "out.csv")])
        said = " ".join((done.stdout + done.stderr).split())
        assert done.exit_code == 2
        assert [word for word in told if word not in said] == []
        assert "692345" not in said and "89.91" not in said  # noqa: PT018
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "steps.json"]


def test_a_later_step_sees_what_an_earlier_one_mends() -> None:
    """What the first step puts right is no fault of the second, whatever is wrong with the third."""
    frame = {"size": [f"{i} cm" if i == 3 else str(i) for i in range(60)], "pay": [1.5, 2.5] * 30}
    table = Table.from_frame(frame)
    steps = [{"do": "read-as-number", "column": "size"}, {"do": "round", "column": "size"}]
    wrong = [*steps, {"do": "round", "column": "flat"}]
    with pytest.raises(DataError) as error:
        Candidate("recipe", {"steps": wrong}).make(table)
    assert [fault.split(":")[0] for fault in error.value.faults] == ["step 3 (round)"]


def test_looking_for_faults_pays_nothing(tmp_path: Path) -> None:
    """A step that spends a privacy budget is not done while faults of others are looked for."""
    table = Table.from_frame({"sex": ["f", "m"] * 50, "race": ["x", "y"] * 50})
    ledger = tmp_path / "ledger.json"
    steps = [
        {"do": "safepub", "variables": ["sex"], "ledger": str(ledger)},
        {"do": "round", "column": "flat"},
    ]
    faults = faults_at_once(steps, table)
    assert faults == ["step 2 (round, without step 1): no column 'flat'; there are 'sex', 'race'"]
    assert not ledger.exists()


@pytest.mark.parametrize("kind", list(METHODS["recipe"] and STEPS))
def test_no_step_stumbles_over_its_own_options(kind: str) -> None:
    """Whatever contradicts itself or is not there: faults are told, none ends the search."""
    frames = [{"a": ["x", None], "b": [1.5, float("nan")]}, {"a": [1, 2, 3]}, {"c": ["x"]}]
    for frame in frames:
        table = Table.from_frame(frame)
        for name in declared(STEPS[kind]):
            for value in ("a", ["a", "b"], ["a", "a"], [], -1, 10**9, True, {"a": ["b"]}):
                faults_at_once([{"do": kind, name: value}, {"do": kind, "column": "a", name: value}], table)


def test_readings_are_named_by_a_pattern() -> None:
    rng = np.random.default_rng(1)
    table = Table.from_frame(
        {f"s{i:02d}": rng.gamma(2, 1, 40).round(2) for i in range(6)} | {"age": range(40)}
    )
    made = Candidate("average-series", {"variables": ["s*"], "k": 4}).make(table, seed=1).table
    alone = Candidate("average-series", {"variables": [f"s{i:02d}" for i in range(6)], "k": 4}).make(
        table, seed=1
    )
    assert made.to_frame("polars").equals(alone.table.to_frame("polars"))
    assert made["s05"].floats().max() < table["s05"].floats().max()


def test_a_fault_is_told_once(tmp_path: Path) -> None:
    pl.DataFrame({"sex": ["f", "m"], "age": [3, 4], "race": ["x", "y"]}).write_csv(tmp_path / "in.csv")
    done = runner.invoke(
        app, ["mask", str(tmp_path / "in.csv"), "--step", "robin-hood keys=sex,age fairness=race k=2"]
    )
    assert done.output.count("is not one of the keys") == 1
