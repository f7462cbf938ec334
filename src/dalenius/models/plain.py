"""Plain fits of a table of coefficients: least squares, or the largest likelihood, of its own terms.

Nobody knows how printed coefficients were fitted. Where the plain fit of their terms to the training file gives the
same digits, they are that fit, and it can be made again on other people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.special import expit

from dalenius.data.vector import AnyArray
from dalenius.models.coefficients import CoefficientModel

STEPS = 60
"""Steps of Newton's method, after which a logistic fit has no end: its classes lie apart."""
DIGITS = 8
"""Most digits of a printed coefficient that are compared: programs stop their iterations at different places."""
SLIGHT = 1e-6
"""Penalty of a fit to other people, among whom a level may be missing or the classes may lie apart."""


def wrong_terms(model: CoefficientModel, frame: Any, outcome: AnyArray) -> list[str] | None:
    """Terms whose coefficients are not those of the plain fit, in the digits they have; None where there is no one fit.

    Examples
    --------
    >>> import pandas as pd
    >>> model, frame = CoefficientModel(("a",), {}, {"a": 2.0}, 1.0), pd.DataFrame({"a": [0.0, 1.0, 3.0]})
    >>> wrong_terms(model, frame, np.array([1.0, 3.0, 7.0])), wrong_terms(model, frame, np.array([0.0, 3.0, 7.0]))
    ([], ['a', 'the intercept'])
    """
    design = _columns(model, frame)
    whole = np.isfinite(design).all(axis=1) & np.isfinite(outcome)
    design, outcome = design[whole], outcome[whole]
    if len(design) == 0 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    found = _fitted(design, outcome, model.family)
    if found is None:
        return None
    return [
        term
        for mine, (term, value) in zip(found, terms(model).items(), strict=True)
        if abs(mine - value) > 0.5 * 10.0 ** _places(value) + 10.0**-DIGITS * abs(mine)
    ]


def long_terms(model: CoefficientModel) -> list[str]:
    """Terms whose coefficients have more digits than are compared.

    Examples
    --------
    >>> long_terms(CoefficientModel(("a", "b"), {}, {"a": 0.1, "b": 0.123456789}))
    ['b']
    """
    digits = {term: Decimal(repr(value)).as_tuple().digits for term, value in terms(model).items()}
    return [term for term, held in digits.items() if any(held[DIGITS:])]


def terms(model: CoefficientModel) -> dict[str, float]:
    """Coefficients by term, the intercept last where there is one.

    Examples
    --------
    >>> terms(CoefficientModel(("a",), {}, {"a": 2.0}, 1.0))
    {'a': 2.0, 'the intercept': 1.0}
    """
    return {**model.coefficients, **({"the intercept": model.intercept} if model.intercept else {})}


def plain_refit(model: CoefficientModel) -> Callable[[Any, AnyArray, int], CoefficientModel]:
    """How the same terms are fitted to other people; the seed has no part in it.

    Examples
    --------
    >>> import pandas as pd
    >>> again = plain_refit(CoefficientModel(("a",), {}, {"a": 2.0}, 1.0))
    >>> made = again(pd.DataFrame({"a": [0.0, 1.0, 3.0]}), np.array([0.0, 3.0, 9.0]), 0)
    >>> round(made.coefficients["a"], 3), abs(made.intercept) < 1e-3
    (3.0, True)
    """

    def again(frame: Any, outcome: AnyArray, seed: int) -> CoefficientModel:
        logistic = model.family == "logistic"
        held = (outcome == model.classes[1]) * 1.0 if logistic else outcome.astype(np.float64)
        design = _columns(model, frame)
        whole = np.isfinite(design).all(axis=1)
        found = _fitted(design[whole], held[whole], model.family, SLIGHT)
        if found is None:
            raise ValueError("no fit was found")
        made = dict(zip(terms(model), found.tolist(), strict=True))
        intercept = made.pop("the intercept", 0.0)
        return replace(model, coefficients=made, intercept=intercept)

    return again


def _places(value: float) -> int:
    return int(Decimal(repr(value)).as_tuple().exponent)


def _columns(model: CoefficientModel, frame: Any) -> AnyArray:
    """One column a coefficient, in the order of `terms`."""
    columns = []
    for term in model.coefficients:
        name, _, level = term.partition("=")
        held = np.asarray(frame[name])
        columns.append((held == level) * 1.0 if level else held.astype(np.float64))
    return np.column_stack([*columns, *([np.ones(len(frame))] if model.intercept else [])])


def _fitted(design: AnyArray, outcome: AnyArray, family: str, penalty: float = 0.0) -> AnyArray | None:
    """Least squares, or the largest likelihood of a logistic model; None where Newton's steps do not end."""
    if family == "linear":
        return np.asarray(np.linalg.lstsq(design, outcome, rcond=None)[0])
    found, slight = np.zeros(design.shape[1]), penalty * np.eye(design.shape[1])
    for _ in range(STEPS):
        chance = expit(design @ found)
        weight = chance * (1 - chance)
        slope = design.T @ (outcome - chance) - penalty * found
        try:
            step = np.linalg.solve((design * weight[:, None]).T @ design + slight, slope)
        except np.linalg.LinAlgError:
            return None
        found = found + step
        if np.abs(step).max() <= 1e-12 * np.abs(found).max():
            return found
    return found if penalty else None
