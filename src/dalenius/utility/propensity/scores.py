"""What propensity scores say: pMSE, SPECKS, PO50, U and the area under the curve.

A propensity score is the fitted probability that a row is protected. If nothing tells the files apart, it is the share
c of protected rows for every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.data.vector import AnyArray, BoolArray


@dataclass(frozen=True)
class Scores:
    """Figures of one set of propensity scores.

    pMSE is the mean squared distance of the scores from c; SPECKS the Kolmogorov–Smirnov distance between the files'
    scores; U their Mann–Whitney statistic, protected first; PO50 the per cent put into the right file minus 50; AUC the
    chance that a protected row scores above an original one.
    """

    pMSE: float
    SPECKS: float
    U: float
    PO50: float
    AUC: float


def summarise(scores: AnyArray, protected: BoolArray, share: float | None = None) -> Scores:
    """Figures of the scores (NaN without any); equal covariates get equal scores by rounding to ten digits.

    Examples
    --------
    >>> found = summarise(np.array([0.6, 0.6, 0.4, 0.4]), np.array([True, True, False, False]))
    >>> round(found.pMSE, 4), found.SPECKS, found.AUC
    (0.01, 1.0, 1.0)
    """
    t = protected.astype(bool)
    if len(t) == 0:
        return Scores(*[float("nan")] * 5)
    c = float(t.mean()) if share is None else share
    rounded = significant(scores, 10)
    _, place = np.unique(rounded, return_inverse=True)
    size = int(place.max()) + 1
    s = np.bincount(place[t], minlength=size).astype(np.float64)
    d = np.bincount(place[~t], minlength=size).astype(np.float64)
    n, k = d.sum(), s.sum()
    below = np.concatenate([[0.0], np.cumsum(d)[:-1]])
    u = float(np.sum(s * (below + d / 2)))
    distance = float(np.max(np.abs(np.cumsum(s) / max(k, 1) - np.cumsum(d) / max(n, 1))))
    right = float(np.mean((rounded > 0.5) == t))
    area = u / float(n * k) if n * k else float("nan")
    return Scores(float(np.mean((scores - c) ** 2)), distance, u, 100 * right - 50, area)


def significant(values: AnyArray, digits: int) -> AnyArray:
    """Round to significant digits.

    Examples
    --------
    >>> significant(np.array([0.0123456]), 3).tolist()
    [0.0123]
    """
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-100)))
    factor = 10.0 ** (digits - 1 - size)
    return np.asarray(np.round(values * factor) / factor)
