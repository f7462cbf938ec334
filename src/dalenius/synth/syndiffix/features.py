"""Which columns predict a target: features ranked by scikit-learn on a sample of rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError
from dalenius.data.table import Table
from dalenius.data.vector import Vector

CLASSES = 15
"""A target with at most this many distinct values is classified, one with more is regressed."""
SAMPLE = 20_000
WORTH = 0.002
"""A further feature must raise the cross-validated score by this much to be kept."""


def rank_features(table: Table, target: str) -> list[str]:
    """Features of a target, best first: ranked by importance in a decision tree, cut where they stop helping.

    Only names leave this function: the values themselves are protected by the buckets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.integers(0, 9, 500), rng.integers(0, 9, 500)
    >>> frame = {"x": x.tolist(), "noise": noise.tolist(), "y": ["ab"[v > 4] for v in x.tolist()]}
    >>> rank_features(Table.from_frame(frame), "y")
    ['x']
    """
    from sklearn.model_selection import cross_val_score  # noqa: PLC0415 (slow to import)
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: PLC0415

    if target not in table:
        raise DataError(
            f"no column {target!r} to be the target; there are {', '.join(map(repr, table.names))}"
        )
    others = [name for name in table.names if name != target]
    if not others or table.rows < 10:
        return others
    rows = np.linspace(0, table.rows - 1, min(table.rows, SAMPLE)).astype(np.int64)
    goal = _numbers(table[target])[rows]
    data = np.column_stack([_numbers(table[name])[rows] for name in others])
    few = len(np.unique(goal)) <= CLASSES
    tree = (DecisionTreeClassifier if few else DecisionTreeRegressor)(
        random_state=0, min_samples_leaf=max(5, len(rows) // 500)
    )
    if few:
        goal = np.unique(goal, return_inverse=True)[1].astype(np.float64)
    order = np.argsort(-tree.fit(data, goal).feature_importances_, kind="stable")
    smallest = int(np.bincount(goal.astype(np.int64)).min()) if few else len(rows)
    folds = min(5, smallest)
    if folds < 2:
        return [others[i] for i in order]
    kept: list[int] = []
    best = -np.inf
    for i in order.tolist():
        score = float(np.mean(cross_val_score(tree, data[:, [*kept, i]], goal, cv=folds)))
        if kept and score < best + WORTH:
            continue
        best = max(best, score)
        kept.append(i)
    return [others[i] for i in kept]


def _numbers(vector: Vector) -> npt.NDArray[np.float64]:
    """A column as numbers: codes of categories, numbers, and a value of its own for gaps."""
    numbers = vector.floats()
    gap = ~np.isfinite(numbers)
    if gap.any():
        known = numbers[~gap]
        numbers[gap] = (known.max() + 1.0) if len(known) else 0.0
    return numbers
