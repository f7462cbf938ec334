"""Shapley values of a function's output: exact, by permutations, and in closed form for linear functions.

A coalition keeps some values of the explained record and takes the others from a reference; the value of a column is
what it adds to coalitions, weighted as Shapley did (Lundberg and Lee 2017; Toma and Kikuchi 2024, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray

Function = Callable[[AnyArray], AnyArray]
"""From records (rows) to one number each, or several."""
MOST_EXACT, HARD_CAP = 15, 20
BATCH = 1 << 18
"""Rows that are scored at a time."""


def coalition(record: AnyArray, reference: AnyArray, members: Sequence[int]) -> AnyArray:
    """The record with only some columns (from 0) its own.

    Examples
    --------
    >>> coalition(np.array([2, 5, 1, 3]), np.array([0, 3, 2, 1]), [1, 2]).tolist()
    [0, 5, 1, 1]
    """
    made = np.array(reference, copy=True)
    made[list(members)] = np.asarray(record)[list(members)]
    return made


def exact_shapley(
    function: Function, records: AnyArray, background: AnyArray, *, most: int = MOST_EXACT
) -> AnyArray:
    """Shapley values over all coalitions, averaged over the references; several outputs make a third axis.

    Examples
    --------
    >>> f = lambda v: v[:, 0] * v[:, 1] + v[:, 2] * v[:, 3]
    >>> exact_shapley(f, np.array([[2.0, 5, 1, 3]]), np.array([[0.0, 3, 2, 1]])).round(9).tolist()
    [[8.0, 2.0, -2.0, 3.0]]
    """
    rows, width = records.shape
    if width > min(most, HARD_CAP):
        raise OptionError(
            f"exact explanations of {width} columns take 2^{width} scores a record; use method "
            f"'permutation', or fewer columns"
        )
    masks = (np.arange(1 << width)[:, None] >> np.arange(width) & 1).astype(bool)
    weights = _weights(masks)
    per = len(masks) * len(background)
    step = max(1, BATCH // per)
    parts = []
    for start in range(0, rows, step):
        some = records[start : start + step]
        mixed = np.where(masks[None, :, None, :], some[:, None, None, :], background[None, None, :, :])
        values = _scored(function, mixed.reshape(-1, width)).reshape(
            len(some), len(masks), len(background), -1
        )
        parts.append(np.einsum("is,msc->mic", weights, values.mean(axis=2)))
    found = np.concatenate(parts)
    return found[:, :, 0] if found.shape[2] == 1 else found


def _weights(masks: AnyArray) -> AnyArray:
    """What the value of each coalition counts for each column: |S|! (n - |S| - 1)! / n!, with a sign."""
    n = masks.shape[1]
    sizes = masks.sum(axis=1)
    joined = np.array([math.factorial(max(s - 1, 0)) * math.factorial(n - max(s, 1)) for s in range(n + 1)])
    left = np.array([math.factorial(s) * math.factorial(max(n - s - 1, 0)) for s in range(n + 1)])
    plus, minus = (values[sizes] / math.factorial(n) for values in (joined, left))
    return np.where(masks, plus[:, None], -minus[:, None]).T


def permutation_shapley(
    function: Function,
    records: AnyArray,
    background: AnyArray,
    *,
    permutations: int = 100,
    antithetic: bool = True,
    resample: int | None = None,
    seed: Seed = 0,
) -> AnyArray:
    """Shapley values by walking from a reference to the record, one column after the other, in random orders.

    Unbiased, and the values of a record add up to the change of the output from the references that were walked from.

    Parameters
    ----------
    antithetic
        Walk every order backwards too, which cancels much of the noise.
    resample
        Draw so many references anew for every record; by default all records are walked to from the same ones.

    Examples
    --------
    >>> f = lambda v: 2 * v[:, 0] - v[:, 1]
    >>> permutation_shapley(f, np.array([[1.0, 1.0]]), np.zeros((1, 2)), permutations=4).tolist()
    [[2.0, -1.0]]
    """
    rows, width = records.shape
    rng = generator(seed, "permutations")
    total: AnyArray = np.zeros((rows, width, 1))
    orders: list[AnyArray] = []
    for number in range(permutations):
        backwards = antithetic and number % 2
        orders.append(orders[-1][::-1] if backwards else rng.permutation(width))
    own = (
        None
        if resample is None
        else generator(seed, "references").integers(0, len(background), (rows, resample))
    )
    # a walk and its way back start from the same reference; all references are used equally often
    for number, order in enumerate(orders):
        turn = number // 2 if antithetic else number
        at = np.full(rows, turn % len(background)) if own is None else own[:, turn % own.shape[1]]
        walk = np.repeat(background[at][:, None, :], width + 1, axis=1)
        for step, column in enumerate(order):
            walk[:, step + 1 :, column] = records[:, column][:, None]
        values = _scored(function, walk.reshape(-1, width)).reshape(rows, width + 1, -1)
        change = np.diff(values, axis=1)
        if total.shape[2] != change.shape[2]:
            total = np.zeros((rows, width, change.shape[2]))
        total[:, order] += change
    found = total / permutations
    return found[:, :, 0] if found.shape[2] == 1 else found


def linear_shapley(weights: AnyArray, records: AnyArray, background: AnyArray) -> AnyArray:
    """Shapley values of a linear function: its weight times the distance from the mean of the references.

    Examples
    --------
    >>> linear_shapley(np.array([2.0, -1.0]), np.array([[1.0, 1.0]]), np.zeros((3, 2))).tolist()
    [[2.0, -1.0]]
    """
    return np.asarray(weights * (records - background.mean(axis=0)))


def _scored(function: Function, records: AnyArray) -> AnyArray:
    parts = [np.asarray(function(records[i : i + BATCH])) for i in range(0, len(records), BATCH)]
    found = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return found.reshape(len(found), -1)
