"""`explain`: what each column adds to a model's output for each record, in the form it would be handed out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.random import Seed, some_rows
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.explanations.shapley import Function, exact_shapley, permutation_shapley
from dalenius.models.fitted import SMALL
from dalenius.models.linear import linear_part

Method = Literal["auto", "exact", "permutation", "linear"]
Output = Literal["probability", "logit", "decision"]
CHEAP = 4096
"""Scores a record up to which "auto" looks at all coalitions."""
REFERENCES = 50


@dataclass(frozen=True, eq=False, repr=False)
class Explanations:
    """Explanations of records, whoever made them.

    Attributes
    ----------
    values
        One row a record, one column a feature.
    records
        What is explained, as the design holds it.
    method, output
        How they were made, and of what.
    """

    values: AnyArray
    records: AnyArray
    features: tuple[str, ...]
    method: str = "given"
    output: str = "given"

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != len(self.records):
            raise DataError(
                f"explanations have {len(self.values)} rows and records {len(self.records)}; give one row a record"
            )
        bad = [
            n for n, held in zip(self.features, self.values.T, strict=False) if not np.isfinite(held).all()
        ]
        if bad:
            raise DataError(
                f"explanations of column {names(bad)} hold gaps or infinite numbers; leave such records out"
            )

    def take(self, rows: AnyArray) -> Explanations:
        """Some of them."""
        return replace(self, values=self.values[rows], records=self.records[rows])

    def changed(self, values: AnyArray) -> Explanations:
        """The same records with other values."""
        return replace(self, values=values)


def explain(
    case: ModelCase,
    records: Table | AnyArray | None = None,
    *,
    background: Table | AnyArray | None = None,
    method: Method = "auto",
    output: Output = "probability",
    of_class: int = -1,
    permutations: int = 100,
    seed: Seed = 0,
) -> Explanations:
    """Explain a model's output by Shapley values.

    Parameters
    ----------
    records
        What is explained; by default the training file.
    background
        References; by default some of the training records.
    method
        "linear" in closed form, "exact" over all coalitions, "permutation" by sampling; "auto" takes the first that
        can be had.
    output
        What is explained of a classifier: the probability of a class, its log-odds, or the decision value.
    of_class
        Place of the class among the model's classes; the last by default.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> people = {"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 5.0], "y": [1.0, 3.0, 9.5]}
    >>> model = LinearRegression().fit(np.column_stack([people["a"], people["b"]]), people["y"])
    >>> found = explain(ModelCase.of(model, people, target="y"))
    >>> found.method, bool(np.allclose(found.values, model.coef_ * (found.records - found.records.mean(axis=0))))
    ('linear', True)
    """
    for given, allowed, word in ((method, Method, "method"), (output, Output, "output")):
        if given not in get_args(allowed):
            raise OptionError(f"{word} is {given!r}; use one of {', '.join(get_args(allowed))}")
    wanted, against = (_records(case, held) for held in (records, background))
    if background is None:
        against = against[some_rows(len(against), REFERENCES, seed, "references")]
    linear = linear_part(case) if method in ("auto", "linear") else None
    straight = case.task == "regression" or (output != "probability" and of_class in (-1, 1))
    if linear is not None and straight:
        values = linear.effects(wanted) - linear.effects(against).mean(axis=0)
        return Explanations(values, wanted, case.features, "linear", output)
    if method == "linear":
        raise OptionError(
            "the model's output is not linear in its columns; use output 'logit' for a logistic model, or method 'auto'"
        )
    function = scorer(case, output, of_class)
    if method == "exact" or (method == "auto" and len(against) << case.design.width <= CHEAP):
        return Explanations(exact_shapley(function, wanted, against), wanted, case.features, "exact", output)
    values = permutation_shapley(function, wanted, against, permutations=permutations, seed=seed)
    return Explanations(values, wanted, case.features, "permutation", output)


def scorer(case: ModelCase, output: Output = "probability", of_class: int = -1) -> Function:
    """The number that is explained, as a function of records."""

    def numbers(matrix: AnyArray) -> AnyArray:
        return case.fitted.predictions(case.design.inputs(matrix))

    def margins(matrix: AnyArray) -> AnyArray:
        found = case.fitted.margins(case.design.inputs(matrix))
        if found is None:
            raise OptionError(
                f"{case.fitted.kind} has no decision value; explain its probability or log-odds"
            )
        return found[:, of_class]

    def chances(matrix: AnyArray) -> AnyArray:
        found = case.fitted.probabilities(case.design.inputs(matrix))
        if found is None:
            raise OptionError(f"{case.fitted.kind} gives no probabilities; explain its decision value")
        return np.asarray(found[:, of_class], np.float64)

    def log_odds(matrix: AnyArray) -> AnyArray:
        kept = np.clip(chances(matrix), SMALL, 1 - SMALL)
        return np.asarray(np.log(kept) - np.log1p(-kept))

    if case.task == "regression":
        return numbers
    return {"probability": chances, "logit": log_odds, "decision": margins}[output]


def _records(case: ModelCase, held: Any) -> AnyArray:
    if held is None:
        held = case.train
    made = case.design.matrix(held) if isinstance(held, Table) else np.asarray(held, np.float64)
    if made.ndim != 2 or made.shape[1] != case.design.width:
        raise DataError(
            f"records have {made.shape[-1]} columns and the model {case.design.width}; give them in its order"
        )
    gaps = [name for name, column in zip(case.features, made.T, strict=True) if np.isnan(column).any()]
    if gaps:
        raise DataError(
            f"column {names(gaps)} has gaps; leave out records with gaps before they are explained"
        )
    return made
