"""What an intruder can do about numbers changed along principal directions: exact matches, and sign patterns.

A released file tells its principal directions almost exactly. Where only signs were drawn anew, one of the 2^p ways to
set the signs of a released row is the original row (after Perkonoja and Virta 2024, section 5).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from dalenius.core.errors import DataError, OptionError
from dalenius.core.intervals import wilson
from dalenius.core.result import Result, figure
from dalenius.data.vector import IntArray
from dalenius.mask.neighbours import Floats

MOST_CANDIDATES = 500_000
"""Rows times sign patterns that are looked through unasked."""


def nearest_distance(released: Floats, original: Floats) -> Floats:
    """Distance of each released row to the nearest original one, in the units of the columns; its mean is EUC.

    Examples
    --------
    >>> nearest_distance(np.array([[0.0], [5.0]]), np.array([[1.0], [4.5]])).tolist()
    [1.0, 0.5]
    """
    found: Floats = cKDTree(original).query(released)[0]
    return found


def match_rate(released: Floats, original: Floats, tolerance: float = 1e-6) -> float:
    """Share of released rows with an original row nearer than ``tolerance``.

    Examples
    --------
    >>> match_rate(np.array([[0.0], [5.0]]), np.array([[0.0], [4.5]]))
    0.5
    """
    return float(np.mean(nearest_distance(released, original) < tolerance))


def relative_error(found: Floats, target: Floats) -> float:
    """Distance of a matrix from another in Frobenius norm, as a share of the latter's.

    Examples
    --------
    >>> relative_error(np.array([[3.0]]), np.array([[2.0]]))
    0.5
    """
    return float(np.linalg.norm(found - target) / np.linalg.norm(target))


def sign_attack(released: Floats, known: Floats, links: IntArray | None = None) -> Result:
    """Share of people whose row is found by who knows all their values and tries every pattern of signs.

    Parameters
    ----------
    links
        For each released row the original row it is; the same rows by default.

    Examples
    --------
    >>> from dalenius.mask.spectral import anonymised
    >>> x = np.random.default_rng(1).normal(size=(200, 3)) @ np.diag([3.0, 2.0, 1.0])
    >>> signs, turned = (anonymised(x, way, seed=1)[0] for way in ("sign", "orthogonal"))
    >>> bool(sign_attack(signs, x).value > 20), bool(sign_attack(turned, x).value < 5)
    (True, True)
    """
    rows, width = released.shape
    if rows < 2 or len(known) != rows:
        raise DataError(f"{rows:,} released and {len(known):,} known rows; give the same rows, two or more")
    if width > 16:
        raise OptionError(f"{width} columns have too many sign patterns; name at most 16")
    mean = released.mean(axis=0)
    left, sizes, right = np.linalg.svd(released - mean, full_matrices=False)
    real = sizes > 1e-10 * max(float(sizes[0]), 1e-300)
    scores, turns = (left * sizes)[:, real], right[real]
    looked = (known - mean) @ turns.T
    patterns = 1 - 2 * ((np.arange(2 ** scores.shape[1])[:, None] >> np.arange(scores.shape[1])) & 1)
    best, owner = np.full(rows, np.inf), np.zeros(rows, np.int64)
    for signs in patterns:  # all rows at once for each pattern
        far, which = cKDTree(scores * signs).query(looked)
        nearer = far < best
        best[nearer], owner[nearer] = far[nearer], which[nearer]
    own = np.arange(rows) if links is None else np.argsort(links)
    hits = int(np.count_nonzero(owner == own))
    value = 100 * hits / rows
    return Result(
        "sign-patterns",
        value,
        f"Who knows all of somebody's values and tries every pattern of signs picks the right row for "
        f"{figure(value, '%')} of the people; guessing is right for {figure(100 / rows, '%')}.",
        unit="%",
        interval=wilson(float(hits), rows, scale=100.0),
        yardsticks={"guessing": 100 / rows},
    )
