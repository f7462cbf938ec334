"""What the exit owns, method by method the same: unit columns, rare values, columns released as they are."""

from __future__ import annotations

import pytest

import dalenius
from dalenius.data import Schema, Table
from dalenius.data.exit import guard

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


def test_a_value_that_one_person_has_stays_unless_it_may_go():
    table = Table.from_frame(PEOPLE)
    assert guard(table, seed=1).table["town"].levels == ("Aa", "Bo")
    assert "Cy" in guard(table, seed=1, as_is=["town"]).table["town"].levels


def test_a_person_with_very_many_rows_does_not_show_in_their_number():
    data = {"who": [0] * 500 + list(range(1, 61)), "sex": ["f", "m"] * 280}
    table = Table.from_frame(data, Schema.infer(data).with_roles(entity="who"))
    assert guard(table, seed=1).rows < 100
    assert guard(Table.from_frame(data), seed=1).rows == 560
