"""Recoding sends values to coarser ones, and the lens sends everybody else's through the same map."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from dalenius import Candidate
from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.data.recipe import Recipe
from dalenius.data.steps import CoarsenDate, Recode, Round, TopCode
from dalenius.data.table import Table
from dalenius.synth import METHODS
from dalenius.synth.sdc import protect

PEOPLE = Table.from_frame({"age": [31, 38, 64, None], "job": ["judge", "clerk", "judge", "nurse"]})


def test_decades_and_gaps() -> None:
    masked = Recode("age", width=10).apply(PEOPLE)
    assert masked.table.to_frame()["age"] == ["30-39", "30-39", "60-69", None]
    assert masked.changed == {"age": 3}
    assert masked.records == 3
    assert masked.lens.see(Table.from_frame({"age": [35, 99], "job": ["x", "x"]})).to_frame()["age"] == [
        "30-39",
        "90-99",
    ]


def test_cuts_have_names() -> None:
    cut = Recode("age", cuts=(18, 65), labels=("child", "adult", "old"))
    assert cut.apply(PEOPLE).table.to_frame()["age"] == ["adult", "adult", "adult", None]
    assert Recode("age", cuts=(35,)).apply(PEOPLE).table.to_frame()["age"][:2] == ["below 35", "35 or more"]


@pytest.mark.parametrize(
    ("way", "expected"), [("nearest", [100, 200, 300]), ("down", [100, 100, 200]), ("up", [200, 200, 300])]
)
def test_rounding(way: str, expected: list[int]) -> None:
    whole = Table.from_frame({"pay": [120, 180, 250]})
    real = Table.from_frame({"pay": [120.5, 180.25, 250.125]})
    for table in (whole, real):
        assert Round("pay", 100, way).apply(table).table["pay"].data.tolist() == expected


def test_rounding_keeps_decimals_clean() -> None:
    table = Table.from_frame({"x": [0.12, 0.17, 0.31]})
    assert Round("x", 0.1).apply(table).table["x"].data.tolist() == [0.1, 0.2, 0.3]


def test_dates() -> None:
    table = Table.from_frame({"born": [dt.date(1987, 5, 17), dt.date(1960, 1, 2), dt.date(1969, 12, 31)]})
    weeks = CoarsenDate("born", "week").apply(table).table.to_frame()["born"]
    assert [day.weekday() for day in weeks] == [0, 0, 0]
    decades = CoarsenDate("born", "decade").apply(table).table.to_frame()["born"]
    assert decades == [dt.date(1980, 1, 1), dt.date(1960, 1, 1), dt.date(1960, 1, 1)]


def test_faults_are_told_at_once_and_quote_no_value() -> None:
    facts = [
        {"do": "recode", "column": "job", "groups": {"ZZTOP": "law"}, "with": 3},
        {"do": "round", "column": "age", "base": -1},
        {"do": "wash"},
    ]
    with pytest.raises(DataError, match="3 faults") as error:
        Recipe.from_dict(facts)
    assert "ZZTOP" not in str(error.value)
    with pytest.raises(DataError, match="1 of the 1 codes are not levels of 'job'") as told:
        Recode("job", groups={"ZZTOP": "law"}).apply(PEOPLE)
    assert "ZZTOP" not in str(told.value)
    with pytest.raises(OptionError, match="give one of"):
        Recode("age")


def test_a_step_is_a_method_too() -> None:
    made = Candidate("round", {"column": "age", "base": 10}).make(PEOPLE, copies=2, seed=3)
    lens = made.lens(1)
    assert lens is not None
    order = np.argsort(lens.links)
    assert made.tables[1].take(order).to_frame()["age"] == [30, 40, 60, None]
    with pytest.raises(DaleniusError, match="column is not given"):
        Candidate("round", {"base": 10}).make(PEOPLE)
    with pytest.raises(DaleniusError, match="give one of"):
        Candidate("recode", {"column": "age"}).check(PEOPLE)
    assert METHODS["limit-values"].info.title == "Top and bottom coding"


def test_lenses_follow_each_other() -> None:
    recipe = Recipe(
        (TopCode("age", high=60), Recode("age", width=20), Recode("job", groups={"judge": "law"}))
    )
    masked = recipe.mask(PEOPLE, 1)
    seen = masked.lens.see_own(PEOPLE).to_frame()
    assert seen == masked.table.to_frame()
    assert Recipe.from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize("high", ["1990-01-01", dt.date(1990, 1, 1)])
def test_dates_are_top_coded_by_dates(high):
    """As numbers are, in a step and after synthesis; a limit of the other kind is told."""
    table = Table.from_frame(
        {"born": [dt.date(1920, 1, 1), None, dt.date(2000, 5, 5)], "pay": [1.5, 2.5, 3.5]}
    )
    made = protect(table, top={"born": high}, bottom={"born": "1930-06-01"}).table.to_frame("dict")["born"]
    assert made == [dt.date(1930, 6, 1), None, dt.date(1990, 1, 1)]
    step = TopCode("born", high=str(high)).apply(table).table.to_frame("dict")["born"]
    assert step == [dt.date(1920, 1, 1), None, dt.date(1990, 1, 1)]
    assert TopCode("born", high=90).faults(table) == ["limit of column 'born': write a date as 2001-12-31"]
    assert "use a number" in TopCode("pay", high="1990-01-01").faults(table)[0]
