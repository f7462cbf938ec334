"""A survey is judged by its design: the file that ignored the weights must not look better."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalenius import Candidate, Pair, Schema, Table, evaluate
from dalenius.data.design import Design
from dalenius.utility import column_shapes, one_way_utility, two_way_utility
from dalenius.utility.inference import fit_model, fit_synthetic


@cache
def informative() -> Table:
    """Incomes of which the high ones were drawn less often: rows say 10, the population 11.7."""
    rng = np.random.default_rng(3)
    people = rng.normal(11.7, 3.5, 60_000)
    chance = 0.04 * np.exp(-0.14 * (people - 11.7))
    taken = rng.random(len(people)) < chance
    income = people[taken]
    data = {
        "region": rng.choice(["north", "south"], len(income)),
        "band": np.where(income > 12, "high", "low"),
        "income": np.round(income, 2),
        "w": 1 / chance[taken],
    }
    return Table.from_frame(data, Schema.infer(data).with_roles(weight="w", keys=["region"]))


@cache
def made(weighting: str, proper: bool = False, copies: int = 1):
    options = {"weighting": weighting, "proper": proper, "threads": 1}
    return Candidate("cart", options).make(informative(), copies=copies, seed=1)


def test_the_original_is_fitted_with_its_weights():
    table = informative()
    weights, income = table["w"].floats(), table["income"].floats()
    mean = float(np.average(income, weights=weights))
    assert mean - float(income.mean()) > 1.3  # what ignoring the weights costs
    fit = fit_synthetic("income ~ 1", made("pseudo", copies=3))
    beside = fit.compare(table).table
    assert beside["original"][0] == pytest.approx(mean)
    assert beside["synthetic"][0] == pytest.approx(mean, abs=0.25)
    assert beside["overlap"][0] > 0
    ignored = fit_synthetic("income ~ 1", made("ignore", copies=3)).compare(table).table
    assert ignored["overlap"][0] < 0  # its interval does not touch the population's


@pytest.mark.parametrize("measure", [one_way_utility, two_way_utility, column_shapes])
def test_the_file_that_ignored_the_design_looks_worse(measure):
    aware, biased = (measure(Pair(informative(), made(w).table)) for w in ("pseudo", "ignore"))
    assert aware.info.shortfall(aware.value) < biased.info.shortfall(biased.value)
    if measure is one_way_utility:
        assert aware.value < 3
        assert biased.value > 10


def test_the_verdict_prefers_the_file_that_used_the_weights():
    found = {
        w: evaluate(informative(), made(w).table, measures=["two-way-utility"]) for w in ("pseudo", "ignore")
    }
    assert found["pseudo"]["two-way-utility"].value < found["ignore"]["two-way-utility"].value
    assert "read as the population" in " ".join(found["pseudo"].pair.notes)


def test_standard_errors_are_those_of_the_design():
    table = informative()
    design = Design.of(table)
    plain, weighted = fit_model("income ~ region", table, design=None), fit_model("income ~ region", table)
    assert weighted.design
    assert not plain.design
    mean, variance = design.mean(table["income"].floats())
    only = fit_model("income ~ 1", table)
    assert only.estimates == pytest.approx(mean)
    assert only.covariance == pytest.approx(variance)


def test_equal_weights_change_nothing():
    data = informative().drop(["w"])
    rng = np.random.default_rng(1)
    other = data.take(rng.integers(0, data.rows, 900))
    frame = data.to_frame("dict") | {"w": np.full(data.rows, 7.0)}
    schema = Schema.infer(frame).with_roles(weight="w", keys=["region"])
    for measure in (one_way_utility, two_way_utility, column_shapes):
        with_weights = measure(Pair(Table.from_frame(frame, schema), other))
        assert with_weights.value == pytest.approx(measure(Pair(data, other)).value, rel=1e-12)
        assert with_weights.yardsticks == pytest.approx(measure(Pair(data, other)).yardsticks, rel=2e-3)


def test_a_drawn_population_differs_from_copy_to_copy():
    """Each copy is fitted to another population: the spread between copies is that of the design, not of a draw."""
    files = made("population", copies=12)
    means = [t["income"].floats().mean() for t in files]
    once = [
        float(np.mean(files.model.sample(informative().rows, seed=s)["income"].floats())) for s in range(12)
    ]
    assert files.replicated
    assert np.std(means, ddof=1) > 1.15 * np.std(once, ddof=1)


def test_fits_show_their_figures_and_not_their_insides():
    """In a notebook a fit was five kilobytes of matrices and schema columns."""
    fit = fit_synthetic("income ~ 1", made("pseudo", copies=3))
    for each in (fit, fit.fits[0], fit_model("income ~ 1", informative())):
        said = repr(each)
        assert len(said) < 300
        assert "(Intercept)" in said
    assert "errors of the design" in repr(fit_model("income ~ 1", informative()))
