"""Figures of few people that a model keeps by class: a class of two people, a level that two people of a class have.

Whoever is one of the two takes his own values out of their mean and variance (naive Bayes, discriminant analysis,
centroids), or reads off a count what the only other person has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.data.vector import IntArray
from dalenius.models.case import ModelCase
from dalenius.models.views import Known, View

COUNTING = ("CategoricalNB", "BernoulliNB", "MultinomialNB", "ComplementNB")
"""Models that keep how many records of each class have each level."""


def figures_of_few(case: ModelCase, threshold: int, views: Sequence[View]) -> dict[str, int]:
    """How many classes, levels within a class, and ends of a scale rest on fewer people than the threshold, by column.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from dalenius.models.views import views_of
    >>> people = {"age": [20.0, 30.0] * 20 + [44.0, 52.0], "ill": ["no", "yes"] * 20 + ["rare"] * 2}
    >>> model = GaussianNB().fit([[a] for a in people["age"]], people["ill"])
    >>> case = ModelCase.of(model, people, target="ill")
    >>> figures_of_few(case, 10, list(views_of(case)))
    {'ill': 1}
    """
    told: dict[str, int] = {}
    if case.fitted.classes is not None:
        classes, count = case.outcome(case.train), len(case.fitted.classes)
        told[case.target] = _few(case.units.owners(classes, count), threshold)
        for view in views:
            if type(view.part).__name__ in COUNTING:
                for known in view.columns:
                    levels = _levels(known, view.part)
                    size = int(levels.max(initial=0)) + 1
                    people = case.units.owners(classes * size + levels, count * size)
                    told[known.name] = told.get(known.name, 0) + _few(people, threshold)
    for view in views:
        if type(view.part).__name__ == "RobustScaler" and view.part.with_scaling:
            low, high = view.part.quantile_range
            if min(low, 100 - high) / 100 * case.units.count < threshold:  # the range of two people
                for known in view.columns:
                    told[known.name] = told.get(known.name, 0) + 1
    return {name: number for name, number in told.items() if number}


def _few(people: IntArray, threshold: int) -> int:
    counts = np.asarray(people)
    return int(np.count_nonzero((counts > 0) & (counts < threshold)))


def _levels(known: Known, part: object) -> IntArray:
    """What such a model counts of a column: its levels, or whether there is anything."""
    if type(part).__name__ == "CategoricalNB" or known.is_text:
        return known.codes
    edge = getattr(part, "binarize", 0.0)
    return (known.values > (0.0 if edge is None else edge)).astype(np.int64)
