"""Formulas, rules and comparisons beyond the golden values."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data import Table
from dalenius.utility.inference import Formula, combine, fit_model, fit_synthetic

RNG = np.random.default_rng(1)
DATA = {
    "x": RNG.uniform(1, 9, 300), "g": RNG.choice(["a", "b", "c"], 300), "y": RNG.normal(size=300),
    "k": RNG.integers(0, 3, 300),
}  # fmt: skip


def test_names_follow_r():
    table = Table.from_frame(DATA)
    assert fit_model("y ~ g * x", table).names == ["(Intercept)", "gb", "gc", "x", "gb:x", "gc:x"]
    assert fit_model("y ~ log(x) + factor(k) - 1", table).names == [
        "log(x)",
        "factor(k)0",
        "factor(k)1",
        "factor(k)2",
    ]


@pytest.mark.parametrize("text", ["y", "y ~ x ~ g", "y ~ x - g"])
def test_bad_formulas_say_what_to_write(text):
    with pytest.raises(OptionError, match="formula"):
        Formula.parse(text)


def test_faults_of_data_and_options():
    with pytest.raises(DataError, match="nose"):
        fit_model("y ~ nose", DATA)
    with pytest.raises(DataError, match="not defined"):
        fit_model("log(y) ~ x", DATA)
    with pytest.raises(DataError, match="told apart"):
        fit_model("y ~ x + z", DATA | {"z": 2 * DATA["x"]})
    with pytest.raises(OptionError, match="family"):
        fit_model("y ~ x", DATA, "weibull")
    with pytest.raises(OptionError, match="several"):
        combine([1.0], [1.0], n=10, k=10, rule="partial")
    with pytest.raises(OptionError, match="no synthetic file"):
        fit_synthetic("y ~ x", [])


def test_rules_of_the_spec_by_hand():
    q = [10, 12, 11, 13, 9]
    u = [4.0, 4.8, 3.2, 4.4, 3.6]
    negative = combine(q, u, n=50, k=50, rule="full")
    assert negative.negative[0]
    assert np.isnan(negative.variances[0])
    adjusted = combine(q, u, n=50, k=50, rule="full-adjusted")
    assert adjusted.variances[0] == pytest.approx(4)
    assert adjusted.df[0] == pytest.approx(0.4444444, rel=1e-6)
    assert combine(q, [1.0, 1.2, 0.8, 1.1, 0.9], n=50, k=50).variances[0] == pytest.approx(1.2)


def test_a_copy_overlaps_wholly_and_noise_does_not():
    y = 2 * DATA["x"] + DATA["y"]
    real = DATA | {"y": y}
    assert fit_synthetic("y ~ x + g", [real, real]).compare(real).value == pytest.approx(1)
    result = fit_synthetic("y ~ x + g", [real | {"y": RNG.permutation(y)}]).compare(real)
    assert result.value < 0
    assert result.values["lack_of_fit_p"] < 1e-6
    assert "do not touch" in result.sentence
    assert result.chart().to_dict()["layer"]


def test_the_rule_follows_how_the_files_were_made():
    fit = fit_synthetic("y ~ x", [DATA, DATA], kept=["x"])
    assert fit.rule(population=True) == "partial"
    assert fit_synthetic("y ~ x", [DATA, DATA], kept=["g"]).rule(population=True) == "complete"
    assert fit_synthetic("y ~ x", [DATA, DATA], proper=True).rule(population=True) == "complete-proper"
