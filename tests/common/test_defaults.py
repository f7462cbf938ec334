"""Settings that people rely on without knowing them: each is a promise, with the reason beside it."""

from __future__ import annotations

import inspect

import pytest

import dalenius
from dalenius.data import Schema
from dalenius.dp import Budget
from dalenius.synth import METHODS
from dalenius.synth.syndiffix.options import Anonymity


@pytest.mark.parametrize(
    "call", [dalenius.evaluate, dalenius.compare, dalenius.Pair], ids=lambda c: c.__name__
)
def test_figures_are_printed_for_ten_people_or_more(call):
    assert inspect.signature(call).parameters["threshold"].default == 10


def test_a_value_leaves_when_three_hold_it():
    """What two hold, each of them knows of the other."""
    assert Schema.infer({"a": ["x"]}).min_units == 3
    assert Anonymity().low == 3


@pytest.mark.parametrize("name", [n for n in METHODS if hasattr(METHODS[n], "minbucket")])
def test_leaves_hold_five_people(name):
    """A leaf of one person would hand out that person's values."""
    assert METHODS[name]().minbucket == 5


def test_a_budget_also_hides_that_somebody_took_part():
    budget = Budget(1.0)
    assert (budget.neighbours, budget.unit, budget.records, budget.delta) == ("add-remove", "record", 1, 0.0)


@pytest.mark.parametrize("name", [n for n in METHODS if hasattr(METHODS[n], "drawing")])
def test_rows_are_drawn_one_by_one(name):
    """Even drawing repeats the counts of the model, which may be those of the data."""
    assert METHODS[name]().drawing == "independent"
