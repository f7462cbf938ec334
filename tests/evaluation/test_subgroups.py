"""Utility and risk by group: who is served worst, who is given away; small groups are never told."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius import Pair, Schema
from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.core.style import configured
from dalenius.evaluation import subgroup_table, subgroups
from dalenius.utility import equal_opportunity, opportunity_table

RARE = "rare"


def people(seed: int, rows: int = 400) -> pl.DataFrame:
    """Two large groups and one of seven; ill goes with a for both, more surely for f."""
    rng = np.random.default_rng(seed)
    sex = np.where(np.arange(rows) < 7, RARE, rng.choice(["f", "m"], rows))
    a = rng.choice(["u", "v"], rows)
    sure = np.where(sex == "f", 0.95, 0.75)
    ill = np.where((a == "u") == (rng.random(rows) < sure), "yes", "no")
    return pl.DataFrame({"sex": sex, "a": a, "b": rng.choice(["p", "q"], rows), "ill": ill})


@pytest.fixture(scope="module")
def files() -> dict[str, pl.DataFrame]:
    original = people(1)
    mine = pl.col("sex") == "m"
    torn = original.with_columns(
        pl.when(mine).then(pl.col("ill").shuffle(seed=1)).otherwise("ill").alias("ill")
    )
    return {"original": original, "torn": torn, "holdout": people(2)}


def test_the_group_whose_records_were_torn_is_served_worst_and_the_other_is_as_it_was(files):
    base, torn = (files[name].filter(pl.col("sex") != RARE) for name in ("original", "torn"))
    result = subgroups(Pair(base, torn), by="sex")
    rows = {row["group"]: row["S_pMSE"] for row in result.shown.to_dicts()}
    assert "m is served worst" in result.sentence
    assert rows == {"f": 0.0, "m": result.value}
    assert result.value > 2
    assert "DiSCO" not in result.shown.columns
    assert subgroups(Pair(files["original"], files["original"]), by="sex").value == 0.0


def test_a_group_of_few_is_told_nowhere_and_does_not_follow_from_the_others(files):
    """Seven rare among 400: whoever knows the number of rows would have it, so the smaller of the others goes too."""
    pair = Pair(files["original"], files["torn"], files["holdout"], keys=["sex", "a"], targets=["ill"])
    for result in (subgroups(pair, by="sex"), equal_opportunity(pair, "sex", "ill", "yes")):
        drawn = json.dumps(configured(result.chart()).to_dict()) if result.chart else ""
        told = [result.sentence, json.dumps(result.to_dict(whole=True)), drawn]
        assert not any(RARE in text for text in told)
    assert subgroup_table(pair, ["sex"])["group"].to_list() in (["f"], ["m"])


def test_counts_are_of_people_not_of_rows(files):
    """Ten rows of one person are one person."""
    many = pl.concat([files["original"].filter(pl.col("sex") != RARE), *[files["original"].head(2)] * 10])
    many = many.with_columns(who=pl.Series([*range(many.height - 20), *[90_000, 90_001] * 10]))
    schema = Schema.infer(many).with_roles(entity="who")
    groups = subgroup_table(Pair(many, many.drop("who"), schema=schema), ["sex"])["group"].to_list()
    assert RARE not in groups


def test_risk_of_each_group_stands_beside_that_of_strangers(files):
    """By hand: of f and m, those in the data whose keys have one answer only in the file, and it is theirs."""
    finer = pl.col("sex").cum_count() % 23
    base, held = (
        files[name].filter(pl.col("sex") != RARE).with_columns(c=finer) for name in ("original", "holdout")
    )
    keys = ["sex", "a", "b", "c"]
    table = subgroup_table(Pair(base, base, held, keys=keys, targets=["ill"]), ["sex"])
    assert table["DiSCO outside"].min() > 10
    pure = base.group_by(keys).agg(pl.col("ill").n_unique() == 1, pl.col("ill").first().alias("said"))
    for frame, column in ((base, "DiSCO"), (held, "DiSCO outside")):
        read = frame.join(pure.rename({"ill": "pure"}), on=keys, how="left")
        right = read.group_by("sex").agg(
            100 * (pl.col("pure") & (pl.col("said") == pl.col("ill"))).fill_null(False).mean()
        )
        by_hand = dict(right.rename({right.columns[1]: "share"}).iter_rows())
        assert {r["group"]: r[column] for r in table.to_dicts()} == pytest.approx(by_hand)


def test_a_group_the_file_has_nobody_of_is_lost(files):
    kept = files["original"].filter(pl.col("sex") != "m")
    result = subgroups(Pair(files["original"].filter(pl.col("sex") != RARE), kept), by="sex")
    assert result.value == float("inf")
    assert "nobody of sex m" in result.sentence
    assert result.values["smallest share of what it was"] == 0.0


def test_groups_of_a_survey_count_with_its_weights(files):
    base = files["original"].filter(pl.col("sex") != RARE).with_columns(w=pl.lit(1.0))
    base = base.with_columns(w=pl.when(pl.col("sex") == "f").then(3.0).otherwise(1.0))
    schema = Schema.infer(base).with_roles(weight="w")
    table = subgroup_table(Pair(base, base.drop("w"), schema=schema), ["sex"])
    women = int((base["sex"] == "f").sum())
    share = dict(table.select("group", "share, original").iter_rows())["f"]
    assert share == pytest.approx(100 * 3 * women / (3 * women + base.height - women))


def test_equal_opportunity_by_hand(files):
    """A model that says yes for u finds what is there: 95 % of the yeses of f, 75 % of those of m, up to chance."""
    base, held = (files[name].filter(pl.col("sex") != RARE) for name in ("original", "holdout"))
    table = opportunity_table(Pair(base, base, held), "sex", "ill", "yes")
    by_hand = held.filter(pl.col("ill") == "yes").group_by("sex").agg((pl.col("a") == "u").mean())
    assert dict(table.select("group", "original").iter_rows()) == pytest.approx(dict(by_hand.iter_rows()))
    assert table["original"].to_list() == table["protected"].to_list()
    other = files["torn"].filter(pl.col("sex") != RARE)
    turned = other.with_columns(
        pl.when(pl.col("sex") == "m").then(pl.lit("no")).otherwise("ill").alias("ill")
    )
    result = equal_opportunity(Pair(base, turned, held), "sex", "ill", "yes")
    assert result.value > 3 * result.yardsticks["the original drawn again"]
    assert result.values["gap, trained on the protected file"] > 0.5


def test_groups_exchanged_are_seen_though_the_gap_is_the_same():
    """Of f the yeses go with a, of m with b; one file knows a alone, the other b alone: f and m change places."""
    rng = np.random.default_rng(3)
    both = pl.DataFrame({name: rng.choice(["u", "v"], 400) for name in ("a", "b")})
    both = both.with_columns(sex=pl.Series(["f", "m"] * 200))
    real = both.with_columns(ill=pl.when(pl.col("sex") == "f").then("a").otherwise("b") == "u")
    files = [both.with_columns(ill=pl.col(name) == "u") for name in ("a", "b")]
    result = equal_opportunity(Pair(*files, real), "sex", "ill", "True")
    gaps = list(result.values.values())
    assert abs(gaps[0] - gaps[1]) < 0.2
    assert result.value == pytest.approx(sum(gaps))


def test_what_cannot_be_grouped_is_told(files):
    pair = Pair(files["original"], files["torn"])
    with pytest.raises(DataError, match="no column 'race'"):
        subgroups(pair, by=["race"])
    with pytest.raises(OptionError, match="no column 'race'"):
        equal_opportunity(pair, "race", "ill")
    with pytest.raises(OptionError, match="no category of 'ill'"):
        equal_opportunity(pair, "sex", "ill", "perhaps")
    numbers = {"x": [1.5, 2.5, 3.5, 4.5] * 10, "s": ["u", "v"] * 20}
    with pytest.raises(OptionError, match="is a number"):
        equal_opportunity(Pair(numbers, numbers), "s", "x")
    assert np.isnan(subgroups(Pair({"x": [1.5, 2.5] * 9}, {"x": [1.5] * 9})).value)


ASKED = [
    "--keys",
    "sex,a",
    "--targets",
    "ill",
    "--measures",
    "subgroups,equal-opportunity",
    "--option",
    "subgroups.by=sex",
]
ASKED += ["--option", "equal-opportunity.outcome=ill", "--option", "equal-opportunity.positive=yes"]


@pytest.fixture
def paths(files, tmp_path):
    for name, frame in files.items():
        frame.filter(pl.col("sex") != RARE).write_csv(tmp_path / f"{name}.csv")
    return [str(tmp_path / f"{name}.csv") for name in ("original", "torn", "holdout")]


def test_the_command_line_and_python_say_the_same(paths):
    said = CliRunner().invoke(app, ["evaluate", *paths[:2], "--holdout", paths[2], *ASKED, "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout)["results"]
    frames = [dalenius.read(path) for path in paths]
    options = {"subgroups": {"by": ["sex"]}, "equal-opportunity": {"outcome": "ill", "positive": "yes"}}
    mine = dalenius.evaluate(
        *frames[:2], None, ["sex", "a"], ["ill"], frames[2], measures=[], options=options
    )
    for name in ("subgroups", "equal-opportunity"):
        assert found[name]["value"] == pytest.approx(mine[name].value)
        assert found[name]["table"] == mine[name].to_dict()["table"]


@pytest.mark.slow
def test_the_report_shows_both(paths, tmp_path):
    page = tmp_path / "page.html"
    said = CliRunner().invoke(app, ["evaluate", *paths[:2], *ASKED, "--report", str(page)])
    assert said.exit_code == 0, said.output
    text = page.read_text(encoding="utf-8")
    assert "The group served worst" in text
    assert "Equal opportunity" in text
