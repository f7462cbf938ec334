"""A small survey with a plan of fast candidates, released once for all tests that only read."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import examples
from dalenius.release import read_plan, run_plan, write_pack

COLUMNS = ["region", "sex", "age", "marital", "income", "diagnosis", "health"]
PLAN = """\
title: "Survey <b>&"
input: people.csv
schema: schema.yaml
holdout: 0.2
seed: 3
scenarios:
  neighbour: {about: "somebody next door", keys: [sex, age, region], targets: [diagnosis, health]}
  employer: {keys: [sex, age], targets: [health], population_share: 0.01}
candidates:
  independent: {}
  saturated: {}
  cart: {minbucket: [5, 50]}
  loglinear: {}
measures: [replicated-uniques, disco, two-way-utility]
policy: ["repU <= original + 0 points", "DiSCO <= holdout + 40 points", "mean S_pMSE <= 60", "expected repU <= 50 %"]
replicates: 1
output: out
"""


def invoke(*words: str):
    """The command line in this process."""
    return CliRunner().invoke(app, list(words))


def make_plan(folder: Path, rows: int = 400, text: str = PLAN) -> Path:
    frame = examples.survey(rows, seed=2).select(COLUMNS)
    frame.write_csv(folder / "people.csv")
    schema = (
        examples.survey_schema()
        .select(COLUMNS)
        .with_roles(keys=["sex", "age", "region"], targets=["diagnosis"])
    )
    schema.to_yaml(folder / "schema.yaml")
    (folder / "plan.yaml").write_text(text)
    return folder / "plan.yaml"


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    path = make_plan(tmp_path_factory.mktemp("release"))
    release = run_plan(read_plan(path), workers=1)
    write_pack(release)
    return release
