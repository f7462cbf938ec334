"""Figures of each person are rows of people, not outputs; what is made of them is checked by their people."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk

PEOPLE = 60


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def frame(desk):
    rng = np.random.default_rng(3)
    data = {"person": np.repeat(np.arange(PEOPLE), 3), "visit": np.tile([1, 2, 3], PEOPLE)}
    data["sex"] = np.repeat(rng.choice(["f", "m"], PEOPLE), 3)
    return desk.pandas.DataFrame({**data, "cost": rng.lognormal(6, 0.5, 3 * PEOPLE).round(2)})


OWN = {
    "sum": lambda f: f.groupby("person").cost.sum(),
    "frame": lambda f: f.groupby("person")[["cost"]].sum().cost,
    "column": lambda f: f.groupby("person", as_index=False).cost.sum().cost,
    "named": lambda f: f.groupby("person").agg(cost=("cost", "sum")).cost,
    "pivot": lambda f: f.pivot(index="person", columns="visit", values="cost")[1],
    "pivot table": lambda f: f.pivot_table(index="person", columns="visit", values="cost")[1],
    "index": lambda f: f.drop_duplicates("person").set_index("person").cost,
}


@pytest.mark.parametrize("way", OWN)
def test_a_mean_over_people(desk, frame, way):
    OWN[way](frame).mean()
    assert [out.status for out in desk.outputs] == ["pass"]
    assert desk.last.judged.evidence.number.tolist() == [PEOPLE]
    OWN[way](frame[frame.person != 5]).mean()
    assert desk.last.status == "fail"


def test_few_people_stay_few(desk, frame):
    frame[frame.person < 4].groupby("person").cost.sum().mean()
    assert "min_threshold" in desk.last.summary


def test_models_and_tests_of_people(desk, frame):
    wide = frame.pivot(index="person", columns="visit", values="cost")
    desk.stats.ttest_rel(wide[1], wide[2])
    assert desk.last.status == "pass"
    each = frame.groupby("person").agg(cost=("cost", "sum"), least=("cost", "min"))
    desk.smf.ols("cost ~ least", each).fit()
    assert "unit" not in desk.last.summary


FORGED = {
    "index": lambda pd, s: _with(s, s.index[::-1]),
    "axis": lambda pd, s: s.set_axis(s.index[::-1]),
    "frame": lambda pd, s: pd.DataFrame({"z": s.to_numpy()[::-1]}, index=s.index).z,
    "set": lambda pd, s: pd.DataFrame({"z": s.to_numpy()[::-1]}).set_index(s.index).z,
}


def _with(series, index):
    made = series.copy()
    made.index = index
    return made


@pytest.mark.parametrize("way", FORGED)
def test_names_of_units_on_other_rows_are_none(desk, frame, way):
    FORGED[way](desk.pandas, frame.groupby("person").cost.sum()).mean()
    assert "unit" in desk.last.summary


def test_positions_after_a_formula(desk, frame):
    desk.smf.gee("cost ~ visit", "person", frame).fit()
    assert "unit" not in desk.last.summary
