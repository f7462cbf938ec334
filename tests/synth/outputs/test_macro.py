"""Unit records from published aggregates (Aghaddar et al. 2024)."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.pair import Pair
from dalenius.data import examples
from dalenius.data.rules import Rule
from dalenius.data.table import Table
from dalenius.risk.distance.new_rows import new_row_curve, new_rows
from dalenius.synth.outputs import (
    MacroData,
    MacroToMicro,
    Marginal,
    latent_correlation,
    match_categories,
    repaired,
)
from dalenius.utility.distributions import ks_distance


def test_moments_correlations_and_repair():
    assert Marginal("lognormal", 100, 200).parameters == pytest.approx((3.8004512, 1.2686362), abs=5e-8)
    assert Marginal("beta", 0.2, 0.1).parameters == pytest.approx((3, 12))
    wide = Marginal("lognormal", 1, 2)
    assert latent_correlation(wide, wide, 0.8)[0] == pytest.approx(0.8916681, abs=5e-8)
    assert latent_correlation(wide, wide, -0.2)[0] == pytest.approx(-1.0, abs=1e-9)
    assert latent_correlation(wide, wide, -0.3) == (-1.0, False)
    assert latent_correlation(Marginal("normal", 0, 1), wide, 0.5)[0] == pytest.approx(
        0.5 * 1.5764960, abs=1e-7
    )
    made, moved = repaired([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    assert made[np.triu_indices(3, 1)] == pytest.approx([0.5, -0.5, 0.5])
    assert moved > 0


@pytest.mark.parametrize("family", ["gamma", "exponential", "beta"])
def test_other_families_reach_their_moments_and_correlation(family):
    mean, sd = (0.3, 0.1) if family == "beta" else (2.0, 2.0)
    first, second = Marginal(family, mean, sd), Marginal("lognormal", 1, 0.5)
    rho, reached = latent_correlation(first, second, 0.4)
    assert reached
    z = np.random.default_rng(1).multivariate_normal([0, 0], [[1, rho], [rho, 1]], 200_000)
    x, y = first.at(z[:, 0]), second.at(z[:, 1])
    assert x.mean() == pytest.approx(mean, rel=0.02)
    assert x.std() == pytest.approx(sd, rel=0.03)
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.4, abs=0.02)


def test_rules_before_and_after():
    rows = {"a": [10, 4, 8, 0, 20], "b": [5, -1, 2, 0, 30], "total": [15, 3, 11, 0, 50]}
    table = Table.from_frame(rows)
    broken = {t: int(Rule.parse(t).violations(table).sum()) for t in ("total == a + b", "a >= 0", "b >= 0")}
    assert broken == {"total == a + b": 1, "a >= 0": 0, "b >= 0": 1}


def test_new_rows_of_the_worked_example():
    real = {"a": [100, 200, 300], "c": list("xyz")}
    made = {"a": [101, 150, 300, 0], "c": list("xyzx")}
    assert [new_rows(Pair(real, made), tolerance=t).value for t in (0.0, 0.01, 0.5)] == [25, 50, 75]


def companies():
    frame = examples.companies(600, seed=1)
    numbers = [c for c in frame.columns if frame[c].dtype.is_numeric()]
    return frame, [c for c in numbers if frame[c].null_count() == 0 and frame[c].std() > 0][:4]


@pytest.mark.parametrize("knowledge", ["none", "internal", "macro"])
def test_totals_are_exact_in_every_scenario(knowledge):
    frame, variables = companies()
    macro = MacroData.from_microdata(frame, variables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = MacroToMicro(macro, knowledge).sample(seed=2)
    assert made.height == frame.height
    for name in variables:
        assert made[name].sum() == pytest.approx(float(frame[name].sum()), rel=1e-9)
        if name in macro.nonnegative:
            assert made[name].min() >= 0


def test_whole_numbers_outside_guesses_and_what_no_knowledge_means():
    table = {"s": ["a", "b"], "x": [900.0, 500.0], "y": [10.0, -30.0], "n": [9, 20]}
    macro = MacroData.from_table(table, "s", ["x", "y"], "n", nonnegative=["x"])
    made = MacroToMicro(macro, whole=True).sample(seed=1)
    assert made.group_by("stratum").agg(pl.col("x", "y").sum()).sort("stratum").rows() == [
        ("a", 900.0, 10.0), ("b", 500.0, -30.0),
    ]  # fmt: skip
    assert made["x"].to_list() == made["x"].round().to_list()
    guess = MacroToMicro(macro).with_knowledge([20.0, 5.0], [[1, 0.5], [0.5, 1]], "an expert, 2025")
    assert guess.macro.note == "an expert, 2025"
    assert guess.sample(seed=1).height == 29
    assert MacroToMicro(macro).sample(seed=3).equals(MacroToMicro(macro).sample(seed=3))


def test_small_strata_and_bad_input_are_refused():
    with pytest.raises(DataError, match="fewer than three units"):
        MacroData.from_table({"s": ["a"], "x": [5.0], "n": [2]}, "s", ["x"], "n")
    for none in (None, float("nan")):
        with pytest.raises(DataError, match="some totals are suppressed"):
            MacroData.from_table({"s": ["a", "b"], "x": [5.0, none], "n": [9, 9]}, "s", ["x"], "n")
    with pytest.raises(DataError, match="cannot be negative"):
        MacroData.from_table({"s": ["a"], "x": [-5.0], "n": [9]}, "s", ["x"], "n", nonnegative=["x"])
    with pytest.raises(OptionError, match="needs sd and correlation"):
        MacroToMicro(MacroData.from_table({"s": ["a"], "x": [5.0], "n": [9]}, "s", ["x"], "n"), "external")


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        ({"families": {"y": "lognormal"}}, "'y': a lognormal needs means above 0"),
        ({"families": {"x": "beta"}}, "'x': a beta needs means below 1"),
        ({"families": {"x": "normal"}, "nonnegative": ["x"]}, "'x' cannot be negative, but a normal can"),
        ({"correlation": np.eye(3)}, "not 2 × 2"),
        ({"sd": np.ones((3, 2))}, "not 1 × 2"),
    ],
)
def test_what_no_distribution_can_do_is_refused_before_drawing(facts, match):
    table = {"s": ["a"], "x": [50.0], "y": [-3.0], "n": [9]}
    with pytest.raises(DataError, match=match):
        MacroData.from_table(table, "s", ["x", "y"], "n", **facts)


def test_misspelt_options_and_columns_that_do_not_vary():
    macro = MacroData.from_microdata({"x": [1.0, 1.0, 1.0, 1.0], "y": [1.0, 2.0, 3.0, 5.0]}, ["x", "y"])
    assert MacroToMicro(macro, "internal").sample(seed=1)["x"].to_list() == [1.0] * 4
    with pytest.raises(OptionError, match="internal"):
        MacroToMicro(macro, "inside")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="pearson"):
        MacroToMicro(macro, match="spearman")  # type: ignore[arg-type]


@pytest.mark.parametrize("match", ["latent", "pearson"])
def test_totals_of_every_stratum_are_those_of_the_companies(match):
    frame, variables = companies()
    sizes = frame.group_by("industry").len().filter(pl.col("len") >= 3)["industry"]
    frame = frame.filter(pl.col("industry").is_in(sizes.implode()))
    macro = MacroData.from_microdata(frame, variables, strata="industry")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = MacroToMicro(macro, "internal", match=match).sample(seed=1)
    held = made.group_by("stratum").agg(pl.col(variables).sum()).sort("stratum")
    true = frame.group_by("industry").agg(pl.col(variables).sum()).sort("industry")
    assert held.height > 5
    for name in variables:
        assert held[name].to_numpy() == pytest.approx(true[name].to_numpy().astype(float), rel=1e-9)


def test_more_knowledge_of_the_companies_gives_nearer_distributions_and_no_copies():
    frame, variables = companies()
    macro = MacroData.from_microdata(frame, variables)
    near = {"none": [], "internal": []}
    for knowledge, found in near.items():
        for seed in range(5):
            made = MacroToMicro(macro, knowledge, match="latent").sample(seed=seed)
            found.append(
                np.mean([1 - ks_distance(frame[v].to_numpy(), made[v].to_numpy()) for v in variables])
            )
    assert np.mean(near["internal"]) > np.mean(near["none"])
    curve = new_row_curve(Pair(frame.select(variables), made.select(variables)))["protected"].to_numpy()
    assert (np.diff(curve) <= 0).all()
    assert curve[2] > 0.95


def test_no_knowledge_depends_on_the_totals_alone():
    frame, variables = companies()
    shuffled = frame.select(frame[v].shuffle(seed=i) for i, v in enumerate(variables))
    one, two = (
        MacroToMicro(MacroData.from_microdata(f, variables)).sample(seed=4) for f in (frame, shuffled)
    )
    assert one.equals(two)


def test_similarity_of_the_worked_examples():
    pairs = (([1, 2, 3, 4], [1, 2, 3, 10]), ([1, 2, 3, 4, 5], [3, 4, 5, 6, 7]))
    assert [1 - ks_distance(np.array(a, float), np.array(b, float)) for a, b in pairs] == pytest.approx(
        [0.75, 0.6]
    )


def test_scaling_does_not_change_a_normal_copula():
    table = {"s": ["a"], "x": [900.0], "y": [10.0], "n": [50]}
    scaled = {"s": ["a"], "x": [9.0], "y": [10.0], "n": [50]}
    results = []
    for t, k in ((table, 100.0), (scaled, 1.0)):
        macro = MacroData.from_table(t, "s", ["x", "y"], "n")
        known = MacroToMicro(macro).with_knowledge([2.0 * k, 1.0], [[1, 0.5], [0.5, 1]], "")
        results.append(known.sample(seed=1)["x"].to_numpy() / k)
    assert results[0] == pytest.approx(results[1])


def test_categories_meet_their_margins():
    rng = np.random.default_rng(1)
    scores = rng.random((60, 4))
    found = match_categories(scores, [5, 25, 20, 10])
    assert np.bincount(found).tolist() == [5, 25, 20, 10]
    with pytest.raises(OptionError, match="do not add up"):
        match_categories(scores, [1, 2, 3, 4])
