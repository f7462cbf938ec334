"""ε in attack terms: what a privacy budget lets the best attacker do, and back.

Under (ε, δ)-differential privacy every test of "was this person in the data" obeys TPR <= e^ε FPR + δ and
1 - FPR <= e^ε (1 - TPR) + δ (Kairouz, Oh and Viswanath 2015). Under μ-Gaussian privacy the trade-off is exactly that of
telling N(0, 1) from N(μ, 1) (Dong, Roth and Su 2022); ρ-zCDP is reported through μ = sqrt(2 ρ), exact for one Gaussian
release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

from dalenius.core.attack_terms import best_attack, check_rates
from dalenius.core.errors import OptionError
from dalenius.core.result import WHOLE, Result, figure


def epsilon_from_attack(tpr: float, fpr: float, delta: float = 0.0) -> float:
    """Smallest ε that an attack with these rates leaves possible (0 when it is no better than chance).

    Examples
    --------
    >>> round(epsilon_from_attack(0.0272, 0.01), 2)
    1.0
    """
    check_rates(0.0, fpr, delta)
    if not 0 <= tpr <= 1:
        raise OptionError("a true-positive rate lies between 0 and 1")
    first = math.log((tpr - delta) / fpr) if tpr > delta and fpr > 0 else (math.inf if tpr > delta else 0.0)
    rest = 1 - delta - fpr
    second = math.log(rest / (1 - tpr)) if tpr < 1 and rest > 0 else (math.inf if rest > 0 else 0.0)
    return max(0.0, first, second)


def best_attack_gaussian(mu: float, fpr: float = 0.01) -> float:
    """Largest true-positive rate under μ-Gaussian privacy.

    Examples
    --------
    >>> round(best_attack_gaussian(1.0), 4)
    0.0924
    """
    check_rates(mu, fpr, 0.0)
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(fpr) + mu)


def best_attack_zcdp(rho: float, fpr: float = 0.01) -> float:
    """Largest true-positive rate for one Gaussian release of ρ-zCDP.

    Examples
    --------
    >>> best_attack_zcdp(0.5) == best_attack_gaussian(1.0)
    True
    """
    check_rates(rho, fpr, 0.0)
    return best_attack_gaussian(math.sqrt(2 * rho), fpr)


def mu_from_attack(tpr: float, fpr: float) -> float:
    """Smallest μ of Gaussian privacy that an attack with these rates leaves possible (0: no better than chance).

    Examples
    --------
    >>> round(mu_from_attack(best_attack_gaussian(1.0), 0.01), 6)
    1.0
    """
    check_rates(0.0, fpr, 0.0)
    if not 0 <= tpr <= 1:
        raise OptionError("a true-positive rate lies between 0 and 1")
    if tpr in (0.0, 1.0):
        return 0.0 if tpr == 0 else math.inf
    normal = NormalDist()
    return max(0.0, normal.inv_cdf(tpr) - normal.inv_cdf(fpr))


def rho_from_attack(tpr: float, fpr: float) -> float:
    """Smallest ρ of zCDP that an attack on one Gaussian release leaves possible.

    Examples
    --------
    >>> round(rho_from_attack(best_attack_zcdp(0.5), 0.01), 6)
    0.5
    """
    return mu_from_attack(tpr, fpr) ** 2 / 2


def attack_table(
    epsilons: Sequence[float] = (0.1, 0.5, 1, 2, 3, 5, 8, 10), fpr: float = 0.01, delta: float = 0.0
) -> pl.DataFrame:
    """Budgets beside the best attacker's true-positive rate.

    Examples
    --------
    >>> attack_table([1.0]).columns
    ['epsilon', 'members found', 'times chance']
    """
    accused = [best_attack(e, fpr, delta) for e in epsilons]
    return pl.DataFrame(
        {
            "epsilon": [float(e) for e in epsilons],
            "members found": accused,
            "times chance": [f / fpr for f in accused],
        }
    )


def epsilon_in_words(epsilon: float, fpr: float = 0.01, delta: float = 0.0) -> Result:
    """A budget as a sentence a board can read.

    Examples
    --------
    >>> print(epsilon_in_words(1.0).sentence)
    With ε = 1, nobody who falsely accuses 1 % of outsiders can find more than 2.72 % of the people in the data, 2.7
    times what guessing finds.
    """
    found = best_attack(epsilon, fpr, delta)
    return Result(
        name="epsilon-in-words",
        value=found,
        sentence=f"With ε = {figure(epsilon)}, nobody who falsely accuses {figure(100 * fpr, '%')} of outsiders "
        f"can find more than {figure(100 * found, '%')} of the people in the data, {figure(round(found / fpr, 1))} "
        "times what guessing finds.",
        table=attack_table(fpr=fpr, delta=delta),
        counts=WHOLE,
        yardsticks={"chance": fpr},
    )


def attack_in_words(found: float, fpr: float = 0.01, delta: float = 0.0) -> Result:
    """What an attack's success says about the budget: the way back from `epsilon_in_words`.

    Examples
    --------
    >>> print(attack_in_words(0.0272).sentence)
    An attack that finds 2.72 % of the people in the data and falsely accuses 1 % of outsiders rules out every budget
    below ε = 1.
    """
    least = epsilon_from_attack(found, fpr, delta)
    return Result(
        name="attack-in-words",
        value=least,
        sentence=f"An attack that finds {figure(100 * found, '%')} of the people in the data and falsely accuses "
        f"{figure(100 * fpr, '%')} of outsiders "
        + (
            f"rules out every budget below ε = {figure(least)}."
            if least > 0
            else "is no better than chance, so that it rules out no budget."
        ),
        table=pl.DataFrame(
            {
                "budget": ["ε", "μ (Gaussian)", "ρ (one Gaussian release)"],
                "at least": [least, mu_from_attack(found, fpr), rho_from_attack(found, fpr)],
            }
        ),
        counts=WHOLE,
        yardsticks={"chance": 0.0},
    )


def privacy_loss(
    epsilons: Sequence[float],
    priors: Sequence[float] = (0.5, 0.01),
    *,
    rho: bool = False,
    delta: float = 1e-10,
) -> pl.DataFrame:
    """What privacy budgets promise: the bound on the likelihood ratio, on beliefs, and on telling who took part.

    ε is the privacy-loss bound; e^ε bounds the likelihood ratio between data sets that differ in one person. It is no
    "odds of disclosure". With ``rho`` the budgets are zCDP and turned into ε = ρ + 2 √(ρ ln(1/δ)); tighter
    conversions exist.

    Examples
    --------
    >>> privacy_loss([4.2]).select("e^ε", "belief from 0.5").row(0)
    (66.68633104092515, 0.985225...)
    """
    lines = []
    for given in epsilons:
        if not given >= 0:
            raise OptionError("a privacy budget cannot be negative")
        epsilon = given + 2 * math.sqrt(given * math.log(1 / delta)) if rho else given
        ratio = math.exp(epsilon) if epsilon < 700 else math.inf
        beliefs = {
            f"belief from {p:g}": 1.0 if math.isinf(ratio) else p * ratio / (1 - p + p * ratio)
            for p in priors
        }
        advantage = 1.0 if math.isinf(ratio) else (ratio - 1) / (ratio + 1)
        lines.append({"ε": epsilon, "e^ε": ratio, **beliefs, "most advantage": advantage})
    return pl.DataFrame(lines)


def bottom_up_noise(areas: int, cells: int, epsilon: float, sensitivity: float = 2.0) -> tuple[int, float]:
    """Cells a table of every area has, and the expected sum of the sizes of Laplace noise in them.

    Examples
    --------
    >>> bottom_up_noise(6_207_027, 25_956, 10.0)[0]
    161109592812
    """
    if not epsilon > 0:
        raise OptionError("a privacy budget for noise must be above 0")
    return areas * cells, areas * cells * sensitivity / epsilon
