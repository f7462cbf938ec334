"""Conversions of zero-concentrated privacy, beside the formula of the paper on a fine grid."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.dp import delta_of_rho, epsilon_of_rho, rho_of_epsilon


def by_grid(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke (2020), Proposition 12, minimised over many α."""
    alpha = 1 + np.geomspace(1e-2, 1e5, 400_001)
    logs = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
    return float(np.exp(logs.min()))


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5, 2.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_delta_is_the_least_of_the_formula(rho, epsilon):
    assert delta_of_rho(rho, epsilon) == pytest.approx(min(1.0, by_grid(rho, epsilon)), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_there_and_back(epsilon):
    rho = rho_of_epsilon(epsilon, 1e-6)
    assert by_grid(rho, epsilon) == pytest.approx(1e-6, rel=1e-5)
    assert epsilon_of_rho(rho, 1e-6) == pytest.approx(epsilon, rel=1e-9)
