"""Noise, only through OpenDP's samplers.

They draw exactly from discrete distributions with the operating system's random bits: no floating-point attack, and no
seed. The same call gives other noise each time, by design: a noise that can be repeated can be subtracted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from opendp import domains, measurements, measures, metrics
from opendp.mod import enable_features
from opendp.typing import i64

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray, IntArray

enable_features("contrib")

FloatArray = npt.NDArray[np.float64]
_BATCH = 1 << 18


def add_laplace(counts: AnyArray, scale: float) -> IntArray:
    """Whole numbers with discrete Laplace noise: P(noise = z) is proportional to exp(-abs(z) / scale).

    Adding it to counts that one person changes by s in total (L1) is (s / scale)-DP.

    Examples
    --------
    >>> add_laplace(np.array([10, 20]), scale=0.01).tolist()
    [10, 20]
    """
    return _add(counts, _laplace(_positive(scale)))


def add_gaussian(counts: AnyArray, scale: float) -> IntArray:
    """Whole numbers with discrete Gaussian noise of this scale (its standard deviation, nearly).

    Adding it to counts that one person moves by s (L2) is s² / (2 scale²)-zCDP.

    Examples
    --------
    >>> add_gaussian(np.array([10, 20]), scale=0.01).tolist()
    [10, 20]
    """
    return _add(counts, _gaussian(_positive(scale)))


def choose(scores: FloatArray, sensitivity: float, epsilon: float) -> int:
    """Position of a large score: the exponential mechanism, by OpenDP's noisy maximum.

    With Gumbel noise of scale 2·sensitivity/ε the choice is ε-DP and ε²/8-zCDP (Cesar and Rogers 2021).

    Examples
    --------
    >>> choose(np.array([0.0, 1000.0, 3.0]), sensitivity=1.0, epsilon=10.0)
    1
    """
    if not sensitivity > 0 or not 0 < epsilon < math.inf:
        raise OptionError("sensitivity and epsilon must be above 0, and epsilon finite")
    held = np.asarray(scores, dtype=np.float64)
    if not held.size or np.isnan(held).any():
        raise OptionError("scores to choose from must be numbers, at least one of them")
    pick: int = _noisy_max(2 * sensitivity / epsilon)(held.tolist())
    return pick


def private_quantile(
    values: FloatArray, candidates: FloatArray, share: float, moved: int, epsilon: float, level: float
) -> tuple[float, float]:
    """The candidate near a quantile, and how far its rank is off at most in ``level`` of draws.

    ``moved`` records come or go. OpenDP's noisy maximum is permute-and-flip, whose score is short of the best by more
    than 2 s/ε · ln(k / (1 - level)) at most that often (McKenna and Sheldon 2020; s the sensitivity, k candidates).

    Examples
    --------
    >>> value, ranks = private_quantile(np.arange(1001.0), np.arange(0, 1001, 10.0), 0.5, 1, 10.0, 0.95)
    >>> abs(value - 500) < 50
    True
    """
    space = domains.vector_domain(domains.atom_domain(T=float, nan=False)), metrics.symmetric_distance()
    low, high = 1e-9, 1e9
    for _ in range(200):  # the smallest scale that keeps the budget, found in OpenDP's own map
        middle = math.sqrt(low * high)
        low, high = (
            (low, middle)
            if _quantile(space, candidates, share, middle).map(moved) <= epsilon
            else (middle, high)
        )
        if high / low < 1 + 1e-6:
            break
    pick = float(_quantile(space, candidates, share, high)(values.tolist()))
    return pick, 2 * moved / epsilon * math.log(len(candidates) / (1 - level))


def _quantile(space: Any, candidates: FloatArray, share: float, scale: float) -> Any:
    return measurements.make_private_quantile(
        *space, measures.max_divergence(), candidates.tolist(), share, scale
    )


def draw_geometric(draws: int, scale: float) -> IntArray:
    """Whole numbers of 0 or more with P(z) proportional to exp(-z / scale): failures before a success.

    Discrete Laplace noise, given that it is not negative, has exactly this law, and it is not negative more than
    every second time: OpenDP's draws are taken until enough of them are left.

    Examples
    --------
    >>> draw_geometric(3, scale=0.01).tolist()
    [0, 0, 0]
    """
    kept = np.zeros(0, np.int64)
    tries = 1 + math.exp(-1 / _positive(scale))
    while len(kept) < draws:
        wanted = math.ceil(1.02 * tries * (draws - len(kept))) + 8
        drawn = add_laplace(np.zeros(wanted, np.int64), scale)
        kept = np.concatenate([kept, drawn[drawn >= 0]])
    return kept[:draws]


def _add(counts: AnyArray, mechanism: Any) -> IntArray:
    whole = np.asarray(counts)
    if whole.dtype.kind not in "iu":
        raise OptionError("noise is added to whole counts; round the table first")
    if whole.dtype.kind == "u" and whole.size and whole.max() > np.iinfo(np.int64).max:
        raise OptionError("a count is beyond 2^63, where it would turn negative; noise is for smaller counts")
    flat = whole.astype(np.int64).reshape(-1)
    pieces = [mechanism(flat[i : i + _BATCH].tolist()) for i in range(0, len(flat), _BATCH)]
    return np.array([value for piece in pieces for value in piece], dtype=np.int64).reshape(whole.shape)


@cache
def _laplace(scale: float) -> Any:
    space = domains.vector_domain(domains.atom_domain(T=i64)), metrics.l1_distance(T=i64)
    return measurements.make_laplace(*space, scale=scale)


@cache
def _gaussian(scale: float) -> Any:
    space = domains.vector_domain(domains.atom_domain(T=i64)), metrics.l2_distance(T=float)
    return measurements.make_gaussian(*space, scale=scale)


@cache
def _noisy_max(scale: float) -> Any:
    space = domains.vector_domain(domains.atom_domain(T=float, nan=False)), metrics.linf_distance(T=float)
    return measurements.make_noisy_max(*space, measures.zero_concentrated_divergence(), scale=scale)


def _positive(scale: float) -> float:
    if not 0 < scale < float("inf"):
        raise OptionError(f"the noise scale must be a positive number, got {scale}")
    return float(scale)
