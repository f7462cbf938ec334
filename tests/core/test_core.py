"""Errors, intervals, seeds and costs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dalenius.core.cost import Cost
from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.intervals import wilson
from dalenius.core.random import generator, sequence
from dalenius.core.registry import MeasureInfo, Registry
from dalenius.core.result import Result, figure


@given(st.integers(0, 500), st.integers(1, 500))
def test_wilson_agrees_with_scipy(successes, extra):
    trials = successes + extra
    ours = wilson(successes, trials)
    theirs = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert ours.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, abs=1e-12)


def test_streams_depend_on_path_and_not_on_order():
    assert generator(1, "a").random() == generator(1, "a").random()
    assert generator(1, "a").random() != generator(2, "a").random()
    assert generator(1, "a", 1).random() != generator(1, "a", "1").random()
    nested = np.random.SeedSequence([5, 1])
    assert generator(nested, "x").random() == generator(np.random.SeedSequence([5, 1]), "x").random()
    assert sequence(None).entropy != sequence(None).entropy


def test_children_of_one_seed_differ():
    first, second = np.random.SeedSequence(7).spawn(2)
    assert generator(first, "x").random() != generator(second, "x").random()


@given(st.integers(1, 2**63))
def test_a_negative_seed_is_a_seed_of_its_own(seed):
    assert generator(seed).random() != generator(-seed).random()
    assert generator(-seed).random() == generator(-seed).random()


def test_costs_add_up_and_refuse():
    total = Cost(2, 10) + Cost(3, 7)
    assert (total.seconds, total.bytes) == (5, 10)
    with pytest.raises(DaleniusError, match="needs about"):
        Cost(1, 1e18).check("it")
    Cost(1, 1).check("it")


def test_registry_refuses_doubles_and_helps_with_spelling():
    info = MeasureInfo("alpha", "A", "risk", "m.", "lower", (0, 1), "r")

    class Thing:
        def __init__(self) -> None:
            self.info = info

    registry: Registry[Thing] = Registry("thing")
    registry.add(Thing())
    with pytest.raises(OptionError, match="twice"):
        registry.add(Thing())
    with pytest.raises(OptionError, match="did you mean 'alpha'"):
        registry["alhpa"]
    with pytest.raises(OptionError, match="there are: alpha"):
        registry["zzz"]


@given(st.floats())
def test_results_are_json_whatever_the_value(value):
    result = Result("r", value, "It is what it is.", values={"x": value}, yardsticks={"y": value})
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["name"] == "r"
    assert "nan" not in figure(value) if not math.isnan(value) else figure(value) == "not available"


def test_html_in_names_is_neutralised():
    html = Result("<script>", 1.0, "<b>bold</b> words", yardsticks={"<i>": 2.0})._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html
