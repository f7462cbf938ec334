"""A privacy budget in attack terms: how many people the best attacker can find at a rate of false accusations.

Under (ε, δ)-differential privacy every test of "was this person in the data" obeys TPR <= e^ε FPR + δ and
1 - FPR <= e^ε (1 - TPR) + δ (Kairouz, Oh and Viswanath 2015).
"""

from __future__ import annotations

import math

from dalenius.core.errors import OptionError

LARGE = 700.0
"""Budget whose exponential still fits in a number; nothing is protected far below it."""


def best_attack(epsilon: float, fpr: float = 0.01, delta: float = 0.0) -> float:
    """Largest true-positive rate any attacker can have at a false-positive rate.

    Examples
    --------
    >>> round(best_attack(1.0), 4), best_attack(0.0), round(best_attack(10.0), 4)
    (0.0272, 0.01, 1.0)
    """
    check_rates(epsilon, fpr, delta)
    if epsilon > LARGE:
        return 1.0
    return min(1.0, math.exp(epsilon) * fpr + delta, 1 - math.exp(-epsilon) * (1 - delta - fpr))


def check_rates(epsilon: float, fpr: float, delta: float) -> None:
    """Refuse what is no budget and no rate."""
    if not epsilon >= 0 or not 0 <= delta < 1 or not 0 < fpr < 1:
        raise OptionError(
            "the budget (ε, μ or ρ) must be 0 or more, δ in [0, 1) and the false-positive rate in (0, 1)"
        )
