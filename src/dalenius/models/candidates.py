"""Models as candidates of a release: a kind and its options, each fitted on the same people and judged alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import EACH, grid
from dalenius.core.random import Seed, sequence
from dalenius.core.small_cells import THRESHOLD
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.models.case import NOT_FEATURES, ModelCase
from dalenius.models.design import Design, numbers

KINDS: Mapping[str, tuple[str, str, str]] = {
    "tree": ("sklearn.tree", "DecisionTreeClassifier", "DecisionTreeRegressor"),
    "forest": ("sklearn.ensemble", "RandomForestClassifier", "RandomForestRegressor"),
    "boosting": ("sklearn.ensemble", "GradientBoostingClassifier", "GradientBoostingRegressor"),
    "linear": ("sklearn.linear_model", "LogisticRegression", "LinearRegression"),
    "neighbours": ("sklearn.neighbors", "KNeighborsClassifier", "KNeighborsRegressor"),
    "constant": ("sklearn.dummy", "DummyClassifier", "DummyRegressor"),
}
"""Kinds of models that a plan can name: where they are, for classes and for numbers."""
MANY = 12
"""A column of whole numbers with more different values is predicted as a number."""


@dataclass(frozen=True)
class ModelCandidate:
    """One model that may be released.

    Examples
    --------
    >>> [c.name for c in ModelCandidate.from_mapping({"min_samples_leaf": {"each": [1, 5]}}, "tree")]
    ['tree min_samples_leaf=1', 'tree min_samples_leaf=5']
    """

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, body: Mapping[str, Any], name: str) -> list[ModelCandidate]:
        """The candidates of one entry of a plan: values under ``each`` make several."""
        facts = dict(body)
        kind = str(facts.pop("model", name))
        if kind not in KINDS:
            raise OptionError(f"unknown model {kind!r}; there are {', '.join(KINDS)}")
        return [cls(f"{name} {label}".strip(), kind, options) for label, options in grid(facts)]

    def faults(self) -> list[str]:
        """What is wrong with the options, told before anything is fitted.

        Examples
        --------
        >>> ModelCandidate("tree", "tree", {"min_samples_leaf": [1, 5]}).faults()
        ["min_samples_leaf is [1, 5], which tree does not take; 'each' tries several values"]
        """
        try:
            model = self.build(True, 0)
        except OptionError as error:
            return [str(error)]
        return [
            f"{name} is {value!r}, which {self.kind} does not take"
            + (f"; {EACH!r} tries several values" if isinstance(value, list) else "")
            for name, value in self.options.items()
            if not _takes(model, name)
        ]

    def build(self, classes: bool, seed: int) -> Any:
        """The model, not fitted."""
        import importlib  # noqa: PLC0415

        room, first, second = KINDS[self.kind]
        maker = getattr(importlib.import_module(room), first if classes else second)
        model = maker()
        known = model.get_params()
        odd = [name for name in self.options if name not in known]
        if odd:
            raise OptionError(f"{self.kind} has no option {names(odd)}; it has {', '.join(sorted(known))}")
        seeded = {"random_state": seed} if "random_state" in known else {}
        return maker(**{**seeded, **self.options})

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def fit(
        self, train: Table, holdout: Table | None, target: str, seed: Seed = 0, threshold: int = THRESHOLD
    ) -> ModelCase:
        """The model fitted on a table: texts become one column a level, gaps the median.

        Levels of fewer people than the threshold get no column: they would leave inside the model.
        """
        features = [
            c.name for c in train.schema if c.name != target and not any(c.has(Role(r)) for r in NOT_FEATURES)
        ]
        tables = [train] if holdout is None else [train, holdout]
        design = Design.of(features, tables, named=True)
        classes = predicts_classes(train, target)
        number = int(sequence(seed, "candidate", self.name).generate_state(1)[0] >> 1)
        model = _prepared(design, self.build(classes, number), _common(train, design, threshold))
        fitted = _fitted(
            model, design.inputs(design.matrix(train)), _outcome(train, target, classes), self.name
        )
        return ModelCase.of(fitted, train, holdout, target=target, codes=False)


def predicts_classes(train: Table, target: str) -> bool:
    """Whether a column is predicted as classes: texts, yes and no, and few whole numbers.

    Examples
    --------
    >>> predicts_classes(Table.from_frame({"a": ["x", "y"] * 3}), "a")
    True
    """
    vector = train[target]
    return not vector.is_number or len(np.unique(vector.values)) <= MANY


def _takes(model: Any, name: str) -> bool:
    """Whether an option has a value that the library accepts: its own check, otherwise made at the fit."""
    from sklearn.utils._param_validation import (  # noqa: PLC0415 (slow to load)
        InvalidParameterError,
        validate_parameter_constraints,
    )

    allowed = {k: v for k, v in model._parameter_constraints.items() if k == name}
    try:
        validate_parameter_constraints(allowed, {name: getattr(model, name)}, type(model).__name__)
    except InvalidParameterError:
        return False
    return True


def _outcome(train: Table, target: str, classes: bool) -> AnyArray:
    vector = train[target]
    if not vector.present.all():
        raise DataError(f"column {target!r} has gaps; leave these rows out before a model is fitted")
    if not classes:
        return numbers(vector)
    held = vector.categories
    return np.array([str(label) for label in held.labels])[held.codes]


def _common(train: Table, design: Design, threshold: int) -> list[AnyArray]:
    """Levels of each column of texts that enough people have."""
    kept = []
    for place in design.coded:
        vector = train[design.features[place]].categories
        people = train.units.owners(vector.codes.astype(np.int64), vector.size)
        levels = [
            str(x)
            for x, n in zip(vector.labels, people, strict=True)
            if n >= threshold and isinstance(x, str)
        ]
        kept.append(np.array(sorted(levels), dtype=object))
    return kept


def _prepared(design: Design, model: Any, common: list[AnyArray]) -> Any:
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415 (slow to load)
    from sklearn.impute import SimpleImputer  # noqa: PLC0415
    from sklearn.pipeline import Pipeline  # noqa: PLC0415
    from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: PLC0415

    used = [
        (design.features[p], levels) for p, levels in zip(design.coded, common, strict=True) if len(levels)
    ]
    texts = [name for name, _ in used]
    plain = [name for name in design.features if design.levels[design.features.index(name)] is None]
    filled = Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
    coded = OneHotEncoder(categories=[c for _, c in used], handle_unknown="ignore", sparse_output=False)
    parts = [("texts", coded, texts)] if texts else []
    parts += [("numbers", filled, plain)] if plain else []
    return Pipeline([("columns", ColumnTransformer(parts)), ("model", model)])


def _fitted(model: Any, inputs: Any, outcome: AnyArray, name: str) -> Any:
    try:
        return model.fit(inputs, outcome)
    except (ValueError, TypeError) as error:
        # the library's text may quote a value
        raise OptionError(
            f"candidate {name!r} cannot be fitted ({type(error).__name__}); look at its options"
        ) from None
