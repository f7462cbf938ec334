"""Training records as every part of a model gets them: raw, and after each step of a pipeline that comes before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.case import ModelCase
from dalenius.models.design import gaps, numbers

Pair = tuple[Any, Any]
"""Training records and strangers' records (None: nobody)."""


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """One column of the records: its different values, and who has them.

    Examples
    --------
    >>> age = Known("age", np.array([30.0, 20.0, 30.0]), None, Units(None, 3))
    >>> age.places(np.array([30.0, 25.0])).tolist(), age.people.tolist()
    ([1, -1], [1, 2, 0])
    """

    name: str
    values: AnyArray
    strangers: AnyArray | None
    units: Units

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return self.values.dtype == object

    @cached_property
    def _indexed(self) -> tuple[AnyArray, IntArray]:
        gap = gaps(self.values)
        held = self.values[~gap]
        different, codes = np.unique(held.astype(str) if self.is_text else held, return_inverse=True)
        made = np.full(len(self.values), len(different), np.int64)  # no value is the last place
        made[~gap] = codes
        return different, made

    @property
    def different(self) -> AnyArray:
        """Its values in order."""
        return self._indexed[0]

    @property
    def codes(self) -> IntArray:
        """Place of each record's value; those without a value have one of their own, the last."""
        return self._indexed[1]

    @cached_property
    def people(self) -> IntArray:
        """How many people have each value, and none at the end."""
        return np.asarray(self.units.owners(self.codes, len(self.different) + 1), np.int64)

    @cached_property
    def shares(self) -> AnyArray:
        """Share of the records with each value."""
        return np.bincount(self.codes, minlength=len(self.different) + 1) / max(len(self.codes), 1)

    def places(self, values: AnyArray) -> IntArray:
        """Where values stand among those of the column; -1 for what nobody has."""
        gap = gaps(values)
        if self.is_text:
            held, known = np.where(gap, "", values).astype(str), self.different
        elif values.dtype.kind in "OUS":
            held, known = _as_numbers(values), self.different
            gap |= np.isnan(held)
        else:
            single = values.dtype == np.float32
            held, known = np.asarray(values, np.float64), self.different
            known = known.astype(np.float32).astype(np.float64) if single else known
        if not len(known):
            return np.where(gap, 0, -1)
        at = np.minimum(np.searchsorted(known, held), len(known) - 1)
        return np.where(gap, len(known), np.where(known[at] == held, at, -1))


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """The records as one part of the model gets them."""

    part: Any
    path: str
    columns: tuple[Known, ...]


def views_of(case: ModelCase) -> Iterator[View]:
    """Every part of a model beside the records it gets; the first view is the table itself, with the outcome last.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> case = ModelCase.of(model.fit([[a] for a in people["age"]], people["ill"]), people, target="ill")
    >>> [(view.path, [k.name for k in view.columns]) for view in views_of(case)]
    [('', ['age', 'ill']), ('Pipeline', ['age']), ('Pipeline.standardscaler', ['age']),
     ('Pipeline.logisticregression', ['column 1 of Pipeline.logisticregression'])]
    """
    others = None if case.holdout is None else case.design.matrix(case.holdout)
    raw = _raw(case, others)
    yield View(None, "", tuple(raw))
    held: Pair = case.inputs, None if others is None else case.design.inputs(others)
    known = raw[: case.design.width]
    for part, path, given in _given(case.fitted.model, type(case.fitted.model).__name__, held):
        columns = _columns(given, path, known, case.units)
        if columns is not None:
            yield View(part, path, tuple(columns))


def _raw(case: ModelCase, outside: AnyArray | None) -> list[Known]:
    """The columns of the table: numbers, texts, and the outcome."""
    tables = [case.train, case.holdout]
    made = []
    for place, (name, levels) in enumerate(zip(case.features, case.design.levels, strict=True)):
        both = [None if m is None else m[:, place] for m in (case.matrix, outside)]
        if levels is not None:
            texts = np.array([*levels, None], dtype=object)
            both = [
                None if b is None else texts[np.where(np.isnan(b), len(levels), b).astype(int)] for b in both
            ]
        assert both[0] is not None
        made.append(Known(name, both[0], both[1], case.units))
    if case.fitted.classes is None:
        goal = [None if t is None else numbers(t[case.target]) for t in tables]
    else:
        labels = np.array([str(c) for c in case.fitted.classes], dtype=object)
        goal = [None if t is None else labels[case.outcome(t)] for t in tables]
    assert goal[0] is not None
    return [*made, Known(case.target, goal[0], goal[1], case.units)]


def _given(part: Any, path: str, held: Pair, depth: int = 0) -> Iterator[tuple[Any, str, Pair]]:
    """Walk through a model as records do (Pipeline, ColumnTransformer, unions, votes, stacks, searches)."""
    if depth > 6 or isinstance(part, (str, type(None))):
        return
    yield part, path, held
    if isinstance(steps := getattr(part, "steps", None), list):
        for name, step in steps:
            yield from _given(step, f"{path}.{name}", held, depth + 1)
            held = _after(step, held)
            if held[0] is None:
                return
        return
    if getattr(part, "transformers_", None) is not None:
        for name, step, columns in part.transformers_:
            yield from _given(step, f"{path}.{name}", _picked(held, columns), depth + 1)
        return
    if getattr(part, "_preprocessor", None) is not None:  # categories of histogram boosting stand first
        held = _after(part._preprocessor, held)
    for name, step, given in _nested(part, held):
        yield from _given(step, f"{path}.{name}", given, depth + 1)


def _nested(part: Any, held: Pair) -> Iterator[tuple[str, Any, Pair]]:
    """Parts that get the same records as the whole, and those that get what the others say."""
    subsets = getattr(part, "estimators_features_", None)
    for name in ("transformer_list", "estimators_", "calibrated_classifiers_", "best_estimator_", "estimator_",
                 "regressor_", "_bin_mapper", "estimator", "_estimator"):  # fmt: skip
        found = getattr(part, name, None)
        for place, each in enumerate(
            found if isinstance(found, (list, tuple)) else [] if found is None else [found]
        ):
            step = each[1] if isinstance(each, tuple) else each
            if isinstance(step, np.ndarray) or hasattr(step, "tree_") or not vars_of(step):
                continue
            picked = _picked(held, subsets[place]) if subsets is not None and name == "estimators_" else held
            yield name, step, picked
    if hasattr(part, "final_estimator_"):
        yield "final_estimator_", part.final_estimator_, _after(part, held)
    for step in getattr(part, "calibrators", None) or ():
        yield "calibrators", step, _scored(part.estimator, held)


def vars_of(thing: Any) -> dict[str, Any]:
    """Attributes of an object, or none."""
    return getattr(thing, "__dict__", {})


def _after(step: Any, held: Pair) -> Pair:
    if step is None or step == "passthrough" or held[0] is None:
        return held
    if not hasattr(step, "transform"):
        return None, None
    return _tried(step.transform, held)


def _picked(held: Pair, columns: Any) -> Pair:
    from sklearn.utils import _safe_indexing  # noqa: PLC0415 (slow to load)

    return _tried(lambda x: _safe_indexing(x, columns, axis=1), held)


def _scored(model: Any, held: Pair) -> Pair:
    ask = getattr(model, "decision_function", None) or getattr(model, "predict_proba", None)
    return (None, None) if ask is None else _tried(lambda x: _second(ask(x)), held)


def _second(found: AnyArray) -> AnyArray:
    return found[:, None] if found.ndim == 1 else found[:, 1:] if found.shape[1] == 2 else found


def _tried(change: Any, held: Pair) -> Pair:
    """Records after a change; none where a part does not take them."""
    try:
        made = [None if x is None else change(x) for x in held]
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError):
        return None, None
    return made[0], made[1]


def _columns(held: Pair, path: str, raw: Sequence[Known], units: Units) -> list[Known] | None:
    """Columns of what a part gets; those of the table are taken as they are."""
    both = [_split(x) for x in held]
    if both[0] is None:
        return None
    titles, inside = both[0]
    outside = both[1][1] if both[1] is not None else [None] * len(inside)
    made: list[Known] = []
    for place, (title, values, others) in enumerate(zip(titles, inside, outside, strict=True)):
        same = next((k for k in raw if _equal(k, title, values)), None)
        made.append(same or Known(title or f"column {place + 1} of {path}", values, others, units))
    return made


def _split(held: Any) -> tuple[list[str], list[AnyArray]] | None:
    if held is None:
        return None
    if hasattr(held, "toarray"):
        held = held.toarray()
    if hasattr(held, "columns"):
        return [str(c) for c in held.columns], [_plain(held[c].to_numpy()) for c in held.columns]
    array = np.asarray(held)
    if array.ndim != 2:
        return None
    return [""] * array.shape[1], [_plain(array[:, j]) for j in range(array.shape[1])]


def _plain(values: AnyArray) -> AnyArray:
    """Numbers as floats, anything else as objects."""
    if values.dtype.kind in "fiub":
        return np.asarray(values, np.float64)
    found = _as_numbers(values)
    return np.asarray(values, object) if np.isnan(found[~gaps(values)]).any() else found


def _as_numbers(values: AnyArray) -> AnyArray:
    try:
        return np.asarray([np.nan if isinstance(v, str) or v is None else float(v) for v in values.ravel()])
    except (TypeError, ValueError):
        return np.full(values.size, np.nan)


def _equal(known: Known, title: str, values: AnyArray) -> bool:
    """Whether a column is one of the table: a scaler may keep the name and change the values."""
    if known.is_text or values.dtype == object:
        return known.is_text and values.dtype == object and known.name == title
    held = known.values
    return all(np.array_equal(held[:top], values[:top], equal_nan=True) for top in (8, len(held)))
