"""What acro 1.0.2 lets pass (its answers are noted beside each case); ours marks each, and says why."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk


@pytest.fixture
def desk():
    return Desk(unit="person")


def frame(desk, **columns):
    rows = len(next(iter(columns.values())))
    return desk.pandas.DataFrame({**columns, "person": np.arange(rows)})


def same(desk):
    return frame(
        desk, g=["a"] * 20 + ["b"] * 20, c=(["x"] * 10 + ["y"] * 10) * 2, v=[5.0] * 20 + list(np.arange(20.0))
    )


def test_a_mean_over_few_values(desk):
    """Acro: pass, it counts the 15 rows."""
    v = np.where(np.arange(60) < 24, np.nan, np.arange(60.0))
    data = frame(desk, g=["a"] * 30 + ["b"] * 30, c=["x", "y"] * 30, v=v)
    desk.pandas.crosstab(data.g, data.c, values=data.v, aggfunc="mean")
    assert desk.last.status == "fail"
    assert desk.last.judged.evidence.number.tolist() == [3, 3, 15, 15]
    assert "fewer than 10 people" in desk.last.summary


def test_a_cell_of_equal_values(desk):
    """Acro: pass."""
    data = same(desk)
    desk.pandas.crosstab(data.g, data.c, values=data.v, aggfunc="mean")
    assert desk.last.status == "fail"
    assert "everybody in the cell has the same value" in desk.last.summary


def test_the_maximum_of_ten(desk):
    """Acro: pass."""
    data = same(desk)
    desk.pandas.crosstab(data.g, data.c, values=data.v, aggfunc="max")
    assert desk.last.status == "fail"
    assert "endpoints" in desk.last.summary


def test_a_saturated_model(desk):
    """Acro: pass."""
    data = frame(desk, g=np.repeat([0, 0, 1, 1], 10), h=np.repeat([0, 1, 0, 1], 10), y=np.arange(40.0))
    desk.smf.ols("y ~ g*h", data).fit()
    assert desk.last.status == "review"
    assert "it is a table" in desk.last.summary


def test_the_same_table_with_one_person_fewer(desk):
    """Acro: pass, twice."""
    rng = np.random.default_rng(0)
    data = frame(desk, g=rng.choice(list("ab"), 400), c=rng.choice(list("xy"), 400))
    desk.pandas.crosstab(data.g, data.c)
    assert desk.last.status == "pass"
    less = data.drop(data[(data.g == "a") & (data.c == "x")].index[:1])
    desk.pandas.crosstab(less.g, less.c)
    assert desk.last.status == "fail"
    assert desk.last.cells.filter(desk.last.cells["outcome"] == "differencing").rows()[0][:2] == ("a", "x")
    assert desk.last.record.conflicts == [
        "with output_0 of 'desk' (crosstab(g, c)): a group of fewer than 10 people follows by subtraction"
    ]


def test_suppression_with_margins_takes_more_than_the_marked_cell(desk):
    """Acro: the small cell, and its row and column totals without the others, give it back."""
    data = frame(desk, g=["a"] * 45 + ["b"] * 60, c=["x"] * 5 + ["y"] * 40 + ["x"] * 30 + ["y"] * 30)
    shown = desk.pandas.crosstab(data.g, data.c, margins=True, fix="suppress")
    assert desk.last.status == "pass"
    assert int(np.isnan(shown.to_numpy(float)).sum()) >= 4


def test_zeros_are_no_small_counts_when_the_policy_says_so():
    """Acro: fail, 0 is below 10 even with zeros_are_disclosive=False."""
    data = {"g": ["a"] * 30 + ["b"] * 30, "c": ["x"] * 45 + ["y"] * 15}
    assert Desk({"zeros": False, "full_cells": False}).table(data, ["g", "c"]).status == "pass"


def test_a_table_of_deviations_marks_single_cells():
    """Acro: sums the degrees of freedom and blanks every cell."""
    data = {"g": ["a"] * 30 + ["b"] * 5, "v": np.arange(35.0)}
    out = Desk().table(data, "g", "v", "std")
    assert out.cells["outcome"].to_list() == ["ok", "min_dof"]
