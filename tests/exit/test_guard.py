"""What the exit owns, method by method the same: unit columns, rare values, columns released as they are."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dalenius
from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.exit import guard, leave, like_the_next
from dalenius.synth import make_synthesizer, save_model

PEOPLE = {
    "number": [place // 2 for place in range(40)],
    "sex": ["f", "m"] * 20,
    "town": ["Aa"] * 20 + ["Bo"] * 19 + ["Cy"],
}


@pytest.mark.parametrize("role", ["identifier", "entity", "household"])
def test_columns_that_say_who_never_leave(role):
    schema = Schema.infer(PEOPLE).with_roles(**{role: "number"})
    made = dalenius.synthesize(PEOPLE, "bootstrap", schema=schema, seed=1)
    assert set(made) == {"sex", "town"}


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_nothing_is_known_of_a_column_that_stays_behind(frame):
    numbers = [f"P{place:04d}" for place in range(40)]
    made = pd.DataFrame({**PEOPLE, "number": pd.Categorical(numbers)})
    if frame == "polars":
        made = pl.DataFrame({**PEOPLE, "number": pl.Series(numbers, dtype=pl.Enum(numbers))})
    table = Table.from_frame(made, Schema.infer(made).with_roles(identifier="number"))
    drawn = make_synthesizer("independent").fit(table, seed=1).sample(5, seed=1)
    assert "P0007" in repr(table.origin)  # the type of the column lists everybody
    assert "P0007" not in repr(drawn.origin)
    assert "number" not in drawn.origin.dtypes


def test_a_value_that_one_person_has_stays_unless_it_may_go():
    table = Table.from_frame(PEOPLE)
    assert guard(table, seed=1).table["town"].levels == ("Aa", "Bo")
    assert "Cy" in guard(table, seed=1, as_is=["town"]).table["town"].levels


def test_a_person_with_very_many_rows_does_not_show_in_their_number():
    data = {"who": [0] * 500 + list(range(1, 61)), "sex": ["f", "m"] * 280}
    table = Table.from_frame(data, Schema.infer(data).with_roles(entity="who"))
    assert guard(table, seed=1).rows == 61
    assert guard(Table.from_frame(data), seed=1).rows == 560


def test_extremes_read_off_the_data_stay_behind():
    ages = [20 + place % 40 for place in range(160)]
    table = Table.from_frame({"age": [*ages, 97], "size": [*ages, 97]})
    wide = replace(table.schema["age"], bounds=(20, 97))
    public = replace(table.schema["size"], bounds=(0, 120), domain="declared")
    left = leave(guard(Table.from_frame(table.to_frame(), Schema((wide, public))), seed=1).table).schema
    assert (left["age"].bounds, left["size"].bounds) == (None, (0, 120))


def test_a_rare_district_becomes_another_one_of_its_region():
    data = {"region": ["N"] * 41 + ["S"] * 41, "district": [*"ab" * 20, "x", *"cd" * 20, "y"]}
    nested = replace(Schema.infer(data)["district"], parent="region")
    for seed in range(8):  # by chance alone it would be of the right one every other time
        out = guard(
            Table.from_frame(data, Schema.infer(data).replace_columns(nested)), seed=seed
        ).table.to_frame()
        assert out["district"][40] in "ab"
        assert out["district"][81] in "cd"


@pytest.mark.parametrize(("people", "leaves"), [(2, False), (3, True)])
def test_a_category_leaves_with_three_people(people, leaves):
    table = Table.from_frame({"town": ["Aa"] * 20 + ["Bo"] * 20 + ["Cy"] * people})
    assert ("Cy" in guard(table, seed=1).table["town"].levels) == leaves


def test_a_rare_text_is_made_up_after_a_pattern_that_three_people_share():
    codes = ["AB-12", "CD-34", "EF-56"]
    schema = Schema((Column("note", Kind.TEXT),))
    out = guard(
        Table.from_frame({"note": ["well"] * 20 + codes + ["Zq#9"]}, schema), seed=1
    ).table.to_frame()["note"]
    assert out[:20] == ["well"] * 20
    assert all(re.fullmatch(r"[A-Z]{2}-\d\d", text) for text in out[20:23])
    assert not set(out) & set(codes)
    assert out[23] is None, "nobody else writes like that"


def test_under_a_budget_no_cell_depends_on_other_people_s_records():
    data = {"age": [31, 31, 31, 77], "pay": [1.5, 2.5, 3.5, 9.5], "town": ["Aa", "Aa", "Aa", "Cy"]}
    kinds = Schema(
        (Column("age", Kind.INTEGER), Column("pay", Kind.CONTINUOUS), Column("town", Kind.CATEGORICAL))
    )
    guarded = guard(Table.from_frame(data, kinds), seed=1, budget=True)
    kept = guarded.table.to_frame()
    assert {name: kept[name] for name in ("age", "pay")} == {name: data[name] for name in ("age", "pay")}
    assert kept["town"] == ["Aa", "Aa", "Aa", None]  # empty, never somebody else's value
    assert (guarded.rows, guarded.notes) == (4, ())


def test_the_name_of_a_column_index_and_decimals_of_one_person_stay_behind():
    pay = [Decimal("10.50")] * 30 + [Decimal("20.25")] * 30
    frame = pd.DataFrame({"pay": [*pay, Decimal("31.125")], "sex": ["f"] * 61})
    frame.columns.name = "the midwives of Little Snoring"
    left = leave(guard(Table.from_frame(frame), seed=1).table).to_frame()
    assert left.columns.name is None
    assert {value.as_tuple().exponent for value in left["pay"]} == {-2}


@pytest.mark.parametrize(("owned", "rows"), [([5, 2, 2, 2], 8), ([4, 2, 2, 2], 10), ([9, 9, 1], 3), ([7], 7)])
def test_more_than_twice_the_rows_of_the_third_count_like_the_third(owned, rows):
    assert like_the_next(np.array(owned), 3) == rows


@pytest.mark.parametrize(
    ("owners", "leaves"),
    [([1, 2], False), ([1, 1, 1], False), ([1, 2, 2, 2], False), ([1, 2, 3], True)],
    ids=["two people", "one person thrice", "two people, four rows", "three people"],
)
def test_a_number_or_date_leaves_with_three_people_and_not_with_three_rows(owners, leaves):
    some = len(owners)
    data = {
        "who": [*owners, *range(10, 70)],
        "income": [10_337] * some + [1000 * (1 + place % 20) for place in range(60)],
        "born": [dt.date(1977, 5, 9)] * some
        + [dt.date(1950 + 2 * (place % 20), 1, 1) for place in range(60)],
    }
    schema = Schema.infer(data).replace_columns(Column("income", Kind.INTEGER), Column("born", Kind.DATETIME))
    made = dalenius.synthesize(data, "independent", schema=schema.with_roles(entity="who"), rows=1000, seed=1)
    assert (10_337 in made["income"]) == leaves
    assert (dt.date(1977, 5, 9) in made["born"]) == leaves


def test_remarks_on_values_stay_behind(tmp_path):
    remark = "the only midwife of Little Snoring"
    table = Table.from_frame(PEOPLE)
    noted = [replace(column, note=remark) for column in table.schema]
    noted[1] = replace(noted[1], domain="declared")
    model = make_synthesizer("independent").fit(
        Table.from_frame(PEOPLE, table.schema.replace_columns(*noted)), seed=1
    )
    assert [column.note for column in model.schema] == [""] * len(model.schema.names)
    save_model(model, tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as saved:
        assert not any(remark.encode() in saved.read(name) for name in saved.namelist())
