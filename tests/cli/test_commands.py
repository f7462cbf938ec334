"""The command line as a person uses it: results, JSON, exit codes."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import Schema, examples
from dalenius.synth import METHODS, Candidate

runner = CliRunner()


def run(*words: object, code: int = 0) -> str:
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.stdout


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "survey.csv"
    examples.survey(300, seed=1).select("sex", "age", "region", "marital", "income", "diagnosis").write_csv(
        path
    )
    return path


def test_version_and_methods():
    assert run("version").startswith("dalenius ")
    assert json.loads(run("version", "--json"))["polars"]
    listed = json.loads(run("methods", "--json"))
    assert {m["name"] for m in listed["methods"]} == set(METHODS)
    assert "replicated-uniques" in {m["name"] for m in listed["measures"]}
    assert "bootstrap" in run("methods")


def test_schema_is_written_and_checked(survey, tmp_path):
    path = tmp_path / "schema.yaml"
    assert "income" in run("schema", survey, "-o", path)
    assert Schema.from_yaml(path).names == ["sex", "age", "region", "marital", "income", "diagnosis"]
    assert "follows" in run("schema", survey, "--against", path)
    columns = json.loads(run("schema", survey, "--json"))["columns"]
    assert all(column["why"] for column in columns)


def test_schema_check_lists_all_faults(tmp_path):
    data, schema = tmp_path / "data.csv", tmp_path / "schema.yaml"
    data.write_text("age,sex\n30,f\n200,m\n")
    schema.write_text("columns:\n  age: {kind: integer, bounds: [0, 120]}\n  extra: {kind: text}\n")
    result = runner.invoke(app, ["schema", str(data), "--against", str(schema)])
    assert result.exit_code == 2
    for part in ("3 faults", "'extra'", "'sex'", "above the upper bound"):
        assert part in result.stderr


def test_synth_writes_a_file_of_the_same_columns(survey, tmp_path):
    out = tmp_path / "out.csv"
    run("synth", survey, "-m", "independent", "-o", out, "--seed", 4)
    again = tmp_path / "again.csv"
    run("synth", survey, "-m", "independent", "-o", again, "--seed", 4)
    assert out.read_bytes() == again.read_bytes()
    assert pl.read_csv(out).columns == pl.read_csv(survey).columns
    told = json.loads(
        run("synth", survey, "-m", "independent", "-o", tmp_path / "x.parquet", "-n", 17, "--json")
    )
    assert told["rows"] == 17
    assert pl.read_parquet(tmp_path / "x.parquet").height == 17


def test_copies_and_saved_models(survey, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "model.zip"
    run("synth", survey, "-m", "independent", "-o", out, "--copies", 2, "--save-model", model, "--seed", 3)
    assert (tmp_path / "out.1.csv").read_bytes() != (tmp_path / "out.2.csv").read_bytes()
    run("sample", model, "-o", tmp_path / "later.csv", "--seed", 3)
    assert (tmp_path / "later.csv").read_bytes() == (tmp_path / "out.1.csv").read_bytes()


def test_masked_rows_are_called_masked(survey):
    masking = ("synth", survey, "-m", "pram", "--option", "variables=sex")
    assert "300 masked rows written to" in run(*masking)
    assert survey.with_name("survey.masked.csv").is_file()
    assert not survey.with_name("survey.synthetic.csv").exists()
    for words in (("--rows", 5), ("--save-model", survey.with_name("m.zip"))):
        said = runner.invoke(app, [*map(str, (*masking, *words))])
        assert said.exit_code == 2
        assert "rows" in said.stderr or "--save-model" in said.stderr


def told(*words: object) -> str:
    said = runner.invoke(app, [*map(str, words)])
    assert said.exit_code == 2, said.output
    return said.stderr


def test_everything_wrong_is_told_at_once(survey):
    text = told("synth", survey, "--option", "minbuckt=3", "--option", "keep=nose", "--columns", "ear,sex")
    assert "'minbuckt'" in text
    assert "'ear'" in text
    text = told("evaluate", survey, survey, "--keys", "sx,age", "--targets", "incom")
    assert "'sx'" in text
    assert "'incom'" in text
    text = told("evaluate", survey, survey, "--measures", "disko,two-way-utilty")
    assert "'disko'" in text
    assert "'two-way-utilty'" in text
    text = told("evaluate", survey, survey, "--option", "disco.keyz=1", "--option", "dcap.foo=3")
    assert "'keyz'" in text
    assert "'foo'" in text


def test_an_option_is_given_once(survey):
    twice = ("--option", "minbucket=5", "--option", "cart.minbucket=9")
    assert "minbucket is given twice" in told("synth", survey, *twice)


def test_dry_run_writes_nothing(survey, tmp_path):
    before = set(tmp_path.iterdir())
    told = json.loads(run("synth", survey, "-m", "bootstrap", "--dry-run", "--json"))
    assert told["seconds"] > 0
    assert told["bytes"] > 0
    assert set(tmp_path.iterdir()) == before


def test_plan_file_and_options(survey, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("nonsense: 1\n")
    result = runner.invoke(app, ["synth", str(survey), "-m", "independent", "--candidate", str(plan)])
    assert result.exit_code == 2
    assert "no option 'nonsense'" in result.stderr


def test_evaluate_and_compare(survey, tmp_path):
    out = tmp_path / "boot.csv"
    run("synth", survey, "-m", "bootstrap", "-o", out)
    report = tmp_path / "report.html"
    told = json.loads(
        run("evaluate", survey, out, "-k", "sex,age", "-t", "diagnosis", "--report", report, "--json")
    )
    assert told["results"]["replicated-uniques"]["value"] > 0
    assert report.read_text().startswith("<!doctype html>")
    run("synth", survey, "-m", "independent", "-o", tmp_path / "ind.csv")
    both = json.loads(
        run(
            "compare",
            survey,
            out,
            f"alone={tmp_path / 'ind.csv'}",
            "-k",
            "sex,age",
            "-t",
            "diagnosis",
            "--json",
        )
    )
    assert set(both) == {"boot", "alone"}
    assert "repU" in run(
        "compare", survey, out, "-k", "sex", "-t", "diagnosis", "--measures", "replicated-uniques"
    )


def test_missing_keys_are_said(survey, tmp_path):
    out = tmp_path / "boot.csv"
    run("synth", survey, "-m", "bootstrap", "-o", out)
    told = json.loads(run("evaluate", survey, out, "--measures", "disco,two-way-utility", "--json"))
    assert told["skipped"] == {"disco": "needs keys and targets"}


def test_demo(tmp_path):
    out = tmp_path / "demo"
    text = run("demo", "--rows", 200, "-o", out, "--method", "independent", "--method", "bootstrap")
    assert "report.html" in text.replace("\n", "")
    assert (out / "report.html").exists()
    assert (out / "schema.yaml").exists()
    assert pl.read_csv(out / "synthetic-independent.csv").height == 200


def test_quiet_says_nothing(survey, tmp_path):
    assert run("synth", survey, "-m", "independent", "-o", tmp_path / "o.csv", "-q") == ""


def test_chosen_columns_and_proper_copies(survey, tmp_path):
    out = tmp_path / "few.csv"
    run("synth", survey, "-m", "independent", "--columns", "sex,age", "-o", out)
    assert pl.read_csv(out).columns == ["sex", "age"]
    words = ["--columns", "sex,age", "--option", "proper=true", "--copies", 2]
    run("synth", survey, "-m", "cart", *words, "-o", tmp_path / "proper.csv")
    assert (tmp_path / "proper.1.csv").read_bytes() != (tmp_path / "proper.2.csv").read_bytes()


def test_names_in_brackets_are_printed_as_they_are(tmp_path):
    path = tmp_path / "firms.csv"
    rows = [
        "[bold]kind[/bold],n",
        *(f"[red],{i % 3}" for i in range(9)),
        *(f"plain,{i % 3}" for i in range(9)),
    ]
    path.write_text("\n".join(rows) + "\n")
    done = runner.invoke(
        app, ["tables", "protect", str(path), "--by", "[bold]kind[/bold]", "--rule", "freq:3"]
    )
    assert done.exit_code == 0, done.output
    assert "[bold]kind[/bold]" in done.stdout
    assert "[red]" in done.stdout


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path):
    path = tmp_path / "people.csv"
    examples.survey(50, seed=1).select("sex", "age").write_csv(path)
    for target in (tmp_path / "out.foo", tmp_path / "nowhere" / "out.csv", tmp_path):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Candidate, "make", lambda *args, **options: pytest.fail("work was done"))
            answer = runner.invoke(app, ["synth", str(path), "-o", str(target)])
        assert answer.exit_code == 2, answer.output
        assert "Error" not in answer.output


def test_a_narrow_screen_shows_every_file(survey, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"file{i}" for i in range(9)]
    for name in names:
        (tmp_path / f"{name}.csv").write_text(survey.read_text())
    files = [str(tmp_path / f"{name}.csv") for name in names]
    asked = "two-way-utility,one-way-utility,column-shapes,pair-trends,associations,coverage,missingness"
    told = run("compare", survey, *files, "--measures", asked)
    assert [name for name in names if name not in told] == []


def test_every_file_that_cannot_be_judged_is_named_on_the_screen(survey, tmp_path):
    frame = pl.read_csv(survey)
    for name in ("one", "two"):
        frame.with_columns(pl.col("income").shuffle(seed=1).alias("more")).write_csv(tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("one", "two")]
    done = runner.invoke(app, ["compare", str(survey), *files, "--measures", "identical-matches"])
    for name in ("one", "two"):
        assert f"{name}: The protected file has a column that the original has not" in " ".join(
            done.stderr.split()
        )
