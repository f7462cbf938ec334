"""What two outputs tell of the people who are in one only, and what libraries compute by themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dalenius.core.errors import OptionError
from dalenius.outputs import Desk


@pytest.fixture
def desk():
    return Desk(unit="person")


def clinic(desk, found=17):
    """Three regions; in the smallest ``found`` of 17 people are ill."""
    return desk.pandas.DataFrame(
        {
            "person": range(1617),
            "region": ["A"] * 1000 + ["B"] * 600 + ["D"] * 17,
            "hiv": ["no"] * 960
            + ["yes"] * 40
            + ["no"] * 580
            + ["yes"] * 20
            + ["yes"] * found
            + ["no"] * (17 - found),
        }
    )


@pytest.mark.parametrize("turned", [False, True])
def test_what_a_whole_group_has_follows_from_no_two_outputs(desk, turned):
    data = clinic(desk)
    parts = [data, data[data.region != "D"]]
    for part in reversed(parts) if turned else parts:
        part.hiv.value_counts()
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    assert "what everybody of a group has" in desk.last.summary
    assert "a whole group that is in one of the two only" in desk.last.record.conflicts[0]


def test_the_same_after_categories_were_merged(desk):
    data = clinic(desk)
    desk.pandas.crosstab(data.region, data.hiv, fix="merge")
    assert desk.last.status == "pass"
    less = data[data.region != "D"]
    desk.pandas.crosstab(less.region, less.hiv)
    assert desk.last.status == "fail"


def test_a_mean_without_a_group_that_is_all_alike(desk):
    data = clinic(desk)
    data["ill"] = (data.hiv == "yes").astype(int)
    data.ill.mean()
    data[data.region != "D"].ill.mean()
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    assert "have the same value" in desk.last.record.conflicts[0]


def test_groups_by_the_property_itself_or_without_a_name_are_no_disclosure(desk):
    rng = np.random.default_rng(3)
    age = rng.integers(0, 80, 2000)
    data = desk.pandas.DataFrame(
        {"person": range(2000), "age": age, "band": age // 20 * 20, "x": rng.choice(list("pq"), 2000)}
    )
    data.band.value_counts()
    data[data.age >= 18].band.value_counts()  # all who are left out are young: that is how they were chosen
    assert desk.last.status == "pass", desk.last.summary
    desk.remove(desk.last.record.uid)
    some = rng.permutation(np.flatnonzero(age < 20))[:30]
    data.drop(index=some).band.value_counts()  # nobody knows who they are
    assert desk.last.status == "pass", desk.last.summary


def test_the_constant_of_a_model_is_no_output(desk):
    rng = np.random.default_rng(1)
    data = desk.pandas.DataFrame(
        {"person": range(300), "pay": rng.normal(3000, 400, 300).round(), "age": rng.integers(18, 80, 300)}
    )
    design = desk.sm.add_constant(data[["pay"]])
    desk.sm.OLS(data.age, design).fit()
    desk.sm.OLS(endog=data.age, exog=design).fit()
    assert [out.status for out in desk.outputs] == ["pass", "pass"]
    design.max()  # but what the researcher asks of it is one
    assert desk.last.status == "fail"
    assert "endpoints" in desk.last.summary


@pytest.mark.parametrize("call", ["cut", "qcut", "cut into four"])
def test_bins_are_those_of_the_people_in_the_data(desk, call):
    rng = np.random.default_rng(1)
    data = desk.pandas.DataFrame(
        {"person": range(500), "age": rng.normal(50, 9, 500), "sex": rng.choice(list("fm"), 500)}
    )
    pd = desk.pandas
    cut = {"cut": lambda: pd.cut(data.age, [0, 45, 55, 99]), "qcut": lambda: pd.qcut(data.age, 4)}.get(
        call, lambda: pd.cut(data.age, 4, labels=list("abcd"))
    )()
    pd.crosstab(cut, data.sex)
    cut.value_counts()
    for out in desk.outputs:
        assert "unit" not in [name for name, check in out.record.checks.items() if check["verdict"] != "pass"]
        assert ("endpoints" in out.summary) == (call == "qcut"), out.summary


def test_neighbours_are_merged_and_stay_neighbours():
    ages, held = ["00-09", "10-19", "20-29", "30-39", "40-49", "50-59"], [3, 40, 3, 40, 3, 40]
    for labels in (ages, range(20, 26)):
        column = pd.Categorical(np.repeat(list(labels), held), categories=list(labels), ordered=True)
        out = Desk().table(pd.DataFrame({"age": column if labels is ages else column.astype(int)}), by="age")
        assert out.fix("merge").status == "pass"
        order = [str(v) for v in labels]
        for text in out.table()["age"]:
            places = [order.index(v) for v in text.split(" + ")]
            assert places == list(range(places[0], places[0] + len(places)))


def test_a_base_below_the_threshold_is_refused():
    out = Desk().table({"g": ["a"] * 30 + ["b"] * 12 + ["c"]}, by="g")
    with pytest.raises(OptionError, match="threshold"):
        out.fix("round", base=9)
    assert out.fix("round", base=10).table()["count"].to_list() == [30, 10, 0]
