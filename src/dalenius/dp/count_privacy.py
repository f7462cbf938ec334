"""Which (ε, δ) a count model supports.

Neighbouring tables differ by one person in one cell: a and a - 1. Two statements are told apart:

- *probabilistic* (pdp): with probability 1 - δ the synthetic count does not favour one table by more than e^ε;
- *differential privacy* (dp): P(S) ≤ e^ε P'(S) + δ for every set S and both directions. It is the tight one and
the one to publish.

Both are suprema over the original count a. The paper takes a = 1 as the worst case; for ε < 1 that is not so
(Jackson et al. 2024), so the supremum is computed. δ of this size (0.01 to 0.3) is far from what is usually called
differential privacy.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy import special

from dalenius.core.errors import OptionError
from dalenius.dp.count_laws import CountLaw, Poisson
from dalenius.dp.noise import FloatArray

Kind = Literal["dp", "pdp"]
GUARANTEE = 1e-6
"""Largest δ that is called a guarantee."""
LARGEST_COUNT = 2000
"""Original counts up to which the worst case is looked for; beyond, neighbours are ever harder to tell apart."""
_GRID_COUNT = 60
_TAIL = 40.0
"""Standard deviations after which a law has no mass left."""


def delta(
    epsilon: float,
    alpha: float,
    *,
    kind: Kind = "dp",
    law: CountLaw | None = None,
    largest: int = LARGEST_COUNT,
    copies: int = 1,
) -> float:
    """δ of a count model for a given ε.

    Parameters
    ----------
    epsilon, alpha
        Wanted ε, and the pseudo-count.
    kind
        "dp" for the exact (ε, δ)-DP value, "pdp" for the probabilistic one.
    law
        Distribution of the counts; Poisson by default.
    largest
        Original counts looked at.
    copies
        Synthetic tables released together (Poisson only): their sum says all that they say.

    Examples
    --------
    >>> round(delta(2.0, 1.0), 6), round(delta(2.0, 1.0, kind="pdp"), 6)
    (0.02561, 0.052653)
    """
    return float(delta_by_count(epsilon, alpha, kind=kind, law=law, largest=largest, copies=copies).max())


def delta_by_count(
    epsilon: float,
    alpha: float,
    *,
    kind: Kind = "dp",
    law: CountLaw | None = None,
    largest: int = LARGEST_COUNT,
    copies: int = 1,
) -> FloatArray:
    """δ for each original count 1, 2, …; the supremum is what holds for a table.

    Examples
    --------
    >>> int(delta_by_count(0.5, 1.0, kind="pdp").argmax()) + 1
    2
    """
    _check(epsilon, alpha, kind)
    chosen = law or Poisson()
    if isinstance(chosen, Poisson):
        counts = np.arange(1, largest + 1, dtype=np.float64)
        return _poisson(epsilon, counts + alpha, counts - 1 + alpha, kind, copies)
    if copies != 1:
        raise OptionError("several copies are accounted for with the Poisson law only")
    return _summed(epsilon, np.arange(min(largest, _GRID_COUNT) + 1, dtype=np.float64) + alpha, kind, chosen)


def _poisson(epsilon: float, high: FloatArray, low: FloatArray, kind: Kind, copies: int = 1) -> FloatArray:
    """Closed form: the likelihood ratio e^-m (high / low)^b rises with b, so the telling counts are tails."""
    step = np.log(high / low)
    most = np.floor((copies + epsilon) / step)  # the last count that is not too likely under ``high``
    least = np.ceil((copies - epsilon) / step)  # the first that is not too likely under ``low``
    up, down = copies * high, copies * low
    if kind == "pdp":
        outside = [special.pdtrc(most, mean) + _below(least, mean) for mean in (up, down)]
        return np.minimum(np.maximum(*outside), 1.0)
    first = special.pdtrc(most, up) - np.exp(epsilon) * special.pdtrc(most, down)
    second = _below(least, down) - np.exp(epsilon) * _below(least, up)
    return np.maximum(np.maximum(first, second), 0.0)


def _below(least: FloatArray, mean: FloatArray) -> FloatArray:
    """P(count < least)."""
    return np.where(least > 0, special.pdtr(np.maximum(least - 1, 0), mean), 0.0)


def _summed(epsilon: float, means: FloatArray, kind: Kind, law: CountLaw) -> FloatArray:
    """Any law: sum over counts far into the tail, for each pair of neighbouring means."""
    end = int(means[-1] + _TAIL * np.sqrt(law.variance(float(means[-1]))) + 100)
    logs = law.log_pmf(np.arange(end)[:, None], means[None, :])
    low, high = logs[:, :-1], logs[:, 1:]
    p, q = np.exp(high), np.exp(low)
    if kind == "pdp":
        telling = np.abs(high - low) > epsilon
        return np.minimum(np.maximum((p * telling).sum(axis=0), (q * telling).sum(axis=0)), 1.0)
    first = np.maximum(p - np.exp(epsilon) * q, 0).sum(axis=0)
    return np.maximum(first, np.maximum(q - np.exp(epsilon) * p, 0).sum(axis=0))


def calibrate_alpha(
    epsilon: float, wanted: float, *, kind: Kind = "dp", rule: Literal["first", "stable"] = "stable", law:
    CountLaw | None = None, largest_alpha: float = 10.0, step: float = 0.001, copies: int = 1,
) -> float:  # fmt: skip
    """Smallest α whose δ is at most ``wanted``.

    δ does not fall steadily with α: "first" takes the first α that meets it, "stable" the first after which
    every larger one meets it too.

    Examples
    --------
    >>> calibrate_alpha(2.0, 0.05, kind="pdp", rule="first"), calibrate_alpha(2.0, 0.05, kind="pdp", rule="stable")
    (0.896, 1.217)
    """
    if not 0 <= wanted <= 1:
        raise OptionError(f"delta must lie between 0 and 1, got {wanted}")
    _check(epsilon, step, kind)
    chosen = law or Poisson()
    if not isinstance(chosen, Poisson):
        step, largest = max(step, 0.05), 10
        alphas = np.arange(1, round(largest_alpha / step) + 1, dtype=np.float64) * step
        values = np.array([delta(epsilon, a, kind=kind, law=chosen, largest=largest) for a in alphas])
    else:
        alphas = np.arange(1, round(largest_alpha / step) + 1, dtype=np.float64) * step
        worst = [
            _poisson(epsilon, a + alphas, a - 1 + alphas, kind, copies) for a in range(1, _GRID_COUNT + 1)
        ]
        values = np.max(worst, axis=0)
    met = values <= wanted
    if rule == "stable":
        met = np.logical_and.accumulate(met[::-1])[::-1]
    if not met.any():
        raise OptionError(
            f"no alpha up to {largest_alpha:g} gives delta {wanted:g} at epsilon {epsilon:g}; "
            "ask for a larger epsilon or delta"
        )
    return round(float(alphas[int(np.argmax(met))]), 6)


def delta_without_zeros(smallest: int, epsilon: float) -> dict[str, float]:
    """δ with α = 0 when no cell is empty; it depends on the data, so it is not a guarantee (Jackson et al. 2024).

    Examples
    --------
    >>> {k: round(v, 4) for k, v in delta_without_zeros(2, 1.5).items()}
    {'one person more': 0.0335, 'one person fewer': 0.1429}
    """
    _check(epsilon, 1.0, "pdp")
    if smallest < 1:
        raise OptionError(
            "there is an empty cell, so alpha = 0 supports no statement: the ratio is not defined; give alpha above 0"
        )
    deltas = {"one person more": _upper(epsilon, smallest + 1, smallest)}
    if smallest >= 2:
        deltas["one person fewer"] = _upper(epsilon, smallest, smallest - 1)
    return deltas


def _upper(epsilon: float, high: float, low: float) -> float:
    return float(special.pdtrc(np.floor((1 + epsilon) / np.log(high / low)), high))


def reading(epsilon: float, value: float, most: float = GUARANTEE) -> str:
    """One plain sentence about a δ; it is called a guarantee up to ``most`` and no further.

    Examples
    --------
    >>> reading(2.0, 0.0256)
    'δ = 0.0256 at ε = 2: no guarantee, a δ of at most 1e-06 would be one'
    """
    shown = f"δ = {value:.3g} at ε = {epsilon:g}"
    if value > most:
        return f"{shown}: no guarantee, a δ of at most {most:g} would be one"
    return f"{shown}: a guarantee (δ of at most {most:g})"


def _check(epsilon: float, alpha: float, kind: str) -> None:
    if not 0 < epsilon < np.inf:
        raise OptionError(f"epsilon must be above 0, got {epsilon}")
    if not 0 < alpha < np.inf:
        raise OptionError(
            f"alpha must be above 0: with alpha = 0 an empty cell stays empty for certain, got {alpha}"
        )
    if kind not in get_args(Kind):
        raise OptionError(f"unknown kind {kind!r}; use one of {', '.join(get_args(Kind))}")
