"""One threshold: nothing that rests on fewer records is printed anywhere."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from dalenius import evaluate
from dalenius.cli import app
from dalenius.core.result import Result
from dalenius.data import examples
from dalenius.data.files import write
from dalenius.report import write_report

COLUMNS = ["region", "sex", "age", "education", "bmi", "diagnosis"]


def rows_told(text: str) -> list[int]:
    """Numbers in cells that a table of groups heads with "rows"."""
    return [int(n) for n in re.findall(r'"rows": (\d+)', text)]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("threshold") / "survey.csv"
    write(examples.survey(500, seed=4).select(COLUMNS), path)
    return path


@pytest.mark.parametrize("threshold", [10, 60])
def test_the_threshold_of_the_command_holds_in_every_format(survey, tmp_path, threshold):
    page = tmp_path / "report.html"
    call = [
        "evaluate",
        str(survey),
        str(survey),
        "--measures",
        "conditionals",
        "--threshold",
        str(threshold),
        "--json",
    ]
    done = CliRunner().invoke(app, [*call, "--report", str(page)])
    assert done.exit_code == 0, done.output
    told = rows_told(json.dumps(json.loads(done.stdout[done.stdout.index("{") :])))
    assert told
    assert min(told) >= threshold
    words = r"<td>[^<]*</td>" * 3  # column, given, group; then the rows behind them
    cells = re.findall(rf'<tr>{words}<td class="number">([\d,]+)</td>', page.read_text())
    assert cells
    assert min(int(cell.replace(",", "")) for cell in cells) >= threshold


def test_small_groups_of_ten_are_told_at_ten_and_not_at_sixty(survey):
    frame = examples.survey(500, seed=4).select(COLUMNS)
    few, many = (evaluate(frame, frame, measures=["conditionals"], threshold=t) for t in (10, 60))
    small = few["conditionals"].shown.filter(few["conditionals"].shown["rows"] < 60)
    assert len(small), "there is something to hide"
    assert many["conditionals"].shown["rows"].min() >= 60
    assert many["conditionals"].value == few["conditionals"].value, "the figure itself is the same"


def test_a_raw_table_cannot_pass_to_a_report(survey, tmp_path):
    """The report takes what a result shows; a table without a result has no way in."""
    frame = examples.survey(500, seed=4).select(COLUMNS)
    evaluation = evaluate(frame, frame, measures=["conditionals"])
    small = evaluation["conditionals"].at_threshold(200)
    assert small.chart is None, "a chart that was drawn for others is left out"
    assert small.to_dict()["table"] == small.shown.to_dicts()
    assert Result.from_dict(small.to_dict()).table["rows"].min() >= 200
    shown = Result.from_dict(small.to_dict(whole=True)).shown
    assert shown is not None
    assert shown["rows"].min() >= 200
    assert len(small.to_dict(whole=True)["table"]) > len(small.to_dict()["table"])
    with pytest.raises(TypeError):
        write_report(evaluation, tmp_path / "r.html", threshold=5)
