"""Rules that say whose numbers are extreme (Trindade et al. 2024, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl
from scipy import special

from dalenius.core.errors import DataError, OptionError
from dalenius.core.later import stats
from dalenius.core.option import one_of
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray

Rule = Literal["zscore", "tukey", "robust", "peirce", "mahalanobis"]


def find_outliers(
    table: Table,
    columns: Sequence[str],
    rule: Rule = "zscore",
    limit: float | None = None,
    combine: Literal["any", "all"] = "any",
    reference: Table | None = None,
) -> AnyArray:
    """Mark rows with extreme numbers.

    Parameters
    ----------
    rule
        "zscore": |x - mean| > 3 sd (sample sd); "tukey": outside the fences at 1.5 interquartile ranges; "robust":
        median and 1.4826 MAD instead of mean and sd; "peirce": as many sds as Peirce's criterion finds for the number
        of values and of extreme ones; "mahalanobis": jointly extreme (chi-square at 0.999).
    limit
        Another number of sds, fences or probability (Peirce's criterion has none).
    combine
        Extreme in any of the columns, or in all.
    reference
        Take means and limits from this table instead.

    Examples
    --------
    >>> table = Table.from_frame({"x": [0.37 * i for i in range(99)] + [900.5]})
    >>> int(find_outliers(table, ["x"]).sum())
    1
    """
    if not columns:
        raise OptionError("no columns are named; outliers need at least one number column")
    one_of("combine", combine, ("any", "all"))
    odd = [name for name in columns if not table[name].is_number]
    if odd:
        raise DataError(f"column {odd[0]!r} is {table[odd[0]].column.kind}; outliers need numbers")
    x = np.column_stack([table[name].floats() for name in columns])
    base = x if reference is None else np.column_stack([reference[name].floats() for name in columns])
    if rule == "mahalanobis":
        return _joint(x, base, 0.999 if limit is None else limit)
    flags = np.column_stack([_extreme(x[:, j], base[:, j], rule, limit) for j in range(len(columns))])
    result: AnyArray = np.asarray(flags.any(axis=1) if combine == "any" else flags.all(axis=1))
    return result


def outlier_limits(
    table: Table, columns: Sequence[str], rule: Rule = "zscore", limit: float | None = None
) -> pl.DataFrame:
    """Limits of each number column beyond which a value is extreme, and how many are (confidential).

    ``middle`` and ``spread`` give the scores behind the limits: |x - middle| / spread. A column in which nothing can
    be extreme (constant, or fewer than two values) has no limits. Mahalanobis distance has none for single columns.

    Examples
    --------
    >>> table = Table.from_frame({"x": [0.37 * i for i in range(99)] + [900.5], "y": [1.5] * 100})
    >>> outlier_limits(table, ["x", "y"]).select("column", "outliers").rows()
    [('x', 1), ('y', 0)]
    """
    if rule == "mahalanobis":
        raise OptionError("Mahalanobis distance is joint: it has no limits for single columns")
    rows = []
    for name in columns:
        flags = find_outliers(table, [name], rule, limit)
        found = _measured(table[name].floats(), rule, limit)
        middle, spread, _ = found if found is not None else (None, None, None)
        rows.append(
            {
                "column": name,
                "middle": middle,
                "spread": spread,
                "low": None if found is None else found[0] - found[1] * found[2],
                "high": None if found is None else found[0] + found[1] * found[2],
                "outliers": int(flags.sum()),
            }
        )
    kinds = dict.fromkeys(("middle", "spread", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds)


def _extreme(x: AnyArray, base: AnyArray, rule: str, limit: float | None) -> AnyArray:
    found = _measured(base, rule, limit)
    if found is None:
        return np.zeros(len(x), bool)
    middle, spread, times = found
    return np.abs(x - middle) > times * spread


def _measured(base: AnyArray, rule: str, limit: float | None) -> tuple[float, float, float] | None:
    """Middle, spread, and how many spreads from the middle a value is extreme; None where none can be."""
    if rule not in get_args(Rule):
        raise OptionError(f"unknown rule {rule!r}; use {', '.join(get_args(Rule))}")
    known = base[np.isfinite(base)]
    if len(known) < 2:
        return None
    if rule == "tukey":
        # fences at f interquartile ranges beyond the quartiles: f + 1/2 of them from the middle of the quartiles
        low, high = np.quantile(known, [0.25, 0.75]).tolist()
        return (low + high) / 2, high - low, (1.5 if limit is None else limit) + 0.5
    middle = float(np.median(known) if rule == "robust" else known.mean())
    spread = float(1.4826 * np.median(np.abs(known - middle)) if rule == "robust" else known.std(ddof=1))
    if spread == 0:
        return None
    usual = peirce_limit(np.abs(known - middle) / spread) if rule == "peirce" else 3.0
    return middle, spread, usual if limit is None else limit


def peirce_limit(scores: AnyArray) -> float:
    """Number of sds beyond which Peirce's criterion (1852, in Gould's form of 1855) finds a value doubtful.

    One doubtful value is supposed first, then one more than were found, until no more are found.

    Examples
    --------
    >>> round(peirce_limit(np.zeros(10)), 3)
    1.878
    """
    found = -1
    while True:
        limit = _peirce(len(scores), found + 2)
        now = int(np.count_nonzero(scores > limit))
        if now <= found + 1:
            return limit
        found = now - 1


def _peirce(values: int, doubtful: int) -> float:
    """Limit for so many values and doubtful ones; logarithms, as the powers do not fit in a number."""
    n, k = values, doubtful
    if n <= k + 1:
        return float("inf")
    power = special.xlogy(k, k) + special.xlogy(n - k, n - k) - special.xlogy(n, n)
    ratio = 1.0
    for _ in range(1000):
        lam = np.exp((power - k * np.log(ratio)) / (n - k))
        limit = np.sqrt(max(1 + (n - 1 - k) / k * (1 - lam**2), 0.0))
        before, ratio = ratio, float(np.exp(-0.5) * special.erfcx(limit / np.sqrt(2)))
        if abs(ratio - before) < 1e-12 * ratio:
            break
    return float(limit)


def _joint(x: AnyArray, base: AnyArray, probability: float) -> AnyArray:
    known = base[np.isfinite(base).all(axis=1)]
    if len(known) <= base.shape[1]:
        return np.zeros(len(x), bool)
    gap = x - known.mean(axis=0)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(known, rowvar=False)))
    distance = np.einsum("ij,jk,ik->i", np.nan_to_num(gap), inverse, np.nan_to_num(gap))
    return (distance > stats.chi2.ppf(probability, x.shape[1])) & np.isfinite(x).all(axis=1)
