"""What few people hold, at the edges: rules, precision, infinities, short patterns, hardly anything common."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.exit import guard


def guarded(
    data: dict[str, list], *columns: Column, rules: tuple[str, ...] = (), seed: int = 1, **roles
) -> Table:
    schema = Schema.infer(data).replace_columns(*columns).with_roles(**roles)
    return guard(Table.from_frame(data, replace(schema, rules=rules)), seed=seed).table


def test_rows_that_break_a_rule_do_not_get_their_own_numbers_back():
    """Stays of a week that begin a thousand apart: about every other pair of draws breaks the rule."""
    begins = [1000 * place + 137 * place % 89 for place in range(60)]
    data = {"begin": begins, "end": [begin + 7 for begin in begins]}
    out = guarded(data, *(Column(name, Kind.INTEGER) for name in data), rules=("begin <= end",)).to_frame()
    assert all(begin <= end for begin, end in zip(out["begin"], out["end"], strict=True))
    for name, held in data.items():
        assert not set(held) & set(out[name]), "everybody's number is his alone"


def test_a_list_of_texts_in_the_schema_makes_nobody_s_text_public():
    texts = ["well"] * 9 + ["knows Ann"]
    listed = Column("note", Kind.TEXT, levels=("knows Ann", "well"), domain="declared")
    assert "knows Ann" not in guarded({"note": texts}, listed).to_frame()["note"]
    category = replace(listed, kind=Kind.CATEGORICAL)  # of a category the list is what may be shown
    assert "knows Ann" in guarded({"note": texts}, category).to_frame()["note"]


@pytest.mark.parametrize(("owners", "places"), [([0] * 8, 1), ([0, 1] * 4, 1), ([0, 1, 2, 0], 3)])
def test_decimals_are_those_of_three_people_and_not_of_three_rows(owners, places):
    data = {
        "who": [*owners, *range(10, 60)],
        "pay": [10.125 + place for place in range(len(owners))] + [20.5 + place for place in range(50)],
    }
    out = guarded(data, Column("pay", Kind.CONTINUOUS), entity="who")
    assert out.schema["pay"].decimals == places


@pytest.mark.parametrize("seed", range(5))
def test_a_text_that_is_made_up_is_nobody_s(seed):
    """Seven of the ten texts there are with this pattern: only the other three can be made up."""
    texts = [f"#{digit}" for digit in range(7)]
    made = guarded({"note": texts}, Column("note", Kind.TEXT), seed=seed).to_frame()["note"]
    assert set(made) <= {"#7", "#8", "#9", None}
    assert set(made) - {None}


@pytest.mark.parametrize(("endless", "leaves"), [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_infinity_leaves_with_three_people(endless, sign, leaves):
    data = {"ratio": [0.5, 1.5, 2.5] * 5 + [sign * math.inf] * endless}
    out = guarded(data, Column("ratio", Kind.CONTINUOUS)).to_frame()["ratio"]
    assert any(value is not None and math.isinf(value) for value in out) == leaves


@pytest.mark.parametrize(("alone", "made"), [(4, None), (3, "Aa")])
def test_where_more_people_have_a_rare_category_than_a_common_one_it_stays_empty(alone, made):
    """Three people of Aa must not become seven."""
    towns = ["Aa"] * 3 + [f"T{place}" for place in range(alone)]
    out = guarded({"town": towns}, Column("town", Kind.CATEGORICAL)).to_frame()["town"]
    assert out == ["Aa"] * 3 + [made] * alone
