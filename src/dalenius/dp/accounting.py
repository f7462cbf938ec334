"""From zero-concentrated privacy to (ε, δ) and back.

ρ-zCDP (Bun and Steinke 2016) adds up exactly when mechanisms are composed. The conversion is that of Canonne,
Kamath and Steinke (2020), Proposition 12: δ = min over α > 1 of exp((α-1)(αρ-ε)) / (α-1) · (1 - 1/α)^α.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dalenius.core.errors import OptionError

_STEPS = 100
"""Halvings of an interval: far beyond the digits of a double."""


def delta_of_rho(rho: float, epsilon: float) -> float:
    """Smallest δ such that every ρ-zCDP mechanism is (ε, δ)-DP, by the conversion above.

    Examples
    --------
    >>> round(delta_of_rho(0.01, 1.0), 12)
    0.0
    >>> delta_of_rho(0.1, 1.0) < delta_of_rho(0.1, 0.5)
    True
    """
    if not (0 <= rho < math.inf and 0 <= epsilon < math.inf):
        raise OptionError("rho and epsilon must be finite numbers of 0 or more")
    if rho == 0:
        return 0.0
    # The exponent is convex in α: find where its derivative changes sign.
    low, high = 1.01, (epsilon + 1) / (2 * rho) + 2
    for _ in range(_STEPS):
        alpha = (low + high) / 2
        slope = (2 * alpha - 1) * rho - epsilon + math.log1p(-1.0 / alpha)
        low, high = (alpha, high) if slope < 0 else (low, alpha)
    log_delta = (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)
    return min(1.0, math.exp(log_delta))


@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """Smallest ε such that every ρ-zCDP mechanism is (ε, δ)-DP.

    Examples
    --------
    >>> round(epsilon_of_rho(rho_of_epsilon(1.0, 1e-9), 1e-9), 6)
    1.0
    """
    _check_delta(delta)
    if not 0 <= rho < math.inf:
        raise OptionError(f"rho must be a finite number of 0 or more, got {rho}")
    if rho == 0:
        return 0.0
    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of_rho(rho, middle) <= delta else (middle, high)
    return high


@lru_cache(maxsize=1024)
def rho_of_epsilon(epsilon: float, delta: float) -> float:
    """Largest ρ such that every ρ-zCDP mechanism is (ε, δ)-DP.

    Examples
    --------
    >>> round(rho_of_epsilon(1.0, 1e-9), 5)
    0.01497
    """
    _check_delta(delta)
    if not 0 < epsilon < math.inf:
        raise OptionError(f"epsilon must be a finite number above 0, got {epsilon}")
    low, high = 0.0, epsilon + 1
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of_rho(middle, epsilon) <= delta else (low, middle)
    return low


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise OptionError(f"delta must lie between 0 and 1 (both excluded) for this accounting, got {delta}")
