"""Quantiles: enough people beyond and between them, in one output and over all that were released."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk
from dalenius.outputs.position import cuts, fewest_between
from dalenius.outputs.query import Dimension, Query


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


def people(desk, n=500):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame(
        {
            "sex": np.tile(["f", "m"], n // 2),
            "pay": rng.normal(3000, 400, n).round(2),
            "age": rng.integers(18, 66, n),
            "person": np.arange(n),
        }
    )


@pytest.mark.parametrize(
    "q", [list(np.linspace(0.05, 0.95, 451)), list(np.linspace(0.05, 0.95, 60)), 0.0021, 0.983]
)
def test_few_beyond_or_between_quantiles(desk, q):
    people(desk).pay.quantile(q)
    assert desk.last.status == "fail"
    assert "tail_count" in desk.last.summary


@pytest.mark.parametrize("q", [0.5, [0.1, 0.25, 0.5, 0.75, 0.9], 0.021, 0.979])
def test_quantiles_with_enough_people_on_either_side(desk, q):
    people(desk).pay.quantile(q, interpolation="nearest")
    assert desk.last.status == "pass", desk.last.summary


def test_a_median_of_few(desk):
    frame = people(desk)
    frame[frame.person < 19].pay.median()
    assert desk.last.status == "fail"
    frame[frame.person < 20].pay.median()
    assert desk.last.status == "pass"


def test_the_policy_may_ask_for_end_values_alone(tmp_path):
    desk = Desk({"tail": 0}, unit="person")
    people(desk).pay.quantile(0.01)
    assert desk.last.status == "pass"
    people(desk).pay.quantile(0.0001)
    assert desk.last.status == "fail"


def test_quantiles_one_after_the_other_are_quantiles_together(desk):
    frame = people(desk)
    told = []
    for q in (0.500, 0.502, 0.504, 0.506):
        frame.pay.quantile(q)
        told.append(desk.last.status)
    assert told == ["pass", "fail", "fail", "fail"]
    assert "differencing" in desk.last.summary
    frame.pay.quantile(0.55)
    assert desk.last.status == "pass"
    again = frame.groupby("sex").pay.quantile([0.5, 0.52])
    assert len(again) == 4
    assert desk.last.status == "fail"


def test_a_new_desk_remembers_quantiles(tmp_path):
    one, two = (Desk(unit="person", memory=tmp_path / "memory") for _ in range(2))
    people(one).pay.quantile(0.5)
    people(two).pay.quantile(0.5)
    assert two.last.status == "pass"
    people(two).pay.quantile(0.503)
    assert two.last.status == "fail"


@pytest.mark.parametrize("who", [7, 400])
def test_one_person_less_between_two_medians(desk, who):
    frame = people(desk)
    frame.pay.median()
    frame[frame.person != who].pay.median()
    assert desk.last.status == "fail"
    assert "differencing" in desk.last.summary


def test_medians_beside_counts_and_of_other_columns_pass(desk):
    frame = people(desk)
    frame.sex.value_counts()
    frame.pay.median()
    frame.age.median()
    frame.groupby("sex").pay.median()
    frame.groupby("sex").pay.mean()
    assert [out.status for out in desk.outputs] == ["pass"] * 5, [out.summary for out in desk.outputs]


def test_a_count_that_ends_just_beside_a_median(desk):
    frame = people(desk)
    frame.pay.median()
    edge = np.sort(np.asarray(frame.pay))[253]
    desk.pandas.crosstab(frame.pay <= edge, frame.sex)
    assert desk.last.status == "fail"
    assert "differencing" in desk.last.summary


def test_values_that_many_have_are_nobodys(desk):
    frame = people(desk).assign(hours=np.repeat([0.0, 40, 80], [30, 450, 20]))
    frame.hours.quantile([0.01, 0.5, 0.99])
    assert desk.last.status == "pass", desk.last.summary
    few = frame.assign(hours=np.repeat([0.0, 40, 80], [30, 463, 7]))
    few.hours.quantile([0.01, 0.5, 0.99])
    assert desk.last.status == "fail"


def test_people_with_many_rows_count_once_beyond_a_quantile():
    value, unit = np.arange(100.0), np.r_[np.zeros(50, int), np.arange(1, 51)]
    query = Query("median", rows=100, value=value, unit=unit, ids=range(51), facts={"quantiles": [0.5]})
    assert fewest_between(query, query.cell, 1).tolist() == [1.0]
    flat = Query("median", rows=100, value=value, facts={"quantiles": [0.5]})
    assert fewest_between(flat, flat.cell, 1).tolist() == [50.0]


def test_cuts_count_as_brute_force_does():
    rng = np.random.default_rng(3)
    for _ in range(50):
        value = np.sort(rng.integers(0, rng.integers(2, 40), rng.integers(1, 60)).astype(float))
        shares = np.sort(rng.random(3))
        ends = cuts(value, shares)
        assert (np.diff(ends) >= 0).all()
        for end, at in zip(ends, np.quantile(value, shares), strict=True):
            before, after = value[:end], value[end:]
            assert (before <= at).all()
            assert (after >= at).all()
            assert not set(before) & set(after)  # equal values stay together


def test_a_suppressed_median_is_no_cut(desk):
    frame = people(desk)
    small = frame.assign(place=np.repeat(["a", "b", "c"], [12, 238, 250]))
    small.groupby("place").pay.median()
    assert desk.last.status == "fail"
    desk.last.fix("suppress")
    assert desk.last.status == "pass"
    part = desk.memory.partition(desk.last)
    assert part.counts.tolist() == [0, 0, 119, 119, 125, 125]


def test_cells_without_anybody_have_no_quantile():
    query = Query(
        "median",
        (Dimension("g", np.zeros(30, int), ("a", "b")),),
        30,
        np.arange(30.0),
        facts={"quantiles": [0.5]},
    )
    assert fewest_between(query, query.cell, 2).tolist() == [15.0, np.inf]


def test_two_quantiles_between_the_same_two_people_do_not_leave(desk):
    people(desk).pay.quantile([(r + part) / 499 for r in range(12, 487, 12) for part in (0.2, 0.8)])
    assert desk.last.status == "fail"
    assert "tail_count" in desk.last.summary
