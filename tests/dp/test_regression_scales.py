"""How much noise each mechanism asks for, heard where it is drawn and held against a sum by hand.

One number between -1 and 1 beside the intercept: a row is at most the root of two long, an entry at most 1, and the
slope of the loss at most 1/2 (the median).
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from dalenius import dp
from dalenius.core.errors import OptionError
from dalenius.data import Column, Kind, Role, Schema
from dalenius.dp.regression import Check, Reach, descents, gradient_norm, moments, perturbed
from dalenius.dp.regression.descents import stochastic_noise

ROWS, EPSILON, DELTA = 60, 2.0, 1e-6
NUMBERS = (Column("x", Kind.CONTINUOUS, bounds=(-1, 1)), Column("y", Kind.CONTINUOUS, bounds=(-1, 1)))
RECORDS = Schema(NUMBERS).declare()
UNITS = Schema((Column("who", Kind.INTEGER, bounds=(0, 1000), roles=(Role.ENTITY,)), *NUMBERS)).declare()
NEIGHBOURS = [("add-remove", 1), ("replace", 1), ("add-remove", 5), ("replace", 5)]


@pytest.fixture
def heard(monkeypatch):
    """What was asked for, instead of noise."""
    asked = {}

    def listen(place, name, at):
        def quiet(first, *given, **named):
            asked.setdefault(name, (first, *given)[at])
            return 1 if name == "choose" else np.zeros(2) if name == "draw_push" else first

        monkeypatch.setattr(place, name, quiet)

    listen(perturbed, "draw_push", 1)
    listen(moments, "add_laplace", 1)
    listen(moments, "add_gaussian", 1)
    listen(descents, "gaussian", 1)
    for place in (descents, gradient_norm):
        listen(place, "choose", 1)
    return asked


def fit(neighbours, records, **options):
    rng = np.random.default_rng(1)
    people = {"x": rng.uniform(-1, 1, ROWS), "y": rng.uniform(-1, 1, ROWS)}
    owned = {} if records == 1 else {"schema": UNITS, "contribution": records}
    return dp.regress(
        pl.DataFrame({"who": np.arange(ROWS), **people} if owned else people), "y ~ x", epsilon=EPSILON,
        neighbours=neighbours, with_intervals=False, **{"schema": RECORDS, **owned, **options},
    )  # fmt: skip


def moved(neighbours, records):
    """Records by which neighbours differ."""
    return records * (2 if neighbours == "replace" else 1)


@pytest.mark.parametrize(("neighbours", "records"), NEIGHBOURS)
def test_noise_of_every_mechanism(heard, neighbours, records):
    by = moved(neighbours, records)
    fit(neighbours, records)
    assert heard.pop("draw_push") == pytest.approx(2 * by * math.sqrt(2) / 2 / EPSILON)
    fit(neighbours, records, delta=DELTA)
    size = by * math.sqrt(2) / 2 * math.sqrt(8 * math.log(2 / DELTA) + 4 * EPSILON) / EPSILON
    assert heard.pop("draw_push") == pytest.approx(size)
    fit(neighbours, records, family="linear")  # six different products of intercept, x and y
    assert heard.pop("add_laplace") * moments._STEP == pytest.approx(by * 6 / EPSILON)
    rho = dp.Budget(EPSILON, DELTA).total
    fit(neighbours, records, family="linear", delta=DELTA)
    assert heard.pop("add_gaussian") * moments._STEP == pytest.approx(by * math.sqrt(6 / (2 * rho)))
    fit(neighbours, records, mechanism="kng")
    assert heard.pop("choose") == pytest.approx(by / 2)  # the largest entry of the gradient, not its length
    fit(neighbours, records, mechanism="agd", delta=DELTA)
    assert heard.pop("gaussian") == pytest.approx(by * math.sqrt(2) / 2 / math.sqrt(2 * rho / 60))
    assert heard.pop("choose") == pytest.approx(records * 2.0)


def test_noise_of_stochastic_descent_does_not_tell_how_many_have_no_gap(heard):
    noise = 2 * stochastic_noise(ROWS, 1, 2_000, EPSILON, DELTA) * math.sqrt(2) / 2
    fit("replace", 1, mechanism="sgd", delta=DELTA)
    assert heard.pop("gaussian") == pytest.approx(noise)
    one = pl.DataFrame({"x": [0.5] * ROWS, "y": [None] * (ROWS - 1) + [0.5]})
    for given in (one, one.with_columns(y=pl.lit(None, pl.Float64))):
        dp.regress(
            given, "y ~ x", epsilon=EPSILON, delta=DELTA, schema=RECORDS, neighbours="replace",
            mechanism="sgd",
        )  # fmt: skip
        assert heard.pop("gaussian") == pytest.approx(noise)
    with pytest.raises(OptionError, match="one record of a unit"):
        fit("replace", 5, mechanism="sgd", delta=DELTA)


def test_values_beyond_the_bounds_are_held_to_them(monkeypatch):
    monkeypatch.setattr(perturbed, "draw_push", lambda width, scale, gaussian: np.zeros(width))
    far, near = np.array([[30.0, 40.0]] * 3), np.array([[3.0, 4.0]] * 3)
    fits = [
        perturbed.perturbed_fit(x, np.ones(3), Check(0.5), Reach(5.0, 40.0), epsilon=1.0) for x in (far, near)
    ]
    assert np.array_equal(*fits)
    assert perturbed.noise_scale(Check(0.5), Reach(5.0, 8.0), 1.0) == pytest.approx(2 * 2 * 5 / 2)
