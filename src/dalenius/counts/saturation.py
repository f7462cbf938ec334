"""Saturated models: as many parameters as patterns of the regressors, so that the model only recasts a table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def distinct_patterns(design: Floats) -> tuple[int, Ints | None]:
    """Number of distinct rows, and which each row is; only looked for while they can be as few as the columns.

    Examples
    --------
    >>> distinct_patterns(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]))
    (2, array([0, 1, 0]))
    """
    if not len(design):
        return 0, np.zeros(0, np.int64)
    head = np.unique(design[: 50 * (design.shape[1] + 1)], axis=0)
    if len(head) > design.shape[1]:
        return len(head), None
    every, which = np.unique(design, axis=0, return_inverse=True)
    return len(every), which.ravel().astype(np.int64)


def is_saturated(rank: int, distinct: int) -> bool:
    """Whether a model of this rank says as much as the table of its patterns.

    Examples
    --------
    >>> is_saturated(2, 2), is_saturated(2, 3)
    (True, False)
    """
    return rank == distinct
