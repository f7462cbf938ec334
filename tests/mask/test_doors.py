"""Masking through the command line: what a newcomer types, what an intruder with the same program can undo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

import dalenius
from dalenius.cli import app
from dalenius.data import Column, Kind, Schema, Table, examples
from dalenius.synth import Candidate

KEYS = "region,sex,age,marital"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    file = tmp_path / "survey.csv"
    people = dalenius.examples.survey(600, seed=1)
    people.select("region", "sex", "age", "marital", "diagnosis", "income").write_csv(file)
    return file


NOISE = {"steps": [{"do": "add-noise", "variables": ["pay"], "amount": 0.5}], "ghosts": False}


def masked(pay: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The masked pay, and which original row each row is, as an intruder learns it of a file of his own."""
    schema = Schema((Column("pay", Kind.CONTINUOUS), Column("place", Kind.CONTINUOUS)))
    table = Table.from_frame({"pay": pay, "place": np.arange(len(pay)) + 0.5}, schema)
    frame = Candidate("recipe", NOISE).make(table, seed=seed).table.to_frame()
    return np.array(frame["pay"]), (np.array(frame["place"]) - 0.5).astype(int)


def test_noise_and_order_cannot_be_drawn_again_without_the_data() -> None:
    pay = np.exp(np.random.default_rng(1).normal(8, 1, 500))
    released, order = masked(pay, seed=0)
    own = np.linspace(1, 2, 500)
    mine, guess = masked(
        own, seed=0
    )  # the intruder knows the program, the recipe, the seed and the number of rows
    assert np.corrcoef(order, guess)[0, 1] < 0.25
    noise = (mine - own[guess]) / own.std(ddof=1)
    with_noise = np.corrcoef(released, pay[order])[0, 1]
    assert np.corrcoef(released - noise * released.std() / np.sqrt(1.25), pay[order])[0, 1] < with_noise
    assert np.array_equal(masked(pay, seed=0)[0], released)  # the holder of the data can


def test_a_masked_file_is_seen_through_its_recipe(tmp_path: Path, survey: Path) -> None:
    out, recipe = tmp_path / "out.csv", tmp_path / "recipe.yaml"
    made = run("mask", survey, "--keys", KEYS, "--step", "recode column=age width=amount:5,10,20", "--target",
               "expected re-identifications <= 150", "--save-recipe", recipe, "-o", out)  # fmt: skip
    assert made.exit_code == 0, made.output
    asked = ["--keys", KEYS, "--targets", "diagnosis", "--measures", "disco,replicated-uniques", "--json"]
    blind = run("evaluate", survey, out, *asked, "-q")
    assert blind.stdout.count('"trusted": false') == 2
    assert "must not be read as safe" in blind.stdout
    seen = run("evaluate", survey, out, *asked, "-q", "--recipe", recipe)
    assert '"trusted": false' not in seen.stdout
    figures = pl.read_json(seen.stdout.encode())["results"][0]
    assert figures["disco"]["value"] > 10
    wrong = run("evaluate", survey, survey, *asked, "--recipe", recipe)
    assert wrong.exit_code == 2
    assert "is not what recipe.yaml makes of the original" in wrong.output.replace("\n", " ")


def test_keys_of_the_call_are_those_of_steps_that_name_none(tmp_path: Path, survey: Path) -> None:
    out, recipe = tmp_path / "out.csv", tmp_path / "recipe.yaml"
    made = run("mask", survey, "--keys", "region,sex,marital", "--step", "suppress k=3", "-o", out,
               "--save-recipe", recipe)  # fmt: skip
    assert made.exit_code == 0, made.output
    again = run("mask", survey, "--recipe", recipe, "-o", tmp_path / "again.csv")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again.csv").read_bytes() == out.read_bytes()
    lost = [line for line in made.output.splitlines() if line.startswith("suppress of")]
    assert lost
    assert "0.0 % of what" not in lost[0]


def test_texts_of_one_person_stay_in_and_what_no_step_changes_is_named(tmp_path: Path) -> None:
    remarks = ["well"] * 40 + [f"called by son number {i}" for i in range(60)]
    costs = np.random.default_rng(1).permutation(100).tolist()
    rows = [f"{20 + i % 40},{1000 + 7 * costs[i]}.25,{remark}" for i, remark in enumerate(remarks)]
    (tmp_path / "ward.csv").write_text("age,cost,remark\n" + "\n".join(rows) + "\n")
    made = run(
        "mask", tmp_path / "ward.csv", "--step", "recode column=age width=10", "-o", tmp_path / "out.csv"
    )
    assert made.exit_code == 0, made.output
    assert "called by" not in (tmp_path / "out.csv").read_text()
    assert (tmp_path / "out.csv").read_text().count("well") == 40
    told = " ".join(made.output.split())
    assert "'remark': texts that fewer than 3 units have are left empty" in told
    assert "'cost': no step changes what leaves here" in told
    assert "synthesized" not in told


def test_the_outline_names_the_columns_a_step_found_by_their_role() -> None:
    table = Table.from_frame(examples.survey(300, seed=1), examples.survey_schema())
    made = Candidate("donut", {}).make(table, seed=1)
    assert made.outline == ("donut of longitude, latitude",)
