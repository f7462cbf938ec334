"""Iterative proportional fitting of a full table to margins.

The fitted table is the log-linear model with these margins: of all tables that have them, the one closest to
the start (Deming and Stephan 1940; Bishop, Fienberg and Holland 1975). Conventions agree with R's mipfp:
margins are met one after the other in the order given, 0/0 is 0, zeros of the start stay zero, and it stops
when no cell moves by more than ``tol`` in a whole round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted table and how the fit went.

    Attributes
    ----------
    table
        The fitted table.
    converged, iterations, change
        Whether the cells settled, after how many rounds, and the largest change of a cell in the last one.
    errors
        Largest difference between the fitted table and each margin: not zero where margins contradict each other.
    """

    table: FloatArray
    converged: bool
    iterations: int
    change: float
    errors: tuple[float, ...]


def fit_dense(
    start: FloatArray,
    margins: Sequence[Sequence[int]],
    targets: Sequence[FloatArray],
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> Fit:
    """Fit a full table to margins.

    Parameters
    ----------
    start
        Table to begin with: ones, or zeros where a combination is impossible.
    margins
        Axes of each margin, in the order of the target's own axes.
    targets
        The margins. When their totals differ, each is divided by its own total and the result sums to 1.
    tol, max_iter
        Stop when the largest change of a cell in one round is below ``tol``, or after so many rounds.

    Examples
    --------
    >>> fit = fit_dense(np.ones((2, 2)), [[0], [1]], [np.array([30.0, 70.0]), np.array([40.0, 60.0])])
    >>> fit.table.tolist(), fit.converged
    ([[12.0, 18.0], [28.0, 42.0]], True)
    """
    shapes = [
        broadcast_shape(start.shape, axes, target) for axes, target in zip(margins, targets, strict=True)
    ]
    ready = [
        _aligned(axes, target).reshape(s) for axes, target, s in zip(margins, targets, shapes, strict=True)
    ]
    if any(not np.all(np.isfinite(t)) or np.any(t < 0) for t in ready) or np.any(start < 0):
        raise DataError("a table to be fitted must not have negative or missing cells; clip them first")
    totals = np.array([t.sum() for t in ready])
    table = start.astype(np.float64)
    if len(totals) and (totals.max() - totals.min()) > 1e-9 * max(totals.max(), 1.0):
        ready = [t / total if total > 0 else t for t, total in zip(ready, totals, strict=True)]
        table = table / max(table.sum(), np.finfo(float).tiny)
    reduced = [tuple(i for i in range(table.ndim) if s[i] == 1 and table.shape[i] > 1) for s in shapes]
    change, iterations, converged = np.inf, 0, not ready
    while not converged and iterations < max_iter:
        before = table.copy()
        for target, axes in zip(ready, reduced, strict=True):
            table *= ratio(target, table.sum(axis=axes, keepdims=True))
        iterations += 1
        change = float(np.abs(table - before).max(initial=0.0))
        converged = change < tol
    errors = tuple(
        float(np.abs(table.sum(axis=axes, keepdims=True) - target).max(initial=0.0))
        for target, axes in zip(ready, reduced, strict=True)
    )
    return Fit(table, converged, iterations, change if iterations else 0.0, errors)


def ratio(target: FloatArray, held: FloatArray) -> FloatArray:
    """Quotient of two tables in which 0/0, and anything over 0, is 0: an empty cell cannot be filled.

    Examples
    --------
    >>> ratio(np.array([2.0, 0.0, 1.0]), np.array([4.0, 0.0, 0.0])).tolist()
    [0.5, 0.0, 0.0]
    """
    return np.divide(
        target, held, out=np.zeros(np.broadcast_shapes(target.shape, held.shape)), where=held > 0
    )


def broadcast_shape(shape: Sequence[int], axes: Sequence[int], target: FloatArray) -> tuple[int, ...]:
    """Shape of a margin laid over the full table; an error when it does not fit.

    Examples
    --------
    >>> broadcast_shape((2, 3, 4), (2, 0), np.ones((4, 2)))
    (2, 1, 4)
    """
    wanted = tuple(shape[axis] for axis in axes)
    if len(set(axes)) < len(axes) or np.shape(target) != wanted:
        raise OptionError(
            f"a margin of shape {np.shape(target)} does not fit axes {tuple(axes)} of a table of shape {tuple(shape)}"
        )
    return tuple(size if i in axes else 1 for i, size in enumerate(shape))


def _aligned(axes: Sequence[int], target: FloatArray) -> FloatArray:
    """A margin with its axes in the order of the full table."""
    return np.transpose(np.asarray(target, dtype=np.float64), np.argsort(axes))
