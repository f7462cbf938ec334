"""Combining rules: one estimate and one standard error from m synthetic files.

q are the estimates and v their squared standard errors in the m files of k rows made from n original rows, b the
variance of q between files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.core.later import stats
from dalenius.core.option import at_least
from dalenius.utility.inference.expressions import Floats

Rule = Literal["expected", "complete", "complete-proper", "partial", "full", "full-adjusted", "pseudo"]
RULES: dict[str, str] = {
    "expected": "what the fit to the original is expected to show (Raab, Nowok, Dibben 2016)",
    "complete": "population, all columns synthesized, parameters not drawn (Raab, Nowok, Dibben 2016, eq. 7)",
    "complete-proper": "population, all columns synthesized, parameters drawn (Raab, Nowok, Dibben 2016)",
    "partial": "population, some columns kept (Reiter 2003)",
    "full": "population, parameters drawn (Raghunathan, Reiter, Rubin 2003)",
    "full-adjusted": "the same, with a positive variance where theirs is negative (Reiter 2002)",
    "pseudo": "population, weighted synthesis with replicate weights, k much larger than n (Oganian et al. 2024)",
}
"""What each rule is for."""


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates with standard errors and intervals.

    Attributes
    ----------
    estimates, variances, df
        Mean estimate, its variance (NaN where the rule gives a negative one) and degrees of freedom (infinite: normal).
    negative
        Estimates whose variance came out negative.
    """

    rule: Rule
    estimates: Floats
    variances: Floats
    df: Floats
    negative: npt.NDArray[np.bool_]

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.sqrt(self.variances)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        reach = stats.t.ppf(0.5 + level / 2, self.df) * self.errors
        return self.estimates - reach, self.estimates + reach

    @property
    def p_values(self) -> Floats:
        """Two-sided p-values of a zero coefficient."""
        with np.errstate(all="ignore"):
            return np.asarray(2 * stats.t.sf(np.abs(self.estimates) / self.errors, self.df))


def combine(q: npt.ArrayLike, v: npt.ArrayLike, *, n: int, k: int, rule: Rule = "complete") -> Combined:
    """Combine estimates from m files.

    Parameters
    ----------
    q, v
        Estimates and squared standard errors: one row per file, one column per coefficient (or one number per file).
    n, k
        Rows of the original and of each synthetic file.
    rule
        One of `RULES`. With one file only "expected", "complete" and "complete-proper" can be had.

    Examples
    --------
    >>> done = combine([10, 12, 11, 13, 9], [1.0, 1.2, 0.8, 1.1, 0.9], n=100, k=100, rule="pseudo")
    >>> float(done.variances[0]), [round(float(end[0]), 6) for end in done.interval()]
    (3.0, [6.191056, 15.808944])
    >>> done = combine([10, 12, 11, 13, 9], [1.0, 1.2, 0.8, 1.1, 0.9], n=100, k=100, rule="full")
    >>> round(float(done.df[0]), 7), [round(float(end[0]), 6) for end in done.interval()]
    (1.7777778, [4.12484, 17.87516])
    """
    if rule not in get_args(Rule):
        raise OptionError(f"no combining rule {rule!r}; there are {', '.join(RULES)}")
    for name, rows in (("n", n), ("k", k)):
        at_least(name, rows, 1)
    estimates = _files(q)
    within = _files(v)
    m = len(estimates)
    if m == 0:
        raise OptionError("there is no estimate to combine; give one for each synthetic file")
    if m == 1 and rule in ("partial", "full", "full-adjusted", "pseudo"):
        raise OptionError(
            f"rule {rule!r} needs several synthetic files; make at least two, or use 'complete'"
        )
    mean, ubar = estimates.mean(axis=0), within.mean(axis=0)
    between = estimates.var(axis=0, ddof=1) if m > 1 else np.zeros_like(mean)
    return _ruled(rule, mean, ubar, between, m, n, k)


def _ruled(rule: Rule, mean: Floats, ubar: Floats, between: Floats, m: int, n: int, k: int) -> Combined:
    scaled = ubar * (k / n)
    df = np.full(len(mean), np.inf)
    if rule == "expected":
        variance = scaled
    elif rule == "complete":
        variance = scaled * (1 + n / (k * m))
    elif rule == "complete-proper":
        variance = scaled * (1 + (n / k + 1) / m)
    elif rule == "partial":
        variance = between / m + scaled
    elif rule == "pseudo":
        variance, df = (1 + 1 / m) * between, np.full(len(mean), m - 1.0)
    else:
        variance = (1 + 1 / m) * between - ubar
        with np.errstate(all="ignore"):
            ratio = (1 + 1 / m) * between / ubar
            df = (m - 1) * (1 - 1 / ratio) ** 2
    negative = variance < 0
    if rule == "full-adjusted":
        variance = np.where(negative, scaled, variance)
    return Combined(rule, mean, np.where(variance < 0, np.nan, variance), np.maximum(df, 1e-9), negative)


def _files(values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    return array[:, None] if array.ndim == 1 else array
