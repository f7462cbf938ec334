"""Bad input at the users' door: one error with every fault, no value of anybody, and nothing written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.mask.series import from_long, series_faults
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
        (CLOCK, "average-series variables=kwh home=flat time=at", ("no column 'flat'",)),
        ({"a": [1.5, 2.5], "b": ["x", "y"]}, "spectral variables=a,b", ("b",)),
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
