"""Real people with a few values moved: the first screen speaks of what stands against the file, wherever it is read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from tests.release.conftest import invoke

from dalenius.data import examples
from dalenius.evaluation import Comparison, compare
from dalenius.report import write_report
from dalenius.report.words import comparison_story

COLUMNS = ["region", "sex", "age", "marital", "income", "health", "diagnosis"]
SCHEMA = examples.survey_schema().select(COLUMNS)
KEYS, TARGETS = ["region", "sex", "age", "marital"], ["diagnosis"]


@cache
def people(seed: int, rows: int) -> pl.DataFrame:
    return examples.survey(rows, seed=seed).select(COLUMNS)


@cache
def moved() -> pl.DataFrame:
    """Everybody, a year or two older or younger and with an income that differs by a hundredth."""
    rng, data = np.random.default_rng(1), people(3, 500)
    income = data["income"].to_numpy()
    paid = np.where(income > 0, (income * rng.uniform(0.99, 1.01, 500)).round(), income)
    ages = (data["age"].to_numpy() + rng.integers(-2, 3, 500)).clip(0)
    return data.with_columns(age=pl.Series(ages), income=pl.Series(paid)).sample(500, shuffle=True, seed=2)


@cache
def apart() -> pl.DataFrame:
    data = people(3, 500)
    return data.select(data[name].shuffle(seed=i) for i, name in enumerate(COLUMNS))


@cache
def compared(several: bool) -> Comparison:
    files = {"moved": moved(), **({"apart": apart()} if several else {})}
    return compare(people(3, 500), files, SCHEMA, KEYS, TARGETS, people(4, 300))


def test_what_the_file_adds_is_the_worst_of_what_stands_against_it():
    (near,) = (r for r in compared(False)["moved"].family("risk") if r.name == "near-copies")
    assert near.added > 50, "or the file shows nothing"
    story = comparison_story(compared(False))
    assert "people in the data a line comes closer to 8" in story.likely[0]
    assert "who are not in it, to 2" in story.likely[0]
    assert "A record nearly comes out" in [chance.title for chance in story.chances]
    assert any("'moved': of" in line and "a line" in line for line in comparison_story(compared(True)).likely)


def test_a_file_within_the_limits_says_nothing_of_lines_that_are_near():
    several = compare(people(3, 500), {"apart": apart()}, SCHEMA, KEYS, TARGETS, people(4, 300))
    assert [c.title for c in comparison_story(several).chances] == [
        "Something true is read off", "A whole record comes out", "Somebody seems to be found",
    ]  # fmt: skip
    assert comparison_story(several).refused == []


def test_a_file_that_stands_alone_says_which_limit_it_misses(tmp_path):
    write_report(compared(False), tmp_path / "report.html")
    write_report(compared(False), tmp_path / "report.md")
    for name in ("report.html", "report.md"):
        first = (tmp_path / name).read_text().replace("&#39;", "'")
        assert "'moved' is beyond the default limits because of real people whom a line comes closer" in first
        assert "made by a program after the pattern" not in first, "nobody knows how the file was made"


def test_a_limit_that_is_missed_comes_before_one_that_could_not_be_judged():
    found = compare(people(3, 500), {"moved": moved(), "apart": apart()}, SCHEMA, holdout=people(4, 300))
    assert "whom a line comes closer to" in " ".join(comparison_story(found).refused)
    alone = compare(people(3, 500), {"apart": apart()}, SCHEMA, KEYS, TARGETS)
    assert (
        comparison_story(alone)
        .refused[0]
        .startswith("Whether 'apart' keeps to the default limits cannot be told")
    )
    useful = compare(people(3, 500), {"apart": apart()}, SCHEMA, measures=["two-way-utility"])
    assert comparison_story(useful).refused == [], "risk was not asked for"


def test_files_of_which_some_took_columns_over_stand_side_by_side(tmp_path: Path):
    """Only of `moved`, whose words are those of real people, can be asked who is alone on what was taken over."""
    for name, frame in (
        ("people", people(3, 500)),
        ("others", people(4, 300)),
        ("moved", moved()),
        ("apart", apart()),
    ):
        frame.write_csv(tmp_path / f"{name}.csv")
    SCHEMA.to_yaml(tmp_path / "schema.yaml")
    files = [str(tmp_path / f"{name}.csv") for name in ("people", "moved", "apart", "others")]
    words = ("--schema", str(tmp_path / "schema.yaml"), "-k", ",".join(KEYS), "-t", "diagnosis")
    for order in ((0, 1, 2), (0, 2, 1)):
        report = tmp_path / f"{order[1]}.html"
        done = invoke(
            "compare", *(files[i] for i in order), "--holdout", files[3], *words, "--report", str(report)
        )
        assert done.exit_code == 0, done.output
        told = " ".join(done.output.split())
        assert "unique-matches" in told
        assert "–" in told
        assert "'moved' is not on the short list because of" in told
        assert "'apart' is on the short list" in told
        assert report.is_file()
