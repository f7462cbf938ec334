"""A table of coefficients as a model: what a paper prints, or statsmodels and R write.

A term is ``column`` for a number, and ``column=level``, ``column[T.level]`` or R's ``columnlevel`` for a category.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.data.vector import AnyArray

INTERCEPTS = {"(intercept)", "intercept", "const", "_cons", "constant"}
TERMS = ("term", "variable", "name", "parameter", "feature", "")
VALUES = ("coefficient", "estimate", "coef", "beta", "coef.", "value", "b")
Family = Literal["linear", "logistic"]


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientModel:
    """A linear or logistic model by its coefficients, however it was fitted.

    Examples
    --------
    >>> model = CoefficientModel(("age", "sex"), {"sex": ("f", "m")}, {"age": 0.1, "sex=m": 1.0}, -4.0, "linear")
    >>> import pandas as pd
    >>> model.predict(pd.DataFrame({"age": [40.0, 40.0], "sex": ["f", "m"]})).tolist()
    [0.0, 1.0]
    """

    features: tuple[str, ...]
    levels: Mapping[str, Sequence[str]]
    coefficients: Mapping[str, float]
    intercept: float = 0.0
    family: Family = "linear"
    classes: tuple[Any, Any] = (0, 1)

    @property
    def feature_names_in_(self) -> AnyArray:
        """Columns the model needs."""
        return np.array(self.features, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many they are."""
        return len(self.features)

    def __getattr__(self, name: str) -> Any:
        # a linear model has no classes and no probabilities, and whoever asks is told so the usual way
        if name == "classes_" and self.family == "logistic":
            return np.array(self.classes)
        if name == "predict_proba" and self.family == "logistic":
            return self._probabilities
        raise AttributeError(name)

    @property
    def parameters(self) -> int:
        """Number of coefficients, with the intercept."""
        return len(self.coefficients) + 1

    def linear(self, frame: Any) -> AnyArray:
        """The linear predictor."""
        total = np.full(len(frame), self.intercept)
        for term, value in self.coefficients.items():
            column, _, level = term.partition("=")
            held = np.asarray(frame[column])
            total += value * ((held == level) if level else held.astype(np.float64))
        return total

    def predict(self, frame: Any) -> AnyArray:
        """Numbers, or classes."""
        found = self.linear(frame)
        return found if self.family == "linear" else np.array(self.classes)[(found > 0).astype(int)]

    def decision_function(self, frame: Any) -> AnyArray:
        """The linear predictor again, under the name libraries give it."""
        return self.linear(frame)

    def _probabilities(self, frame: Any) -> AnyArray:
        yes = 1 / (1 + np.exp(-np.clip(self.linear(frame), -700, 700)))
        return np.column_stack([1 - yes, yes])


@dataclass(frozen=True)
class CoefficientTable:
    """Terms and coefficients as they stand in a file; `bound` ties them to columns of a table.

    Examples
    --------
    >>> table = CoefficientTable({"(Intercept)": 1.0, "sexm": 2.0})
    >>> table.bound({"sex": ("f", "m")}, "linear").coefficients
    {'sex=m': 2.0}
    """

    terms: Mapping[str, float]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]], where: str) -> CoefficientTable:
        """Read a table of a file: a column of terms and one of coefficients."""
        lower = {str(name).strip().lower(): name for name in columns}
        term = next((lower[word] for word in TERMS if word in lower), None)
        value = next((lower[word] for word in VALUES if word in lower), None)
        if term is None or value is None:
            raise DataError(
                f"{where}: no table of coefficients; it needs a column 'term' and a column 'coefficient'"
            )
        try:
            found = {str(t): float(v) for t, v in zip(columns[term], columns[value], strict=True)}
        except (TypeError, ValueError):
            raise DataError(f"{where}: a coefficient is no number; leave out rows without one") from None
        if not all(np.isfinite(v) for v in found.values()):
            raise DataError(f"{where}: a coefficient is not finite; leave out rows without one")
        return cls(found)

    def bound(
        self, levels: Mapping[str, Sequence[str] | None], family: Family, classes: tuple[Any, Any] = (0, 1)
    ) -> CoefficientModel:
        """The model over columns of a table (their levels; None for numbers); an unknown term is an error."""
        intercept, held, unknown = 0.0, {}, []
        for term, value in self.terms.items():
            if term.strip().lower() in INTERCEPTS:
                intercept = value
            elif (found := _tied(term, levels)) is not None:
                held[found] = value
            else:
                unknown.append(term)
        if unknown:
            raise DataError(
                f"the file has no column for the terms {names(unknown)}; write 'column' for a number "
                f"and 'column=level' "
                "for a category, and give interactions and transforms as columns of their own"
            )
        used = tuple(dict.fromkeys(term.partition("=")[0] for term in held))
        kept = {name: tuple(levels[name] or ()) for name in used if levels[name] is not None}
        return CoefficientModel(used, kept, held, intercept, family, classes)


def _tied(term: str, levels: Mapping[str, Sequence[str] | None]) -> str | None:
    """A term as ``column`` or ``column=level``; None where no column fits."""
    if term in levels:
        return term if levels[term] is None else None
    marked = re.fullmatch(r"(?:C\()?(?P<column>.+?)\)?(?:=|\[(?:T\.)?)(?P<level>.+?)\]?", term)
    pairs = [(marked["column"], marked["level"])] if marked else []
    pairs += [(name, term.removeprefix(name)) for name in levels if term.startswith(name)]
    for column, level in pairs:
        held = levels.get(column)
        if held is not None and level in held:
            return f"{column}={level}"
    return None
