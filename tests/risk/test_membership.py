"""Membership inference, shadow models and ε in attack terms."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius import DaleniusError, Pair, Table, make_synthesizer
from dalenius.core.random import Seed, generator
from dalenius.data import examples
from dalenius.risk import (
    best_attack,
    epsilon_from_attack,
    epsilon_in_words,
    membership_density,
    shadow_audit,
)
from dalenius.risk.membership.curve import Curve
from dalenius.risk.membership.margins import margin_ratios
from dalenius.risk.membership.shadow import likelihood_ratios

COLUMNS = ["region", "sex", "age", "income", "bmi", "health"]


def test_curve_against_all_pairs() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, 40).astype(float), rng.integers(0, 4, 30).astype(float)
    pairs = (a[:, None] > b).mean() + (a[:, None] == b).mean() / 2
    assert Curve(a, b).auc == pytest.approx(pairs)
    assert Curve(a, b).tpr_at(0.1) <= 1
    assert Curve(np.ones(50), np.zeros(50)).tpr_at(0.01) == 1
    assert Curve(np.zeros(50), np.zeros(50)).tpr_at(0.01) == 0


def test_margin_ratios_by_hand() -> None:
    rng = np.random.default_rng(1)
    inside, made, outside = (
        {c: rng.integers(0, k, n).astype(str) for c, k in (("a", 3), ("b", 4), ("c", 2))}
        for n in (20, 30, 25)
    )
    found = margin_ratios(Pair(inside, made, outside), 2, np.arange(15, 25), np.arange(15))
    wanted = np.zeros(20), np.zeros(25)
    for x, y in (("a", "b"), ("a", "c"), ("b", "c")):
        s = Counter(zip(made[x], made[y], strict=True))
        r = Counter(zip(outside[x][:15], outside[y][:15], strict=True))
        cells = 0.5 * len(set(s) | set(r))
        for who, sums in zip((inside, outside), wanted, strict=True):
            for i, cell in enumerate(zip(who[x], who[y], strict=True)):
                sums[i] += np.log((s[cell] + 0.5) / (30 + cells)) - np.log((r[cell] + 0.5) / (15 + cells))
    assert found[0] == pytest.approx(wanted[0])
    assert found[1] == pytest.approx(wanted[1][15:])


@pytest.mark.slow
def test_margins_give_members_away_and_epsilon_hides_them() -> None:
    """Independent columns keep the exact margins of a small file; with ε = 1 they tell much less."""
    columns = [*COLUMNS, "education", "employment", "marital", "diagnosis", "visits"]
    found: dict[str, list[float]] = {"independent": [], "private": [], "fresh": []}
    public = {"domain": "from-data", "grouping": "equal-width"}
    private = make_synthesizer("loglinear", epsilon=1.0, margins=[("region", "sex")], **public)
    for seed in range(12):
        inside, outside, fresh = (examples.survey(200, seed=3 * seed + i).select(columns) for i in range(3))
        table = Table.from_frame(inside)
        files = {
            "independent": make_synthesizer("independent").fit(table, seed=seed).sample(2000, seed=1),
            "private": private.fit(table, seed=seed).sample(2000, seed=1),
            "fresh": fresh,
        }
        for name, file in files.items():
            found[name].append(membership_density(Pair(inside, file, outside), margins=1).value)
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    assert mean["independent"] > 0.54
    assert mean["independent"] > mean["private"] + 0.02
    assert mean["fresh"] < 0.51


def test_margins_that_cannot_be_compared_are_refused() -> None:
    data = {"a": ["x", "y"] * 10, "b": ["u", "v"] * 10}
    for wrong in (0, 3):
        with pytest.raises(DaleniusError, match="columns"):
            membership_density(Pair(data, data, data), margins=wrong)


def test_shadow_models_tell_a_bootstrap_from_independent_columns() -> None:
    table = Table.from_frame(examples.survey(400, seed=1).select(COLUMNS))
    leaky = shadow_audit(table, make_synthesizer("bootstrap"), runs=8, candidates=80, seed=1)
    safe = shadow_audit(table, make_synthesizer("independent"), runs=8, candidates=80, seed=1)
    assert leaky.curve.interval().low > safe.curve.interval().high
    assert safe.curve.auc == pytest.approx(0.5, abs=0.12)  # its values are still those of members
    assert leaky.included.mean() == pytest.approx(0.5, abs=0.01)
    result = leaky.result()
    assert result.values["ε at least"] > 1
    assert leaky.exposure().columns == ["row", "exposure"]


def test_shadow_models_take_any_callable_and_repeat() -> None:
    table = Table.from_frame(examples.survey(120, seed=2).select(COLUMNS))
    runs = [shadow_audit(table, lambda t, seed: t, runs=4, candidates=30, seed=3).curve.auc for _ in range(2)]
    assert runs[0] == runs[1] > 0.9
    with pytest.raises(DaleniusError):
        shadow_audit(table, lambda t, seed: t, runs=2)


@given(st.floats(0.01, 6), st.floats(0.001, 0.4))
def test_epsilon_and_back(epsilon: float, fpr: float) -> None:
    found = best_attack(epsilon, fpr)
    assert fpr <= found <= 1
    if found < 1:
        assert epsilon_from_attack(found, fpr) == pytest.approx(epsilon, rel=1e-6)


def test_epsilon_in_words_is_monotone() -> None:
    table = epsilon_in_words(1.0).table
    assert (np.diff(table["members found"].to_numpy()) > 0).all()
    assert best_attack(float("inf")) == 1
    with pytest.raises(DaleniusError):
        best_attack(-1)


def test_a_release_that_ignores_the_data_rules_out_no_budget() -> None:
    rng = np.random.default_rng(8)
    data = {c: rng.normal(size=120) for c in "xy"}

    def noise(table: Table, seed: Seed) -> Table:
        made = generator(seed, "noise").normal(size=(60, 2))
        return Table.from_frame({"x": made[:, 0], "y": made[:, 1]})

    floors = [
        shadow_audit(data, noise, runs=6, candidates=50, seed=s).result().values["ε at least"]
        for s in range(5)
    ]
    assert max(floors) == 0, "what few false accusations hide must not be read as a leak"


@pytest.mark.parametrize(
    ("common", "own"), [(0.5, 0.0), (0.0, 3.0)], ids=["everybody a little", "some a lot"]
)
def test_few_runs_are_read_as_well_as_the_law_allows(common: float, own: float) -> None:
    # Who knows each candidate's level, spread and shift reaches the oracle's AUC; with 16 runs the rule must come near,
    # whether the shift is everybody's or each his own.
    rng = np.random.default_rng(4)
    people, runs = 4000, 16
    level, scale = rng.normal(0, 5, people), rng.uniform(0.5, 2, people)
    shift = scale * (common + own * rng.normal(size=people))
    included = (
        np.tile(rng.random((runs // 2, people)) < 0.5, (2, 1)) ^ (np.arange(runs) >= runs // 2)[:, None]
    )
    statistic = level + included * shift + scale * rng.normal(size=(runs, people))
    member = np.arange(people) < people // 2
    observed = level + member * shift + scale * rng.normal(size=people)
    ratios = likelihood_ratios(statistic, included, observed)
    z, d = (observed - level) / scale, shift / scale
    oracle = z * d - d**2 / 2
    reached, best = (Curve(each[member], each[~member]).auc for each in (ratios, oracle))
    assert best - 0.02 < reached <= best + 0.01
