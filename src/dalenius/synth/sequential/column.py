"""`ColumnModel`: one column of the sequence, from its predictors to finished cells.

A column of numbers is drawn in two steps: first whether the cell holds an ordinary number, an empty cell, a
special code or a spike (a value like 0 that stands for something else); then the number, where there is one.
Missing cells are therefore predicted from the other columns like any answer, never placed at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, sequence
from dalenius.data.schema import Column, Kind
from dalenius.data.vector import SPECIAL, AnyArray, BoolArray, IntArray, Vector, compact
from dalenius.synth._store import stored
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.finishing import Finish, Smoothing
from dalenius.synth.sequential.fitted import (
    Fitted,
    Job,
    Target,
    Tuning,
    method_named,
)
from dalenius.synth.sequential.grouped import Grouped
from dalenius.synth.sequential.marginal import Sample

SPIKE = 256
"""Marks from here on are spikes; smaller ones are states of a cell (0 for an ordinary number)."""
UNDRAWN = 255
"""State of a cell that is still to be drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class Event:
    """What happened at each time of a column of times.

    Attributes
    ----------
    happened
        Rows whose event happened.
    column
        The event column when it is drawn together with the time.
    """

    happened: BoolArray
    column: Vector | None = None


@dataclass(eq=False, repr=False)
class Cells:
    """Drawn cells of a column: numbers or codes, their states, and for a time the cells of its event column."""

    data: AnyArray
    state: npt.NDArray[np.uint8]
    event: Cells | None = None

    @classmethod
    def empty(cls, rows: int, dtype: npt.DTypeLike, state: int = 0) -> Cells:
        """Cells that are still to be filled."""
        return cls(np.zeros(rows, dtype), np.full(rows, state, np.uint8))

    def take(self, rows: IntArray) -> Cells:
        """Cells of some rows."""
        return Cells(self.data[rows], self.state[rows], None if self.event is None else self.event.take(rows))

    def put(self, rows: IntArray, cells: Cells) -> None:
        """Replace the cells of some rows."""
        self.data[rows], self.state[rows] = cells.data, cells.state
        if cells.event is None:
            if self.event is not None:
                self.event.state[rows] = UNDRAWN
            return
        if self.event is None:
            self.event = Cells.empty(len(self.data), cells.event.data.dtype, UNDRAWN)
        self.event.put(rows, cells.event)


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


@stored
@dataclass(frozen=True, eq=False, repr=False)
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
        event: Event | None, seed: Seed,
    ) -> ColumnModel:  # fmt: skip
        """Fit on some rows of the original (those that no rule fixes)."""
        none = np.zeros(0)

        def job(target: Target, on: IntArray, word: str) -> Job:
            return Job(target, design, recipe.use, on, recipe.tuning, sequence(seed, word))

        if not vector.is_number:
            ordered = vector.column.kind is Kind.ORDERED
            target = Target(_labels(vector), _label_count(vector), ordered, weights)
            value = _fit(recipe.method, recipe, job(target, rows, "value"))
            return cls(vector.column, place, None, np.zeros(0, np.int16), value, None, none)
        marks = _marks(vector, recipe.spikes)
        kinds, classes = np.unique(marks[rows], return_inverse=True)
        split = None
        if len(kinds) > 1 or (len(kinds) == 1 and kinds[0] != 0):
            full = np.zeros(len(vector), np.int32)
            full[rows] = classes
            split = _fit(
                recipe.split_method, recipe, job(Target(full, len(kinds), False, weights), rows, "split")
            )
        ordinary = rows[marks[rows] == 0]
        target = Target(vector.data, weights=weights)
        if event is not None:
            target = replace(target, event=event.happened, beside=event.column)
        value = _fit(recipe.method, recipe, job(target, ordinary, "value"))
        finish = Finish.fit(vector, recipe.smoothing, recipe.observed, guarded=True)
        return cls(vector.column, place, split, kinds, value, finish, np.array(recipe.spikes, np.float64))

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> Cells:
        """Cells for some rows of the synthetic design."""
        if self.finish is None:
            return _cells(self._values(design, rows, seed), self.column)
        if self.split is None:
            return self._numbers(design, rows, seed)
        mark = self.marks[self.split.draw(design, rows, sequence(seed, "split"))]
        cells = Cells.empty(len(rows), self.finish.dtype)
        gap = (mark > 0) & (mark < SPIKE)
        cells.state[gap] = mark[gap]
        spike = mark >= SPIKE
        if spike.any():
            cells.data[spike] = self.spikes[mark[spike] - SPIKE].astype(cells.data.dtype)
        plain = np.flatnonzero(mark == 0)
        if len(plain):
            cells.put(plain, self._numbers(design, rows[plain], seed))
        return cells

    def _numbers(self, design: Design, rows: IntArray, seed: Seed) -> Cells:
        """Ordinary numbers, each with the event of its donor where they are drawn together."""
        assert self.finish is not None
        drawn = self._values(design, rows, seed)
        event = None
        if drawn.dtype.names:
            event = Cells(drawn["data"].copy(), drawn["state"].copy())
            drawn = drawn["time"]
        numbers = self.finish.apply(drawn, sequence(seed, "finish"))
        return Cells(numbers.astype(self.finish.dtype, copy=False), np.zeros(len(rows), np.uint8), event)

    def _values(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        if self.value is None or not len(rows):
            return np.zeros(len(rows), np.int64)
        return self.value.draw(design, rows, sequence(seed, "value"))

    @property
    def separated(self) -> bool:
        """Whether a regression of this column met a predictor that decides an answer completely."""
        return any(model is not None and model.separated for model in (self.split, self.value))


def _fit(method: str, recipe: Recipe, job: Job) -> Fitted | None:
    if not len(job.rows):
        return None
    kind = method_named(method) if recipe.use else Sample
    if recipe.groups:
        return Grouped.fit_in(kind, recipe.groups, recipe.least, job)
    return kind.fit(job)


def _marks(vector: Vector, spikes: Sequence[float]) -> npt.NDArray[np.int16]:
    marks = np.zeros(len(vector), np.int16) if vector.state is None else vector.state.astype(np.int16)
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


def _cells(labels: AnyArray, column: Column) -> Cells:
    """Cells of a category from its classes."""
    gaps = _gaps(column)
    gap = labels < gaps
    data = compact(
        np.where(gap, 0, labels - gaps), len(column.levels or ())
    )  # wrapped only where it is a gap
    return Cells(data, np.where(gap, labels + 1, 0).astype(np.uint8))
