"""Figures that only a person can judge are remembered: what few people change in them is seen all the same."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def frame(desk):
    rng = np.random.default_rng(1)
    data = {"person": np.arange(120), "sex": np.repeat(["f", "m"], 60), "age": rng.integers(18, 66, 120)}
    return desk.pandas.DataFrame({**data, "pay": rng.lognormal(8, 0.4, 120).round(2)})


FIGURES = {
    "trimmed mean": lambda d, f: d.stats.trim_mean(f.pay, 0.1),
    "range of quartiles": lambda d, f: d.stats.iqr(f.pay),
    "own function": lambda d, f: f.groupby("sex").pay.agg(lambda s: s.mean()),
    "applied": lambda d, f: f.groupby("sex").pay.apply(lambda s: s.mean()),
    "by computed groups": lambda d, f: f.groupby(lambda i: i % 2).pay.mean(),
    "product": lambda d, f: np.log(f.pay).prod(),
}


@pytest.mark.parametrize("way", FIGURES)
def test_the_same_figure_without_one_person(desk, frame, way):
    for people in (frame, frame[frame.person != 5]):
        FIGURES[way](desk, people)
    assert [out.status for out in desk.outputs] == ["review", "fail"]
    assert "follows by subtraction" in desk.last.record.conflicts[0]


@pytest.mark.parametrize("way", FIGURES)
def test_a_mean_without_one_person_after_it(desk, frame, way):
    FIGURES[way](desk, frame)
    frame[frame.person != 5].groupby("sex").pay.mean()
    assert desk.last.status in ("review", "fail")
    assert "differencing" in desk.last.summary


def test_figures_of_the_same_people_are_no_conflict(desk, frame):
    for way in FIGURES.values():
        way(desk, frame)
    frame.groupby("sex").pay.mean()
    assert desk.last.status == "pass", desk.last.summary


def test_a_fit_under_conditions_is_for_a_person(desk, frame):
    desk.smf.glm("pay ~ age", frame).fit_constrained("age = 0")
    assert desk.last.status == "review"
    assert "constraints" in desk.last.summary
    desk.smf.glm("pay ~ age", frame[frame.person != 5]).fit_constrained("age = 0")
    assert desk.last.status == "fail"
