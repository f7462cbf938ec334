"""`dalenius sweep` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import examples


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    examples.survey(300, seed=1).select("sex", "region", "marital").write_csv(path)
    return path


def test_epsilons_follow_one_option(file, tmp_path):
    chart = tmp_path / "chart.svg"
    words = [
        "sweep",
        str(file),
        "--epsilon",
        "1",
        "10",
        "none",
        "--replicates",
        "1",
        "--option",
        "domain=from-data",
    ]
    ran = CliRunner().invoke(app, [*words, "--json", "--chart", str(chart)])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert [row["epsilon"] for row in found["table"]] == [1.0, 10.0, None]
    assert chart.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--epsilon", "much"], "not a number"),
        (["--epsilon", "1"], "read off the confidential data"),
        (["--epsilon", "-1", "--option", "domain=from-data"], "epsilon"),
        (["--epsilon", "1", "--method", "bootstrap"], "no epsilon"),
    ],
)
def test_faults_are_one_line(file, words, said):
    ran = CliRunner().invoke(app, ["sweep", str(file), *words])
    assert ran.exit_code == 2
    assert said in ran.output
