"""Panels: rows of a person stay together and in order, and states follow one another as they did."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius import join_panel, split_panel
from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.counts.database_pair import DatabasePair
from dalenius.data import examples
from dalenius.data.table import Table
from dalenius.synth.relational.children import running
from dalenius.utility.panels import spell_lengths, transitions, within_person

FIXED = ["sex", "born", "education"]


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    return examples.panel(1500, seed=1)


@pytest.fixture(scope="module")
def base(original):
    return split_panel(original, "person", "year")


@pytest.fixture(scope="module")
def made(base):
    return dalenius.synthesize(base, seed=3)


@pytest.fixture(scope="module")
def pair(base, made):
    return DatabasePair(base, made, split_panel(examples.panel(1500, seed=2), "person", "year"))


def test_a_panel_comes_apart_and_together_again(original, base):
    assert set(base["people"].names) == {"person", *FIXED}
    shuffled = original.sample(fraction=1, shuffle=True, seed=1)
    again = join_panel(split_panel(shuffled, "person", "year"), original.columns).to_frame("polars")
    assert again.equals(original)
    turned = base.with_tables({**base.tables, "waves": base["waves"].take(np.arange(original.height)[::-1])})
    assert join_panel(turned, original.columns).to_frame("polars").equals(original)


def test_rows_of_a_person_are_in_order_and_what_never_changes_does_not(original, made):
    out = join_panel(made, original.columns).to_frame("polars")
    assert out.columns == original.columns
    steps = out.with_columns(gap=pl.col("year").diff().over("person"))
    assert steps["gap"].drop_nulls().min() >= 1
    assert (out["person"].diff().drop_nulls() >= 0).all()
    assert out.group_by("person").agg(pl.col(FIXED).n_unique()).select(FIXED).max().row(0) == (1, 1, 1)
    assert out["year"].max() <= original["year"].max()
    assert abs(out.height / original.height - 1) < 0.05


def test_nobody_comes_back_from_retirement_and_pay_goes_with_work(original, made):
    out = join_panel(made, original.columns).to_frame("polars")
    after = out.with_columns(before=pl.col("state").shift(1).over("person")).filter(
        pl.col("before") == "retired"
    )
    assert after.height > 500
    assert (after["state"] == "retired").mean() > 0.995
    assert (out["pay"].is_not_null() == (out["state"] == "employed")).all()


def test_what_follows_what_is_kept_where_rows_by_themselves_lose_it(original, base, pair):
    """Row-wise trees know no person: rows dealt out to people at random are as good as they can be."""
    rows = dalenius.synthesize(original.drop("person"), "cart", seed=1)
    dealt = rows.with_columns(person=pl.Series(np.arange(rows.height) % 1500))
    dealt = dealt.unique(["person", "year"], keep="first", maintain_order=True)
    loose = DatabasePair(base, split_panel(dealt, "person", "year"))
    for measure, near in ((transitions, 6.0), (spell_lengths, 0.08), (within_person, 0.06)):
        kept, torn = measure(pair), measure(loose)
        assert kept.value < near
        assert torn.value > 5 * kept.value
        assert kept.value < 4 * kept.yardsticks["holdout"] + 0.02


def test_people_of_their_own_level_keep_it(base, made):
    """The example gives pay a level of a person's own; trees see the mean of earlier years."""
    shares = (
        within_person(DatabasePair(base, made)).table.filter(pl.col("column") == "pay").row(0, named=True)
    )
    assert shares["original"] > 0.5
    assert abs(shares["protected"] - shares["original"]) < 0.06


def test_a_mean_of_earlier_rows_knows_nothing_of_later_ones():
    """By hand: two people with three rows; gaps are no values, and nothing is known before the first."""
    values = Table.from_frame({"x": [None, 4.0, 8.0, 1.0, None, 5.0]})["x"]
    means = running(values, np.array([0, 3]), np.array([3, 3]))
    assert means.present.tolist() == [False, False, True, False, True, True]
    assert means.floats()[means.present].tolist() == [4.0, 1.0, 1.0]


def test_measures_of_panels_by_hand():
    """Two states, spells of two and one rows against spells of one and two; pay that is a person's own against none."""
    first = {"who": [1, 1, 1, 2, 2, 2], "t": [1, 2, 3] * 2, "s": list("aabbba"), "x": [1.0, 1, 1, 9, 9, 9.5]}
    second = {**first, "s": list("ababab"), "x": [1.0, 9.5, 5, 1, 9.5, 5]}
    pair = DatabasePair(split_panel(first, "who", "t"), split_panel(second, "who", "t"))
    # a: lengths 2, 1 against 1, 1, 1; b: 1, 2 against 1, 1, 1: half of either is missing
    assert spell_lengths(pair).value == pytest.approx(0.5)
    table = within_person(pair).table.row(0, named=True)
    assert table["original"] > 0.99
    assert table["protected"] == 0.0


def test_what_is_no_panel_is_told_at_once(original):
    twice = pl.concat([original, original.head(3)])
    with pytest.raises(DataError, match="3 rows too many"):
        split_panel(twice, "person", "year")
    with pytest.raises(DataError, match="nobody has a second row"):
        split_panel(original.unique("person"), "person", "year")
    with pytest.raises(DataError, match="number the waves"):
        split_panel(original, "person", "state")
    with pytest.raises(DataError, match="no column 'wave'"):
        split_panel(original, "person", "wave")
    gaps = original.with_columns(year=pl.when(pl.col("year") > 2012).then("year"), person=pl.col("person"))
    with pytest.raises(DataError, match="without a value; leave them out"):
        split_panel(gaps, "person", "year")


def test_the_command_line_makes_and_measures_a_panel(tmp_path, original, made):
    source, out = tmp_path / "panel.csv", tmp_path / "out.csv"
    original.write_csv(source)
    said = CliRunner().invoke(
        app, ["synth", str(source), "--panel", "person:year", "-o", str(out), "--seed", "3"]
    )
    assert said.exit_code == 0, said.output
    assert "the same in all rows of a person: sex, born, education" in said.output
    written = pl.read_csv(out)
    assert written.columns == original.columns
    assert written.equals(join_panel(made, original.columns).to_frame("polars"))
    asked = [
        "evaluate",
        str(source),
        str(out),
        "--panel",
        "person:year",
        "--measures",
        "transitions,spell-lengths",
        "--json",
    ]
    measured = CliRunner().invoke(app, asked)
    assert measured.exit_code == 0, measured.output
    assert set(json.loads(measured.stdout)["results"]) == {"transitions", "spell-lengths"}
    for wrong, word in (["person"], "PERSON:WAVE"), (["person:year", "--epsilon", "1"], "--epsilon"):
        told = CliRunner().invoke(app, ["synth", str(source), "-o", str(out), "--panel", *wrong])
        assert told.exit_code == 2
        assert word in told.output


def test_figures_of_a_panel_speak_of_people_and_name_the_file_at_fault(tmp_path, original):
    """Nobody has a family here; which way is better stands beside each figure; no holdout, no word of safety."""
    original.head(400).write_csv(tmp_path / "pan.csv")
    pl.concat([original.head(400), original.slice(3, 1)]).write_csv(tmp_path / "rows.csv")
    words = ["evaluate", str(tmp_path / "pan.csv")]
    wrong = CliRunner().invoke(app, [*words, str(tmp_path / "rows.csv"), "--panel", "person:year"])
    assert wrong.exit_code == 2
    assert "rows.csv: panel: columns 'person' and 'year': 1 row too many" in " ".join(wrong.output.split())
    done = CliRunner().invoke(
        app, [*words, str(tmp_path / "pan.csv"), "--panel", "person:year"], env={"COLUMNS": "160"}
    )
    said = " ".join(done.output.split())
    assert not [word for word in ("amilies", "hild", "Siblings", "Parents") if word in said]
    assert "without --holdout" in said
    assert {"lower", "higher"} <= set(said.split())
