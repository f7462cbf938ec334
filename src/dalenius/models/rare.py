"""Values of few people inside a model: categories of an encoder, ends of a scale.

An encoder keeps every category it met, also the one that a single person has; a scaler may keep the largest income.
Both leave with the model, whatever it predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.stored import parts_of


def rare_values(case: ModelCase, threshold: int) -> dict[str, int]:
    """How many values of each column stand in the model although fewer people than the threshold have them.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> people = {"job": ["clerk"] * 20 + ["king"], "ill": ["no", "yes"] * 10 + ["no"]}
    >>> model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier(min_samples_leaf=5))
    >>> model = model.fit(pd.DataFrame({"job": people["job"]}), people["ill"])
    >>> rare_values(ModelCase.of(model, people, target="ill"), 10)
    {'job': 1}
    """
    texts: set[str] = set()
    ends: list[AnyArray] = []
    for _, thing in parts_of(case.fitted.model):
        if isinstance(thing, str):
            texts.add(thing)
        elif isinstance(thing, np.ndarray) and thing.dtype.kind in "US":
            texts.update(thing.ravel().tolist())
        elif isinstance(thing, np.ndarray) and thing.dtype.kind == "f" and thing.ndim == 1:
            ends.append(thing)
    found = {}
    for place, name in enumerate(case.features):
        held = _texts(case, name, texts, threshold) if case.design.levels[place] is not None else 0
        if case.design.levels[place] is None:
            held = _ends(case, place, ends, threshold)
        if held:
            found[name] = held
    return found


def _texts(case: ModelCase, name: str, texts: set[str], threshold: int) -> int:
    vector = case.train[name]
    people = case.units.owners(vector.categories.codes.astype(np.int64), vector.categories.size)
    return sum(
        1
        for level, count in zip(vector.categories.labels, people, strict=True)
        if 0 < count < threshold and level in texts
    )


def _ends(case: ModelCase, place: int, arrays: list[AnyArray], threshold: int) -> int:
    """Whether the smallest or largest value of a column, one that few have, is kept beside those of others."""
    values = case.matrix[:, place]
    values = values[~np.isnan(values)]
    if not len(values):
        return 0
    plain = [p for p, levels in enumerate(case.design.levels) if levels is None]
    kept = 0
    for end in (values.min(), values.max()):
        few = case.units.owners((case.matrix[:, place] == end).astype(np.int64), 2)[1] < threshold
        seen = any(_there(array, case, plain, place, end) for array in arrays)
        kept += bool(few and seen)
    return kept


def _there(array: AnyArray, case: ModelCase, plain: list[int], place: int, end: Any) -> bool:
    if len(array) == case.design.width:
        return bool(array[place] == end)
    return len(array) == len(plain) and bool(array[plain.index(place)] == end)
