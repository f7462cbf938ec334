"""Private moments: sums of products of bounded columns, with noise; what linear regression and intervals rest on.

Columns lie within [-1, 1], so one record moves each sum by at most 1, or by 2 when it is replaced. The matrix is made
of noisy entries above and on its diagonal; where the noise made it indefinite, its eigenvalues are lifted, which costs
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dalenius.dp.noise import FloatArray, add_gaussian, add_laplace

_STEP = 2.0**-20
"""Sums are taken in steps of a millionth: whole numbers, as the noise is. A million million of them fit."""

Noise = Callable[[FloatArray, float], FloatArray]


def noisy_moments(
    columns: FloatArray, weights: FloatArray, most: float, scale: float, gaussian: bool
) -> FloatArray:
    """Σ weight·column·columnᵀ with noise of this scale in units of ``most``, what one record adds to an entry at most.

    Examples
    --------
    >>> columns = np.array([[1.0, 0.5], [1.0, -0.5]])
    >>> np.allclose(noisy_moments(columns, np.ones(2), 1.0, 1e-6, gaussian=False), [[2, 0], [0, 0.5]], atol=1e-3)
    True
    """
    step = most * _STEP
    products = (columns * weights[:, None]).T @ columns
    upper = np.triu_indices(columns.shape[1])
    whole = np.round(products[upper] / step).astype(np.int64)
    noised = (add_gaussian if gaussian else add_laplace)(whole, scale / _STEP)
    matrix = np.zeros_like(products)
    matrix[upper] = noised * step
    return np.asarray(matrix + np.triu(matrix, 1).T)


def entries(width: int) -> int:
    """Different entries of a symmetric matrix."""
    return width * (width + 1) // 2


def scale_for(width: int, records: int, moved: int, price: float, gaussian: bool) -> float:
    """Noise scale at which the whole matrix costs ε (Laplace) or ρ (Gaussian)."""
    if gaussian:
        return records * moved * math.sqrt(entries(width) / (2 * price))
    return records * moved * entries(width) / price


def lifted(matrix: FloatArray, least: float) -> FloatArray:
    """The matrix with its eigenvalues at or above ``least``.

    Examples
    --------
    >>> lifted(np.array([[2.0, 0.0], [0.0, -1.0]]), 0.5).tolist()
    [[2.0, 0.0], [0.0, 0.5]]
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
