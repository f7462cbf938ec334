"""Columns of real people in a file, whoever made it: named, limited, and never called made up."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import polars as pl
import pytest

from dalenius import Pair
from dalenius.counts.measure import MEASURES
from dalenius.counts.unchanged import unchanged
from dalenius.data import Table, examples
from dalenius.evaluation import compare, evaluate
from dalenius.evaluation.comparing import averaged
from dalenius.evaluation.policy import RISKS, Rule
from dalenius.report.words import comparison_story
from dalenius.synth import Candidate
from tests.release.conftest import invoke

COLUMNS = ["region", "sex", "age", "marital", "income", "health", "diagnosis"]
SCHEMA = examples.survey_schema().select(COLUMNS)
KEPT = ["region", "age", "income"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return examples.survey(1000, seed=3).select(COLUMNS)


@pytest.fixture(scope="module")
def fresh() -> pl.DataFrame:
    return examples.survey(1000, seed=99).select(COLUMNS)


def partly(people: pl.DataFrame, fresh: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return people.select(columns).hstack(fresh[: len(people)].drop(columns)).select(COLUMNS)


@pytest.mark.parametrize("columns", [KEPT, ["region", "sex"], ["income"], ["age", "marital"]])
def test_columns_in_place_are_named(people, fresh, columns):
    found = unchanged(Pair(people, partly(people, fresh, columns), schema=SCHEMA))
    assert sorted(found) == sorted(columns)


@pytest.mark.parametrize("rows", [1000, 500])
def test_columns_of_people_in_another_order_are_named(people, fresh, rows):
    turned = people.sample(rows, shuffle=True, seed=1)
    assert unchanged(Pair(people, partly(turned, fresh, KEPT), schema=SCHEMA)) == KEPT


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("made_up", [5, 30])
def test_a_few_made_up_rows_among_real_ones_hide_nothing(people, fresh, turn, made_up):
    """Five rows in a thousand are no excuse; thirty are more than the hundredth that is allowed for."""
    some = pl.concat([fresh[:made_up], people[made_up:]])
    file = partly(some.sample(1000, shuffle=True, seed=1) if turn else some, fresh.reverse(), KEPT)
    found = unchanged(Pair(people, file, schema=SCHEMA))
    assert found == (KEPT if made_up == 5 else [])


def test_a_row_more_than_there_are_people_hides_nothing(people, fresh):
    turned = pl.concat([people.sample(1000, shuffle=True, seed=1), fresh[:3]])
    rest = examples.survey(1003, seed=98).select(COLUMNS)
    assert unchanged(Pair(people, partly(turned, rest, KEPT), schema=SCHEMA)) == KEPT


def test_a_masked_file_is_not_said_to_take_columns_over(people):
    """What it left alone is known from how it was made; held against the masked original all would be the same."""
    table = Table.from_frame(people, SCHEMA)
    coarse = Candidate("recode", {"column": "age", "width": 50}).make(table)
    found = compare(table, {"coarse": coarse}, keys=["sex", "age"], measures=["replicated-uniques"])
    assert found["coarse"].unchanged == ()


@pytest.mark.parametrize("rows", [1000, 500, 950, 1005])
def test_other_people_of_the_same_population_keep_nothing(rows):
    for seed in range(10):
        both = strangers(seed)
        assert unchanged(Pair(both[:1000], both[1000 : 1000 + rows], schema=SCHEMA)) == []


@cache
def strangers(seed: int) -> pl.DataFrame:
    return examples.survey(2005, seed=seed + 50).select(COLUMNS)


@pytest.mark.parametrize("method", ["cart", "independent", "loglinear", "parametric"])
def test_synthesizers_keep_nothing(people, method):
    table = Table.from_frame(people, SCHEMA)
    for seed in range(3):
        assert unchanged(Pair(table, Candidate(method).make(table, seed=seed).table)) == []


def test_a_column_by_which_both_files_are_sorted_is_not_taken_over():
    data = {"group": np.repeat(["a", "b", "c"], 100), "x": np.random.default_rng(1).normal(size=300)}
    other = {**data, "x": np.random.default_rng(2).normal(size=300)}
    assert unchanged(Pair(data, other)) == []


def test_the_first_screen_names_them_and_the_file_is_off_the_short_list(people, fresh):
    """Three kept columns hardly move figures about whole records."""
    others = examples.survey(400, seed=7).select(COLUMNS)
    files = {"partial": partly(people, fresh, KEPT), "fresh": fresh}
    found = compare(
        people, files, SCHEMA, ["sex", "marital"], ["diagnosis"], others,
        measures=None,
    )  # fmt: skip
    story = comparison_story(found)
    assert any(
        line.startswith("'partial': Taken over from the real people as they are: region, age and income.")
        for line in story.released
    )
    (line,) = story.refused
    assert line.startswith(
        "'partial' is not on the short list because of real people who are alone on columns that come out as they were"
    )
    assert found["partial"]["unique-matches"].value > 50
    assert found["fresh"].unchanged == ()
    assert "'fresh'" in story.decided[0]
    alone = comparison_story(compare(people, {"partial": files["partial"]}, SCHEMA))
    assert any("Each line holds facts of a real person." in line for line in alone.released)


def test_the_command_line_names_them(tmp_path, people, fresh):
    people.write_csv(tmp_path / "people.csv")
    partly(people, fresh, KEPT).write_csv(tmp_path / "made.csv")
    told = invoke(
        "evaluate", str(tmp_path / "people.csv"), str(tmp_path / "made.csv"),
        "--keys", "sex,age", "--measures", "replicated-uniques", "--json", "-q",
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["unchanged"] == KEPT
    (note,) = (n for n in found["notes"] if "come out as in the original, person by person" in n)
    alone = 100 * people.select((pl.len().over(KEPT) == 1).mean()).item()
    assert f"{alone:.3g} % of the records are alone on what comes out so" in note


def test_columns_of_real_people_in_one_of_several_files_are_named(people, fresh):
    runs = [evaluate(people, file, SCHEMA) for file in (fresh, partly(people, fresh, KEPT))]
    assert averaged(runs).unchanged == tuple(KEPT)


def test_tables_of_a_masked_file_are_told_in_the_detail_that_was_lost(people):
    """Whoever asks for the plain tables alone is not told that a coarse file is as close as can be."""
    table = Table.from_frame(people, SCHEMA)
    asked = compare(table, {"coarse": Candidate("recode", {"column": "age", "width": 50}).make(table)},
                    measures=["two-way-utility"])  # fmt: skip
    assert asked["coarse"]["two-way-utility"].value < 0.1, "as masked nothing differs"
    story = comparison_story(asked)
    (line,) = (line for line in story.uses if line.startswith("Tables of two facts"))
    whole = MEASURES["detail-utility"](asked["coarse"].pair).value
    assert f": {whole:.3g} on a scale" in line
    assert any("took away" in line for line in story.released)


def test_the_limit_is_about_the_kept_columns_whatever_was_asked_for(people, fresh):
    """Whoever asks for unique rows as papers count them gets that figure; the limit is still held."""
    others = examples.survey(400, seed=7).select(COLUMNS)
    asked = [*(Rule.parse(line).measure for line in RISKS), "unique-matches", "two-way-utility"]
    found = compare(
        people, {"partial": partly(people, fresh, KEPT), "fresh": fresh}, SCHEMA, ["sex", "marital"], ["diagnosis"],
        others, measures=asked,
    )  # fmt: skip
    assert found["partial"]["unique-matches"].value < 20, "on all columns"
    assert "'partial' is not on the short list" in " ".join(comparison_story(found).refused)


def test_numbers_that_differ_in_their_last_digits_are_taken_over_too(people, fresh):
    hair = people.with_columns(
        pl.col("income") * (1 + 1e-7 * pl.Series(np.random.default_rng(1).normal(size=1000)))
    )
    assert unchanged(Pair(people, partly(hair, fresh, KEPT), schema=SCHEMA)) == KEPT
