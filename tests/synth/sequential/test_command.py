"""Sequential synthesis on the command line: plans with all their faults, progress, remarks."""

from __future__ import annotations

from contextlib import contextmanager

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.cli._console import Terminal
from dalenius.data import examples

COLUMNS = ["sex", "age", "region", "marital", "income"]


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    examples.survey(300, seed=1).select(COLUMNS).write_csv(path)
    return path


def synth(people, plan: str):
    path = people.with_name("plan.yaml")
    path.write_text(plan)
    out = people.with_name("out.csv")
    return CliRunner().invoke(
        app, ["synth", str(people), "-m", "cart", "--candidate", str(path), "-o", str(out)]
    )


def test_every_fault_of_a_plan_is_told_at_once(people):
    result = synth(
        people, "vist: given\nminbucket: 0\nkeep: [nose]\nmethods: {sex: norm}\nrules: ['age ===']\n"
    )
    assert result.exit_code == 2
    assert "5 faults" in result.stderr
    for word in ("vist", "minbucket", "nose", "is for numbers", "age ==="):
        assert word in result.stderr


def test_a_plan_is_carried_out_and_every_column_is_told_of(people, monkeypatch):
    told: list[str] = []

    @contextmanager
    def progress(self, what):
        yield lambda text: told.append(f"{what}: {text}")

    monkeypatch.setattr(Terminal, "progress", progress)
    plan = (
        "visit: [age, sex]\nkeep: [region]\ntuning: {income: {minbucket: 10}}\nmethods: {marital: polyreg}\n"
    )
    result = synth(people, plan)
    assert result.exit_code == 0, result.output
    assert len(told) == 4
    assert {line.split(": ")[1].split(",")[0] for line in told} == {"sex", "age", "marital", "income"}
    assert told[-1].endswith("4 of 4 columns done")
    out = pl.read_csv(people.with_name("out.csv"))
    assert out.columns == COLUMNS
    kept, original = out["region"].to_list(), pl.read_csv(people)["region"].to_list()
    assert sorted(kept) == sorted(original)
    assert kept != original, "kept cells leave in an order of their own"


def test_remarks_on_weights_reach_the_person(people):
    frame = pl.read_csv(people).with_columns(w=pl.Series([1.5, 4.5] * 150))
    frame.write_csv(people)
    result = synth(people, "weights: w\nweighting: pseudo\n")
    assert result.exit_code == 0, result.output
    assert "design effect 1.25" in result.stderr
