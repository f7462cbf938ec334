"""Event histories: spells never overlap, gaps and durations are kept, nobody leaves a final state; rules of panels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius import Schema, join_panel, join_spells, split_panel, split_spells
from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.counts.database_pair import DatabasePair
from dalenius.data import examples
from dalenius.data.rules import parse_rules
from dalenius.data.table import Table
from dalenius.synth.relational.method import make_relational
from dalenius.synth.relational.model_file import load_database_model
from dalenius.utility.panels import last_states, spell_lengths, transitions, within_person

SPELLS = ("person", "start", "end")


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    return examples.histories(500, seed=1)


@pytest.fixture(scope="module")
def base(original):
    return split_spells(original, *SPELLS)


@pytest.fixture(scope="module")
def model(base):
    return make_relational("conditional").fit(base, seed=1)


@pytest.fixture(scope="module")
def made(model):
    return model.sample(seed=2)


@pytest.fixture(scope="module")
def out(made, original) -> pl.DataFrame:
    return join_spells(made, original.columns).to_frame("polars")


def following(frame: pl.DataFrame) -> pl.DataFrame:
    after = frame.with_columns(pl.col("state", "start").shift(-1).over("person").name.prefix("next_"))
    return after.with_columns(gap=(pl.col("next_start") - pl.col("end")).dt.total_days())


def test_spells_come_apart_and_together_again(original, base):
    shuffled = original.sample(fraction=1, shuffle=True, seed=1)
    again = join_spells(split_spells(shuffled, *SPELLS), original.columns).to_frame("polars")
    assert again.equals(original)
    assert base["people"].names == ["person", "sex", "born"]
    assert "(days until end)" in base["waves"].names


def test_made_histories_are_histories(original, out):
    """No overlap, no end before its start, only the last spell goes on, types as they were."""
    assert out.schema == original.schema
    after = following(out)
    assert after["gap"].drop_nulls().min() >= 0
    assert (out["end"] >= out["start"]).drop_nulls().all()
    assert not after.filter(pl.col("end").is_null() & pl.col("next_state").is_not_null()).height
    split_spells(out, *SPELLS)  # it would be refused as no table of spells otherwise


def test_nobody_leaves_a_final_state(original, out):
    after = following(out)
    assert not after.filter((pl.col("state") == "dead") & pl.col("next_state").is_not_null()).height
    assert set(after.filter(pl.col("state") == "pension")["next_state"].drop_nulls()) <= {"dead"}
    assert (out["pay"].is_not_null() == (out["state"] == "job")).all()


def test_gaps_durations_and_ends_are_as_they_were(original, base, made, out):
    mine, theirs = (float((following(f)["gap"] > 0).drop_nulls().mean()) for f in (original, out))
    assert theirs == pytest.approx(mine, abs=0.04)
    others = split_spells(examples.histories(500, seed=2), *SPELLS)
    pair = DatabasePair(base, made, others)
    for measure, near in (
        (transitions, 3.0),
        (spell_lengths, 0.09),
        (last_states, 0.08),
        (within_person, 0.1),
    ):
        result = measure(pair)
        assert result.value < near
        assert result.yardsticks["holdout"] > 0


def test_rows_dealt_out_are_seen_by_every_measure_of_histories(base, original):
    rng = np.random.default_rng(1)
    cells = original.select("state", "pay")[rng.permutation(original.height)]
    torn = split_spells(original.with_columns(cells), *SPELLS)
    pair = DatabasePair(base, torn)
    assert transitions(pair).value > 20
    assert spell_lengths(pair).value > 0.2
    assert last_states(pair).value > 0.15


def test_lengths_and_last_states_by_hand():
    first = {"who": [1, 1, 2, 2], "a": [0, 4, 0, 9], "b": [4, 9, 9, None], "s": list("uvuv")}
    second = {**first, "b": [2, 9, 3, None], "s": list("uvuu")}
    pair = DatabasePair(split_spells(first, "who", "a", "b"), split_spells(second, "who", "a", "b"))
    # u lasted 4 and 9, then 2 and 3: nothing in common; v lasted 5 (and one goes on), then 5
    assert spell_lengths(pair).value == pytest.approx((2 * 1.0 + 1 * 0.0) / 3)
    assert last_states(pair).value == pytest.approx(0.5)


def test_a_window_that_closes_spells_is_never_passed():
    """Everybody's last spell ends on the day the study ended; longer draws are cut there."""
    end = pl.date(2019, 12, 31)
    closed = examples.histories(400, seed=3).filter(pl.col("state") != "dead")
    closed = closed.with_columns(pl.col("end").fill_null(end))
    made = join_spells(dalenius.synthesize(split_spells(closed, *SPELLS), seed=1), closed.columns)
    out = made.to_frame("polars")
    assert out["end"].max() == closed["end"].max()
    assert not out["end"].null_count()
    shares = [float((f["end"] == f["end"].max()).sum() / f["person"].n_unique()) for f in (closed, out)]
    assert shares[1] == pytest.approx(shares[0], abs=0.12)


def test_a_saved_model_of_histories_draws_the_same(model, made, tmp_path):
    model.save(tmp_path / "h.model")
    again = load_database_model(tmp_path / "h.model").sample(seed=2)
    assert again["waves"].to_frame("polars")["start"].equals(made["waves"].to_frame("polars")["start"])


def test_what_is_no_history_is_told_at_once():
    wrong = {"who": [1, 1, 1, 2], "a": [0, 2, 9, 5], "b": [4, None, 10, 1], "s": list("uvuv")}
    with pytest.raises(DataError, match="3 faults") as error:
        split_spells(wrong, "who", "a", "b")
    for part in (
        "1 spells end before",
        "1 spells that are not a person's last",
        "1 spells begin before an earlier",
    ):
        assert part in str(error.value)
    with pytest.raises(DataError, match="no column 'z'"):
        split_spells(wrong, "who", "a", "z")
    with pytest.raises(DataError, match="no spells"):
        join_spells(split_panel({"who": [1, 1], "t": [1, 2], "x": [1, 2]}, "who", "t"))


def test_the_command_line_makes_and_measures_histories(original, tmp_path):
    source, made = tmp_path / "h.csv", tmp_path / "made.csv"
    original.filter(pl.col("person") <= 200).write_csv(source)
    said = CliRunner().invoke(app, ["synth", str(source), "--panel", "person:start:end", "-o", str(made)])
    assert said.exit_code == 0, said.output
    asked = ["evaluate", str(source), str(made), "--panel", "person:start:end", "--json"]
    found = CliRunner().invoke(app, [*asked, "--measures", "spell-lengths,last-states"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["results"]["spell-lengths"]["value"] < 0.2
    bad = CliRunner().invoke(app, ["synth", str(source), "--panel", "person:start:end:x", "-o", str(made)])
    assert bad.exit_code == 2
    assert "PERSON:START:END" in bad.output


RULES = (
    "year >= born + 17",
    "year - born < 60 -> state != 'retired'",
    "education == 'low' -> satisfaction <= 7",
    "state == 'retired' -> is_missing(pay)",
)


def test_rules_between_a_person_and_a_wave_are_kept():
    """They were lost when a panel was taken apart: 10 rows of 4,000 broke such a rule in a file of 600 people."""
    panel = examples.panel(300, seed=1).filter((pl.col("education") != "low") | (pl.col("satisfaction") <= 7))
    schema = replace(Schema.infer(panel), rules=RULES)
    rules = parse_rules(RULES)
    assert not any(rule.violations(Table.from_frame(panel, schema)).any() for rule in rules)
    made = join_panel(
        dalenius.synthesize(split_panel(panel, "person", "year", schema), seed=3), panel.columns
    )
    assert [int(rule.violations(made).sum()) for rule in rules] == [0, 0, 0, 0]
    assert made.rows > 0.9 * panel.height


def test_a_date_of_a_person_is_still_a_date_in_the_whole():
    panel = examples.panel(60, seed=1).with_columns(born=pl.date(pl.col("born"), 1, 1))
    made = join_panel(dalenius.synthesize(split_panel(panel, "person", "year"), seed=1), panel.columns)
    assert made.to_frame("polars").schema["born"] == pl.Date


def test_a_final_state_is_the_last_whatever_was_drawn_after_it(model):
    """Also where the draw says that more follows, and the spell has an end."""
    events = model.below["waves"].children
    assert events.terminal == {"state": ("dead",)}
    drawn = {"state": ["dead", "job"], "start": [1, 1], "(days until end)": [1, 1], "(last)": [False, False]}
    assert events._over(Table.from_frame(drawn)).tolist() == [True, False]
