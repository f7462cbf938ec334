"""Small tables of two columns with known margins and dependence, for measuring how well a synthesizer keeps both.

Each design joins two margins by a normal copula: two normal deviates with a given correlation, each bent into its own
distribution or cut into categories. The SynDiffix paper scores synthesizers on 24 such tables, twelve designs with
7,000 and with 28,000 rows (Francis et al. 2023, section 4.2); the designs here are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

from dalenius.core.errors import OptionError
from dalenius.core.random import generator
from dalenius.data.examples.draw import Floats, check_size

Margin = Callable[[Floats], NDArray[Any]]


@dataclass(frozen=True)
class Design:
    """Two margins and the correlation of the deviates behind them."""

    first: Margin
    second: Margin
    correlation: float


def _log_normal(z: Floats) -> Floats:
    return np.exp(0.8 * z)


def _uniform(z: Floats) -> Floats:
    return 100.0 * ndtr(z)


def _exponential(z: Floats) -> Floats:
    return -np.log1p(-np.minimum(ndtr(z), 1 - 1e-12))


def _beta(z: Floats) -> Floats:
    return np.asarray(betaincinv(2.0, 5.0, ndtr(z)))


def _two_peaks(z: Floats) -> Floats:
    return z + 3.0 * np.sign(z)


def _counts(z: Floats) -> NDArray[np.int64]:
    return np.floor(20.0 * _exponential(z)).astype(np.int64)


def _normal(z: Floats) -> Floats:
    return 50.0 + 10.0 * z


def _cut(*shares: float) -> Margin:
    """Categories with the given shares, in the order of the deviate."""
    ends = np.cumsum(shares)[:-1] / sum(shares)
    names = np.array([f"group {i:02d}" for i in range(len(shares))])
    return lambda z: names[np.searchsorted(ends, ndtr(z))]


DESIGNS = {
    "normal, independent": Design(_normal, _normal, 0.0),
    "normal, r 0.5": Design(_normal, _normal, 0.5),
    "normal, r 0.9": Design(_normal, _normal, 0.9),
    "uniform, log-normal": Design(_uniform, _log_normal, 0.6),
    "exponential, normal": Design(_exponential, _normal, -0.4),
    "two peaks, beta": Design(_two_peaks, _beta, 0.7),
    "counts, uniform": Design(_counts, _uniform, 0.3),
    "4 x 3 categories": Design(_cut(4, 3, 2, 1), _cut(5, 3, 2), 0.5),
    "2 x 8 categories": Design(_cut(3, 1), _cut(8, 7, 6, 5, 4, 3, 2, 1), -0.3),
    "20 x 12 categories": Design(_cut(*range(1, 21)), _cut(*range(1, 13)), 0.6),
    "5 categories, normal": Design(_cut(5, 4, 3, 2, 1), _normal, 0.7),
    "3 categories, exponential": Design(_cut(6, 3, 1), _exponential, 0.3),
}
"""Twelve pairs of margins: seven of two numbers, three of two categories, two of one each."""


def two_columns(design: str, n: int, seed: int = 0) -> pl.DataFrame:
    """Draw `n` rows of one design (a name in ``DESIGNS``); columns ``x`` and ``y``.

    Examples
    --------
    >>> two_columns("4 x 3 categories", 1000)["x"].n_unique()
    4
    """
    check_size(n)
    if design not in DESIGNS:
        raise OptionError(f"no design {design!r}; there are {', '.join(map(repr, DESIGNS))}")
    made = DESIGNS[design]
    rng = generator(seed, "two columns", design, n)
    first, second = rng.normal(size=n), rng.normal(size=n)
    second = made.correlation * first + np.sqrt(1 - made.correlation**2) * second
    return pl.DataFrame({"x": made.first(first), "y": made.second(second)})
