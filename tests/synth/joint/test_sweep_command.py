"""Epsilons on the command line: `dalenius sweep` and `dalenius synth --epsilon`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import Schema, examples


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


def test_a_private_file_shows_its_ledger(file, tmp_path):
    words = [
        "synth",
        str(file),
        "--method",
        "loglinear",
        "--epsilon",
        "1",
        "--output",
        str(tmp_path / "out.csv"),
    ]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "read off the confidential data" in refused.output
    ran = CliRunner().invoke(app, [*words, "--option", "domain=from-data"])
    assert ran.exit_code == 0, ran.output
    assert "privacy budget: ε = 1" in ran.output
    assert "spent: ε = 1" in ran.output
    assert (tmp_path / "out.csv").exists()


def test_chosen_columns_do_not_lose_whose_rows_they_are(tmp_path):
    data, schema = tmp_path / "visits.csv", tmp_path / "schema.yaml"
    frame = pl.DataFrame(
        {"who": ["p", "p", "q", "r"] * 10, "place": ["a", "b"] * 20, "day": ["mo", "tu"] * 20}
    )
    frame.write_csv(data)
    Schema.infer(frame).with_roles(entity="who").to_yaml(schema)
    words = ["sweep", str(data), "--schema", str(schema), "--columns", "place,day"]
    words += ["--epsilon", "1", "--replicates", "1"]
    refused = CliRunner().invoke(app, [*words, "--option", "domain=from-data"])
    assert refused.exit_code == 2
    assert "give contribution" in " ".join(refused.output.split())
    ran = CliRunner().invoke(app, [*words, "--option", "domain=from-data", "--option", "contribution=2"])
    assert ran.exit_code == 0, ran.output
