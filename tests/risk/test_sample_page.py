"""The page of one file by itself: complete, right, and sensible on odd files."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import DaleniusError
from dalenius.cli import app
from dalenius.data import examples
from dalenius.risk import sample_page, sample_risk


def test_page_of_one_file(tmp_path: Path) -> None:
    people = examples.survey(400, seed=1)
    file, page = tmp_path / "people.csv", tmp_path / "page.md"
    people.write_csv(file)
    call = ["risk", str(file), "--keys", "region,sex,age", "--targets", "health"]
    plain = CliRunner().invoke(app, [*call, "--json", "--quiet"])
    found = json.loads(plain.stdout)["results"]
    assert sorted(found) == [
        "global-risk",
        "k-anonymity",
        "l-diversity of health",
        "suda",
        "t-closeness of health",
    ]
    roles = ["--weight", "weight", "--household", "household_id", "--output", str(page)]
    weighted = CliRunner().invoke(app, [*call, *roles])
    assert weighted.exit_code == 0, weighted.output
    text = page.read_text()
    assert "population-uniques" in text
    assert "somebody of the household" in text
    assert "| poisson |" in text
    alike = people.group_by("region", "sex", "age").len()
    unique = alike.filter(pl.col("len") == 1).height
    assert found["k-anonymity"]["values"]["unique rows"] == unique
    assert f"| 2 | {unique} |" in text
    certain = people.select(  # who told nothing has no value
        (pl.col("health").drop_nulls().n_unique().over("region", "sex", "age") == 1).mean() * 100
    )
    assert found["l-diversity of health"]["values"]["nothing left to guess, %"] == pytest.approx(
        certain.item()
    )


ODD_FILES = {
    "one row": {"a": ["x"], "b": [1]},
    "all keys missing": {"a": [None, None, None], "b": ["u", "v", "u"]},
    "all targets missing": {"a": ["x", "y", "x"], "b": [None, None, None]},
    "constant": {"a": ["x"] * 5, "b": ["u"] * 5},
    "not finite": {"a": [1.0, float("nan"), float("inf"), -float("inf"), 2.0], "b": [1, 2, 3, 4, 5]},
    "ten thousand categories": {"a": [f"c{i}" for i in range(10_000)], "b": list(range(10_000))},
}


@pytest.mark.parametrize("name", ODD_FILES)
@pytest.mark.parametrize("population", [pytest.param(None, marks=pytest.mark.slow), 20_000])
def test_page_of_an_odd_file(name: str, population: float | None) -> None:
    page = sample_page(ODD_FILES[name], ["a"], ["b"], population=population)
    assert all(result.value == result.value for result in page.results.values())
    assert "k-anonymity" in page.to_markdown()


@pytest.mark.parametrize(
    ("data", "target", "population", "text"),
    [
        ({"sex": []}, [], None, "no rows"),
        ({"sex": ["f", "m"]}, ["sex"], None, "a key and a target"),
        ({"sex": ["f", "m"]}, ["income"], None, "no column 'income'"),
        ({"sex": ["f", "m"]}, [], 1, "smaller than the sample"),
    ],
)
def test_what_a_page_of_one_file_refuses(data: dict, target: list[str], population: float, text: str) -> None:
    with pytest.raises(DaleniusError, match=text):
        sample_page(data, ["sex"], target, population=population)


def test_names_of_columns_do_not_break_the_page() -> None:
    page = sample_page({"a|b\nc": ["x", "y", "y"], "d": ["u", "v", "u"]}, ["a|b\nc"], ["d"])
    lines = page.to_markdown().splitlines()
    assert any(line.startswith("| a\\|b c |") for line in lines)


def test_risk_without_weights_but_a_known_population() -> None:
    data = {"sex": ["f", "m", "m", "m"], "w": [25.0] * 4}
    known = sample_risk(data, ["sex"], population=100)
    assert known.risk.tolist() == sample_risk(data, ["sex"], weight="w").risk.tolist()
    assert known.mean < sample_risk(data, ["sex"]).mean
    for wrong, text in (("sex", "numbers is needed"), ("gap", "empty, zero or negative")):
        with pytest.raises(DaleniusError, match=text):
            sample_risk(data | {"gap": [1.0, 2.0, 1.0, None]}, ["sex"], weight=wrong)


def test_risk_of_one_file_beside_the_worst_case() -> None:
    people = examples.survey(400, seed=1)
    page = sample_page(people, ["region", "sex", "age"], population=20_000)
    risk, uniques = page.results["global-risk"], page.results["population-uniques"]
    fk = people.select(pl.len().over("region", "sex", "age")).to_series()
    assert risk.yardsticks["if everybody were in the file"] == pytest.approx(100 * (1 / fk).mean())
    assert (
        risk.interval.low < risk.value < risk.interval.high < risk.yardsticks["if everybody were in the file"]
    )
    assert risk.values["above 0.09, %"] == 0 < risk.values["largest risk"] < 0.09 * 2
    assert uniques.interval.low <= uniques.value <= uniques.interval.high
    assert uniques.yardsticks["unique in the file"] == int((fk == 1).sum())
    assert page.results["suda"].interval is not None
