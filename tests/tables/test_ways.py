"""Adjusting, rounding, filling in and optimal patterns against enumeration; all ways side by side."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.dp.budget import Budget
from dalenius.tables import (
    FewContributors,
    PPercent,
    SmallCount,
    adjust,
    compare_ways,
    controlled_round,
    define,
    fill_in,
    noisy_table,
    protect,
    protect_optimal,
)
from dalenius.tables.adjust import protection_levels
from tests.tables.exact import computable


def square(counts, rows=2, columns=2):
    names = [(f"r{i}", f"c{j}") for i in range(rows) for j in range(columns)]
    return define(
        {"r": [n[0] for n in names], "c": [n[1] for n in names], "n": counts}, by=["r", "c"], freq="n"
    )


def firms(seed, size=30):
    rng = np.random.default_rng(seed)
    data = {"r": rng.choice(list("xyz"), size), "c": rng.choice(list("pqrs"), size),
            "firm": rng.choice(list("ABCDEFGHI"), size), "v": np.round(rng.lognormal(2, 1, size), 1)}  # fmt: skip
    return define(data, by=["r", "c"], value="v", contributor="firm")


def exactly_additive(altered):
    """In whole units of the last decimal, by Python integers."""
    model, matrix = altered.model, altered.model.matrix
    unit = 10**model.decimals
    shown = [round(Fraction(str(v)) * unit) for v in altered.values.tolist()]
    inside = [matrix.indices[matrix.indptr[j] : matrix.indptr[j + 1]].tolist() for j in range(len(shown))]
    single = {rows[0]: shown[j] for j, rows in enumerate(inside) if len(rows) == 1}
    return all(shown[j] == sum(single[i] for i in rows) for j, rows in enumerate(inside))


@pytest.mark.parametrize("seed", range(8))
def test_adjustment_equals_enumeration(seed):
    counts = np.random.default_rng(seed).integers(0, 7, 4)
    assert counts.sum()
    model = square(counts.tolist())
    rule = SmallCount(2)
    marked = rule.protects(model).mask
    levels = protection_levels(model, marked, np.zeros(len(marked)), 10.0)
    changes = np.array(list(product(range(-6, 7), repeat=4)))
    changes = changes[(counts + changes >= 0).all(axis=1)]
    moved = np.abs(model.matrix.T @ changes.T)
    best = moved[:, (moved >= levels[:, None])[marked].all(axis=0)].sum(axis=0).min()
    found = adjust(model, rule)
    assert found.proved
    assert np.abs(found.values - model.amount).sum() == pytest.approx(best)
    assert found.objective == pytest.approx(best)
    assert exactly_additive(found)


@pytest.mark.parametrize("seed", range(6))
def test_adjustment_of_sums_meets_the_protection_levels(seed):
    model = firms(seed)
    rules = (FewContributors(2), PPercent(10))
    found = adjust(model, *rules)
    asked = [rule.protects(model) for rule in rules]
    marked = asked[0].mask | asked[1].mask
    levels = protection_levels(model, marked, np.maximum(asked[0].upper, asked[1].upper), 10.0)
    assert (np.abs(found.values - model.amount)[marked] >= levels[marked] - 1e-9).all()
    assert (found.values >= 0).all()
    assert exactly_additive(found)
    assert found.proved or 0 < found.gap < 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("base", [3, 5])
def test_controlled_rounding_equals_enumeration(seed, base):
    counts = np.random.default_rng(seed).integers(0, 12, 6)
    model = square(counts.tolist(), 2, 3)
    best = np.inf
    for steps in product(*[(0,) if c % base == 0 else (0, 1) for c in counts]):
        inner = base * (counts // base + np.array(steps))
        totals, truth = model.matrix.T @ inner, model.amount
        over = np.maximum(
            0, np.maximum(np.floor(truth / base) * base - totals, totals - np.ceil(truth / base) * base)
        )
        keep = (model.sizes > 1) & _first_of_kind(model)
        best = min(best, np.abs(inner - counts).sum() + 1e3 * (over[keep]).sum())
    found = controlled_round(model, base)
    assert found.proved
    assert found.objective == pytest.approx(best)
    assert (found.values % base == 0).all()
    assert (np.abs(found.values - model.amount) < base).all()
    assert exactly_additive(found)


def _first_of_kind(model):
    dense = [tuple(column) for column in model.matrix.toarray().T]
    return np.array([dense.index(column) == j for j, column in enumerate(dense)])


@pytest.mark.parametrize("seed", range(8))
def test_filled_in_values_fit_and_come_from_the_published_cells_alone(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 15, 12)
    model = square(counts.tolist(), 3, 4)
    result = protect(model, SmallCount(3))
    filled = fill_in(result)
    assert exactly_additive(filled)
    assert (filled.values >= 0).all()
    np.testing.assert_array_equal(filled.values[~result.suppressed], model.amount[~result.suppressed])
    # Another table with the same published cells gets the same numbers: they tell nothing else.
    other = square(np.asarray(filled.values[model.sizes == 1], np.int64).tolist(), 3, 4)
    from dataclasses import replace

    again = fill_in(replace(result, model=other))
    np.testing.assert_array_equal(again.values, filled.values)


def test_filled_in_sums_have_the_decimals_of_the_data():
    result = protect(firms(2))
    filled = fill_in(result)
    assert result.suppressed.any()
    assert exactly_additive(filled)
    np.testing.assert_allclose(filled.values * 10, np.rint(filled.values * 10), atol=1e-6)


def test_an_unsafe_table_is_not_filled_in():
    model = square([1, 7, 9, 5])
    leaky = protect(model, SmallCount(3), forced=np.arange(9) != 5)
    if not leaky.checked.passed:
        with pytest.raises(DataError, match="not safe"):
            fill_in(leaky)


@pytest.mark.parametrize("seed", range(6))
def test_the_optimal_pattern_equals_enumeration(seed):
    """The fewest cells such that every primary cell stays uncertain; tried out one pattern after the other."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 15, 6)
    counts[int(rng.integers(6))] = 1
    model = square(counts.tolist(), 2, 3)
    rule = SmallCount(2, protect_zeros=False)
    primary = np.flatnonzero(rule.protects(model).mask)
    others = [j for j in range(12) if j not in primary]
    best = next(
        size
        for size in range(len(others) + 1)
        for chosen in _chosen(others, size)
        if _safe(model, primary, chosen)
    )
    found = protect_optimal(model, rule)
    assert int(found.secondary.sum()) == best
    assert "No pattern with less loss exists" in str(found)
    assert not computable(model.matrix, ~found.suppressed, primary)
    assert found.checked.passed
    greedy = protect_optimal(model, rule, how="sequential")
    assert greedy.checked.passed
    assert int(greedy.secondary.sum()) >= best


def _chosen(others, size):
    from itertools import combinations

    return combinations(others, size)


def _safe(model, primary, chosen):
    known = np.ones(len(model.cells), bool)
    known[[*primary, *chosen]] = False
    from dalenius.tables import feasibility_intervals

    found = feasibility_intervals(model.matrix, model.amount, known, primary, inner=model.counts * 1.0)
    return bool((found.width >= 1 - 1e-6).all())


def test_optimal_loses_no_more_than_the_elimination():
    for seed in range(4):
        model = firms(seed)
        best, plain = protect_optimal(model, PPercent(10)), protect(model, PPercent(10))
        assert best.checked.passed
        assert best.suppressed.sum() <= plain.suppressed.sum() or "asked for" in str(best)


def test_noise_under_a_budget_adds_up_and_is_paid_for():
    model = square([40, 70, 90, 55])
    budget = Budget(epsilon=0.5)
    noisy = noisy_table(model, budget, assume_public_codes=True)
    assert exactly_additive(noisy)
    assert budget.left == 0
    assert "Laplace" in str(budget)
    with pytest.raises(OptionError, match="cost"):
        noisy_table(model, budget, assume_public_codes=True)
    with pytest.raises(OptionError, match="public"):
        noisy_table(model, Budget(epsilon=1.0))
    with pytest.raises(OptionError, match="limit="):
        noisy_table(firms(1), Budget(epsilon=1.0), assume_public_codes=True)
    assert exactly_additive(noisy_table(firms(1), Budget(epsilon=1.0), limit=50, assume_public_codes=True))


def test_noise_has_the_scale_of_its_price():
    """The variance of discrete Laplace noise of scale 1/ε on counts, over many cells."""
    model = define({"a": [f"c{i:04d}" for i in range(3000)], "n": [50] * 3000}, by="a", freq="n")
    noisy = noisy_table(model, Budget(epsilon=0.5), assume_public_codes=True)
    change = (noisy.values - model.amount)[1:]
    p = np.exp(-0.5)
    assert change.var() == pytest.approx(2 * p / (1 - p) ** 2, rel=0.3)


def test_all_ways_side_by_side():
    counts = square([1, 7, 9, 5, 2, 8, 6, 9, 12], 3, 3)
    found = compare_ways(counts, SmallCount(3), key=b"secret").table
    assert set(found["way"]) >= {
        "suppression",
        "optimal",
        "adjusted",
        "filled in",
        "controlled rounding",
        "budget",
    }
    by = {row["way"]: row for row in found.iter_rows(named=True)}
    assert by["suppression"]["audit"] == "passed"
    assert by["adjusted"]["known_percent"] == 0
    assert by["optimal"]["cells_lost"] <= by["suppression"]["cells_lost"]
    for way in ("adjusted", "filled in", "controlled rounding", "budget"):
        assert by[way]["not_additive"] == 0
    sums = compare_ways(firms(3), key=b"secret", limit=60.0)
    assert "random rounding" not in sums.outcomes
    assert "cell keys" in sums.outcomes
    assert "description" in sums.chart().to_dict()
    with pytest.raises(OptionError, match="unknown ways"):
        compare_ways(counts, ways=["magic"])


def test_linked_ways_are_on_the_same_map():
    data = {"sex": list("ffmmff"), "job": list("ababcc"), "age": list("yooyyo"), "n": [2, 9, 8, 7, 6, 5]}
    model = define(data, tables={"jobs": ["sex", "job"], "ages": ["sex", "age"]}, freq="n")
    found = compare_ways(model, SmallCount(3), ways=["linked: global", "linked: consistent"]).table
    assert found["audit"].to_list() == ["passed", "passed"]


def test_a_limit_for_sums_does_not_blow_up_the_noise_of_counts():
    model = define({"a": list("xy") * 500}, by="a")
    with pytest.raises(OptionError, match="for sums"):
        noisy_table(model, Budget(epsilon=1.0), limit=200, assume_public_codes=True)
    row = compare_ways(model, ways=["budget"], limit=200.0).table.row(0, named=True)
    assert row["error_percent"] < 10
