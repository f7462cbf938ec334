"""Columns that name people are recognised in every door: schema, check, synth, the plan and the page."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.data.check_digits import luhn, weighted
from dalenius.data.schema import Column, Kind, Schema
from dalenius.release.template import sensible_methods
from dalenius.synth import METHODS

runner = CliRunner()
PERSONAL = ["patient_id", "name", "email"]


def stays(rows: int = 300) -> pl.DataFrame:
    """Stays in a hospital: a patient may have several, and some patients have the same name."""
    rng = np.random.default_rng(3)
    who = np.append(np.arange(rows - 40), rng.integers(0, rows - 40, 40))
    names = [f"{a} {b}" for a in ("Ann", "Bob", "Eva", "Tom") for b in ("Doe", "Poe", "Roe", "Fox", "Lee")]
    arrival = rng.integers(0, 700, rows)
    arrival[1] = arrival[0]
    first = dt.date(2023, 1, 1)
    return pl.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in who],
            "name": [names[i % 20] for i in who],
            "email": [f"p{i}@example.org" for i in who],
            "admission": [first + dt.timedelta(int(d)) for d in arrival],
            "discharge": [first + dt.timedelta(int(d)) for d in arrival + rng.geometric(0.2, rows)],
            "age": rng.integers(18, 95, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ward": rng.choice(["A1", "B2", "C3"], rows),
            "cost": rng.lognormal(8, 1, rows).round(2),
            "note": [f"Seen on day {d}, pain {d % 9}, room {max(i, 1)}" for i, d in enumerate(arrival)],
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stays.csv"
    stays().write_csv(path)
    return path


def inferred(name: str, values: list[str]) -> Column:
    return Schema.infer({name: values})[name]


def account(number: int) -> str:
    """An account in no country's bank, with right check digits (ISO 13616)."""
    body = f"{number:018d}"
    return f"DE{98 - int(body + '131400') % 97:02d}{body}"


@pytest.mark.parametrize(
    "name", ["name", "Surname", "first_name", "E-Mail", "phone", "home_address", "patient name"]
)
def test_columns_called_like_people_are_identifiers(name: str) -> None:
    column = inferred(name, [f"value {i % 20}" for i in range(200)])
    assert column.has("identifier")
    assert "called like" in column.note
    assert column.levels is None, "a schema that is passed on must not list who is in the data"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([f"ann.{i}@example.org" for i in range(20)], "an e-mail address"),
        ([f"+49 171 555{i:04d}" for i in range(20)], "a telephone number"),
        ([f"555-010-{i:04d}" for i in range(20)], "a telephone number"),
        ([account(i * 7919) for i in range(20)], "a bank account"),
    ],
)
def test_values_that_look_like_people_make_an_identifier(values: list[str], said: str) -> None:
    column = inferred("x", values * 10)
    assert column.has("identifier")
    assert f"looks like {said}" in column.note


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("phone", ["yes", "no"]),
        ("municipality", [f"09{i:06d}" for i in range(20)]),
        ("batch", [account(i)[:-1] + "X" for i in range(20)]),
        ("occupation_name", [f"job {i}" for i in range(20)]),
        ("town", [f"Old Town {i}" for i in range(20)]),
    ],
)
def test_codes_answers_and_places_stay_categories(name: str, values: list[str]) -> None:
    assert inferred(name, values * 10).kind is Kind.CATEGORICAL


def test_schema_check_and_synth_agree_on_who_is_named(file: Path) -> None:
    """No door gives a name out, and none advises to synthesize it."""
    schema = dalenius.Schema.infer(pl.read_csv(file, try_parse_dates=True))
    assert [n for n in schema.names if schema[n].roles] == PERSONAL
    assert schema["patient_id"].has("entity")
    told = runner.invoke(app, ["check", str(file), "--json"]).output
    found = {(f["finding"], f["columns"]) for f in _json(told)["before"]}
    assert {("left-out", name) for name in PERSONAL} <= found
    assert {kind for kind, columns in found if set(columns.split(", ")) & set(PERSONAL)} == {"left-out"}
    assert ("order", "discharge, admission") in found
    made = file.with_name("out.csv")
    assert runner.invoke(app, ["synth", str(file), "-m", "independent", "-o", str(made)]).exit_code == 0
    assert not set(PERSONAL) & set(pl.read_csv(made).columns)


def _json(output: str) -> dict:
    return json.loads(output[output.index("{") :])


def test_the_number_of_splits_has_no_silent_cap() -> None:
    many = {"job": [f"job {i % 90}" for i in range(900)]}
    (found,) = dalenius.check(many).of("many-levels")
    assert "more than 10^18 ways" in found.evidence


def test_synth_says_which_columns_were_touched(file: Path) -> None:
    """Texts made up, numbers and dates drawn anew: by column, never how many."""
    run = runner.invoke(app, ["synth", str(file), "-m", "independent", "-o", str(file.with_name("out.csv"))])
    told = " ".join(run.output.split())
    assert re.search(r"'note': texts that fewer than 3 units have are made up after their pattern", told)
    assert re.search(r"'cost'[^:]*: numbers that fewer than 3 units have are drawn anew", told)
    assert re.search(r"'admission'[^:]*: dates and times that fewer than 3 units have are drawn anew", told)
    assert "'sex'" not in told


def test_under_a_budget_no_note_depends_on_the_data() -> None:
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, levels=("f", "m"), domain="declared"),
            Column("age", Kind.INTEGER, bounds=(0, 99), domain="declared"),
        )
    )
    notes = []
    for odd in (40, 97):
        data = {"sex": ["f", "m"] * 100, "age": [30, 40] * 99 + [30, odd]}
        method = METHODS["mst"](epsilon=1.0)
        held = dalenius.Table.from_frame(data, schema)
        notes.append([n for n in method.fit(held, seed=1).notes if "units have" in n])
    assert notes == [[], []]


def test_the_saturated_model_is_suggested_only_where_records_share_its_cells() -> None:
    wide = dalenius.Table.from_frame(stays())
    assert "saturated" not in sensible_methods(wide)
    narrow = dalenius.Table.from_frame(stays().select("sex", "ward"))
    assert "saturated" in sensible_methods(narrow)


@pytest.mark.parametrize(
    "command",
    [
        ["synth", "FILE", "-c", "sex,wrad"],
        ["evaluate", "FILE", "FILE", "--keys", "sex,wrad", "--targets", "cost"],
        ["risk", "FILE", "FILE", "--keys", "sex,wrad", "--targets", "cost"],
    ],
)
def test_an_unknown_column_is_answered_with_the_nearest_one(command: list[str], file: Path) -> None:
    run = runner.invoke(app, [str(file) if part == "FILE" else part for part in command])
    assert run.exit_code == 2
    said = " ".join(run.output.split())
    assert "no column 'wrad'" in said
    assert "did you mean 'ward'" in said


def completed(stem: str, right) -> str:
    """A stem with the last digit that makes it right; stems that have none are left out by the caller."""
    return next((stem + digit for digit in "0123456789" if right(stem + digit)), "")


STEMS = [f"{1 + i % 28:02d}{1 + i % 12:02d}{50 + i % 45:02d}{100 + 7 * i:04d}" for i in range(120)]
NUMBERS = {
    "card": [completed(f"4{i * 7919:014d}", luhn) for i in range(1, 60)],
    "swedish": [
        completed(
            f"{50 + i % 45}{1 + i % 12:02d}{1 + i % 28:02d}-{100 + i}", lambda n: luhn(n.replace("-", ""))
        )
        for i in range(60)
    ],
    "polish": [
        completed(stem, lambda n: weighted(n, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0) for stem in STEMS
    ],
    "british": [
        n
        for i in range(90)
        if (
            n := completed(
                f"{4_000_000_00 + 7919 * i}"[:9], lambda n: weighted(n, range(10, 0, -1)) % 11 == 0
            )
        )
    ],
    "spanish": [f"{n}{'TRWAGMYFPDXBNJZSQVHLCKE'[n % 23]}" for n in range(20_000_000, 20_900_000, 7919)],
    "american": [f"{100 + i}-{10 + i % 80}-{1000 + i}" for i in range(60)],
}


@pytest.mark.parametrize("form", NUMBERS)
@pytest.mark.parametrize("as_number", [False, True], ids=["text", "number"])
def test_numbers_with_check_digits_are_known_whatever_the_column_is_called(
    form: str, as_number: bool
) -> None:
    values = [value for value in NUMBERS[form] if value] * 2
    if as_number and not values[0].isdecimal():
        pytest.skip("has letters or signs")
    column = Schema.infer({"c7": [int(value) for value in values] if as_number else values})["c7"]
    assert column.has("identifier")
    assert "looks like a" in column.note
    assert column.levels is None
    assert column.bounds is None, "the least and the largest number are people's too"


PEOPLE = [
    f"{a} {b}"
    for a in ("Anna", "Jürgen", "Ole", "Marie-Louise", "Piotr")
    for b in ("Berg", "O'Neill", "Öztürk")
]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (PEOPLE, "a person's name"),
        ([", ".join(reversed(name.split())) for name in PEOPLE], "a person's name"),
        (
            ["Anna", "Jonas", "Lena", "Peter", "Marie", "Xaver", "Eva", "Tom", "Kari", "Olga", "Ida", "Wim"],
            "a person's name",
        ),
        (
            [f"{street} {i}" for i in range(1, 9) for street in ("Storgata", "Lindenweg", "Rue de Lyon")],
            "an address",
        ),
        ([f"{i} High Street" for i in range(1, 20)], "an address"),
    ],
)
def test_names_and_addresses_are_known_by_what_they_look_like(values: list[str], what: str) -> None:
    column = inferred("col3", values * 5)
    assert column.has("identifier")
    assert f"looks like {what}" in column.note


@pytest.mark.parametrize(
    "values",
    [
        [f"occupation {i}" for i in range(40)],
        [f"Ward {i}" for i in range(40)],
        [
            "New York",
            "San Jose",
            "Los Angeles",
            "Fort Worth",
            "El Paso",
            "Santa Fe",
            "Las Vegas",
            "Palo Alto",
            "Baton Rouge",
            "Long Beach",
            "Green Bay",
            "Salt Lake City",
        ],
        [
            "Software Engineer",
            "Truck Driver",
            "Nurse",
            "Social Worker",
            "Data Scientist",
            "Bus Driver",
            "Cook",
            "Sales Manager",
            "Police Officer",
            "Web Designer",
            "Tax Adviser",
            "Farm Hand",
        ],
        [f"{i * 7919 % 100_000:05d}" for i in range(60)],
    ],
)
def test_categories_are_not_taken_for_people(values: list[str]) -> None:
    assert not inferred("c1", values * 5).has("identifier")


@pytest.mark.parametrize("name", ["income", "turnover", "c4"])
def test_quantities_are_not_taken_for_personal_numbers(name: str) -> None:
    rng = np.random.default_rng(1)
    for high in (10**9, 10**10, 10**11, 10**16):
        assert not Schema.infer({name: rng.integers(high // 10, high, 300)})[name].has("identifier")


def test_a_card_number_never_leaves_by_default(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path, out = tmp_path / "shop.csv", tmp_path / "out.csv"
    cards = rng.choice(NUMBERS["card"], 400)
    pl.DataFrame({"kort": cards, "who": rng.choice(PEOPLE, 400), "age": rng.integers(18, 90, 400)}).write_csv(
        path
    )
    seen = runner.invoke(app, ["synth", str(path), "-o", str(out)])
    assert seen.exit_code == 0, seen.output
    assert pl.read_csv(out).columns == ["age"]
