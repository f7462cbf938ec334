"""`dalenius fit`: a survey's own errors, files side by side, what is told and what is withheld."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.result import figure
from dalenius.data import Schema

RUN = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(1)
    n = 400
    age, region = rng.integers(18, 80, n), rng.choice(["n", "s"], n)
    income = np.round(500 + 30 * age + 200 * (region == "s") + rng.normal(0, 300, n))
    frame = pl.DataFrame(
        {"age": age, "region": region, "income": income, "w": np.where(income > 2000, 5.0, 1.0)}
    )
    frame.write_csv(place / "survey.csv")
    Schema.infer(frame).with_roles(weight="w").to_yaml(place / "schema.yaml")
    for i in range(2):
        chosen = rng.choice(n, n, p=frame["w"] / frame["w"].sum())
        frame[chosen].drop("w").write_csv(place / f"synth.{i}.csv")
    lone = frame.with_columns(
        region=pl.when(pl.int_range(n) == 0).then(pl.lit("x")).otherwise(pl.col("region"))
    )
    lone.write_csv(place / "lone.csv")
    return place


def run(*words) -> dict:
    done = RUN.invoke(app, ["fit", *map(str, words), "--json", "-q"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_files_beside_the_original(folder):
    files = [folder / "survey.csv", folder / "synth.0.csv", folder / "synth.1.csv"]
    found = run("income ~ poly(age, 2) + C(region)", *files, "--schema", folder / "schema.yaml")
    names = [row["coefficient"] for row in found["coefficients"]]
    assert names == ["(Intercept)", "poly(age, 2)1", "poly(age, 2)2", "C(region)s"]
    assert found["rule"] == "expected"
    assert found["overlap"] > 0.3
    assert (
        run("income ~ .", *files, "--schema", folder / "schema.yaml")["overlap"] > 0.3
    )  # the weight is no answer
    partial = run("income ~ age", *files, "--for-population", "--kept", "age")
    assert partial["rule"] == "partial"


def test_the_survey_alone_is_estimated_with_its_weights(folder):
    frame = pl.read_csv(folder / "survey.csv")
    mean = float(np.average(frame["income"], weights=frame["w"]))
    found = run("mean(income)", folder / "survey.csv", "--schema", folder / "schema.yaml")["coefficients"][0]
    assert found["estimate"] == pytest.approx(mean)
    plain = run("mean(income)", folder / "survey.csv")["coefficients"][0]
    assert plain["estimate"] == pytest.approx(float(frame["income"].mean()))
    told = RUN.invoke(
        app, ["fit", "mean(income)", str(folder / "survey.csv"), "--schema", str(folder / "schema.yaml")]
    )
    assert "weights 'w'" in told.stderr


def test_a_coefficient_of_one_person_is_withheld(folder):
    found = run("income ~ region", folder / "lone.csv")["coefficients"]
    assert [row["coefficient"] for row in found][-1] == "(rests on few rows)"
    assert found[-1]["estimate"] is None


def test_a_chart_is_written(folder):
    path = folder / "fit.svg"
    files = [folder / "survey.csv", folder / "synth.0.csv"]
    done = RUN.invoke(app, ["fit", "income ~ age", *map(str, files), "--chart", str(path)])
    assert done.exit_code == 0
    assert "<svg" in path.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["income ~ nose"], "nose"),
        (["variance(income)"], "mean"),
        (["income ~ I(__import__('os'))"], "formula"),
        (["income ~ age", "--family", "weibull"], "no family"),
        (["income ~ age", "--link-function", "loglog"], "no link"),
        (["income ~ age", "--family", "cox"], "Surv"),
        (["quantile(income, 2)"], "between 0 and 1"),
    ],
)
def test_what_cannot_be_fitted_is_said(folder, words, message):
    done = RUN.invoke(app, ["fit", words[0], str(folder / "survey.csv"), *words[1:]])
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)


def test_no_number_is_broken_at_80_columns(folder):
    files = [str(folder / name) for name in ("survey.csv", "synth.0.csv", "synth.1.csv")]
    words = ["fit", "I(income * 1000) ~ poly(age, 2) + C(region)", *files]
    seen = RUN.invoke(app, words, env={"COLUMNS": "80"}).stdout
    found = run(*words[1:])["coefficients"]
    for row in found:
        for name in ("original", "original_low", "original_high", "synthetic", "low", "high"):
            assert figure(row[name]) in seen
        assert row["coefficient"] in seen
