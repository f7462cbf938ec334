"""Cleaning, comparing, benchmarking and looking into a table from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.test_commands import run, runner

from dalenius.cli import app


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    age = rng.integers(16, 90, 400)
    path = tmp_path / "messy.csv"
    frame = pl.DataFrame(
        {
            "age": age,
            "group": np.array(["young", "middle", "old"])[np.searchsorted([30, 60], age, side="right")],
            "net": rng.integers(100, 900, 400),
            "tax": rng.integers(10, 90, 400),
            "land": ["home"] * 400,
        }
    )
    frame.with_columns(gross=pl.col("net") + pl.col("tax")).write_csv(path)
    return path


def test_check_clean_synthesize_undo(messy: Path, tmp_path: Path) -> None:
    recipe, clean, made, back = (tmp_path / name for name in ("r.json", "clean.csv", "syn.csv", "back.csv"))
    told = json.loads(run("check", messy, "--recipe", recipe, "--json"))
    assert {step["do"] for step in told["recipe"]["steps"]} == {
        "drop-grouping",
        "drop-derived",
        "drop-constant",
    }
    run("clean", messy, "--recipe", recipe, "-o", clean)
    assert len(pl.read_csv(clean).columns) == 3
    run("synth", clean, "-m", "independent", "-o", made, "-q")
    run("clean", made, "--recipe", recipe, "--undo", "-o", back)
    whole = pl.read_csv(back)
    assert whole.columns == pl.read_csv(messy).columns
    assert (whole["gross"] == whole["net"] + whole["tax"]).all()
    assert whole.filter(pl.col("group") == "old")["age"].min() >= 60  # type: ignore[operator]
    assert "nothing went wrong" in run("check", messy, "--after", messy)
    result = runner.invoke(app, ["check", str(messy), "--recipe", str(recipe), "--accept", "magic"])
    assert result.exit_code == 2
    assert "no kind 'magic'" in result.stderr


def test_what_rules_define_is_computed(messy: Path, tmp_path: Path) -> None:
    schema, out = tmp_path / "schema.yaml", tmp_path / "out.csv"
    run("schema", messy, "-o", schema)
    schema.write_text(schema.read_text() + "rules:\n  - gross == net + tax\n")
    run("synth", messy, "--schema", schema, "-m", "independent", "-o", out)
    made = pl.read_csv(out)
    assert made.columns == pl.read_csv(messy).columns
    assert (made["gross"] == made["net"] + made["tax"]).all()


def test_compare_with_replicates(messy: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        run("synth", messy, "-m", "independent", "-s", seed, "-o", tmp_path / f"s{seed}.csv", "-q")
    report = tmp_path / "report.html"
    told = json.loads(
        run(
            "compare", messy, f"mixed={tmp_path / 's1.csv'}", f"mixed={tmp_path / 's2.csv'}", messy, "--json",
            "--measures", "two-way-utility,replicated-uniques", "-k", "age,group", "-t", "net",
            "--option", 'model-agreement.models=["net ~ age"]', "--report", report,
        )
    )  # fmt: skip
    mixed = told["mixed"]["results"]
    assert mixed["two-way-utility"]["interval"]["low"] < mixed["two-way-utility"]["value"]
    assert told["messy"]["results"]["model-agreement"]["value"] == 1
    assert report.stat().st_size > 1000
    result = runner.invoke(app, ["evaluate", str(messy), str(messy), "--option", "pca=3"])
    assert result.exit_code == 2
    assert "pca.option=value" in result.stderr


def test_benchmark_and_ablation(messy: Path, tmp_path: Path) -> None:
    words = ["benchmark", messy, "-m", "independent", "--replicates", 2, "--measures", "two-way-utility"]
    told = json.loads(run(*words, "--json"))
    assert {row["candidate"] for row in told["figures"]} == {
        "independent", "values drawn evenly", "rows drawn again"
    }  # fmt: skip
    assert "rows drawn again" in run(*words)
    run("check", messy, "--recipe", tmp_path / "r.json", "-q")
    cleaned = json.loads(run(*words, "--recipe", tmp_path / "r.json", "--json"))["figures"]
    scores = {row["candidate"]: row["value"] for row in cleaned}
    assert scores["cleaned"] < scores["raw"]


def test_cells(messy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    frame = pl.read_csv(messy)
    frame.with_columns(group=frame["group"].reverse()).write_csv(other)
    chart = tmp_path / "cells.svg"
    told = json.loads(run("cells", messy, other, "-c", "age,group", "--chart", chart, "--json"))
    assert abs(told["cells"][0]["z"]) >= abs(told["cells"][-1]["z"])
    assert told["statistics"]["S_pMSE"] > 10
    assert chart.read_text().startswith("<svg")


def test_compare_says_what_was_not_measured(messy: Path) -> None:
    found = runner.invoke(
        app, ["compare", str(messy), f"a={messy}", f"b={messy}", "--measures", "disco,column-shapes"]
    )
    assert "disco: not measured, needs keys and targets" in found.stderr


def test_a_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    data, recipe = tmp_path / "data.csv", tmp_path / "recipe.json"
    name = "age\x1b[31m"
    pl.DataFrame({name: list(range(60)), "z": ["a", "b"] * 30}).write_csv(data)
    recipe.write_text(json.dumps({"steps": [{"do": "drop-column", "column": name}]}))
    found = runner.invoke(app, ["clean", str(data), "--recipe", str(recipe), "-o", str(tmp_path / "out.csv")])
    assert "cannot be undone: drop-column: age\\x1b[31m" in found.stderr
    assert "\x1b[31m" not in found.output
    chart = tmp_path / "cells.svg"
    run("cells", data, data, "-c", name, "--chart", chart)
    assert chart.read_text().startswith("<svg")
    told = json.loads(run("cells", data, data, "-c", "z", "--json"))
    assert {cell["z (column)"] for cell in told["cells"]} == {"a", "b"}


def test_a_category_cannot_steer_the_terminal(tmp_path: Path) -> None:
    data, other = tmp_path / "data.csv", tmp_path / "other.csv"
    pl.DataFrame({"z": ["a\x1b[31m", "b"] * 30}).write_csv(data)
    pl.DataFrame({"z": ["a\x1b[31m", "b", "b"] * 20}).write_csv(other)
    shown = run("cells", data, other, "-c", "z")
    assert "a\\x1b[31m" in shown
    assert "\x1b" not in shown
