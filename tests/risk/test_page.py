"""The risk page and the command: complete, honest about a missing holdout, and silent about confidential values."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import DaleniusError, Pair, Schema, Table
from dalenius.cli import app
from dalenius.counts.measure import MEASURES
from dalenius.data import examples
from dalenius.risk import disco, exposed_combinations, risk_page, sample_page, sample_risk

SECRETS = ["Zyxwort", "Qvintara", "Mzunguko"]


def files(rows: int = 120) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Every original row holds made-up words that would be recognised anywhere."""
    original = pl.DataFrame(
        {
            "town": [f"{SECRETS[i % 3]}{i % 17}" for i in range(rows)],
            "age": [20 + i // 2 for i in range(rows)],
            "ill": [f"Malady{SECRETS[(i * i) % 3]}" for i in range(rows)],
            "pay": [1000.5 + 7.25 * i for i in range(rows)],
        }
    )
    return original, original.sample(fraction=1, shuffle=True, seed=1)


def test_nothing_confidential_in_results_pages_or_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    original, protected = files()
    pair = Pair(original, protected, original.head(60), keys=["town", "age"], targets=["ill"])
    texts = []
    for measure in MEASURES.values():
        if measure.info.family == "risk":
            result = measure(pair)
            texts += [str(result), json.dumps(result.to_dict(), default=str), result._repr_html_()]
            texts.append(
                json.dumps(result.chart().to_dict(), default=str) if result.chart is not None else ""
            )
    page = risk_page(pair, attacks=True)
    texts += [page.to_markdown(), json.dumps(page.to_dict(), default=str), caplog.text]
    for text in texts:
        assert not any(word in text for word in SECRETS)


def test_values_are_named_only_when_asked_for() -> None:
    original, protected = files()
    pair = Pair(original, protected, keys=["town", "age"], targets=["ill"])
    hidden, shown = exposed_combinations(pair), exposed_combinations(pair, reveal=True)
    assert not any(word in str(hidden.table.rows()) for word in SECRETS)
    assert any(word in str(shown.table.rows()) for word in SECRETS)
    assert hidden.table.height <= 10
    assert "confidential" in shown.sentence
    assert any(word in str(disco(pair, records=True).records.rows()) for word in SECRETS)


def test_missing_holdout_says_what_cannot_be_read() -> None:
    original, protected = files()
    page = risk_page(Pair(original, protected, keys=["town"], targets=["ill"]), attacks=True)
    text = page.to_markdown()
    assert "not trusted" in text
    assert any("Distance to closest record" in line for line in page.cannot_be_read)
    assert not page.results["singling-out"].trusted
    assert not page.results["inference"].trusted
    whole = risk_page(Pair(original, protected, original.head(50), keys=["town"], targets=["ill"]))
    assert whole.cannot_be_read == ()


def test_units_are_named_on_the_page() -> None:
    original, protected = files()
    owned = original.with_columns(pl.Series("person", [i // 2 for i in range(original.height)]))
    schema = Schema.infer(owned).with_roles(entity="person", keys=["town"], targets=["ill"])
    page = risk_page(Pair(Table.from_frame(owned, schema), protected, keys=["town"], targets=["ill"]))
    assert "units of protection (column person)" in page.intruder
    assert "units (person)" in page.results["disco"].sentence


def test_grouped_numeric_keys() -> None:
    original, protected = files()
    pair = Pair(original, protected, keys=["age", "pay"], targets=["ill"])
    fine, coarse = disco(pair), disco(pair, grouped=True)
    assert fine.yardsticks["original"] == 100 > coarse.yardsticks["original"]


def write(tmp_path: Path) -> list[str]:
    original, protected = files()
    paths = [tmp_path / name for name in ("original.csv", "protected.csv", "outside.csv")]
    for frame, path in zip((original, protected, original.head(60)), paths, strict=True):
        frame.write_csv(path)
    return [str(path) for path in paths]


def test_command(tmp_path: Path) -> None:
    first, second, third = write(tmp_path)
    page = tmp_path / "page.md"
    call = ["risk", first, second, "--keys", "town,age", "--target", "ill", "--holdout", third]
    shown = CliRunner().invoke(app, [*call, "--output", str(page)])
    assert shown.exit_code == 0, shown.output
    assert "DiSCO" in shown.output
    assert not any(word in shown.output + page.read_text() for word in SECRETS)
    data = CliRunner().invoke(app, [*call, "--json", "--quiet"])
    found = json.loads(data.stdout)
    assert found["results"]["disco"]["value"] > 50
    with_option = CliRunner().invoke(
        app, [*call, "--json", "--quiet", "-m", "disco", "--option", "membership-density.margins=1"]
    )
    assert "1-way margins" in json.loads(with_option.stdout)["results"]["membership-density"]["sentence"]
    wrong = CliRunner().invoke(app, [*call, "--option", "membership-density.margin=1"])
    assert wrong.exit_code == 2
    revealed = CliRunner().invoke(app, [*call, "--reveal"])
    assert any(word in revealed.output for word in SECRETS)


def test_page_of_one_file(tmp_path: Path) -> None:
    people = examples.survey(400, seed=1)
    file, page = tmp_path / "people.csv", tmp_path / "page.md"
    people.write_csv(file)
    call = ["risk", str(file), "--keys", "region,sex,age", "--target", "health"]
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
    certain = people.with_columns(pl.col("health").cast(pl.String).fill_null("-")).select(
        (pl.col("health").n_unique().over("region", "sex", "age") == 1).mean() * 100
    )
    assert found["l-diversity of health"]["values"]["nothing left to guess, %"] == pytest.approx(
        certain.item()
    )


@pytest.mark.parametrize("wrong", [["--attacks"], ["--option", "disco.records=true"], ["--holdout", "x.csv"]])
def test_one_file_cannot_be_compared(wrong: list[str], tmp_path: Path) -> None:
    first, second, _ = write(tmp_path)
    shown = CliRunner().invoke(app, ["risk", first, "--keys", "town", *wrong])
    assert shown.exit_code == 2
    assert "needs a protected file" in shown.stderr
    other = CliRunner().invoke(app, ["risk", first, second, "--keys", "town", "--population", "1000"])
    assert other.exit_code == 2


ODD_FILES = {
    "one row": {"a": ["x"], "b": [1]},
    "all keys missing": {"a": [None, None, None], "b": ["u", "v", "u"]},
    "all targets missing": {"a": ["x", "y", "x"], "b": [None, None, None]},
    "constant": {"a": ["x"] * 5, "b": ["u"] * 5},
    "not finite": {"a": [1.0, float("nan"), float("inf"), -float("inf"), 2.0], "b": [1, 2, 3, 4, 5]},
    "ten thousand categories": {"a": [f"c{i}" for i in range(10_000)], "b": list(range(10_000))},
}


@pytest.mark.parametrize("name", ODD_FILES)
@pytest.mark.parametrize("population", [None, 20_000])
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


def test_nothing_confidential_on_the_page_of_one_file() -> None:
    page = sample_page(files()[0], ["town", "age"], ["ill"], population=1000)
    assert not any(word in page.to_markdown() + json.dumps(page.to_dict()) for word in SECRETS)


def test_audit_command(tmp_path: Path) -> None:
    file, rows = tmp_path / "people.csv", tmp_path / "rows.csv"
    examples.survey(150, seed=1).select("region", "sex", "age", "income", "bmi").write_csv(file)
    call = ["audit", str(file), "--method", "bootstrap", "--runs", "6", "--candidates", "40"]
    shown = CliRunner().invoke(app, [*call, "--exposed", str(rows), "--json", "--quiet"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["value"] > 0.7
    assert pl.read_csv(rows).columns == ["row", "exposure"]
    assert CliRunner().invoke(app, ["audit", str(file), "--method", "nothing"]).exit_code == 2


def test_command_names_a_wrong_column(tmp_path: Path) -> None:
    first, second, _ = write(tmp_path)
    shown = CliRunner().invoke(app, ["risk", first, second, "--keys", "nothing"])
    assert shown.exit_code == 2


RISKS = [
    m.info.name
    for m in MEASURES.values()
    if m.info.family == "risk" and m.function.__module__.startswith("dalenius.risk")
]


@pytest.mark.parametrize("name", RISKS)
def test_every_measure_gives_records_on_request(name: str) -> None:
    people, outside = (
        examples.survey(150, seed=s).select("region", "sex", "age", "income", "bmi") for s in (1, 2)
    )
    pair = Pair(people, people.sample(fraction=1, shuffle=True, seed=1), outside, keys=["region", "sex"],
                targets=["income"])  # fmt: skip
    asked, plain = MEASURES[name](pair, records=True), MEASURES[name](pair)
    assert asked.records.height > 0
    assert plain.records is None
    assert asked.value == plain.value
    assert asked.interval is not None
