"""Noise, only through OpenDP's samplers.

They draw exactly from discrete distributions with the operating system's random bits: no floating-point attack, and no
seed. The same call gives other noise each time, by design: a noise that can be repeated can be subtracted.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import opendp.prelude as opendp

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray, IntArray

opendp.enable_features("contrib")

FloatArray = npt.NDArray[np.float64]
_BATCH = 1 << 18
_NEVER = 45.0
"""exp(-45) < 2^-64: an event of this chance is left out."""


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
    if not sensitivity > 0 or not epsilon > 0:
        raise OptionError("sensitivity and epsilon must be above 0")
    pick: int = _noisy_max(2 * sensitivity / epsilon)(np.asarray(scores, dtype=np.float64).tolist())
    return pick


def positive_laplace(draws: int, scale: float) -> IntArray:
    """Discrete Laplace noise given that it is 1 or more.

    Such noise is 1 plus a geometric number, whose binary digits are independent; digit k is 1 exactly as often
    as discrete Laplace noise of scale / 2^k is positive. So each digit is one of OpenDP's draws, and none is
    thrown away.

    Examples
    --------
    >>> bool((positive_laplace(50, 2.0) >= 1).all())
    True
    """
    result = np.ones(draws, dtype=np.int64)
    digit = 0
    while draws and 2**digit / _positive(scale) < _NEVER:
        result += (add_laplace(np.zeros(draws, np.int64), scale / 2**digit) >= 1).astype(np.int64) << digit
        digit += 1
    return result


def _add(counts: AnyArray, mechanism: Any) -> IntArray:
    whole = np.asarray(counts)
    if whole.dtype.kind not in "iu":
        raise OptionError("noise is added to whole counts; round the table first")
    flat = whole.astype(np.int64).reshape(-1)
    pieces = [mechanism(flat[i : i + _BATCH].tolist()) for i in range(0, len(flat), _BATCH)]
    return np.array([value for piece in pieces for value in piece], dtype=np.int64).reshape(whole.shape)


@cache
def _laplace(scale: float) -> Any:
    space = opendp.vector_domain(opendp.atom_domain(T=opendp.i64)), opendp.l1_distance(T=opendp.i64)
    return opendp.m.make_laplace(*space, scale=scale)


@cache
def _gaussian(scale: float) -> Any:
    space = opendp.vector_domain(opendp.atom_domain(T=opendp.i64)), opendp.l2_distance(T=float)
    return opendp.m.make_gaussian(*space, scale=scale)


@cache
def _noisy_max(scale: float) -> Any:
    space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.linf_distance(T=float)
    return opendp.m.make_noisy_max(*space, opendp.zero_concentrated_divergence(), scale=scale)


def _positive(scale: float) -> float:
    if not 0 < scale < float("inf"):
        raise OptionError(f"the noise scale must be a positive number, got {scale}")
    return float(scale)
