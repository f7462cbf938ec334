"""A holdout that holds people of the data makes every copy look harmless: it is found at every door."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import DaleniusError, Pair, compare, evaluate
from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.counts.measure import MEASURES
from dalenius.counts.strangers import in_both
from dalenius.data import Schema, Table, examples
from dalenius.release.strangers import check_strangers
from dalenius.report.words import comparison_story
from dalenius.risk import disco, identical_matches
from dalenius.risk.distance.twins import nearness_of_holdout
from dalenius.risk.page import risk_page

COLUMNS = ["sex", "age", "region", "marital", "income", "health", "education", "diagnosis"]
PEOPLE, OTHERS = (examples.survey(900, seed=s).select(COLUMNS) for s in (1, 2))
KEYS = {"keys": ["sex", "age", "region"], "targets": ["health"]}
WRONG = "of the people of the holdout are in the data too"


def mixed(share: float) -> pl.DataFrame:
    """Strangers, some of whom are people of the data."""
    known = round(share * OTHERS.height)
    return pl.concat([PEOPLE.sample(known, seed=3), OTHERS[known:]]) if known else OTHERS


@pytest.mark.parametrize("share", [1.0, 0.3, 0.1])
def test_many_people_of_the_data_among_strangers_are_an_error(share):
    doors = {
        "evaluate": lambda held: evaluate(
            PEOPLE, PEOPLE, holdout=held, measures=["identical-matches"], **KEYS
        ),
        "compare": lambda held: compare(
            PEOPLE, {"copy": PEOPLE}, holdout=held, measures=["identical-matches"], **KEYS
        ),
        "risk": lambda held: risk_page(Pair(PEOPLE, PEOPLE, held, **KEYS), ["disco"]),
        "a measure": lambda held: disco(Pair(PEOPLE, PEOPLE, held, **KEYS)),
    }
    for name, door in doors.items():
        with pytest.raises(DaleniusError, match=WRONG) as error:
            door(mixed(share))
        told = float(str(error.value).partition(" %")[0])
        assert told == pytest.approx(100 * share, abs=3), name


@pytest.mark.parametrize("command", ["evaluate", "risk"])
def test_the_command_line_stops(tmp_path, command):
    PEOPLE.write_csv(tmp_path / "people.csv")
    words = [command, *[str(tmp_path / "people.csv")] * 2, "--holdout", str(tmp_path / "people.csv")]
    done = CliRunner().invoke(app, [*words, "-k", "sex,age", "-t", "health", "--measures", "disco"])
    assert done.exit_code == 2
    assert WRONG in done.stderr


def test_a_few_make_figures_that_are_not_trusted_on_the_first_screen():
    found = compare(PEOPLE, {"copy": PEOPLE}, holdout=mixed(0.048), measures=["disco", "dcr"], **KEYS)
    only = found["copy"]
    assert not any(result.trusted for result in only.results.values())
    assert any(WRONG in note for note in only.pair.notes)
    assert WRONG in comparison_story(found).likely[0]
    assert identical_matches(Pair(PEOPLE, PEOPLE, OTHERS)).trusted, "strangers are fine"


@pytest.mark.parametrize("kinds", [3, 50, 1000, 100_000])
@pytest.mark.parametrize(("inside", "outside"), [(1000, 1000), (2000, 200), (200, 2000), (1000, 20)])
def test_people_who_look_alike_by_chance_are_no_copies(kinds, inside, outside):
    rng = np.random.default_rng(kinds + inside)
    often = 1 / np.arange(1, kinds + 1)
    for chances in (None, often / often.sum()):
        for _ in range(5):
            mine, theirs = (
                np.bincount(rng.choice(kinds, size, p=chances), minlength=kinds) for size in (inside, outside)
            )
            assert in_both(mine, theirs) == 0


@pytest.mark.parametrize(
    ("kinds", "share", "found"), [(200, 1.0, True), (10**6, 0.04, True), (10**6, 0.0, False)]
)
def test_copies_are_told_from_people_who_look_alike(kinds, share, found):
    """In a file of few columns by how evenly rows fall on both files, in one of many by rows that are there twice."""
    rng = np.random.default_rng(5)
    mine, theirs = rng.integers(0, kinds, 1500), rng.integers(0, kinds, 1500)
    theirs[: round(1500 * share)] = mine[: round(1500 * share)]
    counted = [np.bincount(rows, minlength=kinds) for rows in (mine, theirs)]
    assert in_both(*counted) == pytest.approx(share if found else 0, abs=0.02)


def moved(people: pl.DataFrame, seed: int = 1) -> pl.DataFrame:
    """The same people a year older or younger, with an income that differs by a thousandth."""
    rng = np.random.default_rng(seed)
    years, part = rng.choice([-1, 1], len(people)), 1 + rng.normal(0, 0.001, len(people))
    return people.with_columns(pl.col("age") + pl.Series(years), (pl.col("income") * pl.Series(part)).round())


@pytest.mark.parametrize(("inside", "outside"), [(800, 200), (500, 500), (200, 800)])
def test_people_changed_a_little_are_no_strangers(inside, outside):
    """No row is the same, and yet everybody set aside is in the data."""
    people = examples.survey(inside + outside, seed=5).select(COLUMNS)
    data, others = people[:inside], people[inside:]
    again = pl.concat([moved(data[:outside]), others[: max(outside - inside, 0)]], how="vertical_relaxed")
    schema = examples.survey_schema().select(COLUMNS)
    assert nearness_of_holdout(Pair(data, data, others, schema=schema)) == 0.5
    near = MEASURES["near-copies"](Pair(data, data, again, schema=schema))
    assert not near.trusted
    assert "they seem to be the same people, changed a little" in near.sentence
    assert MEASURES["near-copies"](Pair(data, data, others, schema=schema)).trusted
    with pytest.raises(DataError, match="changed a little"):
        check_strangers(Table.from_frame(data, schema), Table.from_frame(again, schema))
    check_strangers(Table.from_frame(data, schema), Table.from_frame(others, schema))


def test_a_firm_with_most_of_the_rows_makes_nobody_a_twin():
    """Its rows have few fellows, all others many: that says nothing of who was set aside."""
    rng = np.random.default_rng(7)
    firm = np.repeat(np.arange(91), [400, *[3] * 90])
    file = {"firm": firm.astype(str), **{c: rng.normal(size=len(firm)) for c in "abc"}}
    aside = firm > 30
    data, others = ({k: v[rows] for k, v in file.items()} for rows in (~aside, aside))
    schema = Schema.infer(file).with_roles(entity="firm")
    assert nearness_of_holdout(Pair(data, data, others, schema=schema)) == 0.5
    moved = {k: v if k == "firm" else v + 1e-6 for k, v in data.items()}
    again = {k: v[firm[~aside] > 0] for k, v in moved.items()}
    again["firm"] = np.char.add("again ", again["firm"])
    assert nearness_of_holdout(Pair(data, data, again, schema=schema)) > 0.9
