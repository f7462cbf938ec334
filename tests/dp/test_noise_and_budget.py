"""Noise has the law it claims, budgets add up, and repairs keep what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dalenius.core.errors import OptionError
from dalenius.dp import (
    Budget,
    add_gaussian,
    add_laplace,
    choose,
    clip,
    consistent,
    delta_of_rho,
    draw_geometric,
    epsilon_of_rho,
    rho_of_epsilon,
    simplex,
)


@pytest.mark.parametrize("scale", [0.5, 3.0, 21.0])
def test_laplace_has_its_variance(scale):
    drawn = add_laplace(np.zeros(20_000, np.int64), scale)
    p = math.exp(-1 / scale)
    assert drawn.var() == pytest.approx(2 * p / (1 - p) ** 2, rel=0.15)
    assert abs(drawn.mean()) < 6 * drawn.std() / math.sqrt(len(drawn))


def test_gaussian_has_its_deviation():
    assert add_gaussian(np.zeros(20_000, np.int64), 7.0).std() == pytest.approx(7.0, rel=0.03)


@pytest.mark.parametrize("scale", [0.3, 1.0, 6.0])
def test_geometric_draws_have_their_law(scale):
    drawn, p = draw_geometric(8000, scale), math.exp(-1 / scale)
    assert len(drawn) == 8000
    last = int(math.log(10 / 8000 / (1 - p)) / math.log(p)) + 1
    seen = np.bincount(np.minimum(drawn, last), minlength=last + 1)
    expected = np.append((1 - p) * p ** np.arange(last), p**last) * 8000
    assert stats.chisquare(seen, expected).pvalue > 1e-8


def test_units_of_several_records_cost_more():
    one, several = Budget(1.0, neighbours="replace"), Budget(1.0, neighbours="replace", records=3)
    assert (one.sensitivity, one.squared_sensitivity) == (2, 2)
    assert (several.sensitivity, several.squared_sensitivity) == (6, 18)
    assert "units of up to 3 records" in str(several)
    with pytest.raises(OptionError, match="at least 1 record"):
        Budget(1.0, records=0)


def test_noise_is_fresh_each_time():
    table = np.zeros(200, np.int64)
    assert not np.array_equal(add_laplace(table, 10.0), add_laplace(table, 10.0))


def test_choice_follows_the_exponential_mechanism():
    scores = np.array([0.0, 2.0, 4.0])
    times = np.bincount([choose(scores, 1.0, 1.0) for _ in range(3000)], minlength=3)
    expected = np.exp(scores / 2) / np.exp(scores / 2).sum()
    assert times / times.sum() == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_bad_scales_are_refused(bad):
    with pytest.raises(OptionError, match="noise scale"):
        add_laplace(np.array([1]), bad)


def test_noise_wants_whole_counts():
    with pytest.raises(OptionError, match="whole counts"):
        add_laplace(np.array([1.5]), 1.0)


def test_conversion_agrees_with_the_bound_it_improves():
    # Bun and Steinke 2016: ε = ρ + 2 √(ρ ln 1/δ) always suffices, so the tight conversion gives no more.
    for rho in (0.001, 0.05, 0.5, 3.0):
        loose = rho + 2 * math.sqrt(rho * math.log(1e9))
        assert epsilon_of_rho(rho, 1e-9) < loose
        assert delta_of_rho(rho, epsilon_of_rho(rho, 1e-9)) == pytest.approx(1e-9, rel=1e-6)
        assert rho_of_epsilon(epsilon_of_rho(rho, 1e-9), 1e-9) == pytest.approx(rho, rel=1e-6)


def test_sequential_spends_add_up_and_parallel_ones_do_not():
    budget = Budget(1.0)
    budget.spend("first", epsilon=0.4)
    for part in ("north", "south"):
        budget.spend("table", epsilon=0.6, part=("strata", part))
    assert budget.spent == pytest.approx(1.0)
    with pytest.raises(OptionError, match="would cost"):
        budget.spend("one more", epsilon=0.01)
    assert len(budget.spends) == 3, "a refused spend leaves no line"
    assert "[strata: north]" in str(budget)


def test_of_parts_the_one_that_paid_most_counts():
    budget = Budget(1.0)
    for part, price in (("north", 0.3), ("south", 0.5), ("north", 0.1)):
        budget.spend("table", epsilon=price, part=("strata", part))
    assert budget.spent == pytest.approx(0.5)
    budget.spend("table", epsilon=0.2, part=("strata", "north"))
    assert budget.spent == pytest.approx(0.6), "the north has paid 0.3, 0.1 and 0.2"


def test_zcdp_budget_is_spent_in_rho():
    budget = Budget(1.0, 1e-9)
    budget.spend("half", rho=budget.total / 2)
    budget.spend("other half", rho=budget.total / 2)
    assert "ε = 1, δ = 1e-09" in budget.guarantee
    with pytest.raises(OptionError):
        budget.spend("more", rho=budget.total / 100)


def test_approximate_accounting_adds_delta():
    budget = Budget(1.0, 1e-6, accounting="approximate")
    budget.spend("a", epsilon=0.5, delta=6e-7)
    with pytest.raises(OptionError):
        budget.spend("b", epsilon=0.1, delta=6e-7)


@pytest.mark.parametrize(
    "arguments",
    [
        (0.0,),
        (-1.0,),
        (math.nan,),
        (1.0, 1.0),
        (1.0, -0.1),
        (1.0, 0.0, "nobody"),
        (1.0, 0.1, "replace", "pure"),
    ],
)
def test_bad_budgets_are_refused(arguments):
    with pytest.raises(OptionError):
        Budget(*arguments)


def test_simplex_is_the_nearest_table():
    rng = np.random.default_rng(0)
    noisy = rng.normal(5, 10, 40)
    fair = simplex(noisy, 100.0)
    assert fair.min() >= 0
    assert fair.sum() == pytest.approx(100)
    others = rng.dirichlet(np.ones(40), 500) * 100
    assert np.linalg.norm(fair - noisy) <= np.linalg.norm(others - noisy, axis=1).min()


def test_clip_rescales():
    assert clip(np.array([-1.0, 1.0]), total=4).tolist() == [0.0, 4.0]
    assert clip(np.array([-1.0, -1.0]), total=4).tolist() == [2.0, 2.0]


def test_consistent_margins_agree_and_are_the_least_squares_solution():
    rng = np.random.default_rng(1)
    full = rng.gamma(1.0, size=(3, 4, 2)) * 100
    keys = [(0, 1), (1, 2), (0, 2)]
    exact = {k: full.sum(axis=tuple(a for a in range(3) if a not in k)) for k in keys}
    variances = {(0, 1): 4.0, (1, 2): 1.0, (0, 2): 9.0}
    noisy = {k: t + rng.normal(0, math.sqrt(variances[k]), t.shape) for k, t in exact.items()}
    agreed = consistent(noisy, variances, total=float(full.sum()), rounds=0, shrink=False)
    assert agreed[0, 1].sum(axis=0) == pytest.approx(agreed[1, 2].sum(axis=1))
    assert agreed[0, 1].sum(axis=1) == pytest.approx(agreed[0, 2].sum(axis=1))
    # The same by brute force: weighted least squares over full tables with the known total.
    rows, values, weights = [], [], []
    for key, table in noisy.items():
        for cell in np.ndindex(table.shape):
            mask = np.zeros(full.shape)
            where = [slice(None)] * 3
            for axis, code in zip(key, cell, strict=True):
                where[axis] = code
            mask[tuple(where)] = 1
            rows.append(mask.ravel())
            values.append(table[cell])
            weights.append(1 / math.sqrt(variances[key]))
    rows.append(np.ones(full.size))
    values.append(full.sum())
    weights.append(1e4)
    scaled = np.array(rows) * np.array(weights)[:, None]
    solved = np.linalg.lstsq(scaled, np.array(values) * weights, rcond=None)[0].reshape(full.shape)
    for key in keys:
        want = solved.sum(axis=tuple(a for a in range(3) if a not in key))
        assert agreed[key] == pytest.approx(want, abs=1e-3)


def test_consistent_margins_are_closer_to_the_truth():
    rng = np.random.default_rng(2)
    full = rng.gamma(0.3, size=(6, 6, 6)) * 50
    keys = [(0, 1), (1, 2), (0, 2)]
    exact = {k: full.sum(axis=tuple(a for a in range(3) if a not in k)) for k in keys}
    noisy = {k: t + rng.laplace(0, 20, t.shape) for k, t in exact.items()}
    fair = consistent(noisy, dict.fromkeys(keys, 800.0), total=float(full.sum()))
    plain = {k: clip(t, float(full.sum())) for k, t in noisy.items()}
    assert all(t.min() >= 0 for t in fair.values())
    error = [sum(float(np.abs(each[k] - exact[k]).sum()) for k in keys) for each in (fair, plain)]
    assert error[0] < error[1]


def test_shrinking_helps_where_noise_prevails_and_is_harmless_elsewhere():
    rng = np.random.default_rng(3)
    full = rng.gamma(2.0, size=(6, 6, 6)) * 20
    keys = [(0, 1), (1, 2), (0, 2)]
    exact = {k: full.sum(axis=tuple(a for a in range(3) if a not in k)) for k in keys}
    for scale, most in ((1000, 0.8), (1, 1.05)):
        errors = np.zeros(2)
        for _ in range(5):
            noisy = {k: t + rng.laplace(0, scale, t.shape) for k, t in exact.items()}
            for i, shrink in enumerate((True, False)):
                fair = consistent(
                    noisy, dict.fromkeys(keys, 2.0 * scale**2), float(full.sum()), shrink=shrink
                )
                errors[i] += sum(float(np.abs(fair[k] - exact[k]).sum()) for k in keys)
        assert errors[0] < most * errors[1]
