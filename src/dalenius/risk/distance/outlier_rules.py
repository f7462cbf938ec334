"""Rules that say whose numbers are extreme (spec psd16, 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.core.later import stats
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray

Rule = Literal["zscore", "tukey", "robust", "mahalanobis"]


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
        median and 1.4826 MAD instead of mean and sd; "mahalanobis": jointly extreme (chi-square at 0.999).
    limit
        Another number of sds, fences or probability.
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


def _extreme(x: AnyArray, base: AnyArray, rule: str, limit: float | None) -> AnyArray:
    known = base[np.isfinite(base)]
    if len(known) < 2:
        return np.zeros(len(x), bool)
    if rule == "tukey":
        low, high = np.quantile(known, [0.25, 0.75])
        width = (1.5 if limit is None else limit) * (high - low)
        return (x < low - width) | (x > high + width)
    if rule not in ("zscore", "robust"):
        raise OptionError(f"unknown rule {rule!r}; use zscore, tukey, robust or mahalanobis")
    middle = known.mean() if rule == "zscore" else np.median(known)
    spread = known.std(ddof=1) if rule == "zscore" else 1.4826 * np.median(np.abs(known - middle))
    if spread == 0:
        return np.zeros(len(x), bool)
    return np.abs(x - middle) > (3.0 if limit is None else limit) * spread


def _joint(x: AnyArray, base: AnyArray, probability: float) -> AnyArray:
    known = base[np.isfinite(base).all(axis=1)]
    if len(known) <= base.shape[1]:
        return np.zeros(len(x), bool)
    gap = x - known.mean(axis=0)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(known, rowvar=False)))
    distance = np.einsum("ij,jk,ik->i", np.nan_to_num(gap), inverse, np.nan_to_num(gap))
    return (distance > stats.chi2.ppf(probability, x.shape[1])) & np.isfinite(x).all(axis=1)
