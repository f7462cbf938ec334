"""Repair of noisy tables: no negative cells, one total, margins that agree.

All of it is post-processing and costs nothing.

Clipping negative cells to zero is the plain way; it inflates small cells and, after rescaling, deflates large
ones. A projection on the simplex takes the same amount off every cell instead. Margins that share columns also
disagree with each other under noise; `consistent` finds the margins nearest to all of them (weighted least
squares) that do agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TypeAlias

import numpy as np

from dalenius.dp.noise import FloatArray

Key: TypeAlias = tuple[int, ...]
"""A margin: the positions of its columns, ascending; the axes of its array are in the same order."""


def clip(table: FloatArray, total: float | None = None, floor: float = 0.0) -> FloatArray:
    """Negative cells to ``floor``, then the whole rescaled to ``total``.

    Examples
    --------
    >>> clip(np.array([-2.0, 4.0, 6.0]), total=5).tolist()
    [0.0, 2.0, 3.0]
    """
    kept: FloatArray = np.maximum(table, floor)
    if total is None:
        return kept
    held = kept.sum()
    return kept * (total / held) if held > 0 else np.full(table.shape, total / max(table.size, 1))


def simplex(table: FloatArray, total: float) -> FloatArray:
    """Nearest table without negative cells that sums to ``total`` (Duchi et al. 2008).

    Examples
    --------
    >>> simplex(np.array([-2.0, 4.0, 6.0]), total=8).tolist()
    [0.0, 3.0, 5.0]
    """
    flat = table.reshape(-1)
    ordered = np.sort(flat)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, flat.size + 1)
    last = int(np.count_nonzero(ordered > excess)) - 1
    return np.maximum(table - excess[max(last, 0)], 0.0)


def consistent(
    margins: Mapping[Key, FloatArray],
    variances: Mapping[Key, float],
    total: float | None = None,
    rounds: int = 30,
    shrink: bool = True,
) -> dict[Key, FloatArray]:
    """Margins nearest to the noisy ones that agree wherever they share columns.

    A table falls into orthogonal components, one per subset of its columns (grand total, main effects,
    interactions, as in the analysis of variance). Margins agree exactly when they have common components, and
    noise of equal variance is independent between components, so the weighted mean of each component is the
    weighted least-squares solution. A component that is hardly larger than its noise is then shrunk towards 0,
    which helps much where noise prevails and changes little where it does not (James and Stein 1961).
    Agreement and non-negativity are reached together by alternating with the projection on the simplex.

    Parameters
    ----------
    margins, variances
        Noisy tables and the variance of the noise in their cells.
    total
        Known number of records; estimated from the margins when left out.
    rounds
        How often the two projections alternate; 0 leaves negative cells.
    shrink
        Whether to shrink; without it the result is the least-squares solution.

    Examples
    --------
    >>> noisy = {(0,): np.array([4.0, 6.0]), (0, 1): np.array([[3.0, 3.0], [2.0, 2.0]])}
    >>> agreed = consistent(noisy, {(0,): 1.0, (0, 1): 1.0}, total=10)
    >>> agreed[0, 1].sum(axis=1).round(9).tolist() == agreed[(0,)].round(9).tolist()
    True
    """
    agreed = _agree(margins, variances, total, shrink)
    known = total if total is not None else max(float(next(iter(agreed.values())).sum()), 1.0)
    for _ in range(rounds):
        feasible = {key: simplex(table, known) for key, table in agreed.items()}
        moved = max(float(np.abs(feasible[key] - agreed[key]).max(initial=0.0)) for key in agreed)
        agreed = _agree(feasible, variances, known)
        if moved < 1e-3:
            break
    return {key: simplex(table, known) for key, table in agreed.items()} if rounds else agreed


def cell_variances(
    shapes: Mapping[Key, tuple[int, ...]], variances: Mapping[Key, float], total: float = 0.0
) -> dict[Key, float]:
    """Variance of a cell of each margin after `consistent`, but for shrinking and for negative cells.

    ``total`` is the variance of the number of records. The components of a table are independent, and centring takes
    1/n off the variance of a component for each of its columns of n levels.

    Examples
    --------
    >>> cell_variances({(0,): (2,)}, {(0,): 1.0})
    {(0,): 0.5}
    """
    weights: dict[Key, float] = {}
    for key, shape in shapes.items():
        for part in _subsets(key):
            spread = _cells_outside(key, shape, part)
            weights[part] = weights.get(part, 0.0) + 1.0 / (variances[key] * spread)
    result = {}
    for key, shape in shapes.items():
        sizes = dict(zip(key, shape, strict=True))
        result[key] = 0.0
        for part in _subsets(key):
            own = total if not part else np.prod([1 - 1 / sizes[c] for c in part]) / weights[part]
            result[key] += float(own) / _cells_outside(key, shape, part) ** 2
    return result


def _cells_outside(key: Key, shape: tuple[int, ...], part: Key) -> float:
    return float(np.prod([n for c, n in zip(key, shape, strict=True) if c not in part], dtype=np.float64))


def _agree(
    margins: Mapping[Key, FloatArray],
    variances: Mapping[Key, float],
    total: float | None,
    shrink: bool = False,
) -> dict[Key, FloatArray]:
    sums: dict[Key, FloatArray] = {}
    weights: dict[Key, float] = {}
    for key, table in margins.items():
        for part in _subsets(key):
            others = tuple(i for i, column in enumerate(key) if column not in part)
            spread = float(np.prod([table.shape[i] for i in others], dtype=np.float64))
            weight = 1.0 / (variances[key] * spread)
            component = _centred(table.sum(axis=others)) * weight
            sums[part] = sums[part] + component if part in sums else component
            weights[part] = weights.get(part, 0.0) + weight
    components = {part: held / weights[part] for part, held in sums.items()}
    if shrink:
        components = {p: _shrunk(held, 1 / weights[p]) if p else held for p, held in components.items()}
    if total is not None:
        components[()] = np.asarray(float(total))
    return {key: _rebuild(key, table.shape, components) for key, table in margins.items()}


def _shrunk(component: FloatArray, variance: float) -> FloatArray:
    """Positive-part James-Stein estimate: noise alone has a square of ``variance`` for each degree of freedom."""
    free = float(np.prod([size - 1 for size in component.shape]))
    square = float((component**2).sum())
    return component * max(0.0, 1 - variance * max(free - 2, free / 2) / square) if square > 0 else component


def _rebuild(key: Key, shape: tuple[int, ...], components: Mapping[Key, FloatArray]) -> FloatArray:
    table = np.zeros(shape)
    for part in _subsets(key):
        here = [size if column in part else 1 for column, size in zip(key, shape, strict=True)]
        spread = np.prod(
            [size for column, size in zip(key, shape, strict=True) if column not in part], dtype=np.float64
        )
        table += components[part].reshape(here) / spread
    return table


def _subsets(key: Key) -> list[Key]:
    return [part for size in range(len(key) + 1) for part in combinations(key, size)]


def _centred(table: FloatArray) -> FloatArray:
    """The component of a table that belongs to all of its columns together: means over every axis taken off."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return np.asarray(table)
