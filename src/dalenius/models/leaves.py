"""Leaves of trees, forests and boosted trees: how many people stand in each, and whether all have one outcome.

Trees are taken one at a time, so that memory grows with the records and not with the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.models.case import ModelCase
from dalenius.models.files import BoosterModel


@dataclass(frozen=True, eq=False, repr=False)
class Leaves:
    """What the trees of a model look like from the training records.

    Attributes
    ----------
    trees, leaves
        How many there are in all.
    small, pure
        Rows that stand in a leaf of few people, or of one outcome, in any tree.
    smallest
        People in the smallest leaf.
    most
        Leaves of the largest tree.
    """

    trees: int
    leaves: int
    small: BoolArray
    pure: BoolArray
    smallest: int
    most: int


def leaves_of(case: ModelCase, threshold: int) -> Leaves | None:
    """Look at every leaf; None where the model has none.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = DecisionTreeClassifier().fit([[a] for a in people["age"]], people["ill"])
    >>> found = leaves_of(ModelCase.of(model, people, target="ill"), 3)
    >>> found.leaves, found.smallest, found.small.tolist()
    (2, 2, [True, True, True, True])
    """
    outcome = case.outcome(case.train)
    units = case.units
    small, pure = np.zeros(len(outcome), bool), np.zeros(len(outcome), bool)
    trees = total = most = 0
    smallest = units.count
    for where, held in _trees(case):
        trees += 1
        nodes = int(where.max(initial=0)) + 1
        people = np.asarray(units.owners(where, nodes), np.int64)
        used = people > 0
        if held is not None:  # a bootstrap sample puts fewer people into a leaf than would fall into it
            people = np.minimum(people, np.maximum(held[:nodes], 1))
        low, high = np.full(nodes, np.inf), np.full(nodes, -np.inf)
        np.minimum.at(low, where, outcome)
        np.maximum.at(high, where, outcome)
        small |= (people < threshold)[where]
        pure |= (low == high)[where]
        smallest = min(smallest, int(people[used].min(initial=units.count)))
        leaves = int(np.count_nonzero(used))
        total, most = total + leaves, max(most, leaves)
    return Leaves(trees, total, small, pure, smallest, most) if trees else None


def _trees(case: ModelCase) -> Iterator[tuple[IntArray, IntArray | None]]:
    """The leaf of every record, tree by tree, and how many records each node held when it was fitted."""
    last = case.fitted.last
    if not has_trees(last):
        return
    matrix = before_last(case)
    if isinstance(last, BoosterModel):
        yield from ((column, None) for column in last.apply(matrix).T)
    elif hasattr(last, "get_booster") or hasattr(last, "booster_"):  # XGBoost's and LightGBM's own estimators
        found = last.apply(matrix) if hasattr(last, "get_booster") else last.predict(matrix, pred_leaf=True)
        yield from (
            (column, None) for column in np.asarray(found).reshape(len(matrix), -1).astype(np.int64).T
        )
    elif hasattr(last, "_predictors"):
        yield from _histogram_trees(last, np.asarray(matrix, np.float64))
    else:
        numbers = np.ascontiguousarray(matrix, np.float32)
        for tree, columns in trees_of(last):
            seen = numbers if columns is None else np.ascontiguousarray(numbers[:, columns])
            yield tree.apply(seen), np.asarray(tree.n_node_samples)


def has_trees(model: Any) -> bool:
    """Whether a model is made of trees."""
    marks = ("get_booster", "booster_", "_predictors", "tree_")
    return (
        isinstance(model, BoosterModel)
        or any(hasattr(model, mark) for mark in marks)
        or any(True for _ in trees_of(model))
    )


def trees_of(model: Any) -> Iterator[tuple[Any, AnyArray | None]]:
    """Trees of scikit-learn inside a model, with the columns each was given (None: all)."""
    if hasattr(model, "tree_"):
        yield model.tree_, None
        return
    parts = getattr(model, "estimators_", None)
    if parts is None:
        return
    columns = getattr(model, "estimators_features_", None)
    for place, part in enumerate(np.asarray(parts, dtype=object).ravel()):
        if hasattr(part, "tree_"):
            seen = None if columns is None or columns is False else np.asarray(columns[place])
            yield part.tree_, seen


def before_last(case: ModelCase) -> Any:
    """Training records as the last part of a pipeline gets them."""
    held: Any = case.inputs
    for part in case.fitted.steps[:-1]:
        if part is not None and part != "passthrough":
            held = part.transform(held)
    if hasattr(held, "toarray"):
        held = held.toarray()
    # XGBoost asks for the names it was given
    named = isinstance(case.fitted.last, BoosterModel) or hasattr(case.fitted.last, "get_booster")
    return held if named else np.asarray(held)


def _histogram_trees(model: Any, matrix: AnyArray) -> Iterator[tuple[IntArray, IntArray | None]]:
    """Leaves of scikit-learn's histogram boosting: its nodes are walked level by level."""
    for step in model._predictors:
        for predictor in step:
            nodes = predictor.nodes
            at = np.zeros(len(matrix), np.int64)
            while (inner := nodes["is_leaf"][at] == 0).any():
                rows, here = np.flatnonzero(inner), at[inner]
                values = matrix[rows, nodes["feature_idx"][here]]
                left = values <= nodes["num_threshold"][here]
                left = np.where(np.isnan(values), nodes["missing_go_to_left"][here] == 1, left)
                at[rows] = np.where(left, nodes["left"][here], nodes["right"][here])
            yield at, nodes["count"].astype(np.int64)
