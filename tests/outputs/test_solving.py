"""As many different sums, or figures of pairs of columns, as there are people: each passes alone, all together tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk

PEOPLE, FEW = 40, 10


@pytest.fixture
def desk():
    made, rng = Desk(unit="person"), np.random.default_rng(3)
    frame = pd.DataFrame({"person": range(PEOPLE), "pay": rng.gamma(4, 500, PEOPLE).round(2)})
    return made, made.pandas.DataFrame(frame.assign(age=rng.integers(18, 90, PEOPLE)))


def bootstrap(frame, rng):
    drawn = rng.integers(0, PEOPLE, PEOPLE)
    frame.iloc[drawn].pay.mean()
    return np.bincount(drawn, minlength=PEOPLE)


def halves(frame, rng):
    half = rng.permutation(PEOPLE) < PEOPLE // 2
    frame[half].pay.sum()
    return half


@pytest.mark.parametrize("way", [bootstrap, halves])
def test_sums_that_pass_leave_as_many_people_unknown_as_the_threshold(desk, way):
    made, frame = desk
    rng, passed = np.random.default_rng(7), []
    for _ in range(PEOPLE + 3):
        sums = way(frame, rng)
        if made.last.status == "pass":
            passed.append(sums)
    assert (
        np.linalg.matrix_rank(np.array(passed, float)) == PEOPLE - FEW + 1
    )  # one more, and fewer than ten are left
    assert made.last.record.checks["differencing"]["verdict"] == "fail"


def test_sums_of_other_columns_are_other_equations(desk):
    made, frame = desk
    rng = np.random.default_rng(7)
    for column in ("pay", "age"):
        for _ in range(17):  # together more than there may be of one
            frame[rng.permutation(PEOPLE) < PEOPLE // 2][column].sum()
            assert made.last.status == "pass"


def test_sums_of_many_people_may_be_many():
    made, rng = Desk(unit="person"), np.random.default_rng(3)
    frame = made.pandas.DataFrame({"person": range(400), "pay": rng.gamma(4, 500, 400).round(2)})
    for _ in range(35):
        frame[rng.random(400) < 0.8].pay.sum()
        assert made.last.status == "pass"


def test_the_same_sums_again_are_no_further_ones(desk):
    made, frame = desk
    rng = np.random.default_rng(7)
    some = [rng.permutation(PEOPLE) < PEOPLE // 2 for _ in range(20)]
    for half in [*some, *some]:
        frame[half].pay.sum()
        assert made.last.status == "pass"


@pytest.mark.parametrize("figure", ["cov", "corr"])
def test_figures_of_one_column_with_nearly_as_many_others_as_people(desk, figure):
    made, frame = desk
    rng, statuses = np.random.default_rng(7), []
    for _ in range(PEOPLE - FEW + 3):
        frame["other"] = rng.normal(size=PEOPLE)
        getattr(frame.pay, figure)(frame.other)
        statuses.append(made.last.status)
    assert statuses == ["pass"] * (PEOPLE - FEW) + ["review"] * 3


def test_a_matrix_with_nearly_as_many_columns_as_people(desk):
    made, frame = desk
    rng = np.random.default_rng(7)
    wide = made.pandas.DataFrame(
        {"person": frame.person, **{f"x{i}": rng.normal(size=PEOPLE) for i in range(PEOPLE - FEW + 2)}}
    )
    frame.pay.mean()  # there is something to look back to
    for columns, told in ((wide.columns[2:], "pass"), (wide.columns[1:], "review")):
        wide[[*columns]].corr()
        assert made.last.record.checks["differencing"]["verdict"] == told


def test_correlations_of_other_people_are_other_equations():
    made, rng = Desk(unit="person"), np.random.default_rng(3)
    size = 40 * PEOPLE
    frame = made.pandas.DataFrame({
        "person": range(size), "region": np.arange(size) % 40, "pay": rng.normal(size=size),
        "age": rng.normal(size=size),
    })  # fmt: skip
    for region in range(40):
        some = frame[frame.region == region]
        some.pay.corr(some.age)
        assert made.last.status == "pass"
