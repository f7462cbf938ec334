"""Repair of noisy tables: no negative cells, one total, margins that agree.

All of it is post-processing and costs nothing.

Clipping negative cells to zero is the plain way; it inflates small cells and, after rescaling, deflates large
ones. A projection on the simplex takes the same amount off every cell instead. Margins that share columns also
disagree with each other under noise; `consistent` finds the margins nearest to all of them (weighted least
squares) that do agree.
"""

from __future__ import annotations

import math
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


def cell_errors(
    margins: Mapping[Key, FloatArray],
    variances: Mapping[Key, float],
    unsure: float = 0.0,
    peaked: float = 0.0,
    shrink: bool = True,
) -> dict[Key, tuple[float, float]]:
    """Variance and fourth cumulant of the error of a cell of each margin after `consistent`, but for negative cells.

    ``unsure`` is the variance of the number of records, ``peaked`` the excess kurtosis of the noise. The error is a
    weighted sum of noises, whose weights depend only on which columns of a noisy cell agree with the cell in question.
    What shrinking does to a component is judged by the unbiased estimate of its risk (Stein 1981).

    Examples
    --------
    >>> cell_errors({(0,): np.array([40.0, 60.0])}, {(0,): 1.0}, shrink=False)
    {(0,): (0.5, 0.0)}
    """
    sums, weights = _components(margins, variances)
    risk = {p: _risk(held / weights[p], 1 / weights[p]) if shrink else 1.0 for p, held in sums.items() if p}
    result = {}
    for key, table in margins.items():
        spread, fourth = unsure / table.size**2, 0.0
        for other, held in margins.items():
            common = tuple(c for c in key if c in other)
            sizes = dict(zip(other, held.shape, strict=True))
            steps = {
                part: math.sqrt(risk[part]) / (weights[part] * variances[other])
                / (_cells_outside(key, table.shape, part) * _cells_outside(other, held.shape, part))
                for part in _subsets(common) if part
            }  # fmt: skip
            for same in _subsets(common) if common else ():
                cells = math.prod(
                    n - (c in common) if c not in same else 1 for c, n in sizes.items()
                )  # so many noisy cells agree with it in these columns and in no other
                weight = math.fsum(
                    step * math.prod((c in same) - 1 / sizes[c] for c in p) for p, step in steps.items()
                )
                spread += cells * weight**2 * variances[other]
                fourth += cells * weight**4 * variances[other] ** 2 * peaked
        result[key] = float(spread), float(fourth)
    return result


def _risk(component: FloatArray, variance: float) -> float:
    """Expected square of the error of a shrunk component, as a share of that of the noisy one."""
    free, taken = _shrinking(component)
    square = float((component**2).sum()) / variance
    if free == 0 or square == 0:
        return 1.0
    if square <= taken:  # shrunk to nothing: the error is the component itself
        return max(square - free, 0.0) / free
    return min(max(1 + taken * (taken - 2 * (free - 2)) / (square * free), 0.0), 1.0)


def _cells_outside(key: Key, shape: tuple[int, ...], part: Key) -> float:
    return float(np.prod([n for c, n in zip(key, shape, strict=True) if c not in part], dtype=np.float64))


def _agree(
    margins: Mapping[Key, FloatArray],
    variances: Mapping[Key, float],
    total: float | None,
    shrink: bool = False,
) -> dict[Key, FloatArray]:
    sums, weights = _components(margins, variances)
    components = {part: held / weights[part] for part, held in sums.items()}
    if shrink:
        components = {p: _shrunk(held, 1 / weights[p]) if p else held for p, held in components.items()}
    if total is not None:
        components[()] = np.asarray(float(total))
    return {key: _rebuild(key, table.shape, components) for key, table in margins.items()}


def _components(
    margins: Mapping[Key, FloatArray], variances: Mapping[Key, float]
) -> tuple[dict[Key, FloatArray], dict[Key, float]]:
    """For every set of columns its component in each margin, weighted and added up, and the sum of the weights."""
    sums: dict[Key, FloatArray] = {}
    weights: dict[Key, float] = {}
    for key, table in margins.items():
        for part in _subsets(key):
            others = tuple(i for i, column in enumerate(key) if column not in part)
            weight = 1.0 / (variances[key] * _cells_outside(key, table.shape, part))
            component = _centred(table.sum(axis=others)) * weight
            sums[part] = sums[part] + component if part in sums else component
            weights[part] = weights.get(part, 0.0) + weight
    return sums, weights


def _shrunk(component: FloatArray, variance: float) -> FloatArray:
    """Positive-part James-Stein estimate: noise alone has a square of ``variance`` for each degree of freedom."""
    _, taken = _shrinking(component)
    square = float((component**2).sum())
    return component * max(0.0, 1 - variance * taken / square) if square > 0 else component


def _shrinking(component: FloatArray) -> tuple[float, float]:
    """Degrees of freedom of a component, and how many variances of noise are taken off its square."""
    free = float(np.prod([size - 1 for size in component.shape]))
    return free, max(free - 2, free / 2)


def _rebuild(key: Key, shape: tuple[int, ...], components: Mapping[Key, FloatArray]) -> FloatArray:
    table = np.zeros(shape)
    for part in _subsets(key):
        here = [size if column in part else 1 for column, size in zip(key, shape, strict=True)]
        table += components[part].reshape(here) / _cells_outside(key, shape, part)
    return table


def _subsets(key: Key) -> list[Key]:
    return [part for size in range(len(key) + 1) for part in combinations(key, size)]


def _centred(table: FloatArray) -> FloatArray:
    """The component of a table that belongs to all of its columns together: means over every axis taken off."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return np.asarray(table)
