"""`ColumnModel`: one column of the sequence, from its predictors to finished cells.

A column of numbers is drawn in two steps: first whether the cell holds an ordinary number, an empty cell, a
special code or a spike (a value like 0 that stands for something else); then the number, where there is one.
Missing cells are therefore predicted from the other columns like any answer, never placed at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, sequence
from dalenius.data.schema import Column, Kind
from dalenius.data.vector import SPECIAL, AnyArray, BoolArray, IntArray, Vector, compact
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.finishing import Finish, Smoothing
from dalenius.synth.sequential.fitted import Fitted, Parts, Target, Tuning, method_named, nest, nested
from dalenius.synth.sequential.grouped import Grouped, fitted_from, fitted_parts
from dalenius.synth.sequential.marginal import Sample

SPIKE = 256
"""Marks from here on are spikes; smaller ones are states of a cell (0 for an ordinary number)."""


@dataclass(frozen=True)
class Recipe:
    """How one column is to be modelled.

    Attributes
    ----------
    method, split_method
        Model of the values, and of "ordinary number, empty, special code or spike".
    use
        Places of the predictors in the visit sequence.
    groups, least
        Places of the columns within whose combinations the model is fitted apart, and the rows a group must have.
    spikes
        Values of a number that are modelled as categories.
    smoothing, observed
        Smoothing of a number, and whether the method gives out observed values only.
    """

    method: str
    split_method: str
    use: tuple[int, ...]
    groups: tuple[int, ...] = ()
    least: int = 1
    spikes: tuple[float, ...] = ()
    smoothing: Smoothing = "none"
    observed: bool = True
    tuning: Tuning = field(default_factory=Tuning)


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """A fitted column.

    Attributes
    ----------
    split
        Model of the marks of a number; None when every cell is an ordinary number (or the column is a category).
    marks
        Which mark each class of ``split`` is.
    value
        Model of the classes of a category or of the ordinary numbers; None when there are none.
    finish
        Smoothing, rounding and range of a number.
    """

    column: Column
    place: int
    split: Fitted | None
    marks: IntArray
    value: Fitted | None
    finish: Finish | None
    spikes: Floats

    @classmethod
    def fit(
        cls, vector: Vector, place: int, design: Design, rows: IntArray, recipe: Recipe, weights: Floats | None,
        event: BoolArray | None, seed: Seed,
    ) -> ColumnModel:  # fmt: skip
        """Fit on some rows of the original (those that no rule fixes)."""
        none = np.zeros(0)
        if not vector.is_number:
            target = Target(
                _labels(vector), _label_count(vector), vector.column.kind is Kind.ORDERED, weights
            )
            value = _fit(recipe.method, recipe, target, design, rows, sequence(seed, "value"))
            return cls(vector.column, place, None, np.zeros(0, np.int64), value, None, none)
        marks = _marks(vector, recipe.spikes)
        found, classes = np.unique(marks[rows], return_inverse=True)
        split = None
        if len(found) > 1 or (len(found) == 1 and found[0] != 0):
            full = np.zeros(len(vector), np.int32)
            full[rows] = classes
            target = Target(full, len(found), False, weights)
            split = _fit(recipe.split_method, recipe, target, design, rows, sequence(seed, "split"))
        ordinary = rows[marks[rows] == 0]
        value = None
        if len(ordinary):
            target = Target(vector.data, weights=weights, event=event)
            value = _fit(recipe.method, recipe, target, design, ordinary, sequence(seed, "value"))
        finish = Finish.fit(vector, recipe.smoothing, recipe.observed)
        return cls(vector.column, place, split, found, value, finish, np.array(recipe.spikes, np.float64))

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> tuple[AnyArray, npt.NDArray[np.uint8]]:
        """Data and states for some rows of the synthetic design."""
        if self.finish is None:
            return _cells(self._values(design, rows, seed), self.column)
        data = np.zeros(len(rows), np.dtype(self.finish.dtype))
        state = np.zeros(len(rows), np.uint8)
        mark: AnyArray = np.zeros(len(rows), np.int64)
        if self.split is not None:
            mark = self.marks[self.split.draw(design, rows, sequence(seed, "split"))]
        gap = (mark > 0) & (mark < SPIKE)
        state[gap] = mark[gap]
        spike = mark >= SPIKE
        if spike.any():
            data[spike] = self.spikes[mark[spike] - SPIKE].astype(data.dtype)
        plain = mark == 0
        if plain.any():
            drawn = self._values(design, rows[plain], seed)
            data[plain] = self.finish.apply(drawn, sequence(seed, "finish"))
        return data, state

    def _values(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        if self.value is None or not len(rows):
            return np.zeros(len(rows), np.int64)
        return self.value.draw(design, rows, sequence(seed, "value"))

    def parts(self) -> Parts:
        """JSON facts and arrays, for a saved model."""
        facts: dict[str, Any] = {"place": self.place}
        arrays: dict[str, AnyArray] = {"marks": self.marks, "spikes": self.spikes}
        for name in ("split", "value"):
            model = getattr(self, name)
            if model is not None:
                more_facts, more_arrays = nest(name, fitted_parts(model))
                facts |= more_facts
                arrays |= more_arrays
        if self.finish is not None:
            more_facts, more_arrays = nest("finish", self.finish.parts())
            facts |= more_facts
            arrays |= more_arrays
        return facts, arrays

    @classmethod
    def from_parts(
        cls, column: Column, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]
    ) -> ColumnModel:
        """Rebuild a saved column."""
        models = {
            name: fitted_from(*nested(name, facts, arrays)) if name in facts else None
            for name in ("split", "value")
        }
        finish = Finish.from_parts(*nested("finish", facts, arrays)) if "finish" in facts else None
        return cls(
            column,
            int(facts["place"]),
            models["split"],
            arrays["marks"],
            models["value"],
            finish,
            arrays["spikes"],
        )


def _fit(
    method: str, recipe: Recipe, target: Target, design: Design, rows: IntArray, seed: Seed
) -> Fitted | None:
    if not len(rows):
        return None
    kind = method_named(method) if recipe.use else Sample
    if recipe.groups:
        return Grouped.fit_in(
            kind, recipe.groups, recipe.least, target, design, recipe.use, rows, recipe.tuning, seed
        )
    return kind.fit(target, design, recipe.use, rows, recipe.tuning, seed)


def _marks(vector: Vector, spikes: Sequence[float]) -> npt.NDArray[np.int64]:
    marks = np.zeros(len(vector), np.int64) if vector.state is None else vector.state.astype(np.int64)
    for i, spike in enumerate(spikes):
        marks[(marks == 0) & (vector.data == spike)] = SPIKE + i
    return marks


def _gaps(column: Column) -> int:
    return SPECIAL - 1 + len(column.special)


def _label_count(vector: Vector) -> int:
    return _gaps(vector.column) + len(vector.levels)


def _labels(vector: Vector) -> IntArray:
    """Classes of a category: gaps first (state - 1), then levels; in the smallest type, since donors are kept."""
    labels = compact(vector.data.astype(np.int32) + _gaps(vector.column), _label_count(vector))
    if vector.state is not None:
        gap = vector.state > 0
        labels[gap] = vector.state[gap] - 1
    return labels


def _cells(labels: AnyArray, column: Column) -> tuple[AnyArray, npt.NDArray[np.uint8]]:
    gaps = _gaps(column)
    gap = labels < gaps
    data = compact(
        np.where(gap, 0, labels - gaps), len(column.levels or ())
    )  # wrapped only where it is a gap
    return data, np.where(gap, labels + 1, 0).astype(np.uint8)
