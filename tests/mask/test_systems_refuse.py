"""Bad input at the users' door: one error with every fault, no value of anybody, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.data.table import Table
from dalenius.mask.geo.donut import Donut
from dalenius.mask.series import from_long, series_faults
from dalenius.mask.simulation import replication_audit
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


def test_every_step_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    pl.DataFrame(HOMES).write_csv(tmp_path / "in.csv")
    words = ["mask", str(tmp_path / "in.csv"), "--step", "donat", "--step", "grid kk=5"]
    done = runner.invoke(app, words)
    said = " ".join((done.stdout + done.stderr).split())
    assert "2 faults: no step 'donat'" in said
    assert "'kk=5' is no option=value" in said
