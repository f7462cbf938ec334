"""Fitting a model again on its training file, and comparing: numbers that come out again cannot hide anything else.

Coefficients, cuts and scores of leaves may be anything, so nobody can see by looking at them whether they were chosen
by hand to carry records. The same class with the same options and the same ``random_state``, fitted on the same file,
gives the same numbers; where it does, they are what the fit makes of the file and nothing beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import names
from dalenius.data.vector import AnyArray
from dalenius.models.alike import differences
from dalenius.models.case import ModelCase
from dalenius.models.coefficients import CoefficientModel
from dalenius.models.plain import DIGITS, long_terms, wrong_terms

NEAR = 1e-3
"""How far numbers may be apart that an iteration led to the same place on another computer."""


@dataclass(frozen=True, eq=False, repr=False)
class Again:
    """A model and its second fit.

    Attributes
    ----------
    model
        What was fitted here; None where that cannot be done.
    why
        Why the numbers of the model are not known to be those of the fit; empty where they are.
    """

    model: Any
    why: str


def fitted_again(case: ModelCase) -> Again:
    """Fit a model again on its own training file, with its own options, and compare everything that it learnt.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> people = {"age": rng.normal(size=50), "ill": rng.choice(["no", "yes"], 50)}
    >>> model = LogisticRegression().fit(people["age"][:, None], people["ill"])
    >>> case = ModelCase.of(model, people, target="ill")
    >>> fitted_again(case).why
    ''
    >>> model.coef_[0, 0] += 0.5
    >>> print(fitted_again(case).why)
    Fitted again on the training file with its own options, the model has other numbers in 'coef_': they may have been
    chosen by hand.
    """
    model = case.fitted.model
    if isinstance(model, CoefficientModel):
        return Again(None, _printed(case, model))
    if not (hasattr(model, "get_params") and hasattr(model, "fit")):
        return Again(
            None, "The model cannot be fitted again here, so that its numbers may be chosen by hand."
        )
    made, told = None, [""]
    for inputs in _inputs(case):
        try:
            made = _fresh(model, inputs, case.labels(case.outcome(case.train)))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            # the library's text may quote a value
            told = [type(error).__name__]
            continue
        told = list(dict.fromkeys(differences(model, made)))
        if not told:
            return Again(made, "")
    if made is None:
        return Again(
            None,
            f"The model cannot be fitted again as its options say ({told[0]}): its numbers may be chosen by hand.",
        )
    near = not any(differences(model, made, NEAR))
    text = f"Fitted again on the training file with its own options, the model has other numbers in {names(told, 3)}"
    more = (
        ", in their last digits: these may hold anything." if near else ": they may have been chosen by hand."
    )
    return Again(made, text + more)


def _inputs(case: ModelCase) -> Iterator[Any]:
    yield case.inputs
    if case.design.named:  # whole numbers may have been whole numbers when the model was fitted
        yield case.train.to_frame("pandas")[list(case.features)]


def _printed(case: ModelCase, model: CoefficientModel) -> str:
    """Why coefficients are not those of a plain fit to the training file, in the digits that they are given with."""
    wrong = wrong_terms(model, case.inputs, case.outcome(case.train).astype(np.float64))
    if wrong is None:
        return (
            "A fit of these terms to the training file has no one answer: the numbers may be chosen by hand."
        )
    if wrong:
        return (
            f"A plain {model.family} fit of these terms to the training file gives other numbers for "
            f"{names(wrong, 3)}: they may have been chosen by hand."
        )
    return (
        f"The coefficients have more than {DIGITS} digits, and the last ones may hold anything: round them to 6 digits."
        if long_terms(model)
        else ""
    )


def _fresh(model: Any, inputs: Any, outcome: AnyArray) -> Any:
    from sklearn.base import clone  # noqa: PLC0415 (slow to load)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(inputs, outcome)
