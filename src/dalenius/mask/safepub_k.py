"""How many records must look alike in a sample of records, so that showing them is differentially private.

Each record is kept with chance β; what fewer than k kept records show is left out (Li, Qardaji and Su 2012). With
γ = 1 - e^-ε (1 - β), the ratio of f(j; n, β) to f(j; n - 1, β) is above e^ε just where j > γ n, so that δ is at most
the chance of that, over all groups that can show k records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.later import stats
from dalenius.data.vector import IntArray
from dalenius.mask.neighbours import Floats

KMethod = Literal["li", "arx", "tight"]
GRID = tuple(round(0.1 * i, 1) for i in range(1, 10))
CLOSE = 1e-12


def beta_max(epsilon: float) -> float:
    """The largest share of records that may be drawn: 1 - e^-ε.

    Examples
    --------
    >>> round(beta_max(0.9), 6)
    0.59343
    """
    return float(-np.expm1(-epsilon))


def gamma(beta: float, epsilon: float) -> float:
    """The share of a group beyond which a count tells too much: 1 - e^-ε (1 - β).

    Examples
    --------
    >>> round(gamma(0.5, np.log(2)), 6)
    0.75
    """
    return float(1 - np.exp(-epsilon) * (1 - beta))


def tails(sizes: Sequence[int] | IntArray, beta: float, epsilon: float) -> Floats:
    """For groups of so many records the chance that more than γ of them are drawn.

    Examples
    --------
    >>> tails([1, 2, 3, 4, 5], 0.5, np.log(2)).tolist()
    [0.5, 0.25, 0.125, 0.0625, 0.1875]
    """
    n = np.asarray(sizes, np.int64)
    found: Floats = stats.binom.sf(_most_fine(n, gamma(beta, epsilon)), n, beta)
    return found


def _most_fine(n: IntArray, g: float) -> IntArray:
    """The largest count that does not tell too much: γ n, rounded down, an integer within rounding error as it is."""
    share = n * g
    near = np.round(share)
    return np.where(np.abs(share - near) <= CLOSE * n, near, np.floor(share)).astype(np.int64)


def _peaks(most: int, g: float) -> IntArray:
    """Group sizes at which one record more may stay undrawn; between them the tail falls."""
    left = np.arange(0, int(np.ceil(most * (1 - g))) + 2)
    near = np.floor(left / (1 - g)).astype(np.int64)[:, None] + np.arange(-1, 4)
    near = np.maximum(near, 1)
    fits = near - 1 - _most_fine(near, g) >= left[:, None]
    first = np.where(fits, near, np.iinfo(np.int64).max).min(axis=1)
    return np.unique(first[first <= most])


def _check(delta: float, beta: float, epsilon: float) -> None:
    if not epsilon > 0 or not 0 < delta < 1:
        raise OptionError(
            f"epsilon is {epsilon:g} and delta {delta:g}; use epsilon above 0, delta between 0 and 1"
        )
    top = beta_max(epsilon)
    if not 0 < beta <= top * (1 + CLOSE):
        raise OptionError(f"beta is {beta:g}; use a share above 0 and at most {top:.6g} (1 - e^-ε)")


def _longest(delta: float, beta: float, epsilon: float) -> int:
    """Beyond so many records the Chernoff bound is below δ."""
    g = gamma(beta, epsilon)
    rate = g * np.log(g / beta) - (g - beta)
    return int(np.ceil(np.log(1 / delta) / rate)) + 1


def reached_delta(k: int, beta: float, epsilon: float) -> float:
    """The δ that k gives: the largest tail of a group that can show k records.

    Examples
    --------
    >>> [round(reached_delta(k, 0.5, np.log(2)), 6) for k in (1, 2, 3)]
    [0.5, 0.25, 0.1875]
    """
    g = gamma(beta, epsilon)
    first = max(int(np.ceil(k / g - 1 - CLOSE * k)), 1)
    top = float(tails([first], beta, epsilon)[0])
    most = max(_longest(max(top, 1e-300), beta, epsilon), first)
    peaks = _peaks(most, g)
    return float(tails([first, *peaks[peaks >= first].tolist()], beta, epsilon).max())


def min_k(delta: float, beta: float, epsilon: float, method: KMethod = "li") -> int:
    """The fewest records that must look alike for (ε, δ).

    Parameters
    ----------
    method
        "li": the published bound. "arx": one more, as ARX has it. "tight": the exact δ where levels are fixed
        beforehand; not for levels that are chosen on the sample.

    Examples
    --------
    >>> min_k(1e-4, 0.5, np.log(2)), min_k(1e-4, 0.5, np.log(2), "arx"), min_k(1e-4, 0.5, np.log(2), "tight")
    (41, 42, 28)
    """
    _check(delta, beta, epsilon)
    g, most = gamma(beta, epsilon), _longest(delta, beta, epsilon)
    peaks = _peaks(most, g)
    over = np.flatnonzero(tails(peaks, beta, epsilon) > delta)
    last = 0
    if len(over):  # the tail falls from its last peak above δ to the next one
        last, end = int(peaks[over[-1]]), int(peaks[over[-1] + 1]) if over[-1] + 1 < len(peaks) else most + 1
        while end - last > 1:
            middle = (last + end) // 2
            last, end = (middle, end) if tails([middle], beta, epsilon)[0] > delta else (last, middle)
    k = max(1, int(np.floor((last + 1) * g)) - 2)
    while int(np.ceil(k / g - 1 - CLOSE * k)) < last + 1:
        k += 1
    if method == "tight":
        low = 1
        while low < k:  # δ falls with k
            middle = (low + k) // 2
            low, k = (low, middle) if exact_delta(middle, beta, epsilon, most) <= delta else (middle + 1, k)
        return k
    return k + (method == "arx")


def exact_delta(k: int, beta: float, epsilon: float, most: int) -> float:
    """The δ of showing counts of k or more, for neighbours that differ by one record of a group of up to ``most``.

    Examples
    --------
    >>> exact_delta(28, 0.5, np.log(2), 200) <= 1e-4 < exact_delta(27, 0.5, np.log(2), 200)
    True
    """
    worst, grown, g = 0.0, np.exp(epsilon), gamma(beta, epsilon)
    rate = g * np.log(g / beta) - (g - beta)
    for n in range(k, max(most, k) + 1):
        if np.exp(-n * rate) < worst:  # no larger group tells more (Chernoff)
            break
        j = np.arange(k - 1, n + 1)
        p, q = stats.binom.pmf(j, n, beta), stats.binom.pmf(j, n - 1, beta)
        p[0], q[0] = stats.binom.cdf(k - 1, n, beta), stats.binom.cdf(k - 1, n - 1, beta)
        worst = max(
            worst, float(np.maximum(p - grown * q, 0).sum()), float(np.maximum(q - grown * p, 0).sum())
        )
    return worst


def beta_profile(
    epsilon: float, delta: float, grid: Sequence[float] | None = None, rows: int | None = None,
    method: KMethod = "li",
) -> pl.DataFrame:  # fmt: skip
    """What each share of records costs: the k it needs, and how large a group must be to be seen; without any data.

    Examples
    --------
    >>> beta_profile(2.7, 1e-4, [0.3, 0.5]).select("beta", "k").rows()
    [(0.3, 8), (0.5, 14)]
    """
    top = beta_max(epsilon)
    shares = [*(b for b in (grid or GRID) if b < top), *([] if grid else [top])]
    made = [(b, min_k(delta, b, epsilon, method)) for b in shares]
    frame = pl.DataFrame(made, schema=["beta", "k"], orient="row")
    frame = frame.with_columns((pl.col("k") / pl.col("beta")).alias("group that is seen"))
    return frame if rows is None else frame.with_columns((pl.col("beta") * rows).alias("expected sample"))


def auto_beta(epsilon: float, delta: float) -> float:
    """The share with which the smallest groups are seen (least k/β; of equal ones the larger share).

    Examples
    --------
    >>> auto_beta(2.7, 1e-4), auto_beta(1.8, 1e-4)
    (0.3, 0.2)
    """
    frame = beta_profile(epsilon, delta).with_columns(pl.col("group that is seen").round(9))
    return float(frame.sort("group that is seen", "beta", descending=[False, True])["beta"][0])


def seen_chance(size: int, beta: float, k: int) -> float:
    """Chance that a group of so many records is seen in the release.

    Examples
    --------
    >>> round(seen_chance(50, 0.3, 8), 3)
    0.993
    """
    return float(stats.binom.sf(k - 1, size, beta))
