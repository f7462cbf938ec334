"""Guessing what columns are: each rule, and the reason it gives."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius
from dalenius.data import Column, Kind, Role, Schema, Table


def guess(values: object, name: str = "x") -> Column:
    return Schema.infer({name: values})[name]


def told(column: Column, kind: Kind, *words: str) -> Column:
    assert column.kind is kind, column
    for word in words:
        assert word in column.note, column.note
    return column


def test_text_of_digits_is_a_code() -> None:
    told(
        guess(["01", "02", "10"] * 10),
        Kind.CATEGORICAL,
        "leading zeros",
        "a code, not a number",
        "3 distinct",
    )
    column = told(guess(["1", "2"] * 10), Kind.CATEGORICAL, "text of digits: a code")
    assert column.levels == ("1", "2")


def test_identifiers() -> None:
    told(guess([f"P{i}" for i in range(50)]), Kind.TEXT, "every value differs: an identifier")
    in_a_row = told(guess(list(range(100, 150))), Kind.INTEGER, "an identifier")
    assert in_a_row.roles == (Role.IDENTIFIER,)
    apart = [i * i for i in range(50)]
    assert guess(apart, "person_id").has("identifier")
    assert not guess(apart, "income").has("identifier")


def test_identifiers_shared_by_a_few_rows() -> None:
    numbers = [i // 3 for i in range(300)]
    told(guess(numbers, "household_id"), Kind.INTEGER, "household, please check")
    assert guess(numbers, "household_id").has("household")
    assert guess([f"P{number}" for number in numbers], "patient_id").has("entity")
    assert not guess(numbers, "income").roles
    assert not guess([i % 20 for i in range(300)], "region_id").roles, "many rows each: a place"
    assert not guess(["a", "b", "c"]).roles  # three rows say nothing
    half = [f"n{i}" for i in range(30)] + ["n1"] * 10
    told(guess(half), Kind.TEXT, "too many for categories")


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (["2020-01-31", "1999-12-01"], "%Y-%m-%d"),
        (["31.01.2020", "01.12.1999"], "%d.%m.%Y"),
        (["31/01/2020", "01/12/1999"], "%d/%m/%Y"),
        (["01/31/2020", "12/01/1999"], "%m/%d/%Y"),
        (["2020/01/31", "1999/12/01"], "%Y/%m/%d"),
        (["20200131", "19991201"], "%Y%m%d"),
        (["2020-01-31 10:11", "1999-12-01 00:00"], "%Y-%m-%d %H:%M"),
        (["2020-01-31T10:11:12", "1999-12-01T00:00:00"], "%Y-%m-%dT%H:%M:%S"),
    ],
)
def test_dates_as_text(values: list[str], pattern: str) -> None:
    column = told(guess(values * 5), Kind.DATETIME, "text that reads as dates")
    assert column.format == pattern
    table = Table.from_frame({"x": [*values, None]})
    assert table.to_frame() == {"x": [*values, None]}


def test_dates_that_are_unclear_or_none() -> None:
    column = told(guess(["01/02/2020", "03/04/2021"]), Kind.DATETIME, "day first assumed, please check")
    assert column.format == "%d/%m/%Y"
    assert guess(["2020-02-30", "2020-01-01"]).kind is Kind.CATEGORICAL  # no such day
    assert guess(["1/2/2020", "3/4/2021"]).kind is Kind.CATEGORICAL  # would not come back as it was
    assert guess(["99999999", "12345678"] * 9).kind is Kind.CATEGORICAL
    assert guess(["2020-01-01"] * 60 + ["unknown"]).kind is Kind.CATEGORICAL


def test_dates_beyond_the_first_hundred_are_checked_too() -> None:
    days = [(dt.date(2000, 1, 1) + dt.timedelta(i)).isoformat() for i in range(500)]
    assert guess(days).kind is Kind.DATETIME
    assert guess([*days, "zzzz-01-01"]).kind is Kind.TEXT


def test_special_codes() -> None:
    incomes = [*range(1000, 1200, 5), -8, -8, -9, -9]
    column = told(guess(incomes), Kind.INTEGER, "-9, -8 looks like a code", "please check")
    assert (column.missing, column.not_applicable) == ((-9,), (-8,))
    assert column.bounds == (1000, 1195)
    ids = guess([*range(1, 60), -9, -9], "id")
    assert (ids.roles, ids.missing) == ((Role.IDENTIFIER,), (-9,))
    scale = told(guess([1, 2, 3, 4, 5, -9] * 10), Kind.ORDERED, "in a row")
    assert (scale.levels, scale.missing) == ((1, 2, 3, 4, 5), (-9,))
    floats = guess([*np.linspace(0.5, 30.5, 40).round(2), -8.0, -8.0])
    assert floats.not_applicable == (-8,)
    assert floats.bounds is not None
    assert floats.bounds[0] == 0.5
    assert guess([*range(1000, 1040), -8]).special == ()  # once is chance
    assert guess([*range(-20, 60)]).special == ()  # temperatures


def test_decimals_are_counted() -> None:
    assert guess([1.5, 2.25, 3.125]).decimals == 3
    assert guess([0.1, 0.2, 1 / 3]).decimals is None
    assert guess([0.1 + 0.2, 0.5]).decimals is None  # 0.30000000000000004
    assert guess([1e300, 0.5]).decimals is None
    rare = np.full(300_000, 0.5)
    rare[123_457] = 0.123
    assert guess(rare).decimals == 3  # one value among many counts


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=20))
def test_counted_decimals_write_every_number_exactly(places: int, numbers: list[int]) -> None:
    values = [*(number / 10**places for number in numbers), 0.5]
    counted = guess(values).decimals
    assert counted is not None
    assert counted <= places
    assert all(float(f"{v:.{counted}f}") == v for v in values)


def test_whole_floats_and_few_numbers() -> None:
    told(guess([float(v) for v in range(1000, 1060, 2)]), Kind.INTEGER, "stored as decimal numbers")
    told(guess([1, 2, 3] * 10), Kind.ORDERED, "a scale or a small count")
    told(guess([10, 25, 70] * 10), Kind.CATEGORICAL, "with gaps: codes")
    told(guess([0, 1] * 10), Kind.CATEGORICAL, "2 distinct whole numbers")
    told(guess([7] * 10), Kind.CATEGORICAL, "1 distinct whole number")
    assert guess([-0.0, 1.0, 2.0] * 9).kind is Kind.CONTINUOUS


def test_empty_and_odd_columns() -> None:
    told(guess([None] * 5), Kind.CATEGORICAL, "every cell is empty")
    assert guess([]).kind is Kind.CATEGORICAL
    told(Schema.infer(pl.DataFrame({"x": []}, schema={"x": pl.Int64}))["x"], Kind.INTEGER, "none present")
    told(
        Schema.infer(pl.DataFrame({"x": [None]}, schema={"x": pl.Float64}))["x"],
        Kind.CONTINUOUS,
        "none present",
    )
    told(guess([1.5, float("inf"), 2.5]), Kind.CONTINUOUS, "infinite")
    told(guess([float("inf")] * 3), Kind.CONTINUOUS, "infinite")
    told(guess([1, "a", True, 2.5]), Kind.CATEGORICAL, "several types")
    told(guess([True, False]), Kind.BOOLEAN, "true or false")
    told(guess([dt.datetime(2020, 1, 1)]), Kind.DATETIME, "stored as dates")
    assert guess([float("nan")] * 3).kind is Kind.CONTINUOUS


def test_words_for_missing_are_pointed_out() -> None:
    told(
        guess(["1", "2", "NA"] * 5),
        Kind.CATEGORICAL,
        "'NA' looks like a code for missing",
        "all others are numbers",
    )
    for word in ("N/A", ".", "?", "null", "nan"):
        told(guess(["red", "blue", word] * 5), Kind.CATEGORICAL, f"{word!r} looks like a code for missing")
    assert "missing" not in guess(["red", "blue"] * 5).note
    for word in ("none", "-"):
        told(guess(["1", "2", word] * 5), Kind.CATEGORICAL, f"{word!r} looks like a code for missing")
        assert "missing" not in guess(["red", "blue", word] * 5).note
    note = told(guess(["red", "none", "NA"] * 5), Kind.CATEGORICAL, "'NA' looks like a code for missing").note
    assert "'none'" not in note


def test_weights_and_places() -> None:
    for name in ("survey_weight", "fnlwgt", "design_wt", "weight_hh", "Sampling_Weight"):
        assert guess([1.25, 2.5, 3.75] * 9, name).has("weight"), name
    assert not guess([71.5, 80.25, 90.75] * 9, "weight").has("weight")  # kilograms
    places = {"lat": [50.5, 51.25], "Longitude": [9.5, 10.25], "z": [1.5, 2.5]}
    schema = Schema.infer(places)
    assert schema["lat"].kind is schema["Longitude"].kind is Kind.POINT
    assert (schema["lat"].partner, schema["Longitude"].partner) == ("Longitude", "lat")
    assert Schema.infer({"lat": [50.5, 51.25]})["lat"].kind is Kind.CONTINUOUS


def test_categories_keep_their_order() -> None:
    frame = pl.DataFrame({"x": pl.Series(["hi", "lo"], dtype=pl.Enum(["lo", "mid", "hi"]))})
    column = told(Schema.infer(frame)["x"], Kind.ORDERED, "stored as ordered categories")
    assert column.levels == ("lo", "mid", "hi")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.integers(-99, 2000), st.floats(), st.text(max_size=3), st.booleans()),
        max_size=30,
    )
)
def test_everything_gets_a_kind_and_a_reason(values: list[object]) -> None:
    column = guess(values)
    assert column.note
    assert "\n" not in column.note
    table = Table.from_frame({"x": values})
    assert table.schema["x"].kind is column.kind
    table.schema.check(table)


@pytest.mark.parametrize("pattern", ["%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M"])
def test_moments_as_hospitals_write_them_are_moments_and_no_text(pattern: str) -> None:
    moments = [dt.datetime(2025, 1 + i % 12, 1 + i % 28, i % 24, i % 60) for i in range(60)]
    column = Schema.infer({"admitted": [moment.strftime(pattern) for moment in moments]})["admitted"]
    assert (column.kind, column.format) == (Kind.DATETIME, pattern)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["eva.weiss@example.org", "tom@praxis.de", "a.b@c.org"], "an e-mail address"),
        (["030 7654321", "+47 22 12 34 56", "0711/123456"], "a telephone number"),
        (["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"], "a bank account"),
        (["none", "called twice", "mail eva.weiss@example.org"], "an e-mail address"),
        (["Dr. Anna Weiss", "Thomas Kranz", "Prof. Dr. Eva Maria Ott"], "a person's name"),
        (["Weiss, Anna", "Kranz, Thomas"], "a person's name"),
        (["192.168.0.17", "10.0.0.3", "8.8.8.8"], "an internet address"),
    ],
)
def test_a_few_addresses_and_accounts_are_people_all_the_same(values, why):
    """Three physicians have three addresses: each is held by many rows, and goes out with every one of them."""
    column = Schema.infer({"contact": values * 60, "sex": ["f"] * (60 * len(values))})["contact"]
    assert column.has(Role.IDENTIFIER)
    assert why in column.note


def test_answers_that_are_few_stay_answers():
    for values in (
        ["yes", "no"],
        ["10-19", "20-29", "30-39"],
        ["San Diego", "Santa Ana", "Los Angeles", "San Jose"],
        ["Never Married", "Single Parent"],
        ["Heart Failure", "Atrial Fibrillation", "Type Two Diabetes"],
        ["1.2.3", "1.2.4"],
        ["300.1.1.1", "10.0.0.999"],
        ["00-14", "15-64"],
        ["A1", "B2"],
        ["2020-01", "2020-02"],
    ):
        assert not Schema.infer({"phone": values * 60})["phone"].has(Role.IDENTIFIER)


def test_numbers_of_full_precision_are_written_with_no_more_digits_than_they_have(tmp_path):
    """What is made of 86.06064500887413 had 20 digits, more than a double holds."""
    rng = np.random.default_rng(1)
    path = tmp_path / "in.csv"
    path.write_text(
        "pay,age\n" + "\n".join(f"{x!r},{i % 70}" for i, x in enumerate(rng.lognormal(9, 2, 300).tolist()))
    )
    made = dalenius.synthesize(dalenius.read(path), "cart", seed=1)
    dalenius.write(made, tmp_path / "out.csv")
    cells = [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert max(len(cell.replace(".", "").lstrip("0")) for cell in cells) <= 17
