"""Concentration: Gini coefficient, Lorenz curve, Herfindahl index and the share of the top N, by unit."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import DataError
from dalenius.outputs.query import Floats


def gini(values: Floats) -> float:
    """Gini coefficient of values of 0 or more.

    Examples
    --------
    >>> round(gini(np.array([50.0, 30, 10, 5, 5])), 6)
    0.46
    """
    held = _held(values)
    n, total = len(held), held.sum()
    return (
        float(2 * (np.arange(1, n + 1) * held).sum() / (n * total) - (n + 1) / n)
        if total > 0
        else float("nan")
    )


def herfindahl(values: Floats) -> float:
    """Herfindahl–Hirschman index: the sum of squared shares.

    Examples
    --------
    >>> round(herfindahl(np.array([50.0, 30, 10, 5, 5])), 6)
    0.355
    """
    held = _held(values)
    total = held.sum()
    return float(((held / total) ** 2).sum()) if total > 0 else float("nan")


def top_share(values: Floats, top: int = 4) -> float:
    """Share of the ``top`` largest: a linear aggregate, so that dominance matters.

    Examples
    --------
    >>> top_share(np.array([50.0, 30, 10, 5, 5]), 2)
    0.8
    """
    held = _held(values)
    total = held.sum()
    return float(held[::-1][:top].sum() / total) if total > 0 else float("nan")


def lorenz(values: Floats, steps: int = 10) -> tuple[Floats, Floats]:
    """Shares of units and of the total at the end of each step of the curve.

    Examples
    --------
    >>> [x.round(2).tolist() for x in lorenz(np.arange(1.0, 5), 2)]
    [[0.5, 1.0], [0.3, 1.0]]
    """
    held = _held(values)
    ends = np.unique(np.round(np.linspace(0, len(held), steps + 1)).astype(np.int64))[1:]
    sums = np.concatenate([[0.0], np.cumsum(held)])
    return ends / max(len(held), 1), sums[ends] / sums[-1] if sums[-1] > 0 else np.full(len(ends), np.nan)


def _held(values: Floats) -> Floats:
    held = np.sort(values[~np.isnan(values)])
    if len(held) and held[0] < 0:
        raise DataError(
            "concentration needs values of 0 or more; leave negative ones out, or use another measure"
        )
    return held
