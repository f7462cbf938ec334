"""Cells of one output about nearly the same people tell about the others, as two outputs would."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk

WHO = 3


@pytest.fixture
def opened():
    desk, rng, n = Desk(unit="person"), np.random.default_rng(3), 300
    return desk, desk.pandas.DataFrame({
        "person": np.arange(n), "region": rng.choice(["N", "S", "I"], n, p=[0.6, 0.38, 0.02]),
        "pay": rng.lognormal(8, 0.5, n).round(), "age": rng.integers(18, 80, n), "ill": rng.integers(0, 2, n),
    })  # fmt: skip


def twice(desk, f):
    return desk.pandas.concat([f.assign(g="all"), f[f.region != "I"].assign(g="mainland")], ignore_index=True)


def raw_and_clean(f):
    return f.assign(clean=f.pay.where(f.person != WHO))


def middle(f):
    return np.sort(f.pay.to_numpy())[150]


TABLES = {
    "stacked sum": lambda d, f: twice(d, f).groupby("g").pay.sum(),
    "stacked median": lambda d, f: twice(d, f).groupby("g").pay.median(),
    "stacked counts": lambda d, f: twice(d, f).groupby(["g", "ill"]).size(),
    "melted": lambda d, f: raw_and_clean(f)[["person", "pay", "clean"]].melt("person").groupby("variable").value.mean(),
    "raw and clean": lambda d, f: raw_and_clean(f)[["pay", "clean"]].mean(),
    "cut off": lambda d, f: f.assign(cut=f.pay.where(f.person != WHO, 9000.0))[["pay", "cut"]].mean(),
    "counted": lambda d, f: raw_and_clean(f)[["pay", "clean"]].count(),
    "counts_with_gaps": lambda d, f: f.assign(age=f.age.where(f.person > 5))[["pay", "age"]].count(),
    "conditions": lambda d, f: f.assign(a=f.pay > middle(f) - 0.5, b=f.pay > middle(f) + 0.5)[["a", "b"]].sum(),
    "drawn": lambda d, f: d.charts.box(twice(d, f), "g", "pay"),
    "t test": lambda d, f: d.stats.ttest_ind(f.pay, f[f.person != WHO].pay),
    "one value moved": lambda d, f: d.stats.ttest_ind(f.pay, f.pay.where(f.person != WHO, 0)),
    "ranks": lambda d, f: d.stats.mannwhitneyu(f.pay, f[f.person != WHO].pay),
}  # fmt: skip


def test_many_cells_are_looked_at_two_by_two(opened, monkeypatch):
    desk, frame = opened
    monkeypatch.setattr("dalenius.outputs.beside_rows.MOST_OWN", 0)
    raw_and_clean(frame)[["pay", "clean"]].mean()
    assert desk.last.record.checks["differencing"]["verdict"] == "fail"
    frame[["pay", "age"]].mean()
    assert "not all combinations" in desk.last.record.checks["differencing"]["sentence"]


@pytest.mark.parametrize("made", TABLES.values(), ids=TABLES.keys())
def test_cells_that_differ_by_few(opened, made):
    desk, frame = opened
    made(desk, frame)
    assert desk.last.status == "fail", desk.last.summary
    assert desk.last.record.checks["differencing"]["verdict"] == "fail"
    assert "its own other cells" in desk.last.record.conflicts[0]


def test_correlations_of_a_column_and_the_same_without_a_value(opened):
    desk, frame = opened
    for name in ("corr", "cov"):
        getattr(raw_and_clean(frame)[["pay", "clean", "age"]], name)()
        assert "residuals" in desk.last.summary
    frame.assign(age=frame.age.where(frame.person % 3 > 0))[["pay", "age", "ill"]].corr()
    assert desk.last.status == "pass", desk.last.summary


def test_correlations_of_one_who_has_nearly_all_rows(opened):
    desk, frame = opened
    desk.pandas.concat([frame] + [frame[frame.person == WHO]] * 3000)[["pay", "age"]].corr()
    assert "min_dof" in desk.last.summary


def test_cells_of_different_people_or_columns_pass(opened):
    desk, frame = opened
    frame = frame[frame.region != "I"]
    frame[["pay", "age"]].mean()
    frame.groupby("region").pay.mean()
    desk.stats.ttest_ind(frame[frame.region == "N"].pay, frame[frame.region == "S"].pay)
    frame.assign(a=frame.pay > 2000, b=frame.pay > 4000)[["a", "b"]].sum()
    assert [out.status for out in desk.outputs] == ["pass"] * 4, [out.summary for out in desk.outputs]


def test_means_of_columns_with_gaps_and_of_years_pass(opened):
    desk, frame = opened
    frame.assign(age=frame.age.where(frame.person > 5))[["pay", "age"]].mean()
    years = desk.pandas.concat([frame.assign(year=1), frame.assign(year=2, ill=frame.ill + frame.age % 3)])
    years.groupby("year").ill.mean()
    assert [out.status for out in desk.outputs] == ["pass"] * 2, [out.summary for out in desk.outputs]


@pytest.mark.parametrize("name", ["pay_{}", "x{}x", "EUR{}", "€{}", "{}e0", "-{}", "pay {} EUR"])
def test_a_number_within_a_word_is_looked_at(opened, name):
    desk, frame = opened
    pay = int(frame.pay.to_numpy()[WHO])
    frame.assign(g=np.where(frame.ill > 0, name.format(pay), "m")).groupby("g").size()
    assert desk.last.record.checks["written"]["verdict"] == "review"
    frame.assign(g=np.where(frame.ill > 0, "in 2024-03-01", "m")).groupby("g").size()
    assert "written" not in desk.last.summary
