"""The risk page and the command: complete, honest about a missing holdout, and silent about confidential values."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import Pair, Schema, Table
from dalenius.cli import app
from dalenius.core.errors import OptionError
from dalenius.counts.measure import MEASURES
from dalenius.data import examples
from dalenius.data.lens import Lens
from dalenius.risk import disco, exposed_combinations, risk_page, sample_page
from dalenius.risk.further import further_looks

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


def strangers(original: pl.DataFrame) -> pl.DataFrame:
    """Other people: nobody earns what anybody in the data does."""
    return original.head(60).with_columns(pl.col("pay") + 1.0)


def test_nothing_confidential_in_results_pages_or_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    original, protected = files()
    pair = Pair(original, protected, strangers(original), keys=["town", "age"], targets=["ill"])
    followed = Pair(original, protected, lens=Lens(links=np.arange(protected.height)))
    texts = []
    for measure in MEASURES.values():
        if measure.info.family == "risk":
            result = measure(followed if "links" in measure.info.needs else pair)
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
    whole = risk_page(Pair(original, protected, strangers(original), keys=["town"], targets=["ill"]))
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
    for frame, path in zip((original, protected, strangers(original)), paths, strict=True):
        frame.write_csv(path)
    return [str(path) for path in paths]


def test_command(tmp_path: Path) -> None:
    first, second, third = write(tmp_path)
    page = tmp_path / "page.md"
    call = ["risk", first, second, "--keys", "town,age", "--targets", "ill", "--holdout", third]
    shown = CliRunner().invoke(app, [*call, "--output", str(page)])
    assert shown.exit_code == 0, shown.output
    assert "DiSCO" in shown.output
    assert not any(word in shown.output + page.read_text() for word in SECRETS)
    data = CliRunner().invoke(app, [*call, "--json", "--quiet"])
    found = json.loads(data.stdout)
    assert found["results"]["disco"]["value"] > 50
    with_option = CliRunner().invoke(
        app, [*call, "--json", "--quiet", "--measures", "disco", "--option", "membership-density.margins=1"]
    )
    assert "1-way margins" in json.loads(with_option.stdout)["results"]["membership-density"]["sentence"]
    wrong = CliRunner().invoke(app, [*call, "--option", "membership-density.margin=1"])
    assert wrong.exit_code == 2
    revealed = CliRunner().invoke(app, [*call, "--reveal"])
    assert any(word in revealed.output for word in SECRETS)


FURTHER = [
    "unique-matches",
    "shared-neighbours",
    "k-anonymity",
    "msu-overlap",
    "isolation-gain",
    "apparent-matches",
    "group-disclosure",
    "unexpected-disco of ill",
    "key-scan of ill",
    "unexpected-disco of pay",
    "key-scan of pay",
    "attack-number of pay",
]


def test_second_looks_are_complete_and_silent() -> None:
    original, protected = files()
    pair = Pair(original, protected, strangers(original), keys=["town", "age"], targets=["ill", "pay"])
    page = risk_page(pair, ["disco"], further=True)
    assert list(page.results) == ["disco", *FURTHER]
    assert all(result.interval is not None for name, result in page.results.items() if name != "k-anonymity")
    assert page.results["k-anonymity"].value == page.results["k-anonymity"].yardsticks["original"] == 1
    assert all(result.yardsticks for result in page.results.values() if result.name != "apparent-matches")
    text = page.to_markdown()
    assert "| key-scan of ill |" in text
    assert "## key-scan of ill" in text
    assert not any(word in text + json.dumps(page.to_dict()) for word in SECRETS)
    # a whole copy: every second look says so
    assert page.results["unique-matches"].value == 100
    assert page.results["msu-overlap"].value == 1
    assert page.results["group-disclosure"].value == 100
    bare = risk_page(Pair(original, protected), [], further=True)
    assert list(bare.results) == FURTHER[:2]
    assert any("shared-neighbours" in line for line in bare.cannot_be_read)


def json_call(folder: Path, keys: str) -> list[str]:
    """Words of a call that answers with JSON alone."""
    first, second, third = write(folder)
    return [
        "risk",
        first,
        second,
        "--keys",
        keys,
        "--targets",
        "ill",
        "--holdout",
        third,
        "--quiet",
        "--json",
    ]


def test_command_writes_records_and_leaves_disclosures_out(tmp_path: Path) -> None:
    call = json_call(tmp_path, "town,age")
    shown = CliRunner().invoke(app, [*call, "--further", "--records", str(tmp_path / "rows")])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)["results"]
    assert "isolation-gain" in found
    rows = pl.read_csv(tmp_path / "rows" / "disco.csv")
    assert 100 * rows["correct"].mean() == pytest.approx(found["disco"]["value"])
    assert (tmp_path / "rows" / "unexpected-disco-of-ill.csv").exists()
    out = '{"ill": {"denom_lim": 1}}'
    limited = CliRunner().invoke(app, [*call, "--measures", "disco", "--option", f"disco.exclusions={out}"])
    less = json.loads(limited.stdout)["results"]["disco"]
    assert less["value"] <= found["disco"]["value"]
    assert "Left out as no news" in less["sentence"]
    wrong = CliRunner().invoke(app, [*call, "--option", 'disco.exclusions={"nobody": {}}'])
    assert wrong.exit_code == 2
    alone = tmp_path / "alone"
    one = CliRunner().invoke(
        app, ["risk", call[1], "--keys", "town,age", "--targets", "ill", "--records", str(alone)]
    )
    assert one.exit_code == 0, one.output
    assert sorted(path.stem for path in alone.iterdir()) == [
        "global-risk",
        "k-anonymity",
        "l-diversity-of-ill",
        "suda",
        "t-closeness-of-ill",
    ]
    risk = pl.read_csv(alone / "global-risk.csv")
    assert (risk["risk"] == 1 / risk["same_keys"]).all()
    assert pl.read_csv(alone / "suda.csv").columns[:3] == ["row", "suda", "dis_suda"]


def test_scenario_grid_on_the_page() -> None:
    columns = ["region", "sex", "age", "health"]
    people, outside = (examples.survey(200, seed=s).select(columns) for s in (1, 2))
    pair = Pair(people, people, outside, keys=columns[:3], targets=["health"])
    found = further_looks(pair, attacks=True)["attack-grid of health"]()
    assert found.value == pytest.approx(found.yardsticks["original"], abs=3), (
        "a copy tells what the original tells"
    )
    assert found.value > found.yardsticks["outsiders"]
    assert found.trusted
    assert "attack-grid of health" not in further_looks(pair)
    bare = Pair(people, people, keys=columns[:3], targets=["health"])
    assert "holdout" in further_looks(bare, attacks=True)["attack-grid of health"]().sentence


def test_what_files_cannot_carry_is_told_and_the_rest_measured(tmp_path: Path) -> None:
    one = pl.DataFrame({"a": ["x", "y"] * 20})
    pair = Pair(one, one, one.head(10), keys=["a"])
    page = risk_page(pair, attacks=True, further=True)
    assert [line.split(":")[0] for line in page.not_measured] == ["linkability"]
    assert "singling-out" in page.results
    assert "## Not measured" in page.to_markdown()
    with pytest.raises(OptionError, match="two halves"):
        risk_page(pair, ["linkability"])
    with pytest.raises(OptionError, match="'k-marginal' is about utility"):
        risk_page(pair, ["k-marginal"])


def test_targets_of_like_names_have_records_of_their_own(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"k": ["a", "b"] * 10, "t.1": ["x", "y"] * 10, "t,1": ["u", "v"] * 10, "T-1": ["p"] * 20}
    )
    rows.write_csv(tmp_path / "people.csv")
    schema = Schema.infer(rows).with_roles(keys=["k"], targets=["t.1", "t,1", "T-1"])
    schema.to_yaml(tmp_path / "schema.yaml")
    call = ["risk", "people.csv", "--schema", "schema.yaml", "--records", "rows"]
    shown = CliRunner().invoke(app, [str(tmp_path / w) if "." in w or w == "rows" else w for w in call])
    assert shown.exit_code == 0, shown.output
    assert len(list((tmp_path / "rows").glob("l-diversity*.csv"))) == 3


def test_command_groups_numbers(tmp_path: Path) -> None:
    call = json_call(tmp_path, "age,pay")
    fine, coarse = (
        json.loads(CliRunner().invoke(app, [*call, "--further", *more]).stdout)
        for more in ([], ["--groups", "4"])
    )
    for name in ("disco", "replicated-uniques", "key-scan of ill"):
        assert (
            fine["results"][name]["yardsticks"]["original"]
            > coarse["results"][name]["yardsticks"]["original"]
        )
    assert fine["exposed"]["value"] == fine["results"]["replicated-uniques"]["value"]
    assert coarse["exposed"]["value"] == coarse["results"]["replicated-uniques"]["value"]
    assert "known in groups" in coarse["intruder"]
    assert CliRunner().invoke(app, ["risk", call[1], "--keys", "age", "--groups", "4"]).exit_code == 2


def test_columns_of_one_file_alone_are_noted() -> None:
    original, protected = files()
    pair = Pair(original.drop("pay"), protected.drop("age"))
    assert pair.notes == [
        "'pay' is not in the original and not compared",
        "'age' is not in the protected file and not compared",
    ]
    held = Pair(original, protected, original.drop("pay"))
    assert held.notes == ["'pay' is not in the holdout and not compared"]


def test_pages_tell_several_targets_apart() -> None:
    page = sample_page(files()[0], ["town"], ["ill", "pay"])
    text = page.to_markdown()
    assert "| l-diversity of ill |" in text
    assert "| l-diversity of pay |" in text


@pytest.mark.parametrize("wrong", [["--attacks"], ["--option", "disco.records=true"], ["--holdout", "x.csv"]])
def test_one_file_cannot_be_compared(wrong: list[str], tmp_path: Path) -> None:
    first, second, _ = write(tmp_path)
    shown = CliRunner().invoke(app, ["risk", first, "--keys", "town", *wrong])
    assert shown.exit_code == 2
    assert "needs a protected file" in shown.stderr
    other = CliRunner().invoke(app, ["risk", first, second, "--keys", "town", "--population", "1000"])
    assert other.exit_code == 2


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
    with_control = CliRunner().invoke(
        app, [*call, "--keys", "region,age", "--targets", "income", "--json", "--quiet"]
    )
    rows = json.loads(with_control.stdout)["control"]
    assert [row["figure"] for row in rows] == ["DiSCO", "dcap"]
    assert rows[0]["inside"] > rows[0]["outside"], "a bootstrap gives those inside away"
    assert CliRunner().invoke(app, [*call, "--keys", "region"]).exit_code == 2


def test_epsilon_command_goes_both_ways() -> None:
    there = CliRunner().invoke(app, ["epsilon", "1", "--json", "--quiet"])
    found = json.loads(there.stdout)["value"]
    assert found == pytest.approx(0.0272, abs=1e-4)
    back = CliRunner().invoke(app, ["epsilon", "--found", str(found), "--json", "--quiet"])
    assert json.loads(back.stdout)["value"] == pytest.approx(1)
    assert "rules out every budget below" in CliRunner().invoke(app, ["epsilon", "--found", "0.5"]).output
    chance = CliRunner().invoke(app, ["epsilon", "--found", "0", "--json", "--quiet"])
    assert json.loads(chance.stdout)["value"] == 0
    for wrong in ([], ["1", "--found", "0.5"], ["--found", "2"], ["--accused", "0", "1"]):
        assert CliRunner().invoke(app, ["epsilon", *wrong]).exit_code == 2


def test_command_names_a_wrong_column(tmp_path: Path) -> None:
    first, second, _ = write(tmp_path)
    shown = CliRunner().invoke(app, ["risk", first, second, "--keys", "nothing"])
    assert shown.exit_code == 2


RISKS = [
    m.info.name
    for m in MEASURES.values()
    if m.info.family == "risk"
    and m.function.__module__.startswith("dalenius.risk")
    and m.info.compares  # those of the protected file alone have no record of the original to name
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
