"""In which order cells are tried: the most useful to publish first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError
from dalenius.tables.contributions import contributor_rows
from dalenius.tables.model import Floats, Ints, TableModel


def candidate_order(
    model: TableModel, *, usefulness: npt.ArrayLike | None = None, secondary_zeros: bool = False
) -> Ints:
    """All cells, most useful first: by count or absolute value, wide cells before narrow ones.

    The score of a cell is its count plus one (or its absolute value) times ``usefulness``, plus a share of at most
    0.99 that grows with the cells it overlaps (Langsrud 2024, section 3; the same rule as R's default). Cells of
    count 0 come first unless ``secondary_zeros``, so that no zero is suppressed to protect another cell.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y"], "n": [5, 7]}, by="a", freq="n")
    >>> model.cells["a"][candidate_order(model)].to_list()
    ['Total', 'y', 'x']
    """
    cost = np.ones(len(model.cells)) if usefulness is None else np.asarray(usefulness, np.float64)
    if cost.shape != (len(model.cells),):
        raise DataError(f"usefulness has {cost.size} entries for {len(model.cells)} cells")
    if (cost < 0).any() or not np.isfinite(cost).all():
        raise DataError("usefulness must be finite and not negative")
    if (cost == 0).any():
        cost = cost + max(cost.max(), 1.0) * 1e-20
    size = np.abs(model.unweighted) if model.is_magnitude else model.frequency + 1.0
    score = size * cost
    overlap = np.abs(model.matrix.T @ (contributor_rows(model) * (model.matrix @ score)))
    largest = overlap.max(initial=0.0)
    score = score + (0.99 * (overlap / largest) if largest > 0 else 0.0)
    if not secondary_zeros:
        zero = (
            model.frequency == 0 if not model.is_magnitude else (model.frequency == 0) | (model.amount == 0)
        )
        score = np.where(zero, 0.01 + score.max() + score, score)
    return decreasing(score)


def decreasing(score: Floats) -> Ints:
    """Places from the largest score to the smallest; equal scores keep their order.

    Examples
    --------
    >>> decreasing(np.array([1.0, 3.0, 3.0])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-score, kind="stable").astype(np.int64)
