"""The linear form inside a model: coefficients over its own columns, where it has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.coefficients import CoefficientModel


@dataclass(frozen=True, eq=False, repr=False)
class LinearPart:
    """Weights of numbers and of categories (one a level) whose sum is the linear predictor.

    Attributes
    ----------
    weights
        For every column: one weight for numbers, one a level for coded texts.
    logistic
        Whether probabilities are the logistic function of the predictor.
    """

    weights: tuple[AnyArray, ...]
    intercept: float
    logistic: bool

    def effects(self, matrix: AnyArray) -> AnyArray:
        """What each column adds to the predictor, record by record."""
        made = np.empty(matrix.shape)
        for place, held in enumerate(self.weights):
            values = matrix[:, place]
            made[:, place] = values * held[0] if len(held) == 1 else held[values.astype(np.int64)]
        return made


def linear_part(case: ModelCase) -> LinearPart | None:
    """The linear form of a model in one predictor; None where there is none.

    It is told by asking: a model that calls itself linear is scored at a few mixed records, and must add up.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> people = {"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 5.0], "y": [1.0, 3.0, 9.5]}
    >>> model = LinearRegression().fit(np.column_stack([people["a"], people["b"]]), people["y"])
    >>> part = linear_part(ModelCase.of(model, people, target="y"))
    >>> bool(np.allclose([part.weights[0][0], part.weights[1][0]], model.coef_))
    True
    """
    if not claims(case.fitted.last):
        return None
    logistic = case.task == "classification"
    if logistic and len(case.fitted.classes or ()) != 2:
        return None
    base = np.array([_usual(case, place) for place in range(case.design.width)])
    tried, spans = [base], []
    for place, levels in enumerate(case.design.levels):
        steps = [base[place] + _spread(case.matrix[:, place])] if levels is None else range(len(levels))
        for value in steps:
            moved = base.copy()
            moved[place] = value
            tried.append(moved)
        spans.append(len(tried))
    try:
        values = predictor(case, np.array(tried))
    except DataError:  # an encoder of numbers takes no number that it has not met
        return None
    if values is None or not np.isfinite(values).all():
        return None
    weights, start, total = [], 1, values[0]
    for place, (end, levels) in enumerate(zip(spans, case.design.levels, strict=True)):
        change = values[start:end] - values[0]
        if levels is None:
            weights.append(change / (tried[start][place] - base[place]))
            total -= weights[-1][0] * base[place]
        else:
            weights.append(change)
        start = end
    part = LinearPart(tuple(weights), float(total), logistic)
    return part if _adds_up(case, part) else None


def predictor(case: ModelCase, matrix: AnyArray) -> AnyArray | None:
    """The linear predictor of records: the decision value of two classes, or the number that is predicted."""
    inputs = case.design.inputs(matrix)
    if case.task == "regression":
        return case.fitted.predictions(inputs)
    margins = case.fitted.margins(inputs)
    return None if margins is None else margins[:, -1]


def claims(last: Any) -> bool:
    """Whether a part of a model looks linear."""
    if isinstance(last, CoefficientModel):
        return True
    return hasattr(last, "coef_") and not hasattr(last, "coefs_")


def _usual(case: ModelCase, place: int) -> float:
    values = case.matrix[:, place]
    values = values[~np.isnan(values)]
    if case.design.levels[place] is not None:
        return 0.0
    return float(np.median(values)) if len(values) else 0.0


def _spread(values: AnyArray) -> float:
    held = values[~np.isnan(values)]
    spread = float(np.ptp(held)) if len(held) else 0.0
    return spread if spread > 0 else 1.0


def _adds_up(case: ModelCase, part: LinearPart) -> bool:
    """Whether the sum of effects is the predictor for records of the file, so that no transform hides in between."""
    rows = case.matrix[~np.isnan(case.matrix).any(axis=1)][:200]
    found = predictor(case, rows) if len(rows) else None
    if found is None:
        return False
    told = part.effects(rows).sum(axis=1) + part.intercept
    return bool(
        np.allclose(told, found, rtol=1e-6, atol=1e-6 * max(float(np.abs(found).max(initial=1.0)), 1.0))
    )
