"""How many people are in a model or test follows from its p values, and is compared with what was counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk


@pytest.fixture(scope="module")
def people():
    """500 people; three of them have no age."""
    rng, n = np.random.default_rng(1), 500
    made = pd.DataFrame(
        {
            "person": np.arange(n),
            "ill": rng.integers(0, 2, n),
            "sex": rng.choice(["f", "m"], n),
            "pay": rng.normal(3000, 500, n),
            "age": rng.integers(18, 80, n).astype(float),
            "hours": rng.normal(38, 5, n),
        }
    )
    made.loc[[3, 9, 77], "age"] = np.nan
    return made


def model(desk, data):
    desk.smf.ols("pay ~ hours", data).fit()


def compared(desk, data):
    desk.stats.ttest_ind(data.hours[data.sex == "f"], data.hours[data.sex == "m"])


def counts(desk, data):
    data.ill.value_counts()


def described(desk, data):
    data.groupby("ill").age.agg(["count", "mean"])


@pytest.mark.parametrize("form", [model, compared])
@pytest.mark.parametrize("counted", [counts, described])
@pytest.mark.parametrize("first", ["counts", "form"])
def test_one_person_fewer_in_a_model_is_seen_beside_counts(people, form, counted, first):
    """500 were counted, and the p value says 499: the one who was left out if healthy is healthy."""
    if counted is described:
        people = people.dropna()
    who = int(people.person[people.ill == 0].iloc[40])
    desk = Desk(unit="person")
    data = desk.pandas.DataFrame(people)
    less = data[(data.person != who) | (data.ill == 1)]
    steps = [lambda: counted(desk, data), lambda: form(desk, less)]
    for step in steps if first == "counts" else reversed(steps):
        said = desk.last.status if desk.outputs else "pass"
        assert said == "pass"
        step()
    assert desk.last.status == "review"
    assert "p values" in desk.last.summary


@pytest.mark.parametrize("first", ["counts", "form"])
def test_people_who_lack_a_value_are_no_difference(people, first):
    desk = Desk(unit="person")
    data = desk.pandas.DataFrame(people)
    steps = [lambda: counts(desk, data), lambda: desk.smf.ols("pay ~ age", data).fit()]
    for step in steps if first == "counts" else reversed(steps):
        step()
        assert desk.last.status == "pass", desk.last.summary


def test_a_gap_that_was_made_is_a_difference(people):
    """Whose age was deleted if healthy: the model leaves out four, of whom three have no age."""
    who = int(people.person[people.ill == 0].iloc[40])
    desk = Desk(unit="person")
    data = desk.pandas.DataFrame(people)
    counts(desk, data)
    data["age"] = data.age.where((data.person != who) | (data.ill == 1))
    desk.smf.ols("pay ~ age", data).fit()
    assert desk.last.status != "pass"


def test_the_same_people_and_large_groups_are_no_difference(people):
    desk = Desk(unit="person")
    data = desk.pandas.DataFrame(people)
    for step in (counts, model, compared):
        step(desk, data)
        assert desk.last.status == "pass", desk.last.summary
    model(desk, data[data.sex == "f"])
    assert "p values" not in desk.last.summary
