"""Two columns, or the rows of one person, that cancel out for all but one: what is left is this person's."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk

WHO = 5


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def frame(desk):
    rng = np.random.default_rng(1)
    n = 500
    age = rng.integers(18, 66, n)
    pay = np.exp(rng.normal(8, 0.5, n)).round(2)
    return desk.pandas.DataFrame({"person": np.arange(n), "age": age, "pay": pay, "later": pay + 9 * age})


@pytest.mark.parametrize("test", ["pearsonr", "spearmanr", "linregress", "ttest_rel", "wilcoxon"])
def test_a_column_beside_itself_but_for_one_person(desk, frame, test):
    asked = getattr(desk.stats, test)
    asked(frame.pay, frame.pay.where(frame.person != WHO, 0.0))
    assert desk.last.status == "fail"
    assert "residuals" in desk.last.summary
    asked(frame.pay, frame.later)
    assert desk.last.status == "pass", desk.last.summary


def test_a_matrix_of_such_columns(desk, frame):
    frame.assign(x=2 * frame.pay.where(frame.person != WHO, 0.0))[["age", "pay", "x"]].corr()
    assert "residuals" in desk.last.summary


def test_a_difference_that_is_a_column_but_for_one_person(desk, frame):
    desk.stats.ttest_rel(frame.pay, frame.pay.where(frame.person == WHO, frame.pay - frame.age))
    frame.age.mean()
    assert desk.last.status != "pass"


@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_rows_that_cancel_out_for_all_but_one_person(desk, frame, statistic):
    rest = frame[frame.person != WHO].assign(pay=lambda x: 20000 - x.pay)
    getattr(desk.pandas.concat([frame, rest]).pay, statistic)()
    assert desk.last.status == "fail"
    assert "few_others" in desk.last.summary


def test_rows_that_cancel_out_but_for_another_column(desk, frame):
    rest = frame[frame.person != WHO].assign(pay=lambda x: 10000 + x.age - x.pay)
    desk.pandas.concat([frame, rest]).pay.sum()
    frame.age.sum()
    assert desk.last.status != "pass"


def test_sums_of_several_rows_pass(desk, frame):
    both = desk.pandas.concat([frame, frame.assign(pay=frame.later)])
    both.pay.mean()
    assert desk.last.status == "pass", desk.last.summary
