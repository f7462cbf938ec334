"""Membership inference, shadow models and ε in attack terms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius import DaleniusError, Table, make_synthesizer
from dalenius.data import examples
from dalenius.risk import best_attack, epsilon_from_attack, epsilon_in_words, shadow_audit
from dalenius.risk.membership.curve import Curve

COLUMNS = ["region", "sex", "age", "income", "bmi", "health"]


def test_curve_against_all_pairs() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, 40).astype(float), rng.integers(0, 4, 30).astype(float)
    pairs = (a[:, None] > b).mean() + (a[:, None] == b).mean() / 2
    assert Curve(a, b).auc == pytest.approx(pairs)
    assert Curve(a, b).tpr_at(0.1) <= 1
    assert Curve(np.ones(50), np.zeros(50)).tpr_at(0.01) == 1
    assert Curve(np.zeros(50), np.zeros(50)).tpr_at(0.01) == 0


def test_shadow_models_tell_a_bootstrap_from_independent_columns() -> None:
    table = Table.from_frame(examples.survey(400, seed=1).select(COLUMNS))
    leaky = shadow_audit(table, make_synthesizer("bootstrap"), runs=8, candidates=80, seed=1)
    safe = shadow_audit(table, make_synthesizer("independent"), runs=8, candidates=80, seed=1)
    assert leaky.curve.interval().low > safe.curve.interval().high
    assert safe.curve.auc == pytest.approx(0.5, abs=0.06)
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
