"""Whether columns stand in the order of the model, where it does not know their names."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.vector import AnyArray
from dalenius.models.case import NAMELESS, ModelCase

ROWS = 400
"""Records on which exchanged columns are tried."""
PAIRS = 300
"""Pairs of columns that are tried; of more, those that stand beside each other first."""
SURE = 6.0
"""Standard errors by which an exchange must help."""


def look_for_swaps(case: ModelCase) -> None:
    """Stop where the model knows its own training records clearly better with two columns exchanged.

    Columns that were named (``features``), or that the model knows by name, are not looked at.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(1)
    >>> people = {"age": rng.normal(40, 9, 200), "pay": rng.normal(9, 1, 200)}
    >>> people["cost"] = people["age"] - 5 * people["pay"] + rng.normal(size=200)
    >>> model = LinearRegression().fit(np.column_stack([people["pay"], people["age"]]), people["cost"])
    >>> look_for_swaps(ModelCase.of(model, people, target="cost"))
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: columns 'age' and 'pay' seem to be swapped: with the two exchanged the model knows
    its training records clearly better; name the columns in the order of the model with 'features'
    """
    if NAMELESS not in case.notes:
        return
    rows = np.arange(0, case.train.rows, max(1, case.train.rows // ROWS))
    matrix, outcome = case.matrix[rows], case.outcome(case.train)[rows]
    usual = _fit(case, matrix, outcome)
    found = []
    for a, b in sorted(combinations(range(case.design.width), 2), key=lambda pair: pair[1] - pair[0])[:PAIRS]:
        turned = matrix.copy()
        turned[:, [a, b]] = matrix[:, [b, a]]
        gain = _fit(case, turned, outcome) - usual
        error = max(float(gain.std()) / np.sqrt(len(gain)), 1e-12)
        if gain.mean() > SURE * error and gain.mean() > 0.1 * np.abs(usual).mean():
            found.append((float(gain.mean()), a, b))
    if found:
        _, a, b = max(found)
        first, second = case.features[a], case.features[b]
        raise DataError(
            f"columns {first!r} and {second!r} seem to be swapped: with the two exchanged the model knows its training "
            "records clearly better; name the columns in the order of the model with 'features'"
        )


def _fit(case: ModelCase, matrix: AnyArray, outcome: AnyArray) -> AnyArray:
    """How well records are known: log-likelihoods of their classes, or minus the size of residuals."""
    found = case.scores_of(case.design.inputs(matrix), outcome)
    return found if case.task == "regression" else -np.logaddexp(0.0, -found)
